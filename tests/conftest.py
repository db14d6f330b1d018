"""Every test has a configuration directory of its own, so that no test reads or writes the user's."""

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not fail a test.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


@pytest.fixture(autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home: Path = tmp_path_factory.mktemp("config")
    (home / "codeguard").mkdir()
    # The process that serves a store ends with its last user.
    (home / "codeguard" / "config.toml").write_text("share_idle_s = 0.0\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
