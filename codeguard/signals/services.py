"""What static signals may consult beside a file, made from the trusted files where a signal needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from codeguard.models import SourceFile
from codeguard.signals.base import CorpusSignal, FileSignal

TRUSTED = "trusted"  # the files of the verified manifest
TRUSTED_FUNCTIONS = "trusted_functions"  # an index of their functions


def services_for(
    signals: Iterable[FileSignal | CorpusSignal], trusted: Callable[[], Sequence[SourceFile]] | None
) -> dict[str, Any]:
    """Return the services that these signals need, none where nothing is trusted.

    `trusted` reads the trusted files; it is called where a signal needs them, once.
    """
    needed = {need for signal in signals for need in signal.needs} & {TRUSTED, TRUSTED_FUNCTIONS}
    if trusted is None or not needed:
        return {}
    files = tuple(trusted())
    services: dict[str, Any] = {}
    if TRUSTED in needed:
        services[TRUSTED] = files
    if TRUSTED_FUNCTIONS in needed:
        from codeguard.reading.twins import TrustedFunctions

        services[TRUSTED_FUNCTIONS] = TrustedFunctions.from_files(files)
    return services
