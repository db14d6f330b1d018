"""What is known of a file is not looked at again, with behavior checks and without."""

from pathlib import Path

import pytest

from codeguard.api import CodeGuard
from codeguard.config import DefenseConfig, Settings


@pytest.mark.parametrize("behavior", [False, True])
def test_an_unchanged_file_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behavior: bool
) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    for name in ("one", "two", "three"):
        (corpus / f"{name}.py").write_text(f"LIMIT_{name} = 3\n\n\nclass {name.title()}:\n    pass\n")
    settings = Settings(
        store=str(tmp_path / "store"),
        root=str(tmp_path),
        embedding="lexical",
        defense=DefenseConfig(enable_behavior=behavior, required_level="L0"),
        share=False,
        jobs=1,
    )
    with CodeGuard.open(settings=settings) as guard:
        guard.index([corpus])
        read: list[str] = []
        whole = guard.catalog.file
        monkeypatch.setattr(guard.catalog, "file", lambda path: (read.append(path), whole(path))[1])
        with (corpus / "two.py").open("a") as file:
            file.write("\n\nOTHER = 4\n")
        guard.index([corpus])
    assert set(read) == {"corpus/two.py"}
