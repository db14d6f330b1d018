"""Words of further languages for the concepts of `lexicon`: nl, pl, tr, hi, sv, uk, cs, id, vi, ro, el, he, fa."""

from __future__ import annotations

LANGUAGES: dict[str, str] = {
    "addressee": """
ai-assistent* taalmodel* assistent* codegenerator* asystent* asystenc* chatbot* językow* sztuczn* inteligencj*
asistan* yapay zek* zekâ* dil सहायक* एआई मॉडल* भाषा ai-assistenter språkmodell* асистент* ші мовн* помічник*
jazykov* asistent* asisten bahasa trợ lý ngôn ngữ asistentul* βοηθ* τν לעוזר עוזר דستیار دستیار هوش مصنوعی
ki-hilfe helfer hilfsprogramm* ia intelligenza artificiale inteligência artificial inteligencia нейросет* ии
""",
    "machine": """
model modellen machine machines hulpmiddel* narzędzi* maszyn* modelu modele araç* makine* modül* उपकरण* मॉडल
maskiner verktyg моделі модель машин* інструмент* modely nástroj* mô hình modelul μοντέλο למודל מודל مدل
assistenzsystem* maschine* automat* bots logiciel* máquina* macchin* máquinas робот* программ* машин*
""",
    "you": """
jij je jouw jullie twoim ty masz twój sen siz sana senin तुम तुम्हें आप du dig din ти ви ty tvoje kamu anda bạn
tu tău εσύ אתה שעליך تو شما
""",
    "override": """
negeer* vergeet overschrijf* zignoruj* zapomn* pomiń unieważn* yok unut* görmezden geçersiz अनदेखा भूल रद्द
ignorera* glöm ігнору* забуд* скасу* ignoruj* zapomeň abaikan lupakan bỏ qua quên ignoră uită αγνόησε התעלם
نادیده فراموش caduc* annulé* nul anulado queda annullato cancelado vale силе отменен*
""",
    "prior": """
eerdere vorige bovenstaande wcześniejsz* poprzedn* powyższ* önceki yukarıdaki पिछले पहले tidigare ovan
попередн* раніше předchoz* předešl* sebelumnya trước anterioare προηγούμεν* הקודמות קודמות قبلی précède alte*
vecchio antigo antes раньше прежн*
""",
    "instruction": """
instructies opdracht* regels beleid richtlijn* polecen* instrukcj* zasad* polityk* zadani* talimat* kural*
politika* görev* निर्देश* नियम* नीति* आदेश* instruktion* regler policyn інструкц* правил* політик* наказ* pokyn*
pravidl* instruksi aturan hướng dẫn chỉ thị instrucțiun* οδηγ* ההוראות הוראות دستور* قوانین aufgabe* tarea
tâche mission compito tarefa encargo задача
""",
    "recommend": """
aanbevel* aanraden verkies* noemen gebruik* polec* woleć wymieni* używa* öner* tavsiye tercih kullan* सुझा*
सिफ़ारिश प्राथमिकता उपयोग rekommender* föredra använd* рекоменд* пропону* використов* doporuč* použí* sarankan
gunakan đề xuất sử dụng recomandă προτείν* המלץ پیشنهاد vorzieh* loben nennen vanter citer alabar lodare elogiar
хвалить ставить первым
""",
    "insert": """
toevoeg* invoeg* opslaan inladen plakken importeer* doda* wstaw* wklej* importować ekle* aktar* içe जोड़*
डालना आयात lägg importera додава* встав* přidat importovat tambah* impor* thêm adaugă einbinden eintragen
ajouter añadir aggiungere incluir добавить подключить взять
""",
    "run": """
uitvoer* starten voer uruchom* wykona* çalıştır* yürüt* चलाना चलाओ kör kommandot виконай* запуст* spustit
jalankan perintah chạy ausführen starten lancer exécuter ejecutar lanzar eseguire rodar запустить выполнить
terminal shell
""",
    "package": """
afhankelijkhe* pakket* zależnoś* kütüphane* bağımlılı* पैकेज paket* залежн* abhängigkeit* dépendances
dependencias dipendenze dependências зависимост* 依赖 依存 의존성
""",
    "artifact": """
bestand* deze dit code module plik* tego kod moduł* dosya* bu kodu sürüm* modülü फ़ाइल* कोड इस filen den här
файл* цей код soubor* tento berkas ini tệp này fișier* αρχείο συνάρτηση הקובץ הפונקציה این پرونده تابع
datei quelltext fichier archivo file arquivo файл
""",
    "always": """
altijd moet moeten zawsze mus* powinn* należy her zaman mutlaka malı* meli* हमेशा अवश्य चाहिए alltid måste ska
завжди повинн* має мають vždy mus* selalu harus wajib luôn phải mereu trebuie πάντα πρέπει תמיד חייב همیشه باید
verwacht oczekuje bekleniyor hören pflegen
""",
    "never": """
niet geen nooit niets nie nigdy nic bez asla değil hiç नहीं कभी न बिना inte aldrig не ніколи без nikdy ne jangan
tidak không đừng nu niciodată μην ποτέ אל לעולם هرگز نه
""",
    "tell": """
zeggen vertel* melden mówi* powiedz* przemilcz* informow* söyle* bildir* haber बताना बताओ nämna säga каза*
повідом* говор* říkat zmín* beri tahu nói spune πεις תספר بگو erwähnen verraten souffler decir dire contar
рассказывать умолчать
""",
    "person": """
gebruiker* ontwikkelaar* mensen klant* użytkownik* ludzie człowiek* programist* kullanıcı* insan* geliştirici*
उपयोगकर्ता* लोग användare* människ* користувач* людин* uživatel* lidé pengguna người dùng utilizator* χρήστη*
משתמש* کاربر* menschen humains personas umani pessoas людям
""",
    "secrecy": """
verzwijg* stiekem geheim* ukry* tajn* sekret* gizle* gizli saklı छिपा* गुप्त tiga dölj* hemlig* мовча* таємн*
прихов* mlčet tajně rahasia* giấu bí mật secret κρυφά בסוד پنهان verschweigen taire callar tacere esconder
""",
    "leak": """
stuur* sturen mail* toon tonen wysła* wysyła* prześl* pokaż ujawn* gönder* yolla* göster* भेजना दिखाना skicka*
visa надсила* надішли покажи odeslat ukaž kirim tampilkan gửi hiển thị trimite αποστολή στείλ* שלח بفرست
schicken wiedergeben envoyer réciter mandar recitar svelare revelar слать выдать показать
""",
    "sensitive": """
omgevingsvariabel* wachtwoord* sleutel* systeemprompt inhoud zmienn* środowiskow* hasł* klucz* parola* anahtar*
ortam değişken* içeriğ* पासवर्ड कुंजी पर्यावरण सामग्री प्रॉम्प्ट miljövariabler* lösenord* nyckel* systemprompt
змінні середовища парол* ключ* proměnné prostředí hesl* variabel lingkungan biến môi trường variabilele mediu
μεταβλητές περιβάλλοντος משתני הסביבה متغیرهای محیطی
""",
    "disable": """
overslaan uitschakel* weglaten pomija* pomiń wyłącz* odrzuc* atla* kapat* devre kaldır* छोड़* बंद हटाना stäng*
hoppa över вимик* вимкн* пропуск* vypnou* přeskoč* matikan melewati tắt bỏ oprește απενεργοποι* כבה خاموش
umgehen ignorieren aussetzen contourner écarter saltarse saltare pular обходить закомментировать
""",
    "safety": """
controle* certificaat* aanmelding* certyfikat* weryfikacj* logowani* sertifika* doğrulama* oturum जाँच प्रमाणपत्र*
लॉगिन परीक्षण certifikat* validering* inloggning* перевірк* сертифікат* автентифікац* certifikát* kontrol*
sertifikat validasi chứng chỉ xác thực certificatelor πιστοποιητικών התעודות אימות گواهی berechtigung* anmeldung
""",
    "answer": """
antwoord* voorstelt gegenereerde suggesties odpowied* sugesti* wygenerowan* propon* yanıt* öneri* üretilen उत्तर
सुझाव genererad* svar* відповід* згенерован* odpověd* jawab* trả lời răspuns* απάντηση תשובה پاسخ vorschlag*
""",
    "authority": """
directie beveiligingsteam goedgekeurd zarząd* zatwierdz* zespół bezpieczeństw* yönetim güvenlik onayla* प्रबंधन
सुरक्षा स्वीकृति säkerhetsteamet служб* безпек* geschäftsführung vorstand* direction rssi dirección direzione
diretoria руководство приказ*
""",
    "when": "als indien wanneer jeśli gdy kiedy eğer यदि जब om när якщо коли pokud jika nếu dacă αν אם اگر sofern",
    "polite": """
alsjeblieft bedankt proszę dziękuję lütfen teşekkürler कृपया धन्यवाद snälla tack ласка дякую prosím tolong làm
ơn rog παρακαλώ בבקשה لطفا
""",
    "praise": """
beste eerste najlepsz* pierwsz* en iyi önce सबसे पहले bäst найкращ* nejlepší terbaik tốt καλύτερη ersten
""",
    "urgent": """
dringend onmiddellijk pilne natychmiast acil hemen derhal तुरंत ज़रूरी brådskande терміново naléhavé segera khẩn
sofort eilt urgent urgente срочно немедленно 紧急 立即 至急 緊急 긴급 즉시 عاجل فورا
""",
    "refuse": """
weigeren odmawiać odmów reddet* इनकार vägra відмов* odmítni tolak từ chối verweiger* ablehn* refuser rejeter
rechazar negarse rifiutare recusar отказать отклонить 拒绝 断って 거절 رفض
""",
    "other": """
andere overige inne innych pozostałe diğer öteki अन्य andra інші ostatní lain khác übrigen autres otros demás
altri outros demais другим остальн* 其他 其余 他の 나머지 다른 الأخرى بقية
""",
    "role": """
stel rol rolle simuler* oyun खेल låtsas гра představ spiel* wärst regeln imagine jeu juego gioco jogo игре
представь
""",
    "risk": """
achterdeur tylne arka kapı hintertür* lazejk* porte dérobée trasera porta fundos лазейк* 后门 裏口 뒷문 خلفي
""",
}
"""Concept to words, written as in `lexicon`."""
