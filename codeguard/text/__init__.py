"""Text-domain defenses against flipped labels, poisoned passages and minority claims in summaries.

In: documents with what is known of them, and a query. Out: a `Selection` with a reason for every
document. Label flips are found at ingestion (`label_flip`), poisoned passages at retrieval
(`filterrag`, `mlfilter`), conflicting claims when an answer is made (`consensus`).
"""

from codeguard.text.label_flip import LabelFlipDefense as LabelFlipDefense
from codeguard.text.label_flip import LabelledBase as LabelledBase
from codeguard.text.label_flip import label_embedding as label_embedding
from codeguard.text.model import Document as Document
from codeguard.text.model import Judgment as Judgment
from codeguard.text.model import Selection as Selection
from codeguard.text.model import TextDefense as TextDefense
from codeguard.text.model import TextDefenseError as TextDefenseError
