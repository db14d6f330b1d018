"""`codeguard text`: the text-domain defenses over files of documents."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from codeguard.embedding import Embedding
from codeguard.errors import CodeguardError
from codeguard.escaping import escaped
from codeguard.text.consensus import RULES
from codeguard.text.extractive import ExtractiveReader
from codeguard.text.files import read_documents, read_examples
from codeguard.text.label_flip import DETECTORS, LEVELS, LabelFlipConfig, LabelFlipDefense
from codeguard.text.label_judge import LLMLabelJudge
from codeguard.text.llm import LLMClient, LLMConfig
from codeguard.text.llm_reader import LLMReader
from codeguard.text.mlfilter import KINDS
from codeguard.text.model import Selection, TextDefense
from codeguard.text.reading import Reader

EXIT_FINDINGS, EXIT_ERROR = 1, 2
SHOWN_CHARACTERS = 60
SHORT_ANSWER = 5  # words of an answer that Freq-Density is taken with

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def llm_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that name a language model; its key comes from CODEGUARD_LLM_KEY."""
    command = click.option("--llm-model", default="default", show_default=True)(command)
    return click.option("--llm-url", help="OpenAI-compatible endpoint; without it no LLM is used.")(command)


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
@llm_options
@click.option("--embedding", default="auto", show_default=True, help="auto, minilm or lexical.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def label_flip(
    batch: Path,
    base_file: Path,
    detector: str,
    level: str,
    neighbours: int,
    llm_url: str | None,
    llm_model: str,
    embedding: str,
    form: str,
) -> None:
    """Judge whether the labels of BATCH are what its texts say, against a base that is right.

    With --llm-url a model names the label of entries that fit two labels about as well.

    Exit code 0: everything kept; 1: something rejected; 2: error.
    """
    from codeguard.text.joined import label_embedding
    from codeguard.text.labels import LabelledBase

    try:
        config = LabelFlipConfig(detector=detector, level=level, neighbours=neighbours)  # type: ignore[arg-type]
        base = LabelledBase.of(read_documents(base_file, labels=True), label_embedding(embedding))
        judge = LLMLabelJudge(_client(llm_url, llm_model)) if llm_url else None
        selection = LabelFlipDefense(base, config, judge).select(read_documents(batch, labels=True))
    except CodeguardError as error:
        _fail(error)
    _show(selection, form, "codeguard.text.label-flip/1")


@text.command("filter")
@click.argument("documents", type=FILE, required=False)
@click.option(
    "--query", default="", help="The question that DOCUMENTS were retrieved for, the nearest first."
)
@click.option("--train", "train_file", type=FILE, help="Labelled examples: query, text, poisoned.")
@click.option(
    "--model", "model_file", type=click.Path(dir_okay=False, path_type=Path), help="Trained filter."
)
@click.option("--kind", type=click.Choice(KINDS), default="forest", show_default=True)
@click.option("--threshold", type=click.FloatRange(0, min_open=True), default=0.2, show_default=True)
@click.option("--matching", type=click.Choice(["literal", "semantic"]), default="literal", show_default=True)
@click.option("--top", type=click.IntRange(1), default=4, show_default=True)
@click.option("--keep", type=click.IntRange(0), default=2, show_default=True, help="0 keeps all that pass.")
@llm_options
@click.option("--embedding", default="auto", show_default=True, help="auto, minilm or lexical.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def filter_command(
    documents: Path | None,
    query: str,
    train_file: Path | None,
    model_file: Path | None,
    kind: str,
    threshold: float,
    matching: str,
    top: int,
    keep: int,
    llm_url: str | None,
    llm_model: str,
    embedding: str,
    form: str,
) -> None:
    """Drop retrieved DOCUMENTS that are made to answer one question: FilterRAG, with --model ML-FilterRAG.

    `--train EXAMPLES --model FILE` trains a filter and saves it to FILE.

    Exit code 0: everything within --keep passed; 1: something rejected; 2: error.
    """
    from codeguard.embedding import open_embedding
    from codeguard.text.filterrag import FilterConfig, FilterRAG
    from codeguard.text.frequency import WordMatcher
    from codeguard.text.mlfilter import MLFilterRAG, TrainedFilter, train_filter

    try:
        opened = open_embedding(embedding)
        reader = _reader(llm_url, llm_model, opened, SHORT_ANSWER)
        matcher = WordMatcher(opened if matching == "semantic" else None)
        if train_file is not None:
            if model_file is None:
                raise click.UsageError("--train needs --model FILE to save to")
            model = train_filter(read_examples(train_file), opened, reader, kind=kind, matcher=matcher)  # type: ignore[arg-type]
            model.save(model_file)
            click.echo(f"trained on {escaped(str(train_file))}, threshold {model.threshold:.3f}")
            return
        if documents is None or not query:
            raise click.UsageError("give DOCUMENTS and --query, or --train and --model")
        defense: TextDefense = FilterRAG(reader, matcher, FilterConfig(top, keep, threshold=threshold))
        if model_file is not None:
            defense = MLFilterRAG(TrainedFilter.load(model_file), opened, reader, matcher, top, keep)
        selection = defense.select(read_documents(documents), query)
    except CodeguardError as error:
        _fail(error)
    _show(selection, form, "codeguard.text.filter/1")


@text.command("consensus")
@click.argument("documents", type=FILE)
@click.option("--query", required=True, help="The question that DOCUMENTS were retrieved for.")
@click.option("--rule", type=click.Choice(RULES), default="sound", show_default=True)
@click.option("--trust-source", "trusted", multiple=True, help="A source that you trust; may be repeated.")
@llm_options
@click.option("--embedding", default="auto", show_default=True, help="auto, minilm or lexical.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def consensus_command(
    documents: Path,
    query: str,
    rule: str,
    trusted: tuple[str, ...],
    llm_url: str | None,
    llm_model: str,
    embedding: str,
    form: str,
) -> None:
    """Summarise each document alone, keep what agrees, and answer from that, or abstain.

    Exit code 0: everything kept; 1: something rejected, or abstained; 2: error.
    """
    from codeguard.embedding import open_embedding
    from codeguard.text.consensus import Consensus, ConsensusConfig

    try:
        opened = open_embedding(embedding)
        items = [
            replace(item, trusted=bool(item.source) and item.source in trusted)
            for item in read_documents(documents)
        ]
        judge = Consensus(_reader(llm_url, llm_model, opened), opened, ConsensusConfig(rule=rule))  # type: ignore[arg-type]
        result = judge.answer(items, query)
    except CodeguardError as error:
        _fail(error)
    if form == "text":
        said = (
            f"answer: {escaped(result.answer)}"
            if result.answer
            else f"no answer: {escaped(result.abstained)}"
        )
        click.echo(said)
    extra = {"answer": result.answer, "abstained": result.abstained}
    _show(result.selection, form, "codeguard.text.consensus/1", extra)


def _reader(
    llm_url: str | None, llm_model: str, embedding: Embedding, answer_words: int | None = None
) -> Reader:
    """Return a reader: the model at the address where one is given, else sentences picked by the embedding."""
    if llm_url is None:
        return ExtractiveReader(embedding, answer_words=answer_words)
    return LLMReader(_client(llm_url, llm_model))


def _client(llm_url: str, llm_model: str) -> LLMClient:
    key = os.environ.get("CODEGUARD_LLM_KEY", "")
    return LLMClient(LLMConfig(base_url=llm_url, model=llm_model, api_key=key))


def _show(selection: Selection, form: str, schema: str, extra: Mapping[str, str] | None = None) -> None:
    """Print a selection and leave with the exit code it deserves."""
    if form == "json":
        click.echo(
            json.dumps(
                {"schema": schema, **(extra or {}), **selection.to_json()}, indent=2, ensure_ascii=True
            )
        )
    else:
        for note in selection.notes:
            click.echo(f"note: {escaped(note)}")
        for judgment in selection.rejected:
            excerpt = escaped(judgment.document.text[:SHOWN_CHARACTERS])
            click.echo(f"rejected {escaped(judgment.document.id)}: {escaped(judgment.reason)}")
            click.echo(f"    {excerpt}")
        click.echo(f"{len(selection.kept)} kept, {len(selection.rejected)} rejected")
    if selection.error:
        click.echo(f"error: {escaped(selection.error)}", err=True)
        raise SystemExit(EXIT_ERROR)
    raise SystemExit(EXIT_FINDINGS if selection.rejected else 0)


def _fail(error: CodeguardError) -> NoReturn:
    click.echo(f"error: {escaped(str(error))}", err=True)
    raise SystemExit(EXIT_ERROR)
