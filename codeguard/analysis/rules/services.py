"""Build the services that detectors need from the trusted files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from codeguard.analysis.rules.base import ComparisonData, CorpusSignal, FileSignal
from codeguard.corpus.secrets import without_secrets
from codeguard.models import SourceFile


def asked_of(signal: FileSignal | CorpusSignal) -> frozenset[str]:
    """Return the names of the services that a signal needs or uses."""
    return frozenset((*signal.needs, *getattr(signal, "uses", ())))


def services_for(
    signals: Iterable[FileSignal | CorpusSignal],
    trusted: Callable[[], Sequence[SourceFile]] | None,
    audited: Callable[[], Iterable[str]] | None = None,
) -> ComparisonData:
    """Return the services that these signals need or use; none if nothing is trusted.

    `trusted` reads the trusted files; it is called at most once. `audited` returns the paths under
    examination, whose modules may be imported as well. Without it, or if the trusted files declare
    no package, there is no `packages` service.
    """
    asked = {name for signal in signals for name in asked_of(signal)}
    if trusted is None or not asked & {"trusted", "trusted_functions", "packages"}:
        return ComparisonData()
    files = tuple(trusted())
    functions = packages = None
    if "trusted_functions" in asked:
        from codeguard.analysis.python.counterparts import TrustedFunctions

        functions = TrustedFunctions.from_files(map(without_secrets, files))
    if "packages" in asked and audited is not None:
        from codeguard.analysis.rules.imports.declared import declared_packages, modules_of

        declared = declared_packages(files)
        if declared:
            packages = declared | modules_of((*(file.path for file in files), *audited()))
    return ComparisonData(files if "trusted" in asked else None, functions, packages)
