"""`codeguard text`: the text-domain defenses over files of documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import click

from codeguard.errors import CodeguardError
from codeguard.text.files import read_documents
from codeguard.text.label_flip import DETECTORS, LEVELS, LabelFlipConfig, LabelFlipDefense
from codeguard.text.model import Selection

EXIT_FINDINGS, EXIT_ERROR = 1, 2
SHOWN_CHARACTERS = 60

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def text() -> None:
    """Defend text corpora: label flips, poisoned passages, consensus of summaries.

    Documents are read from .jsonl files (objects with "text", and "label",
    "id", "source" where they matter) or .tsv files (label, tab, text).
    """


@text.command("label-flip")
@click.argument("batch", type=FILE)
@click.option("--base", "base_file", type=FILE, required=True, help="Labelled documents that are right.")
@click.option("--detector", type=click.Choice(DETECTORS), default="knn-weighted", show_default=True)
@click.option("--level", type=click.Choice(LEVELS), default="auto", show_default=True)
@click.option("--neighbours", type=click.IntRange(1), default=11, show_default=True)
@click.option("--embedding", default="auto", show_default=True, help="auto, minilm or lexical.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def label_flip(
    batch: Path, base_file: Path, detector: str, level: str, neighbours: int, embedding: str, form: str
) -> None:
    """Judge whether the labels of BATCH are what its texts say, against a base that is right.

    Exit code 0: everything kept; 1: something rejected; 2: error.
    """
    from codeguard.text.joined import label_embedding
    from codeguard.text.labels import LabelledBase

    try:
        config = LabelFlipConfig(detector=detector, level=level, neighbours=neighbours)  # type: ignore[arg-type]
        base = LabelledBase.of(read_documents(base_file, labels=True), label_embedding(embedding))
        selection = LabelFlipDefense(base, config).select(read_documents(batch, labels=True))
    except CodeguardError as error:
        _fail(error)
    _show(selection, form, "codeguard.text.label-flip/1")


def _show(selection: Selection, form: str, schema: str) -> None:
    """Print a selection and leave with the exit code it deserves."""
    if form == "json":
        click.echo(json.dumps({"schema": schema, **selection.to_json()}, indent=2, ensure_ascii=True))
    else:
        for note in selection.notes:
            click.echo(f"note: {visible(note)}")
        for judgment in selection.rejected:
            excerpt = visible(judgment.document.text[:SHOWN_CHARACTERS])
            click.echo(f"rejected {visible(judgment.document.id)}: {visible(judgment.reason)}")
            click.echo(f"    {excerpt}")
        click.echo(f"{len(selection.kept)} kept, {len(selection.rejected)} rejected")
    if selection.error:
        click.echo(f"error: {visible(selection.error)}", err=True)
        raise SystemExit(EXIT_ERROR)
    raise SystemExit(EXIT_FINDINGS if selection.rejected else 0)


def _fail(error: CodeguardError) -> NoReturn:
    click.echo(f"error: {visible(str(error))}", err=True)
    raise SystemExit(EXIT_ERROR)


def visible(value: str) -> str:
    """Return text that cannot drive a terminal: control, format and bidi characters are escaped."""
    return "".join(
        char if char.isprintable() or char == " " else char.encode("unicode_escape").decode("ascii")
        for char in value
    )
