"""Text-domain defenses against flipped labels, poisoned passages and minority claims in summaries.

In: documents with what is known of them, and a query. Out: a `Selection` with a reason for every
document. Label flips are found at ingestion (`label_flip`), poisoned passages at retrieval
(`filterrag`, `mlfilter`), conflicting claims when an answer is made (`consensus`).
"""

from codeguard.text.label_flip import LabelFlipDefense, LabelledBase, label_embedding
from codeguard.text.model import Document, Judgment, Selection, TextDefense, TextDefenseError

__all__ = [
    "Document",
    "Judgment",
    "LabelFlipDefense",
    "LabelledBase",
    "Selection",
    "TextDefense",
    "TextDefenseError",
    "label_embedding",
]
