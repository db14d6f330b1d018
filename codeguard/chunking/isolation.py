"""Parse in a process of its own, because some grammars can be made to hang or to take all memory.

Twenty kilobytes of `x=>` cost the C grammar a minute and four gigabytes, and
neither a deadline nor a cancellation reaches into the parser. A process can
be ended, and a limit on its memory ends it before the machine is full.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time

from codeguard.chunking.base import Grammar
from codeguard.chunking.cutting import Cut, by_lines
from codeguard.chunking.cutvalues import cut_of

MEMORY_BYTES = 2 << 30
READ_BYTES, WRITE_BYTES = 1 << 20, 1 << 16
# Ordinary code takes 0.1 s to 0.5 s a megabyte: these are for a machine that is ten times slower and busy.
DEADLINE_S = 10.0
DEADLINE_S_PER_BYTE = 10e-6

_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from codeguard.chunking.worker import main; main(int(sys.argv[2]))"
)


class ParserProcess:
    """A process that cuts texts, started when it is first needed and again after it had to be ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0

    def cut(self, text: bytes, grammar: Grammar, max_chars: int) -> Cut:
        """Cut a text by its grammar; by lines, with a note, where the parser hangs or dies."""
        header = json.dumps({"grammar": grammar.name, "max_chars": max_chars, "size": len(text)}).encode()
        with self._lock:
            deadline = time.monotonic() + DEADLINE_S + DEADLINE_S_PER_BYTE * len(text)
            answer = self._exchange(header + b"\n" + text, deadline)
            if answer is None:
                self.close()
                return by_lines(text, max_chars, f"chunked by lines: the {grammar.name} parser gave up on it")
        return cut_of(json.loads(answer))

    def close(self) -> None:
        """End the process, if there is one of ours."""
        process, self._process = self._process, None
        if process is not None and self._owner == os.getpid():
            process.kill()
            process.communicate()

    def _exchange(self, request: bytes, deadline: float) -> bytes | None:
        """Send a request and return the line that answers it, None where none came in time."""
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        source, sink = process.stdout.fileno(), process.stdin.fileno()
        unsent, answer = memoryview(request), bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(source, selectors.EVENT_READ)
            selector.register(sink, selectors.EVENT_WRITE)
            while not answer.endswith(b"\n"):
                ready = selector.select(deadline - time.monotonic())
                if not ready:
                    return None
                try:
                    for key, _ in ready:
                        if key.fd == source:
                            part = os.read(source, READ_BYTES)
                            if not part:
                                return None
                            answer += part
                        else:
                            unsent = unsent[os.write(sink, unsent[:WRITE_BYTES]) :]
                            if not unsent:
                                selector.unregister(sink)
                except OSError:  # it died
                    return None
        return bytes(answer)

    def _running(self) -> subprocess.Popen[bytes]:
        # After a fork the pipes are the parent's: two users would read each other's answers.
        if self._process is not None and self._owner == os.getpid() and self._process.poll() is None:
            return self._process
        self.close()
        path = json.dumps([entry for entry in sys.path if os.path.isabs(entry)])  # noqa: PTH117
        self._process = subprocess.Popen(
            # -I: the working directory may be the hostile repository, and must not be imported from.
            [sys.executable, "-I", "-c", _START, path, str(MEMORY_BYTES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        self._owner = os.getpid()
        os.set_blocking(self._process.stdin.fileno(), False)  # type: ignore[union-attr]
        return self._process


PARSER_PROCESS = ParserProcess()
