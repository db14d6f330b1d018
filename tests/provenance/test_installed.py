"""Trust in a path covers what was written there, and not what a tool has installed below it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from in_process import codeguard

from codeguard.audit.run import AuditOptions, audit

pytestmark = pytest.mark.ci

CODE = "def add(a, b):\n    return a + b\n"
SITE = "env/lib/python3/site-packages"
RECORD = "pkg/__init__.py,sha256=x,9\nsingle.py,,\n../../bin/tool,,\n/etc/x,,\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"src/own.py": CODE})
    return tmp_path


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def trusted(project: Path) -> set[str]:
    done = codeguard("ls", "--trusted", "--format", "json", cwd=project)
    return {item["path"] for item in json.loads(done.stdout)["files"]}


def index(project: Path, *words: str) -> str:
    (project / "config.toml").write_text('embedding = "lexical"\njobs = 1\n')
    done = codeguard("--config", "config.toml", "index", *words, cwd=project)
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


CASES = {
    "a virtual environment": ({"env/pyvenv.cfg": "", f"{SITE}/x.py": CODE}, "env", {f"{SITE}/x.py"}),
    "a conda environment": ({"c/conda-meta/history": "", "c/lib/x.py": CODE}, "c", {"c/lib/x.py"}),
    "packages of Node.js": (
        {"web/node_modules/p/x.js": "x"},
        "web/node_modules",
        {"web/node_modules/p/x.js"},
    ),
    "an installed package": (
        {"libs/pkg-1.dist-info/RECORD": RECORD, "libs/pkg/__init__.py": CODE},
        "libs/pkg",
        {"libs/pkg/__init__.py"},
    ),
    "an installed module": (
        {"libs/pkg-1.dist-info/RECORD": RECORD, "libs/single.py": CODE},
        "libs/single.py",
        {"libs/single.py"},
    ),
    "a crate": ({"v/c/.cargo-checksum.json": "{}", "v/c/x.py": CODE}, "v/c", {"v/c/x.py"}),
    "vendored by go": (
        {"m/go.mod": "", "m/vendor/modules.txt": "", "m/vendor/x.py": CODE},
        "m/vendor",
        {"m/vendor/x.py"},
    ),
    "vendored by composer": (
        {"vendor/composer/installed.json": "{}", "vendor/x.py": CODE},
        "vendor",
        {"vendor/x.py"},
    ),
    "a cache": ({"build/CACHEDIR.TAG": "", "build/x.py": CODE}, "build", {"build/x.py"}),
    "another repository": (
        {".git/HEAD": "ref: refs/heads/main\n", "other/.git/HEAD": "", "other/x.py": CODE},
        "other",
        {"other/x.py"},
    ),
}


@pytest.mark.parametrize(("files", "folder", "left"), CASES.values(), ids=CASES)
def test_what_was_installed_is_trusted_only_by_its_own_name(
    project: Path, files: dict[str, str], folder: str, left: set[str]
) -> None:
    write(project, files)
    said = index(project, ".", "--trust", ".")
    assert "installed and not written here" in said
    assert folder in said
    assert not left & trusted(project)
    assert "src/own.py" in trusted(project)
    base = audit([Path("src")], AuditOptions(trust=(Path(),), behavior=False))
    assert any(folder in line and "not written here" in line for line in base.warnings)
    index(project, ".", "--trust", folder)
    assert left | {"src/own.py"} <= trusted(project)
    index(project, ".")
    assert left | {"src/own.py"} <= trusted(project)


WRITTEN = {
    "no record of it": {"libs/pkg-1.dist-info/METADATA": "", "libs/pkg/__init__.py": CODE},
    "beside installed packages": {"libs/pkg-1.dist-info/RECORD": RECORD, "libs/mine.py": CODE},
    "a folder that is only called so": {"vendor/x.py": CODE, "env/x.py": CODE, "site-packages/x.py": CODE},
    "modules without go": {"m/vendor/modules.txt": "", "m/vendor/x.py": CODE},
    "repositories side by side in no repository": {"one/.git/HEAD": "", "one/x.py": CODE},
    "a record that is no list": {"libs/p.dist-info/RECORD": '"' + "x" * 200_000, "libs/x.py": CODE},
}


@pytest.mark.parametrize("files", WRITTEN.values(), ids=WRITTEN)
def test_what_was_written_is_trusted(project: Path, files: dict[str, str]) -> None:
    write(project, files)
    assert "installed and not written here" not in index(project, ".", "--trust", ".")
    code = {name for name in files if name.endswith(".py")}
    assert code <= trusted(project)
