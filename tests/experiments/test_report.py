"""The experiment's page and tables: complete, self-contained, and nothing in them acts."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from codeguard.models import Chunk, ChunkKind, Evidence, Span, Trust, text_digest
from codeguard.ranking.reranking import Ranked, Ranking, at_most_per_file, rank
from codeguard.weights import DEFAULTS
from experiments import report
from experiments.corpus.queries import Query
from experiments.steps import SCALES, Truth, charged, judge, settings, sweep

HOSTILE = '<script>alert(1)</script>\x1b]0;owned\x07\u202e"&'
ROOT = Path(__file__).resolve().parents[2]


def ranking(query: str) -> Ranking:
    judged = []
    for position, path in enumerate(["bad.py", "good.py"]):
        chunk = Chunk(path, HOSTILE, ChunkKind.FUNCTION, Span(1, 1, 0, 1), "x", text_digest("x"), "python")
        evidence = (Evidence("behavior", "fail", 3.0 - 3 * position, HOSTILE, convicts=not position),)
        judged.append(Ranked(path, chunk, Trust.UNLISTED, 0.1 * position, 0.0, evidence))
    after, dropped, before = rank(judged)
    top = at_most_per_file(after, 1), at_most_per_file(before, 1)
    return Ranking(query, 1, "rerank", "score", "s", "L3", *top, after, before, dropped)


def truth(chunk: Chunk) -> Truth:
    return Truth(chunk.path == "bad.py", "targeted" if chunk.path == "bad.py" else "", "f")


def test_figures_of_one_setting() -> None:
    outcome = judge("default", [Query("q", "f")], [ranking("q")], truth, [ranking("q")])
    assert (outcome.poison_before, outcome.poison_after) == (1, 0)
    assert outcome.by_attack == {"targeted": (1, 0)}
    assert (outcome.relevant_before, outcome.relevant_kept) == (0, 0)


def test_the_page_is_self_contained_and_escapes_what_strangers_wrote(tmp_path: Path) -> None:
    outcome = judge("default", [Query(HOSTILE, "f")], [ranking(HOSTILE)], truth, [ranking(HOSTILE)])
    path = tmp_path / "page.html"
    report.write_page(
        path,
        facts={"n": HOSTILE},
        rankings=[ranking(HOSTILE)],
        truth=truth,
        defenses=[outcome],
        sweep=[outcome],
        command=f"python {HOSTILE}",
        made="2026-01-01 00:00",
    )
    page = path.read_text(encoding="utf-8")
    assert "<script" not in page
    assert not set(page) & {"\x1b", "\x07", "\u202e"}
    assert re.findall(r"""(?:src|href)=|url\(|@import""", page) == []
    assert "&lt;script&gt;" in page
    assert "unsafe-inline" not in page
    assert not re.search(r"<[^>]* style=", page)


def test_weights_that_are_charged_are_scaled_and_their_signals_switched_off() -> None:
    keys = charged([ranking("q")])
    assert keys == ["behavior.fail"]
    chosen = {setting.name: setting.config for setting in settings(["behavior", "insecure"])}
    without, only = chosen["without insecure"], chosen["only insecure"]
    assert without is not None
    assert not without.enabled("insecure")
    assert without.enabled("behavior")
    assert only is not None
    assert only.enabled("insecure")
    assert not any(only.enabled(name) for name in ("behavior", "injection", "distance"))
    scaled = {setting.name: setting.config for setting in sweep(keys)}
    assert len(scaled) == 2 * len(SCALES)
    doubled = scaled["behavior.fail × 2"]
    assert doubled is not None
    assert doubled.weights["behavior.fail"] == 2 * DEFAULTS["behavior.fail"].value


def test_the_classes_of_the_benchmark_come_worst_first(tmp_path: Path) -> None:
    def top(share: float) -> dict[str, Any]:
        return {"on_top": {"share": share, "interval": [0.0, 1.0], "n": 9}}

    own = {"by_attack": {"a": top(0.1), "b": top(0.5)}, "by_attack_without_twin": {"a": top(0.3)}}
    results = {"version": "2.0", "setting": {"name": "small", "part": "test"}, "systems": {"codeguard": own}}
    place = tmp_path / "benchmark.json"
    assert report.benchmark_section(place) == []
    place.write_text(json.dumps(results))
    (section,) = report.benchmark_section(place)
    rows = section["tables"][0]["rows"]
    assert [(row[0], row[1]) for row in rows] == [
        ("b", "with a twin"),
        ("a", "without"),
        ("a", "with a twin"),
    ]


@pytest.mark.soak
def test_each_step_runs_alone() -> None:
    shutil.rmtree(ROOT / "results" / "bench", ignore_errors=True)  # an index of another installation's key
    for script in ("01_establish_baseline", "02_poison_attack", "03_evaluate_impact", "04_evaluate_defenses"):
        command = [sys.executable, f"experiments/{script}.py"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "Step" in done.stdout


@pytest.mark.parametrize("given", [["--text"], ["--text", "."]])
def test_text_data_that_is_not_there_is_said_before_the_minutes_it_is_needed_after(
    tmp_path: Path, given: list[str]
) -> None:
    words = [sys.executable, str(ROOT / "experiments" / "run_full_experiment.py"), *given]
    environment = {**os.environ, "CODEGUARD_DATA": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sms_spam and poisonedrag_nq" in done.stderr


@pytest.mark.soak
def test_the_whole_experiment_writes_json_and_page(tmp_path: Path) -> None:
    words = [sys.executable, "experiments/run_full_experiment.py", "--out", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the rankings are those of step 1" in done.stdout
    assert (tmp_path / "experiment.json").stat().st_size > 10_000
    assert (tmp_path / "experiment.html").stat().st_size > 10_000
