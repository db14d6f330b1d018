"""Which packages a file declares, by the file's name and format."""

from __future__ import annotations

import pytest

from codeguard.analysis.rules.imports.declared import declared_packages, modules_of
from codeguard.corpus.chunking import chunk_file


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        (
            "requirements.txt",
            "# a\nRequests>=2 ; python_version > '3'\nfoo.Bar[x]==1\n-r more.txt\n-e git+https://h.example/x#egg=egg_name\n\n",
            {"requests", "foo-bar", "egg-name"},
        ),
        ("deps/requirements-dev.in", "pytest\n", {"pytest"}),
        ("requirements/base.txt", "httpx @ https://h.example/x.whl\n", {"httpx"}),
        ("requirements.lock", "click==8.1 --hash=sha256:00\n    --hash=sha256:11\n", {"click"}),
        ("notes.txt", "requests\n", set()),
        (
            "pyproject.toml",
            '[project]\nname = "ours"\ndependencies = ["numpy>=1"]\n[project.optional-dependencies]\na = ["pandas"]\n'
            '[dependency-groups]\ndev = ["ruff", {include-group = "a"}]\n[build-system]\nrequires = ["hatchling"]\n'
            '[tool.poetry.dependencies]\npython = "3"\nrich = "*"\n[tool.poetry.group.x.dependencies]\nmypy = "*"\n'
            '[tool.uv]\ndev-dependencies = ["tox"]\n[tool.pdm.dev-dependencies]\nt = ["nox"]\n',
            {"ours", "numpy", "pandas", "ruff", "hatchling", "python", "rich", "mypy", "tox", "nox"},
        ),
        ("uv.lock", '[[package]]\nname = "idna"\n[[package]]\nname = "Certifi_X"\n', {"idna", "certifi-x"}),
        ("pylock.toml", '[[packages]]\nname = "idna"\n', {"idna"}),
        ("Pipfile", '[packages]\nflask = "*"\n[dev-packages]\nblack = "*"\n', {"flask", "black"}),
        ("Pipfile.lock", '{"_meta": {}, "default": {"flask": {}}, "develop": {"black": {}}}', {"flask", "black"}),
        (
            "setup.cfg",
            "[metadata]\nname = ours\n[options]\ninstall_requires =\n    numpy>=1\n"
            "[options.extras_require]\nx = rich\n",
            {"ours", "numpy", "rich"},
        ),
        ("package.json", '{"name": "app", "dependencies": {"left-pad": "1"}, "devDependencies": {"@s/x": "1"}}',
         {"app", "left-pad", "@s/x"}),
        ("package-lock.json", '{"packages": {"": {}, "node_modules/a/node_modules/b": {}}}', {"b"}),
        ("pyproject.toml", "not toml [", set()),
        ("package.json", "[]", set()),
        ("poetry.lock", 'package = ["x"]\n', set()),
        ("setup.cfg", "no section\n", set()),
    ],
)  # fmt: skip
def test_declared(name: str, text: str, names: set[str]) -> None:
    assert declared_packages([chunk_file(name, text.encode())]) == names


def test_modules_are_importable_from_any_folder_above_them() -> None:
    assert modules_of(["src/Our_pkg/mod.pyi", "top.py"]) == {"src", "our-pkg", "mod", "top"}
