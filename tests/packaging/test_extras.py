"""The base install is small and does what it promises; what needs more says in one line what it needs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from codeguard.extras import DISTRIBUTION, EXTRA_OF, installation, requirement

pytestmark = pytest.mark.ci

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
DEVELOPMENT = {
    "all",
    "dev",
    "docs",
    "browser",
    "mutation",
    "languages",
}  # nothing of these is imported by name

# A process in which nothing of any extra can be imported, as after a plain `pip install`.
BASE_ONLY = f"""
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {sorted(EXTRA_OF)!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
sys.argv[0] = "codeguard"
from codeguard.cli import main
main()
"""

WRONG = 'def add(a, b):\n    """Add.\n\n    >>> add(1, 2)\n    3\n    """\n    return a - b\n'
INSECURE = "import os\n\n\ndef run(request):\n    os.system('ls ' + request.args['x'])\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").mkdir()
    (tmp_path / "theirs" / "a.py").write_text(INSECURE)
    (tmp_path / "theirs" / "b.py").write_text(WRONG)
    (tmp_path / "ours" / "m.py").write_text(WRONG.replace("-", "+"))
    return tmp_path


def base(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", BASE_ONLY, *words], cwd=cwd, capture_output=True, text=True, check=False
    )


def closure(names: list[str]) -> set[str]:
    """Return what the given requirements bring into this environment, themselves included."""
    found: set[str] = set()
    todo = [Requirement(name) for name in names]
    while todo:
        wanted = todo.pop()
        environments = [{"extra": extra} for extra in wanted.extras] or [{"extra": ""}]
        key = re.sub(r"[-_.]+", "-", wanted.name).lower()
        if wanted.marker and not wanted.marker.evaluate({"extra": ""}):
            continue
        if key in found and not wanted.extras:
            continue
        found.add(key)
        for text in distribution(wanted.name).requires or ():
            need = Requirement(text)
            if need.marker is None or any(need.marker.evaluate(each) for each in environments):
                need.marker = None
                todo.append(need)
    return found


def test_the_base_install_is_at_most_15_packages_and_60_megabytes() -> None:
    packages = closure(PROJECT["dependencies"])
    assert "tree-sitter" in packages
    assert len(packages) + 1 <= 15, sorted(packages)
    files = {path.locate() for name in packages for path in distribution(name).files or ()}
    files |= set((ROOT / "codeguard").rglob("*.*"))
    assert sum(Path(path).stat().st_size for path in files if Path(path).is_file()) < 60e6


def test_every_extra_is_known_by_its_imports() -> None:
    assert set(EXTRA_OF.values()) == EXTRAS.keys() - DEVELOPMENT
    (everything,) = EXTRAS["all"]
    named = set(re.findall(r"[\w-]+", everything.partition("[")[2]))
    assert named == EXTRAS.keys() - (DEVELOPMENT - {"languages"})


@pytest.mark.parametrize("module", sorted(EXTRA_OF))
def test_what_an_extra_is_for_is_in_it(module: str) -> None:
    project = {"sklearn": "scikit-learn", "llama_index": "llama-index-core"}.get(
        module, module.replace("_", "-")
    )
    names = {Requirement(text).name.removesuffix("-cpu") for text in EXTRAS[EXTRA_OF[module]]}
    assert project in names


@pytest.mark.slow
def test_the_base_install_audits_and_checks(project: Path) -> None:
    audited = base("audit", "theirs", "--trust", "ours", cwd=project)
    assert audited.returncode == 1, audited.stderr
    assert "insecure.command-injection" in audited.stdout
    checked = base("check", "theirs/b.py", "--against", "ours/m.py", cwd=project)
    assert checked.returncode == 1, checked.stderr
    assert "fail" in checked.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["doctor"],
        ["rules"],
        ["explain", "insecure.command-injection"],
        ["trust", "build", "ours"],
    ],
    ids=" ".join,
)
def test_these_need_no_extra(words: list[str], project: Path) -> None:
    done = base(*words, cwd=project)
    assert done.returncode == 0, done.stderr
    assert "internal error" not in done.stderr
    if words == ["doctor"]:
        assert requirement("index") in done.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["index", "theirs"], "index"),
        (["query", "add"], "index"),
        (["store", "verify"], "index"),
        (["serve"], "index"),
        (["mcp"], "mcp"),
        (["text", "filter", "--help"], "text"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_command_without_its_extra_names_it_in_one_line(
    words: list[str], extra: str, project: Path
) -> None:
    done = base(*words, cwd=project)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{DISTRIBUTION}[{extra}]" in line
    assert not (project / ".codeguard").exists()


def test_the_library_names_the_extra_too(project: Path) -> None:
    program = BASE_ONLY.partition("sys.argv")[0] + "from codeguard import CodeGuard\nCodeGuard.open()\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=project, capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: codeguard.CodeGuard needs numpy, which is not installed" in done.stderr
    assert f"install it with: {installation(requirement('index'))}" in done.stderr


def test_an_environment_of_pipx_is_told_its_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", f"/home/x/.local/share/pipx/venvs/{DISTRIBUTION}")
    assert installation(requirement("mcp")) == "pipx runpip codeguard-rag install 'codeguard-rag[mcp]'"


def test_no_page_installs_a_name_of_ours_from_a_registry() -> None:
    """Nobody has registered `codeguard-rag`, so whoever does decides what such a command runs."""
    named = re.compile(r"(?:install|uvx|pipx run|--spec|--from)\s+['\"]?codeguard")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert [(page.name, match[0]) for page in pages for match in named.finditer(page.read_text())] == []


def test_no_text_of_ours_recommends_the_package_of_somebody_else() -> None:
    wrong = re.compile(r"(?:install|uvx|pipx run)\s+['\"]?codeguard(?![\w-]*-rag)(?:\[|['\"`]|\s|$)")
    texts = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "codeguard").rglob("*.py")]
    found = [(path.name, match[0]) for path in texts for match in wrong.finditer(path.read_text())]
    assert not found


@pytest.mark.slow
def test_the_wheel_alone_in_an_environment_of_its_own(project: Path, tmp_path: Path) -> None:
    """Build the wheel, install it with what it asks for and nothing else, and use it far from the checkout."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not installed here")
    dist, venv = tmp_path / "dist", tmp_path / "venv"
    subprocess.run([uv, "build", "--quiet", "--wheel", "--out-dir", dist, ROOT], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (wheel,) = dist.glob("*.whl")
    done = subprocess.run(
        [uv, "pip", "install", "--quiet", "--python", venv / "bin" / "python", wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.skip(f"no package registry: {done.stderr[-200:]}")
    command = str(venv / "bin" / "codeguard")
    audited = subprocess.run(
        [command, "audit", "theirs"], cwd=project, capture_output=True, text=True, check=False
    )
    assert audited.returncode == 1, audited.stderr
    assert "insecure.command-injection" in audited.stdout
    queried = subprocess.run(
        [command, "query", "x"], cwd=project, capture_output=True, text=True, check=False
    )
    assert f"uv pip install --python {venv}/bin/python {requirement('index')}" in queried.stderr


def test_the_distribution_is_what_the_metadata_says() -> None:
    assert PROJECT["name"] == DISTRIBUTION
    try:
        installed = distribution(DISTRIBUTION)
    except PackageNotFoundError:
        pytest.skip("codeguard is not installed here, only on the path")
    assert installed.metadata["Name"] == DISTRIBUTION
