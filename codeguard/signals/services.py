"""What static signals may consult beside a file, made from the trusted files where a signal asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from codeguard.models import SourceFile
from codeguard.signals.base import CorpusSignal, FileSignal

TRUSTED = "trusted"  # the files of the verified manifest
TRUSTED_FUNCTIONS = "trusted_functions"  # an index of their functions
PACKAGES = "packages"  # the names that may be imported


def services_for(
    signals: Iterable[FileSignal | CorpusSignal],
    trusted: Callable[[], Sequence[SourceFile]] | None,
    audited: Callable[[], Iterable[str]] | None = None,
) -> dict[str, Any]:
    """Return the services that these signals need or use, none where nothing is trusted.

    `trusted` reads the trusted files; it is called where a signal asks for
    them, once. `audited` names the files that are looked at, whose modules
    may be imported, too; without it, or where the trusted files declare no
    package, there is no `packages`.
    """
    asked = {name for signal in signals for name in (*signal.needs, *getattr(signal, "uses", ()))}
    if trusted is None or not asked & {TRUSTED, TRUSTED_FUNCTIONS, PACKAGES}:
        return {}
    files = tuple(trusted())
    services: dict[str, Any] = {}
    if TRUSTED in asked:
        services[TRUSTED] = files
    if TRUSTED_FUNCTIONS in asked:
        from codeguard.reading.twins import TrustedFunctions

        services[TRUSTED_FUNCTIONS] = TrustedFunctions.from_files(files)
    if PACKAGES in asked and audited is not None:
        from codeguard.reading.declarations import declared_packages, modules_of

        declared = declared_packages(files)
        if declared:
            services[PACKAGES] = declared | modules_of((*(file.path for file in files), *audited()))
    return services
