"""Words by their function in an instruction to a model, in twelve languages.

A word that ends in `*` is a prefix. Chinese and Japanese words (and Korean stems with attached
particles) are searched inside the text, others as whole words. The order of languages is English,
German, French, Spanish, Portuguese, Italian, Russian, Arabic, Chinese, Japanese, Korean.
"""

from __future__ import annotations

from codeguard.analysis.rules.injection.languages import LANGUAGES
from codeguard.analysis.rules.injection.manner import (
    ALWAYS,
    AUTHORITY,
    NEVER,
    POLITE,
    PRAISE,
    PRIOR,
    RISK,
    ROLE,
    SECRECY,
    WHEN,
)
from codeguard.analysis.rules.injection.synonyms import SYNONYMS

ADDRESSEE = """
agentic mcp codex cursor windsurf genai artificial-intelligence linguistici linguistico lenguaje
linguagem langage الوكلاء الآليون اللغوي اللغوية لغوي اصطناعيا مساعدو مساعدا مولدات روبوت بوت
ai ais llm llms copilot copilots chatgpt gpt gpts claude gemini codex chatbot chatbots codewhisperer
assistant
assistants tabnine deepseek llama mistral aider autocomplete autocompleter codegen summarizer summariser
ki ki-assistent* ki-modell* ki-system* assistent* codegenerator* sprachmodell* code-assistent*
codeassistent* chatbots
ia assistante assistants iagénérative générateur* générateurs asistente* generador* generadores assistente*
gerador* geradores
ии ассистент* помощник* нейросет* нейросеть чат-бот* чатбот* ии-ассистент* ии-помощник* кодогенератор*
языков*
المساعد مساعد المساعدون الذكاء الاصطناعي ذكاء اصطناعي المساعدين
人工智能 智能助手 助手 助理 大模型 语言模型 AI模型 编程助手 代码生成器 代码助手 语言模型 機器人 机器人 模型
アシスタント 言語モデル 人工知能 コード生成 生成AI コーディング支援 モデル
어시스턴트 인공지능 언어 언어모델 챗봇 코드생성 모델 도우미
"""

MACHINE = """
platform linter analyser analyzer grader benchmark أدوات النظام
model models agent agents bot bots generator generators completer tool tools reader readers automation
automated
machine machines engine engines crawler retriever retrieval pipeline summary indexer scanner reviewer
reviewers rag tooling
modell modelle agent* werkzeug* modèle* outil* agents modelo* herramienta* agente* ferramenta* modello
modelli strument*
модел* агент* инструмент* бот боты генератор* النموذج نموذج النماذج الأداة وكيل 智能体 代理 工具 生成器
エージェント ツール 生成器 에이전트 도구 생성기
"""

YOU = """
you your yours yourself yourselves thou thy u ya y'all whoever
du dich dir dein deine deinen deiner deinem ihr euch euer eure sie ihnen ihre ihren ihrem ihrer
tu toi ton ta tes vous votre vos tú ti tus usted ustedes su sus você vocês seu sua seus suas teu tua voi
vostro tuo tua tuoi lei
ты тебя тебе тобой твой твоя твои твою твоего вы вас вам вами ваш ваша ваши вашу вашего أنت انت لك أنتم عليك
你 您 你们 你的 あなた 君 お前 貴方 당신 너는 네가 너의 귀하
"""

OVERRIDE = """
ignore* ignoring disregard* forget* overrid* overrul* bypass* discard* supersed* neglect* void voids voided
nullif*
cancel* dismiss* circumvent* revoke* replaces abandon* invalidat* suspend* lift lifted unlearn*
ignorier* vergiss vergesst vergessen missacht* verwirf verwerfe* überschreib* umgeh* umgehe außer aufgehoben
übergeh* hinfällig
ignore* ignorez ignorer oublie oubliez oublier contourn* outrepass* annul* remplac* néglige* abandonn*
ignora* ignore ignoren olvida* olvide olviden descarta* descarte anula* anule omite* reemplaz* haz
desconsider* esqueça* esquecer esqueca ignore substitu* dimentic* ignora trascura* scavalc*
игнорир* проигнорир* забуд* забыть отмен* обойд* обход* отброс* пренебре* отключ* недействительн*
تجاهل تجاهلوا انس انسَ ألغ تخطى تجاوز إلغاء
忽略 无视 忘记 忘掉 覆盖 绕过 作废 取消 不要理会 抛弃 無視 忘れ 上書き 破棄 取り消 무시 잊어 잊고 우회 취소
폐기
"""

INSTRUCTION = """
norma norme lei licencia licença licence licenza condition conditions terms standard convention سياسة
السياسة قاعدة معيار رخصة شرط تعليمة القواعد norm lizenz bedingung norma prompt systemprompt direttiva
лицензи* стандарт* требован*
instruction* instruct instructed directive* guideline* rule rules order orders command commands prompt
prompts prompted
constraint* policy policies guardrail* restriction* guidance task tasks goal goals request training mandate*
limits limitations safeguards
anweisung* vorgabe* regel* richtlinie* befehl* instruktion* auftrag einschränkung* vorschrift* aufgabe*
consigne* directive* règle* ordres instructions contrainte* politique* tâche
instruccion* instrucción regla* orden órdenes directriz directrices restriccion* política* normas
instruç* regra* diretriz* ordens restriç* istruzion* regol* direttiv* vincol*
инструкци* указани* правил* директив* приказ* команд* ограничени* политик* промпт* задани* задач*
التعليمات تعليمات القواعد الأوامر أوامر القيود
指令 指示 规则 命令 提示 约束 限制 要求 说明 准则 策略 指示 ルール 命令 プロンプト 制約 規則 方針 지시 명령
규칙 지침 프롬프트 제약
"""

RECOMMEND = """
surface adopt embrace استخدام يوصي توصي يستخدم اعتمد اختيار cita retorne devolva devuelve renvoi* liefer*
nenn* zeig* montre* mostra* verni отве* adotar
recommend* prefer prefers preferred preferring suggest* favor favors favour* favored choose chooses choosing
pick picks
select selects selecting rank ranks ranking cite cites promote* propose* reuse* copy copies copying
reproduce* adopt* quote*
paste* use uses using advise* endorse* offer* prioritize* prioritise* highlight* point steer
empfehl* empfiehl* bevorzug* vorschlag* schlag* wähle* verwende* benutze* nutze* nimm kopier* übernehm*
zitier* rate priorisier* setze
recommand* préfér* privilégi* sugg* choisi* utilis* emplo* copi* reprendre reprenez reprends cite* propos*
conseill* priori*
recomiend* recomend* prefier* prefer* suger* elig* elij* escoj* us* utilic* utiliz* copi* cit* propon*
prioriz* aconsej*
recomend* prefir* sugir* escolh* use usar copie consigli* raccomand* preferi* sugger* scegli* usa usate
copia
рекоменд* предпоч* предлаг* предлож* выбир* выбер* использ* применя* копир* скопир* цитир* советуй* ставь
поставь
أوصِ أوص اقترح استخدم اختر فضل يفضل انسخ استعمل
推荐 优先 首选 建议 选择 使用 采用 复制 引用 选用 推薦 優先 提案 選択 選ぶ 使う 使用 採用 コピー 引用 勧め
薦め 추천 우선 선호 제안 선택 사용 복사 인용 권장
"""

INSERT = """
استيراد تثبيت كتابة توليد تعديل استدعاء capture pull run execute invoke paste carry ajust* ejecuta
execut* rode roda lanza lance exécut* führe starte rufe выполн* запус* вызыв* esegu* invoca نفذ شغل
استبدل عدل غير أعد أدرج تضمين
insert* add adds adding include includes including append* emit emits output outputs import imports
importing install installs
installing generate* generating write writes writing produce produces inject* embed* place put attach*
replace* swap change
pip npm prepend* begin start finish end reply respond answer say state return declare
füge* einfüg* ergänz* schreib* importier* installier* erzeug* generier* ausgib* gib binde einbinde* ersetze*
antworte* baue beginne
ajout* insér* inclu* import* install* génér* écri* produi* émet* répond* réponse remplac* commenc* termine*
añad* agreg* insert* inclu* import* instal* gener* escrib* respond* produc* reemplac* pon empiez* termin*
adicion* inclua insir* import* instal* gere gerar escrev* respond* aggiung* inserisc* includ* install*
scriv* rispond*
добав* встав* включ* импортир* установ* генерир* напиш* пиши ответ* вывод* выведи замен* подключ* начни
أضف أدرج استورد ثبت اكتب أجب ضع
添加 加入 插入 包含 导入 安装 生成 编写 写入 输出 回答 回复 替换 加上 追加 挿入 含め インポート インストール
生成 書く 書いて 出力 答え 回答 置き換え 추가 삽입 포함 임포트 가져와 설치 생성 작성 출력 대답 답변 교체
"""

ARTIFACT = """
repository repo codebase المكتبة المثال المثال التنفيذ الوحدة النسخة أدناه التالي التالية هذا مكتبة كود
الكود módulo módulos linha linhas línea líneas ligne lignes zeile zeilen строк* abajo abaixo ci-dessous
unten ниже comment note notes line lines pattern class
this these here below following snippet snippets version function functions implementation implementations
file files example
examples code codes module library package packages block routine method helper sample approach variant
diese* dieser hier funktion* variante beispiel* paket* bibliothek* modul* datei* implementierung* abschnitt*
folgend*
ce cet cette ces ici fonction* extrait* exemple* paquet* bibliothèque* fichier* implémentation* suivant*
version
este esta estos estas aquí función funciones fragmento* ejemplo* paquete* librería* biblioteca* archivo*
código implementación versión
esta este trecho* função funções pacote* arquivo* exemplo* questo questa frammento* funzione pacchetto*
libreria codice
этот эта эту это этого данн* функци* фрагмент* пример* пакет* библиотек* модул* файл* код кода коде
реализаци* верси*
هذا هذه الدالة الكود المكتبة الحزمة الملف
这个 此 该 本 函数 代码 片段 示例 版本 实现 包 库 模块 文件 以下 この 関数 コード スニペット 例 パッケージ
ライブラリ モジュール ファイル 実装 以下 이 함수 코드 예제 패키지 라이브러리 모듈 파일 구현 아래
"""

TELL = """
حرف تخبره تعلم ذكر إخبار كشف conte conta dirlo decirlo erzähl* digas rede
mention* tell tells telling reveal* disclos* explain* inform* notify notif* warn warns warning warnings
report* comment
discuss* announce* acknowledg* admit* point flag flags draw ask hint know knows notice notices aware see
erwähn* sag sage verrat* verrate* offenleg* erklär* informier* warne* warnung* hinweis* meld* melde erfährt
wissen merk* frag*
mentionn* dis dire dites révél* divulgu* expliqu* inform* averti* signal* savoir sache préven* remarqu*
mencion* menciones diga digas decir revel* explic* informe* inform* advert* avis* comunic* sepa notar
mencion* diga revele explique avise saiba menzion* dire dica rivel* spieg* avvis* segnal* sappia
упомина* упомян* говор* сообщ* раскрыва* раскры* объясня* объясн* предупрежд* предупре* скаж* рассказ* узна*
замет*
تذكر تخبر تكشف تشرح تحذر أخبر
提及 提到 告诉 透露 说明 解释 告知 警告 通知 提醒 知道 察觉 発見 言及 伝え 知らせ 明かさ 説明 警告 触れ 気づ
언급 말하 알리 알려 밝히 설명 경고 눈치
"""

PERSON = """
staff engineer engineers المراجع شخص أحد فريق الفريق الناس العميل equipe équipe nutzern quiconque alguien
quien alguém quem jemand кто кому службы служба
user users developer developers human humans person people customer* operator operators programmer* author
author's maintainer
reviewer reviewers auditor* team everyone anyone someone user's client boss
benutzer* nutzer* entwickler* mensch* anwender* kunde* person prüfer* programmierer* team
utilisateur* développeu* humain* client* personne* relecteur* équipe usuario* desarrollador* humano*
persona* cliente* revisor* equipo
usuário* desenvolvedor* pessoa* utente utenti sviluppator* umano
пользовател* разработчик* человек* людям клиент* программист* ревьюер* проверяющ* команд*
المستخدم المستخدمين المطور المطورين الإنسان
用户 开发者 开发人员 人类 客户 程序员 审查者 审核 使用者 ユーザー 利用者 開発者 人間 レビュア レビュー担当
사용자 유저 개발자 사람 검토자
"""

LEAK = """
encode transfer انقل حول اعرض اكشف أفصح publi* publique transfier* transfér* übertrag* löse grava gravar
log logs
send sends sending post posts posting upload* transmit* forward forwards leak* exfiltrat* print prints dump
dumps encode* reveal*
share shares deliver collect* gather read reads attach echo output submit ping fetch curl wget call contact
email
sende* schick* übermittl* hochlad* lade übertrag* ausgeben preisgib* weiterleit* sammle* lies auslesen
drucke
envoi* envoyez envoyer transme* téléverse* divulgu* affiche* collecte* lis lire lisez
envía* envia* enviar envíe* sube subir transmit* filtr* imprim* muestr* recopil* lee lea manda*
envie* mande mostre invia* inviare manda carica* stampa* raccogli* leggi
отправ* отошл* отсыла* перешл* передай* передава* выгруз* загруз* напечат* слей слив* собери прочита* шли
أرسل ارسل ارفع انشر اطبع سرب اقرأ
发送 上传 传输 转发 泄露 打印 提交 收集 读取 发到 发给 送信 アップロード 転送 漏ら 出力 表示 収集 読み取
전송 보내 업로드 유출 출력 수집 읽어
"""

SENSITIVE = """
session files repository متغيرات مفاتيح محتوى سجل محادثة ملف ملفات البيانات الاعتماد اعتماد كلمة قاعدة
sessão sesión sesion sitzung* variáveis variables variabili cronologia credenziali credenciales
credenciais jetons токен* сесси*
environment environ env .env credential* password* passwords token tokens secret secrets key keys apikey
api_key api-key api-keys
history conversation* context ssh id_rsa cookie cookies variables os.environ credentials keychain config
source workspace
umgebung* umgebungsvariable* zugangsdat* passwort* passwörter schlüssel* geheimnis* verlauf gespräch*
kontext konversation*
environnement identifiant* passe clés clé jeton* secrets historique conversation* contexte
entorno credencial* contraseña* clave* claves secreto* historial conversación contexto variables
ambiente credencia* senha* chave* segredo* histórico conversa* ambiente password chiavi chiave cronologia
окружени* переменн* парол* ключ* токен* секрет* учетн* учётн* истори* переписк* контекст* беседы
البيئة المفاتيح المفتاح كلمات المرور الرموز المحادثة بيانات
环境变量 环境 密钥 密码 令牌 凭证 凭据 历史 上下文 对话 聊天记录 機密 环境 環境変数 環境 パスワード 鍵
トークン 認証情報 履歴 会話 コンテキスト キー 환경변수 환경 비밀번호 토큰 열쇠 키를 자격 대화 기록 컨텍스트
"""

DISABLE = """
حذف تعطيل تجاوز إزالة تجاهل ignorar ignoré sauter saltarse pular omitir quitar remover gesetzt weglassen
überspringen abschalten disattivare omettere saltare rimuovere обход* игнорир*
disable* disabling turn off skip* remove* removing omit* drop drops suppress* deactivat* delete* relax*
weaken* leave out strip
comment unset verify=false verify=none false lower silence mute
deaktivier* abschalt* schalte ausschalt* überspring* entfern* weglass* lass lasse lösche* unterdrück* aus ab
désactiv* coupe* supprim* enlèv* saute* omet* retire*
desactiv* deshabilit* apag* elimin* quit* omit* salt* suprim* borra*
desativ* deslig* remov* pul* omita disattiv* disabilit* rimuov* salta* elimin*
отключ* выключ* пропус* удал* убери убирай убрать снять опус*
عطل أوقف احذف أزل تخط إيقاف تعطيل
禁用 关闭 跳过 移除 删除 去掉 省略 停用 关掉 無効 スキップ 削除 外す 外して 省略 オフ 비활성 끄고 끄도록 꺼
건너뛰 제거 삭제 생략 해제
"""

SAFETY = """
bounds locks audit audited التحقق فحص الفحص الفحوص الاختبارات اختبار مراجعة تدقيق tests testes pruebas
checagem validazione entradas validação авториз* аудит* тесты тест eingabe* prüfungen contrôles audit*
auditado
verification validation validations check checks tls ssl certificate* authentication auth authorization
sanitiz* sanitis* signature*
sandbox* security safety warning warnings test tests escaping verify verified filter filters protection*
csrf sanitizers safeguard*
permission* checksum* review scan
prüfung* überprüfung* validierung* zertifikat* authentifizierung* sicherheit* signatur* sicherheitsprüfung*
zertifikatsprüfung* warnung* tests eingabeprüfung*
vérification* validation* certificat* authentification* sécurité signature* contrôle* avertissement*
verificaci* validaci* certificado* autenticaci* seguridad firma* comprobaci* advertencia*
verifica* validaç* autenticaç* segurança certificat* sicurezza firma controll*
проверк* проверя* валидаци* сертификат* аутентификаци* безопасност* подпис* предупрежд* авторизаци* защит*
фильтр*
التحقق الشهادات الشهادة الأمان التوثيق المصادقة الأمنية
验证 校验 证书 认证 安全 签名 检查 测试 过滤 鉴权 検証 証明書 認証 セキュリティ 署名 チェック 安全 検査 확인
검증 인증서 인증 보안 서명 검사
"""

ANSWER = """
reply solve الجواب جواب إجابتك إجاباتك الحل المولد الناتج resposta risposta réponses respuestas предлож*
ответе ответах frage pregunta pergunta question domanda вопрос* сугест*
answer* response* reply replies output outputs completion completions suggestion* generated generating
generation summary summaries
summariz* summaris* completing autocomplet* code patch patches explanation* result results diff review
reviews program programs solution solutions
antwort* ausgabe* vorschläge* vorschlag* generier* zusammenfassung* ergebnis* codevorschläge* lösung*
vervollständig*
réponse* sortie* suggestion* génér* résum* complétion* solution*
respuesta* salida* sugerencia* gener* resum* resultado* solución soluciones
resposta* saída sugest* gerad* resum* rispost* suggeriment* generat* riassunt* soluzion*
ответ* вывод* предложени* сгенерир* генераци* резюме подсказ* решени* автодополн*
الرد الإجابة إجابة الرد المخرجات الردود اقتراح
回答 回复 答案 输出 补全 生成 摘要 总结 建议 结果 应答 回答 応答 出力 補完 生成 要約 提案 結果 返答 답변
응답 출력 완성 생성 요약 제안 결과
"""

_WORDS: dict[str, str] = {
    "addressee": ADDRESSEE,
    "machine": MACHINE,
    "you": YOU,
    "override": OVERRIDE,
    "prior": PRIOR,
    "instruction": INSTRUCTION,
    "recommend": RECOMMEND,
    "insert": INSERT,
    "artifact": ARTIFACT,
    "always": ALWAYS,
    "never": NEVER,
    "tell": TELL,
    "person": PERSON,
    "secrecy": SECRECY,
    "leak": LEAK,
    "sensitive": SENSITIVE,
    "disable": DISABLE,
    "safety": SAFETY,
    "authority": AUTHORITY,
    "answer": ANSWER,
    "when": WHEN,
    "praise": PRAISE,
    "role": ROLE,
    "polite": POLITE,
    "risk": RISK,
}
CONCEPTS: dict[str, str] = {
    concept: " ".join(words.get(concept, "") for words in (_WORDS, SYNONYMS, LANGUAGES))
    for concept in dict.fromkeys((*_WORDS, *SYNONYMS))
}
"""Concept to its words, parted by whitespace."""
