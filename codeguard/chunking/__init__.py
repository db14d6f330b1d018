"""Cut source files into chunks that tile them byte for byte: functions, methods, class headers, remainders."""

from codeguard.chunking.base import LanguageInfo
from codeguard.chunking.chunker import CHUNKER_ID, chunk_file
from codeguard.chunking.registry import languages

__all__ = ["CHUNKER_ID", "LanguageInfo", "chunk_file", "languages"]
