"""The trust of a chunk in the file in which it stands."""

from __future__ import annotations

from codeguard.analysis.python.bindings import module_bindings
from codeguard.models import Chunk, SourceFile, Trust
from codeguard.trust.verified import VerifiedManifest


def trust_in_file(manifest: VerifiedManifest | None, chunk: Chunk, file: SourceFile) -> Trust:
    """Return what a manifest says of a chunk, which counts only if an importer of its file gets that text.

    In a file that is listed as a whole, under any path, the text is what the trusted file has. Anywhere else a name
    may be bound again below the text, and then it is no copy, nor trusted because its path is.
    """
    if manifest is None:
        return Trust.UNLISTED
    found = manifest.trust_of(chunk.path, chunk.sha256)
    if found not in (Trust.TRUSTED, Trust.COPY) or chunk.language != "python" or manifest.lists(file.sha256):
        return found
    lines = range(chunk.start_line, chunk.end_line + 1)
    known = module_bindings(file.text)
    doubt = known.doubt(chunk.symbol, lines, known.used_in(lines))
    if doubt is None:
        return found
    return Trust.MODIFIED if doubt.certain and chunk.path in manifest.files else Trust.UNLISTED
