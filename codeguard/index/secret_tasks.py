"""The search for secrets as a task for workers, with limits like all processing of untrusted text.

A text that reached a limit counts as one secret: it is neither returned nor shown.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor

from codeguard.corpus.secrets import FoundSecret, find_secrets, named_secrets, without_secrets
from codeguard.index.executor import batched, spread
from codeguard.models import SourceFile
from codeguard.workers.processes import default_workers
from codeguard.workers.tasks import ItemBounds, Run, TaskAnswer, WorkerError

TEXTS_A_BATCH, BATCH_BYTES = 256, 1 << 20
BOUNDS = ItemBounds(2.0)
UNSEARCHED = "not-searched"  # the rule for a text that could not be searched


def secrets_task() -> Run:
    """Find the secrets in texts, each preceded by the name of its file."""

    def run(payload: bytes) -> Iterator[bytes]:
        name, _, data = payload.partition(b"\n")
        text = data.decode("utf-8", "surrogatepass")
        found = named_secrets(json.loads(name), text) or find_secrets(text)
        yield json.dumps([(item.start, item.end, item.rule) for item in found]).encode("ascii")

    return run


def masked(
    files: Iterable[SourceFile], executor: Executor | None = None, *, withhold: bool = True
) -> Iterator[SourceFile]:
    """Yield files with their secrets masked, in order; see `codeguard.corpus.secrets.without_secrets`.

    Raises:
        WorkerError: a worker's answer is malformed.
    """
    sent: deque[SourceFile] = deque()

    def texts() -> Iterator[tuple[str, str]]:
        for file in files:
            sent.append(file)
            yield file.path, "".join(chunk.text for chunk in file.chunks)

    for found in _searched(texts(), executor):
        yield without_secrets(sent.popleft(), found, withhold=withhold)


def secrets_in(text: str) -> list[FoundSecret]:
    """Return the secrets in one text, found by this process's shared worker."""
    (found,) = _searched([("", text)], None)
    return found


def _searched(texts: Iterable[tuple[str, str]], executor: Executor | None) -> Iterator[list[FoundSecret]]:
    sizes: deque[int] = deque()

    def items() -> Iterator[bytes]:
        for name, text in texts:
            sizes.append(len(text))
            yield json.dumps(name).encode("ascii") + b"\n" + text.encode("utf-8", "surrogatepass")

    batches = batched(items(), TEXTS_A_BATCH, BATCH_BYTES)
    for answer in spread(executor or default_workers(), secrets_task, batches, bounds=BOUNDS):
        yield _found(answer, sizes.popleft())


def _found(answer: TaskAnswer, size: int) -> list[FoundSecret]:
    if answer.ended:
        return [FoundSecret(0, size, UNSEARCHED)]
    try:
        found = [FoundSecret(int(start), int(end), str(rule)) for start, end, rule in json.loads(answer.last)]
    except (TypeError, ValueError) as error:
        raise WorkerError(f"a worker found a secret that cannot be one ({error})") from error
    if any(not 0 <= item.start <= item.end <= size for item in found):
        raise WorkerError("a worker found a secret outside of the text")
    return sorted(found)
