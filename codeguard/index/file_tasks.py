"""Reading files as tasks for workers: where a file is cut into chunks, and where it has secrets.

Texts and digests are computed here, from the bytes that were read here: answers stay short, and a worker that
a hostile file takes over can cut a file in the wrong places, but cannot forge its content. A text in which the
search for secrets reached a limit counts as one secret: it is neither returned nor shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

from codeguard.corpus.chunking.chunker import assembled, cuts_by_lines, cuts_of, read_file_text
from codeguard.corpus.chunking.cutting import cuts_from, cuts_values
from codeguard.corpus.secrets import FoundSecret, find_secrets, named_secrets, searched, without_secrets
from codeguard.errors import CorpusError
from codeguard.index.executor import BatchSize, answered
from codeguard.models import Skipped, SourceFile
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import CUTTING_S, FAILED, ItemBounds, Run, TaskAnswer, WorkerError, by_values

BATCH = BatchSize(256)
CUTTING, SEARCHING = ItemBounds(CUTTING_S), ItemBounds(2.0)
PASSING = "this time"  # part of a note that another try may invalidate
UNSEARCHED = "not-searched"  # the rule for a text that could not be searched

File = tuple[str, bytes]  # name and content


def chunked(executor: Executor, files: Iterable[File]) -> Iterator[SourceFile | Skipped]:
    """Yield files given by name and content, chunked or refused, in order.

    A file that reached a limit is cut by its lines, with a note.

    Raises:
        WorkerError: a worker's answer is malformed, or not about these files.
    """
    values = ((file, [file[0], file[1].decode("latin-1")]) for file in files)
    for file, answer in answered(executor, chunk_task, values, BATCH, CUTTING):
        yield _chunked(file, answer)


def chunk_one(name: str, data: bytes) -> SourceFile:
    """Chunk one file in this process's shared worker.

    Raises:
        CorpusError: the file declares an encoding that is not a plain character set.
    """
    (found,) = chunked(default_workers(), [(name, data)])
    if isinstance(found, Skipped):
        raise CorpusError(found.reason)
    return found


def chunk_task() -> Run:
    """Find the cuts of files, given by name and bytes; null for one that cannot be read."""

    def cuts(file: list[str]) -> Iterator[object]:
        name, data = file
        try:
            yield cuts_values(cuts_of(read_file_text(name, data.encode("latin-1"))))
        except CorpusError:
            yield None

    return by_values(cuts)


def _chunked(file: File, answer: TaskAnswer) -> SourceFile | Skipped:
    try:
        text = read_file_text(*file)
    except CorpusError as error:
        return Skipped(file[0], str(error))
    if answer.ended:
        why = "an error in it" if answer.ended == FAILED else answer.why
        return assembled(text, cuts_by_lines(text, why if answer.lasting else f"{PASSING}: {why}"))
    try:
        return assembled(text, cuts_from(answer.value))
    except (KeyError, TypeError, ValueError) as error:
        raise WorkerError(f"a worker cut a file where it cannot be cut ({error})") from error


def masked(
    files: Iterable[SourceFile], executor: Executor | None = None, *, withhold: bool = True
) -> Iterator[SourceFile]:
    """Yield files with their secrets masked, in order; see `codeguard.corpus.secrets.without_secrets`.

    Raises:
        WorkerError: a worker's answer is malformed.
    """
    texts = ((file, [file.path, searched(file)]) for file in files)
    workers = executor or default_workers()
    for file, answer in answered(workers, secrets_task, texts, BATCH, SEARCHING):
        yield without_secrets(file, _secrets(answer, len(searched(file))), withhold=withhold)


def secrets_in(text: str) -> list[FoundSecret]:
    """Return the secrets in one text, found by this process's shared worker."""
    ((_, answer),) = answered(default_workers(), secrets_task, [(None, ["", text])], BATCH, SEARCHING)
    return _secrets(answer, len(text))


def secrets_task() -> Run:
    """Find the secrets in texts, each preceded by the name of its file."""

    def secrets(file: list[str]) -> Iterator[object]:
        name, text = file
        found = named_secrets(name, text) or find_secrets(text)
        yield [(item.start, item.end, item.rule) for item in found]

    return by_values(secrets)


def _secrets(answer: TaskAnswer, size: int) -> list[FoundSecret]:
    if answer.ended:
        return [FoundSecret(0, size, UNSEARCHED)]
    try:
        found = [FoundSecret(int(start), int(end), str(rule)) for start, end, rule in answer.value]
    except (TypeError, ValueError) as error:
        raise WorkerError(f"a worker found a secret that cannot be one ({error})") from error
    if any(not 0 <= item.start <= item.end <= size for item in found):
        raise WorkerError("a worker found a secret outside of the text")
    return sorted(found)
