"""The documentation is about this code, names only what exists, and each page is short enough to read."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from codeguard.audit.rules import all_rules
from codeguard.cli import main
from codeguard.config import load_settings
from codeguard.trust.policy import SigningPolicy
from experiments.figures import FIGURES, PAGE, measurements

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GENERATED = {"docs/reference.md", "docs/rules.md", "docs/benchmark_results.md"}
BY_HAND = [page for page in PAGES if page.relative_to(ROOT).as_posix() not in GENERATED]
MOST_WORDS = 1_500
OTHER_LIMITS = {"SECURITY.md": 2_500, "docs/measurements.md": 1_200}
# Pages that are longer, or worded otherwise, until they are written anew.
UNEDITED = {"README.md"}
EDITED = [page for page in BY_HAND if page.relative_to(ROOT).as_posix() not in UNEDITED]
UNWANTED = re.compile(
    r"\b(told|said|kept|mended|whoever|strangers?|reach(?:es)? for|stands? for|telling|"
    r"was tried|without gain|of its own accord|behaviour|nobody vouches)\b",
    re.IGNORECASE,
)
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def _prose(page: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCED.sub("", page.read_text()))


def _anchors(page: Path) -> set[str]:
    text = page.read_text()
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text), re.MULTILINE)
    made = {
        re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-") for heading in headings
    }
    return made | set(re.findall(r'(?:id|name)="([^"]+)"', text))


def test_the_reference_is_what_the_code_says() -> None:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.PLACE.read_text() == module.reference(), "python docs/reference.py makes it anew"
    page = module.RULES_PLACE.read_text()
    assert page == module.rules_page(all_rules()), "python docs/reference.py makes it anew"
    assert sorted(re.findall(r'<a id="([^"]+)">', page)) == sorted(item.id for item in all_rules())


def test_the_measurements_are_what_the_runs_wrote() -> None:
    assert measurements() == PAGE.read_text(), "python -m experiments.figures makes it anew"


def test_the_readme_quotes_what_the_runs_wrote() -> None:
    figures, text = json.loads(FIGURES.read_text()), (ROOT / "README.md").read_text()
    for run, name in (("published", "fails"), ("owasp", "fails"), ("published", "found"), ("owasp", "found")):
        assert str(figures[run][name][0]) in text, (run, name)
        assert re.search(rf"\b{figures[run][name][1]} (published|cases)", text), (run, name)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_lead_to_a_page_and_to_a_heading_of_it(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(page)):
        if not re.match(r"[a-z]+:", target):
            path, _, anchor = target.partition("#")
            place = page.parent / path if path else page
            assert place.exists(), target
            assert not anchor or anchor in _anchors(place), target


@pytest.mark.parametrize("page", EDITED, ids=_name)
def test_a_page_is_read_in_minutes(page: Path) -> None:
    assert len(page.read_text().split()) <= OTHER_LIMITS.get(_name(page), MOST_WORDS)


@pytest.mark.parametrize("page", EDITED, ids=_name)
def test_words_that_we_do_not_use(page: Path) -> None:
    assert [match[0] for match in UNWANTED.finditer(_prose(page))] == []


@pytest.mark.parametrize("page", ["provenance", "sandbox", "scaling"])
def test_the_configuration_on_a_page_is_one_that_is_accepted(page: str, tmp_path: Path) -> None:
    shown = (ROOT / "docs" / f"{page}.md").read_text()
    for text in re.findall(r"^```toml\n(.*?)^```", shown, re.DOTALL | re.MULTILINE):
        (tmp_path / "config.toml").write_text(text)
        settings = load_settings(tmp_path / "config.toml")
        for name in re.findall(r'"(keys/\w+\.pem)"', text):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            key = Ed25519PrivateKey.generate().public_key()
            (tmp_path / name).write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        if settings.signing:
            policy = SigningPolicy.from_toml(settings.signing, tmp_path)
            assert (policy.threshold, len(policy.signers)) == (1, 2)


def _commands(text: str) -> Iterator[tuple[str, click.Command, list[str]]]:
    """Yield each line of `codeguard` in a text: the line, its command, and the options that it names."""
    for line in re.findall(r"(?<![\w/.-])codeguard ((?:-C \S+ )?[a-z][^`|\n]*)", text):
        words = re.sub(r"^-C \S+ ", "", re.split(r"\s#|\s--\s|;", line)[0]).split()
        command: click.Command | None = main
        context = click.Context(main)
        while (
            words and isinstance(command, click.Group) and (found := command.get_command(context, words[0]))
        ):
            command, words = found, words[1:]
        if command is not None and command is not main:
            yield line, command, [word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_page_names_options_that_its_command_has(page: Path) -> None:
    for line, command, options in _commands(page.read_text()):
        known = {
            option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
        }
        assert set(options) <= known | {"--help"}, line


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_page_names_programs_that_exist(page: Path) -> None:
    text = page.read_text()
    for module in re.findall(r"python3? (?:-[A-Z] )*-m (experiments[\w.]*\w)", text):
        assert list(ROOT.glob(f"{module.replace('.', '/')}*")), module
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets
    for path in re.findall(r"`((?:tests|codeguard|experiments)/[\w/.]+\.\w+)", text):
        assert (ROOT / path).exists(), path
