"""Small labelled texts that several tests share."""

from codeguard.text import Document

HAM = (
    "are you coming home for dinner tonight",
    "call me when you finish the lecture",
    "sorry I am late, the bus did not come",
    "mum says happy birthday and see you on sunday",
    "shall we meet at the library after class",
    "I left my keys at your place again",
    "thanks for the lift yesterday, you are a star",
    "what time does the film start tomorrow",
    "the baby slept all night, finally",
    "can you buy milk and bread on your way home",
    "ok lets talk later, I am in a meeting",
    "did you finish the homework for monday",
)
SPAM = (
    "WINNER! claim your free prize now, call 0900123456",
    "urgent: you have won a 1000 pound cash prize, txt CLAIM to 80000",
    "free ringtones! text TONE to 85555, 150p per message",
    "congratulations, your mobile number won a free holiday, call now",
    "get cheap loans now, no credit check, reply YES",
    "hot singles want to chat, text CHAT to 69888, 18+",
    "claim your guaranteed free gift voucher today, call 09061234567",
    "your account won 2000 bonus points, call to claim the prize",
    "free entry in our weekly cash competition, text WIN to 87121",
    "final notice: claim your free camera phone, call 08001234567 now",
    "you have been selected for a free cash award, txt NOW to 80082",
    "exclusive offer: free minutes and texts, call 0800 to upgrade",
)


def labelled(texts: tuple[str, ...], label: str, start: str) -> list[Document]:
    return [Document(text, id=f"{start}{number}", label=label) for number, text in enumerate(texts)]


def clean_base() -> list[Document]:
    return labelled(HAM[:8], "ham", "h") + labelled(SPAM[:8], "spam", "s")


def clean_batch() -> list[Document]:
    return labelled(HAM[8:], "ham", "bh") + labelled(SPAM[8:], "spam", "bs")


def flipped(documents: list[Document]) -> list[Document]:
    other = {"ham": "spam", "spam": "ham"}
    return [Document(item.text, id=item.id, label=other[item.label]) for item in documents]
