"""Errors that say what happened, what was expected and what to do next."""

from __future__ import annotations

from codeguard.extras import installation, requirement

REBUILD = "make it new from the files with: codeguard index --rebuild"  # a hint


class CodeguardError(Exception):
    """Base of every error that codeguard raises on purpose.

    `str(error)` is one line: what happened, got and expected if they are
    known, and the next step.
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

    def __str__(self) -> str:
        parts = [self.what]
        if self.got is not None:
            parts.append(f"got {self.got}")
        if self.expected is not None:
            parts.append(f"expected {self.expected}")
        line = ", ".join(parts)
        return f"{line}; {self.hint}" if self.hint else line


class ConfigError(CodeguardError):
    """A configuration file or argument does not say something usable."""


class CorpusError(CodeguardError):
    """A path of the corpus cannot be read or is not what it must be."""


class NothingToDoError(CodeguardError):
    """Paths were given, but no file of theirs can be worked on (exit code 3)."""


class ManifestError(CodeguardError):
    """A manifest is missing, malformed or does not verify."""


class StoreError(CodeguardError):
    """The vector store or the catalog is missing, damaged, locked or of another make."""


class NoIndexError(StoreError):
    """There is no index if one is asked for, or its making failed."""


class EmbeddingError(CodeguardError):
    """An embedding is unknown, not installed, or not the one the index was made with."""


class SandboxError(CodeguardError):
    """The sandbox cannot start, or failed in a way that is ours and not the candidate's."""


class SpecError(CodeguardError):
    """A behavior specification is malformed."""


class MissingExtraError(CodeguardError, ImportError):
    """An optional part is not installed; the message names the extra."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(what, hint=f"install it with: {installation(requirement(extra))}")
        self.extra = extra


class SandboxWarning(UserWarning):
    """The sandbox is too weak for checks here; issued where an answer has no place to say so."""
