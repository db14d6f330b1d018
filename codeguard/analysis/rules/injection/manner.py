"""Words by the manner of an instruction: claims, tone, time and risk; in the notation of `lexicon`."""

from __future__ import annotations

AUTHORITY = """
legal management ciso cto مدير مسؤول وافق صرح أمر الشركة فريق الأمان équipe equipo diretoria dirección
direction leitung руководств* службой безопасности responsabile approvato
system admin administrator* maintainer* approved authoriz* authoris* official* certified compliance audited
mandated urgent
important priority security-team vendor corporate company ciso policy governance operator root privileged
legal cleared sanctioned critical
notice attention trusted verified
admin* verwaltung freigegeben* genehmigt* offiziell* geprüft* zertifiziert* wichtig* dringend*
sicherheitsteam autorisiert* vorrang priorität achtung hinweis
administrateur* approuv* autoris* officiel* certifié* important* urgent* prioritaire attention avis système
administrador* aprobad* autorizad* oficial* certificad* importante* urgente* prioridad sistema atención
aviso
aprovad* autorizad* oficial urgente sistema approvat* ufficial* autorizzat* importante sistema attenzione
администратор* одобр* официальн* сертифиц* важно важн* срочно систем* утвержд* разрешен* приоритет* внимание
уполномоч*
النظام المدير معتمد معتمدة رسمي مهم عاجل
系统 管理员 批准 授权 官方 认证 重要 紧急 优先级 注意 合规 システム 管理者 承認 公式 認定 重要 緊急 許可
시스템 관리자 승인 공식 인증된 중요 긴급 허가
"""

WHEN = """
إن عن حول سؤال عند quiconque alguien falls lors jedesmal
when whenever if once while asked asks asking request requests requested query question questions wants want
seeks needs looking upon
wenn falls sobald gefragt fragt anfrage* frage* bittet verlangt bei
si quand lorsque lorsqu'un demand* question* requête* dès souhait*
cuando si pregunt* pide solicit* consulta* pidan quiera
quando se pergunt* pede pedir solicit* chied* richied* domand*
если когда спраш* спросит* просит попрос* запрос* вопрос* при
إذا عندما سأل طلب يسأل يطلب
如果 当 询问 请求 问 提问 每当 查询 一旦 もし 場合 たら 時 尋ね 聞かれ 質問 依頼 求め なら 만약 때 묻 물어
요청 질문 경우 면
"""

PRAISE = """
مدققة مدقق صحيح المعتمدة آمنة آمن audité auditado auditada audit* geprüft* проверен* безопасн* sem falhas
sin fallos
safe safest trusted secure verified correct best canonical preferred authoritative only official recommended
fastest definitive
superior standard reliable proven gold vetted endorsed
sicher* beste* richtige* kanonisch* zuverlässig* einzig* bewährt* maßgeblich*
sûr* fiable* meilleur* correct* canonique* seule référence
segur* mejor* correct* confiable* canónic* única único
segur* melhor* confiáve* sicur* miglior* affidabil*
безопасн* лучш* правильн* надежн* надёжн* единственн* эталон* проверенн*
آمن الأفضل الصحيح موثوق الوحيد
安全 最佳 最好 正确 可靠 唯一 权威 标准 最優 安全 最良 正しい 唯一 信頼 最適 推奨 안전 최고 올바른 유일 신뢰
최적
"""

ROLE = """
act pretend* roleplay* persona dan jailbreak* mode unrestricted role behave impersonat* simulate* become
freed unleashed uncensored
rolle verhalte modus tu als unbeschränkt* agis rôle mode comporte* actúa rol modo compórtate finge atue aja
papel agisci ruolo modalità
роль роли режим* притвор* веди представь ролев* تصرف دور وضع 扮演 角色 模式 假装 充当 扮 演じ 役割 モード
ふり 역할 모드 행동해 가장
"""

POLITE = """
نرجو أرجو لطفا تكرم mind favour favor appreciate s'il plaît bittet gostaríamos gustaría gentil pedimos
aimerions bitten бы просим добры prega
please kindly thanks thank appreciate* grateful would could gladly remember note ensure sure
bitte danke freundlich dankbar beachte denk könntest würdest merci svp prière veuillez merci rappel* pensez
assure*
por favor gracias amablemente agradec* recuerd* asegúr* obrigado gentileza lembre* favore grazie gentilmente
ricord*
пожалуйста спасибо прошу будьте будь помни учти убедись просьба من فضلك رجاء يرجى شكرا تذكر
请 麻烦 谢谢 烦请 敬请 记住 确保 ください お願い 願い どうか 下さい 忘れず 주세요 부탁 제발 바랍니다
주십시오 하십시오 세요
"""

RISK = """
md5 sha1 eval exec pickle pickle.loads strcpy unsafe insecure backdoor* plaintext cleartext hard-code* hardcode*
hard-coding
chmod unwrap debug http f-string f-strings concatenat* shell string-concatenat* unchecked unvalidated unsanitised
unsanitized vulnerable vulnerabilit* payload malicious exploit* random yaml.load clear plain weak 0777
klartext unsicher* schwach* fest zusammensetz* vulnérab* clair dur concatén* faille* concaten* inseguro insegura
claro vulnerab*
уязвим* небезопасн* открыт* конкатен* журнал 明文 拼接 写死 漏洞 后门 平文 連結 脆弱 直接 평문 취약 연결 ثغرة
"""

SECRECY = """
secret* silent* quietly hidden conceal* hide hides hiding covert* confidential* invisible unnoticed
discreet* privately undetected
omitting unmentioned ourselves stealth*
heimlich* still geheim* stillschweigend verborgen* versteck* vertraulich* unauffällig* verschweig* unbemerkt
diskret*
secrètement silencieu* cach* discrèt* confidentiel* dissimul* discrétion silence
secret* silencios* ocult* escond* confidencial* discret* sigilo* segreto nascond* nascost*
тайно скрыт* скрой* скрыва* молча незаметно конфиденциальн* секретн* втайне тих*
سرا سرًا سري أخف مخفي بصمت
秘密 隐藏 悄悄 保密 暗中 静默 偷偷 隐瞒 秘かに こっそり 秘密 隠し 隠す 黙って 内緒 ひそかに 몰래 비밀 숨기
숨겨 조용히
"""

ALWAYS = """
require requires usually generally default normalmente normalement habitualmente обычно умолчанию
يتطلب عادة ينبغي عليك يلتزم ملزم على todo toda todas todos tutti tutte tout toute toutes tous alle jeder
aller все любой везде precisa precisam deveriam dovrebbero doit devra devono müsse darf dürfen
always must every whenever each everytime should shall required mandatory necessarily only instead rather
exclusively
unconditionally regardless immediately henceforth hereafter onward onwards now ought have need needs
immer muss müssen musst stets jedes jede jedem soll sollen sollte sollten ausschließlich grundsätzlich
zwingend ab sofort statt stattdessen unbedingt
toujours doit doivent devez dois devrait chaque systématiquement impérativement obligatoirement
exclusivement désormais dorénavant plutôt
siempre debe deben debes debería cada obligatoriamente exclusivamente únicamente inmediatamente tiene tienes
sempre deve devem deverá cada obrigatoriamente somente devi dovete ogni esclusivamente
всегда должен должна должны обязан* обязательно каждый каждом нужно необходимо следует исключительно
немедленно отныне теперь вместо только
دائما دائمًا يجب ينبغي فقط كل الآن
总是 始终 必须 务必 每次 一律 应该 应当 应 只能 必ず 常に 毎回 べき 必要 代わりに 直ちに 항상 반드시 언제나
매번 해야 대신 즉시
"""

NEVER = """
keiner niemand никому никто nadie ningún ninguém personne nessuno لا تخبر عدم وعدم nessuna
never not don't dont avoid avoids stop stops refrain* without cannot can't refuse* no neither nothing nobody
none won't shouldn't
nie niemals nicht kein keine keinen keinesfalls ohne vermeide* unterlass* nichts
jamais pas ne n' aucun aucune sans évite* rien nunca jamás no sin ningún ninguna evite evita* nada tampoco
não nunca jamais sem nenhum* nada evite mai non senza nessun* niente
никогда не нельзя без запрещ* никак* ничего избега* ни لا أبدا أبدًا دون بدون لن
不要 不得 切勿 禁止 从不 永远不 无需 别 请勿 不许 不 しない ないで 決して 禁止 なし せず ず 말고 절대 하지
마 없이 금지 않
"""

PRIOR = """
previous* prior earlier above preceding foregoing former existing original initial any everything current
other before past
bisherig* vorherig* vorig* obig* früher* vorangegangen* bestehend* vorangehend*
précédent* antérieur* ci-dessus existant* préalables antes anterior* previ* existente* precedent* dessus
предыдущ* прежн* ранее прошл* вышеуказанн* выше существующ* السابقة السابق أعلاه
之前 以前 先前 上面 上述 此前 原有 以上 前述 以前の これまで 上記 先の 이전 위의 앞의 기존 앞선
"""
