"""Text-domain defenses: label flips at ingestion, poisoned passages at retrieval, consensus at synthesis."""

from codeguard.text.ingest import IngestReport, ingest, remove_batch, stored_documents
from codeguard.text.joined import JoinedEmbedding, label_embedding
from codeguard.text.label_flip import LabelFlipConfig, LabelFlipDefense
from codeguard.text.labels import LabelledBase
from codeguard.text.model import Document, Judgment, Selection, TextDefense, TextDefenseError

__all__ = [
    "Document",
    "IngestReport",
    "JoinedEmbedding",
    "Judgment",
    "LabelFlipConfig",
    "LabelFlipDefense",
    "LabelledBase",
    "Selection",
    "TextDefense",
    "TextDefenseError",
    "ingest",
    "label_embedding",
    "remove_batch",
    "stored_documents",
]
