"""Options that commands share, and output: results on stdout, the rest on stderr, no terminal control characters."""

from __future__ import annotations

import contextlib
import difflib
import errno
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.exceptions import NoArgsIsHelpError

from codeguard.errors import CodeguardError, MissingExtraError, NothingToDoError
from codeguard.escaping import FinishedPage, ReportText, escaped
from codeguard.extras import missing_extra

if TYPE_CHECKING:
    from codeguard.api import CodeGuard
    from codeguard.config import Settings
    from codeguard.index.workspace import Workspace
    from codeguard.reports.styled import Line, Styled


EXIT_FINDINGS = 1
EXIT_ERROR = 2
EXIT_NOTHING = 3


def say(line: str = "") -> None:
    """Print one line, with terminal control characters escaped."""
    click.echo(escaped(_masked(line)))


def say_block(text: str) -> None:
    """Print a block of text in which untrusted parts are already escaped."""
    click.echo(escaped(_masked(text), keep="\n"))


# The terminal style for each meaning of a part.
LOOKS: dict[str, dict[str, Any]] = {
    "good": {"fg": "green"},
    "bad": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow"},
    "strong": {"bold": True},
    "faint": {"dim": True},
    "place": {"fg": "cyan"},
    "keyword": {"fg": "blue"},
    "string": {"fg": "green"},
    "comment": {"dim": True},
}


def say_lines(lines: Sequence[Line]) -> None:
    """Print lines: colored and linked on a terminal, plain in a pipe or with NO_COLOR."""
    from codeguard.reports.styled import unstyled  # not needed for `--help`

    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        say_block(unstyled(lines))
        return
    colour = not os.environ.get("NO_COLOR")
    for line in lines:
        click.echo(_for_terminal(line) if colour else _masked(unstyled([line])), color=colour)


def _for_terminal(line: Line) -> str:
    """Return a line with the escape sequences of its styles; its parts are already escaped."""
    whole = "".join(part.text for part in line)
    if (masked := _masked(whole)) != whole:
        return str(masked)
    return "".join(_part_for_terminal(part) for part in line)


def _part_for_terminal(part: Styled) -> str:
    shown = click.style(part.text, **LOOKS.get(part.style, {}))
    if not part.path:
        return shown
    target = Path(part.path).absolute()
    if not target.exists():
        return shown
    return f"\x1b]8;;{target.as_uri()}#L{part.line}\x1b\\{shown}\x1b]8;;\x1b\\"


def say_report(report: dict[str, Any] | str, file: Path | None = None) -> None:
    """Print a report, or write it into a file: a JSON value, a finished page, or text."""
    with contextlib.ExitStack() as stack:
        if file is not None:
            stack.enter_context(
                contextlib.redirect_stdout(stack.enter_context(file.open("w", encoding="utf-8")))
            )
        if isinstance(report, dict):
            say_json(report)
        elif isinstance(report, FinishedPage):
            click.echo(report)
        elif report:
            say_block(report)


def origin() -> dict[str, str]:
    """Return the command line and the local time, to the minute, to be shown on a page."""
    made = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    return {"command": shlex.join(["codeguard", *sys.argv[1:]]), "made": made}


def config_file() -> str | None:
    """Return the file of `--config`, if it was given."""
    found: str | None = click.get_current_context().find_root().params.get("config")
    return found


def own_command() -> list[str]:
    """Return the words that start this installation from any folder, in the current one, with the same `--config`."""
    config = config_file()
    chosen = [] if config is None else ["--config", str(Path(config).absolute())]
    return [sys.executable, "-I", "-m", "codeguard", "-C", str(Path.cwd()), *chosen]


def warn(line: str) -> None:
    """Print one line on stderr."""
    click.echo(f"codeguard: {escaped(_masked(line))}", err=True)


def say_json(value: Any) -> None:
    """Print a value as JSON; a record of a stream is one line of pure ASCII."""
    click.echo(json.dumps(_masked(value), ensure_ascii=True))


def _masked(value: Any) -> Any:
    """Return a JSON value with the secrets in its texts masked, as a last line of defense."""
    from codeguard.corpus.secrets import find_secrets, mask_secrets  # not needed for `--help`

    if isinstance(value, ReportText):
        found = [item for item in find_secrets(value) if value[item.start : item.end] not in value.digests]
        return mask_secrets(value, found)
    if isinstance(value, str):
        return mask_secrets(value)
    if isinstance(value, dict):
        return {key: _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list | tuple) else value


def fail(error: CodeguardError) -> NoReturn:
    """Exit with one line on stderr and the matching exit code."""
    warn(str(error))
    sys.exit(EXIT_NOTHING if isinstance(error, NothingToDoError) else EXIT_ERROR)


def fail_for_import(command: str, error: ImportError) -> NoReturn:
    """Exit with one line that names the missing extra; re-raise any other import error."""
    if isinstance(error, MissingExtraError):
        fail(error)
    if missing_extra(error) is None:
        raise error
    # These extras include `index` and other packages that would be missing next.
    extra = next((own for own in ("text", "mcp") if command.split()[0] == own), missing_extra(error) or "")
    fail(MissingExtraError(f"`codeguard {command}` needs {error.name}, which is not installed", extra))


_HINTS = {
    errno.EAGAIN: "let this user start more processes (ulimit -u)",
    errno.ENOSPC: "free some space where the index and temporary files are kept, and run the same command again",
    errno.EDQUOT: "free some of this user's quota, and run the same command again",
}


def refused(error: OSError) -> CodeguardError:
    """Return the error of the system as one of ours, with what to do where that is known."""
    place = f" {error.filename}" if error.filename else ""
    said = f"the system refuses{place} ({error.strerror or error})"
    return CodeguardError(said, hint=_HINTS.get(error.errno or 0))


@contextmanager
def in_one_line(command: Callable[[], str | None]) -> Iterator[None]:
    """Turn every error of a command, named once it is known, into one line and an exit code, without a traceback."""
    try:
        yield
    except CodeguardError as error:
        fail(error)
    except BrokenPipeError:
        # The reader has closed the pipe; flushing the buffer at exit must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_ERROR)
    except ImportError as error:
        if missing_extra(error) is None:
            _fail_inside(error)
        fail_for_import(command() or "this", error)
    except OSError as error:
        fail(refused(error))
    except click.Abort:  # of a question: by itself it is exit code 1, which means findings
        click.echo(err=True)  # ends the line of the question
        fail(CodeguardError("no answer to the question, so nothing was written"))
    except (click.exceptions.Exit, NoArgsIsHelpError):
        raise
    except click.UsageError as error:
        said = " ".join(error.format_message().rstrip(".").split())
        warn(f"{said[:1].lower()}{said[1:]}{_next_step(error)}")
        raise click.exceptions.Exit(error.exit_code) from None
    except Exception as error:
        _fail_inside(error)
    except KeyboardInterrupt:
        warn("interrupted; what was written is consistent, and the same command can be run again")
        sys.exit(130)


def _next_step(error: click.UsageError) -> str:
    """Return suggestions for a mistyped option, and the command that shows help."""
    path = error.ctx.command_path if error.ctx else "codeguard"
    kind = getattr(getattr(error, "param", None), "type", None)
    near: list[str] = []
    if isinstance(kind, click.Choice):
        wrong = error.message.partition("'")[2].partition("'")[0]
        near = difflib.get_close_matches(wrong, [str(choice) for choice in kind.choices], n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    quotes = "put a text of several words in quotes, or see " if "unexpected extra" in error.message else ""
    return f"{meant}; {quotes}{path} --help"


def _fail_inside(error: Exception) -> NoReturn:
    """Exit with one line for an internal error; with CODEGUARD_DEBUG, raise it."""
    if os.environ.get("CODEGUARD_DEBUG"):
        raise error
    cause = f"{type(error).__name__}: {error}".splitlines()[0]
    fail(CodeguardError(f"internal error ({cause})", hint="CODEGUARD_DEBUG=1 shows where; please report it"))


def read_settings(**changes: Any) -> Settings:
    """Return the settings of `--config`, with the given options and `--budget` applied."""
    from codeguard.config import load_settings  # not needed for `--help`

    settings = load_settings(Path(path) if (path := config_file()) else None).replace(**changes)
    seconds = click.get_current_context().meta.get(BUDGET_KEY)
    if seconds is None:
        return settings
    return settings.replace(defense=replace(settings.defense, budget_s=seconds))


BUDGET_KEY = "codeguard.budget"  # of the command's context, where `--budget` is kept for `read_settings`


class Progress:
    """A bar for each stage, with the remaining time, on stderr; only if it is a terminal."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._stage = ""
        self._bar: Any = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show the progress of a stage."""
        if not self._shown:
            return
        if stage != self._stage:
            self._stage = stage
            self._bar = click.progressbar(
                length=total, label=f"{stage:<8}", show_pos=True, show_percent=False, width=0, file=sys.stderr
            )
        if self._bar is None:  # it has ended
            return
        self._bar.length = total
        self._bar.update(done - self._bar.pos)
        if done >= total:
            self._bar.render_finish()
            self._bar = None


F = TypeVar("F", bound=Callable[..., Any])
STARTED_IN = (
    "codeguard.started_in"  # of the context: the folder before `-C`, where names that a hook passes lie
)


def option_group(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, which the help shows in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def format_option(*more: str) -> Callable[[F], F]:
    """Return the option for the output format: text, json, and any others the command supports."""
    choice = click.Choice(["text", "json", *more])
    return click.option("--format", "format_", type=choice, default="text", show_default=True)


def store_option(what: str = "Folder, or http(s)://host:port of a Chroma server.") -> Callable[[F], F]:
    """Return the option for the location of the index; `what` is its help text."""
    return click.option("--store", help=f"{what}  [default: .codeguard]")


def _keep_budget(context: click.Context, _: click.Parameter, seconds: float | None) -> None:
    context.meta[BUDGET_KEY] = seconds


STORE = store_option()
STORES = click.option(
    "--store",
    "stores",
    multiple=True,
    help="Folder, or http(s)://host:port of a Chroma server. Repeatable: one answer of several.  [default: .codeguard]",
)
BUDGET = click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    expose_value=False,
    callback=_keep_budget,
    help="CPU seconds that the sandbox may spend on this run; each file has a fair share.  [default: 900]",
)
FORMAT = format_option()


@contextmanager
def opened_guards(stores: Sequence[str], **changes: Any) -> Iterator[list[CodeGuard]]:
    """Open the guards of stores, or that of the settings."""
    from codeguard.api import CodeGuard

    every = [read_settings(store=store, **changes) for store in dict.fromkeys(stores) or [None]]
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(CodeGuard.open(settings=each, create=False)) for each in every]


@contextmanager
def opened_index(store: str | None) -> Iterator[Workspace]:
    """Open the index of the settings, and show its warnings if nothing went wrong."""
    from codeguard.index.workspace import Workspace

    workspace = Workspace(read_settings(store=store))
    try:
        yield workspace
        for line in workspace.warnings:
            warn(line)
    finally:
        workspace.close()
