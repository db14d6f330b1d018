"""Errors that say what happened, what was expected and what to do next."""

from __future__ import annotations

from codeguard.extras import installation, requirement

REBUILD = "make it new from the files with: codeguard index --rebuild"  # a hint
STOPPED = "if it is stopped (Ctrl-Z, SIGSTOP), continue it with kill -CONT, or end it"  # a hint


class CodeguardError(Exception):
    """Base class of every error that codeguard raises deliberately.

    `str(error)` is one line: what happened, the got and expected values if known, and the next step.
    """

    def __init__(
        self,
        what: str,
        *,
        got: object = None,
        expected: object = None,
        hint: str | None = None,
    ) -> None:
        self.what = what
        self.got = got
        self.expected = expected
        self.hint = hint
        super().__init__(what)

    @property
    def problem(self) -> str:
        """What happened, with the got and expected values, without the next step."""
        parts = [self.what]
        if self.got is not None:
            parts.append(f"got {self.got}")
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        return ", ".join(parts)

    def __str__(self) -> str:
        return f"{self.problem}; {self.hint}" if self.hint else self.problem


class ConfigError(CodeguardError):
    """A configuration file or argument is invalid."""


class CorpusError(CodeguardError):
    """A path of the corpus cannot be read or is not of the expected kind."""


class NothingToDoError(CodeguardError):
    """Paths were given and exist, but they contain no usable file (exit code 3)."""


class ManifestError(CodeguardError):
    """A manifest is missing, malformed or does not verify."""


class StoreError(CodeguardError):
    """The vector store or the catalog is missing, damaged, locked or incompatible."""


class NoIndexError(StoreError):
    """A needed index does not exist, or building it failed."""


class EmbeddingError(CodeguardError):
    """An embedding is unknown, not installed, or not the one the index was built with."""


class SandboxError(CodeguardError):
    """The sandbox cannot start, or failed by its own fault rather than the candidate's."""


class SpecError(CodeguardError):
    """A behavior specification is malformed."""


class MissingExtraError(CodeguardError, ImportError):
    """An optional part is not installed; the message names the extra."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, hint=f"install it with: {installation(requirement(extra))}")
        self.extra = extra


class SandboxWarning(UserWarning):
    """The sandbox is too weak for checks; issued by interfaces whose answers cannot say so."""


class DefenseWarning(UserWarning):
    """A part of a defense is inactive, or a path is not trusted; issued where no answer can say so."""
