"""How the command line speaks: results on stdout, the rest on stderr, nothing that acts on a terminal."""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

import click

from codeguard.errors import CodeguardError, NothingToDoError
from codeguard.escaping import escaped

if TYPE_CHECKING:
    from codeguard.config import Settings

EXIT_FINDINGS = 1
EXIT_ERROR = 2
EXIT_NOTHING = 3

P = ParamSpec("P")
R = TypeVar("R")


def say(line: str = "") -> None:
    """Print one line; whatever could act on a terminal is escaped."""
    click.echo(escaped(line))


def say_block(text: str) -> None:
    """Print text of several lines, our own layout with strangers' words already escaped."""
    click.echo(escaped(text, keep="\n"))


def warn(line: str) -> None:
    """Print one line on stderr."""
    click.echo(f"codeguard: {escaped(line)}", err=True)


def say_json(value: Any) -> None:
    """Print a value as JSON, one line of pure ASCII where it is a record of a stream."""
    click.echo(json.dumps(value, ensure_ascii=True))


def fail(error: CodeguardError) -> NoReturn:
    """End with one line on stderr and the exit code that fits."""
    warn(str(error))
    sys.exit(EXIT_NOTHING if isinstance(error, NothingToDoError) else EXIT_ERROR)


def guarded(command: Callable[P, R]) -> Callable[P, R]:
    """Turn errors into one line and an exit code; no traceback reaches a user."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except CodeguardError as error:
            fail(error)
        except BrokenPipeError:
            # The reader has gone; what is left in the buffer must not raise again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(EXIT_ERROR)
        except OSError as error:
            place = f" {error.filename}" if error.filename else ""
            fail(CodeguardError(f"the system refuses{place} ({error.strerror or error})"))
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:
            if os.environ.get("CODEGUARD_DEBUG"):
                raise
            cause = f"{type(error).__name__}: {error}".splitlines()[0]
            fail(
                CodeguardError(
                    f"internal error ({cause})", hint="CODEGUARD_DEBUG=1 shows where; please report it"
                )
            )
        except KeyboardInterrupt:
            warn("interrupted; what was written is consistent, the same command goes on from here")
            sys.exit(130)

    return run


def read_settings(context: click.Context, **changes: Any) -> Settings:
    """Return the settings of `--config`, changed by the options that were given."""
    from codeguard.config import load_settings  # `--help` does without

    path = context.find_root().params.get("config")
    return load_settings(Path(path) if path else None).replace(**changes)


class Progress:
    """Progress with rate and remaining time on stderr, only where it is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage = ""
        self._start = 0.0
        self._last = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._start, self._last = stage, now, 0.0
        if not self._shown or (now - self._last < 0.1 and done < total):
            return
        self._last = now
        rate = done / (now - self._start) if now > self._start else 0.0
        left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
        end = "\n" if done >= total else ""
        click.echo(f"\r\x1b[K{stage}: {done}/{total} ({rate:.0f}/s{left}){end}", err=True, nl=False)
