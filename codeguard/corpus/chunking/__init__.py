"""Cut source files into chunks that tile them byte for byte: functions, methods, class headers, remainders."""

from codeguard.corpus.chunking.chunker import CHUNKER_ID, chunk_file
from codeguard.corpus.chunking.grammars import gave_up, languages

__all__ = ["CHUNKER_ID", "chunk_file", "gave_up", "languages"]
