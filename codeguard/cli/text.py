"""`codeguard text`: the text-domain defenses over files and collections of documents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from codeguard.cli.output import EXIT_ERROR, EXIT_FINDINGS, FORMAT, option_group, say, say_json, warn
from codeguard.corpus.secrets import mask_secrets
from codeguard.errors import ConfigError
from codeguard.escaping import escaped
from codeguard.index.embedding import Embedding
from codeguard.text.consensus import RULES, STRICTNESS
from codeguard.text.files import read_documents, read_examples, read_pairs
from codeguard.text.label_flip import CHOICES, LEVELS, LabelFlipDefense
from codeguard.text.llm import LLMClient, LLMConfig
from codeguard.text.model import Document, Selection, TextDefense
from codeguard.text.reading import ExtractiveReader, LLMReader, Reader
from codeguard.text.tokens import MAX_CHARACTERS

SHORT_ANSWER = 5  # words of an answer that Freq-Density is taken with

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


llm_options = option_group(
    click.option("--llm-url", help="OpenAI-compatible endpoint; without it no LLM is used."),
    click.option("--llm-model", default="default", show_default=True),
    click.option("--llm-timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
                 help="Seconds for one call with all its attempts."),
    click.option("--llm-attempts", type=click.IntRange(1), default=3, show_default=True),
)  # fmt: skip
output_options = option_group(
    click.option(
        "--embedding",
        default="auto",
        show_default=True,
        help="auto, minilm, lexical, static, …; see `codeguard doctor`.",
    ),
    FORMAT,
)
detector_options = option_group(
    click.option("--detector", type=click.Choice(CHOICES), default="auto", show_default=True),
    click.option("--level", type=click.Choice(LEVELS), default="entry", show_default=True),
)
order_option = click.option(
    "--in-order", is_flag=True, help="DOCUMENTS were retrieved already, the nearest first: take all."
)


@click.group()
def text() -> None:
    """Defend text corpora: label flips, poisoned passages, consensus of summaries.

    Documents are read from CSV or TSV files with a heading, or from JSON lines; the fields are text,
    label, id and source. No file can declare a document trusted.
    """


@text.command("label-flip")
@click.argument("batch", type=FILE)
@click.option("--base", "base_file", type=FILE, required=True, help="Labelled documents that are right.")
@detector_options
@output_options
def label_flip(batch: Path, base_file: Path, embedding: str, format_: str, **options: Any) -> None:
    """Check the labels of BATCH against its texts, using a base with correct labels.

    By default the base is cross-validated, the detector that performs best on it is chosen, and its expected
    detection and false rejection rates are shown; if no detector can distinguish the labels, nothing is
    checked (exit code 2). --level batch rejects a whole batch if half of it disagrees.

    Exit code 0: everything kept; 1: something rejected; 2: error.
    """
    from codeguard.text.label_flip import LabelledBase, label_embedding

    base = LabelledBase.of(_documents(base_file, labels=True), label_embedding(embedding))
    selection = LabelFlipDefense(base, **options).select(_documents(batch, labels=True))
    _show(selection, format_, "codeguard.text.label-flip/1")


@text.command("filter")
@click.argument("documents", type=FILE, required=False)
@click.option("--query", default="", help="The question; the --top nearest documents are retrieved for it.")
@order_option
@click.option("--train", "train_file", type=FILE, help="Labelled examples: query, text, poisoned.")
@click.option(
    "--model", "model_file", type=click.Path(dir_okay=False, path_type=Path), help="Trained filter."
)
@click.option(
    "--calibrate",
    "clean_file",
    type=FILE,
    help="Clean passages of your own (text, query where known): learn the threshold from them.",
)
@click.option(
    "--keep-clean",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Share of clean passages that calibration promises to keep.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, min_open=True),
    help="One density for all lengths, not calibrated (0.2 in the paper).",
)
@click.option("--top", type=click.IntRange(1), default=4, show_default=True)
@click.option("--keep", type=click.IntRange(0), default=2, show_default=True, help="0 keeps all that pass.")
@llm_options
@output_options
def filter_command(
    documents: Path | None,
    query: str,
    in_order: bool,
    train_file: Path | None,
    model_file: Path | None,
    clean_file: Path | None,
    keep_clean: float,
    threshold: float | None,
    top: int,
    keep: int,
    format_: str,
    **options: Any,
) -> None:
    """Drop retrieved DOCUMENTS crafted to answer one question: FilterRAG, or ML-FilterRAG with --model.

    `--train EXAMPLES --model FILE` trains a filter and saves it to FILE. Calibration is refused
    where imitated poison, in the passages' own style, would pass.

    Exit code 0: everything within --keep passed; 1: something rejected; 2: error, a failed call of the model too.
    """
    from codeguard.index.embedding import open_embedding
    from codeguard.text.filterrag import FilterRAG, LengthThreshold, calibrate_threshold
    from codeguard.text.mlfilter import MLFilterRAG, TrainedFilter, train_filter

    opened = open_embedding(options["embedding"], prose=True)
    reader = _reader(options, opened, SHORT_ANSWER)
    if train_file is not None:
        if model_file is None:
            raise click.UsageError("--train needs --model FILE to save to")
        model = train_filter(read_examples(train_file), opened, reader)
        model.save(model_file)
        say(f"trained on {train_file}, threshold {model.threshold:.3f}")
        return
    if documents is None or not query.strip():
        raise click.UsageError("give DOCUMENTS and --query, or --train and --model")
    notes: tuple[str, ...] = ()
    defense: TextDefense
    if model_file is not None:
        defense = MLFilterRAG(TrainedFilter.load(model_file), opened, reader, top, keep)
    else:
        if clean_file is not None:
            learned = calibrate_threshold(read_pairs(clean_file), reader, opened, keep=keep_clean)
            learned.require_useful()
            limit, notes = learned.threshold, (learned.note,)
        elif threshold is not None:
            limit = LengthThreshold.constant(threshold)
        else:
            raise ConfigError(
                "the filter is not calibrated, and would drop an unknown share of clean documents",
                hint="give --calibrate PASSAGES or --model FILE; --threshold 0.2 filters without a promise",
            )
        defense = FilterRAG(reader, limit, opened, top, keep)
    found = _nearest(documents, query, None if in_order else top, opened)
    selection = defense.select(found, query)
    selection = replace(selection, notes=(*notes, *selection.notes))
    _show(selection, format_, "codeguard.text.filter/1")


@text.command("consensus")
@click.argument("documents", type=FILE)
@click.option(
    "--query", required=True, help="The question; the --top nearest documents are retrieved for it."
)
@order_option
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, help="Documents that are retrieved."
)
@click.option("--rule", type=click.Choice(RULES), default="sound", show_default=True)
@click.option(
    "--strictness",
    type=click.Choice(list(STRICTNESS)),
    default="answer",
    show_default=True,
    help="Where documents contradict each other: answer with a confidence, abstain if a third of the votes "
    "contradict (balanced), or a fifth (strict).",
)
@click.option("--trust-source", "trusted", multiple=True, help="A source that you trust; may be repeated.")
@llm_options
@output_options
def consensus_command(
    documents: Path,
    query: str,
    in_order: bool,
    top: int,
    rule: str,
    strictness: str,
    trusted: tuple[str, ...],
    format_: str,
    **options: Any,
) -> None:
    """Summarize each document separately, and answer from those that agree, with a stated confidence.

    Documents that contradict each other are shown as two camps, each with its claim and its share of the
    votes. --strictness says when that means no answer.

    Exit code 0: everything kept; 1: something rejected, or abstained; 2: error, a failed call of the model too.
    """
    from codeguard.index.embedding import open_embedding
    from codeguard.text.consensus import Consensus

    if not query.strip():
        raise click.UsageError("give a --query that is not blank")
    opened = open_embedding(options["embedding"], prose=True)
    found = _nearest(documents, query, None if in_order else top, opened)
    items = [replace(item, trusted=bool(item.source) and item.source in trusted) for item in found]
    judge = Consensus(_reader(options, opened), opened, rule, strictness)  # type: ignore[arg-type]
    result = judge.answer(items, query)
    lines = [f"no answer: {result.abstained}"]
    if result.answer:
        lines = [f"answer: {result.answer}", f"confidence: {result.confidence:.2f}"]
    for camp in result.camps:
        lines.append(f"{camp.share:.0%} of the votes: {camp.claim} (documents {', '.join(camp.documents)})")
    extra = {
        "answer": result.answer,
        "abstained": result.abstained,
        "confidence": round(result.confidence, 6),
        "camps": [camp.to_json() for camp in result.camps],
    }
    _show(result.selection, format_, "codeguard.text.consensus/2", extra, lines)


def _nearest(path: Path, query: str, top: int | None, embedding: Embedding) -> Sequence[Document]:
    """Return the `top` documents of a file that are nearest to a query by cosine, or all of them in their order."""
    documents = _documents(path)
    if top is None:
        return documents
    rows = embedding.embed([query, *(document.text for document in documents)])
    nearness = (rows[1:] @ rows[0]).tolist()
    order = sorted(range(len(documents)), key=lambda index: -nearness[index])
    return [documents[index] for index in order[:top]]


def _documents(path: Path, *, labels: bool = False) -> tuple[Document, ...]:
    """Return the documents of a file; report what is not read and which names are ambiguous."""
    documents = read_documents(path, labels=labels)
    cut = [document.id for document in documents if len(document.text) > MAX_CHARACTERS]
    if cut:
        warn(
            f"{path}: {len(cut)} of {len(documents)} documents are read up to character {MAX_CHARACTERS:,} only, "
            f"the first is {cut[0]}; cut them into smaller ones"
        )
    texts: dict[str, set[str]] = {}
    for document in documents:
        texts.setdefault(document.id, set()).add(document.text)
    shared = [name for name, found in texts.items() if len(found) > 1]
    if shared:
        others = f", and {len(shared) - 1} more ids do" if len(shared) > 1 else ""
        warn(f"{path}: the id {shared[0]} stands for several texts{others}; tell them apart")
    return documents


def _reader(options: Mapping[str, Any], embedding: Embedding, answer_words: int | None = None) -> Reader:
    """Return a reader: the model at the given address, with the key of CODEGUARD_LLM_KEY, or one by the embedding."""
    if options["llm_url"] is None:
        return ExtractiveReader(embedding, answer_words=answer_words)
    client = LLMClient(
        LLMConfig(
            base_url=options["llm_url"],
            model=options["llm_model"],
            api_key=os.environ.get("CODEGUARD_LLM_KEY", ""),
            timeout_s=options["llm_timeout"],
            attempts=options["llm_attempts"],
        )
    )
    return LLMReader(client)


def _show(
    selection: Selection,
    format_: str,
    schema: str,
    extra: Mapping[str, Any] | None = None,
    said: Sequence[str] = (),
) -> None:
    """Print a selection and exit with the matching code."""
    if format_ == "json":
        report = {"schema": schema, **(extra or {}), **selection.to_json()}
        say_json(report)
    else:
        for line in said:
            say(line)
        for line in selection_lines(selection):
            say(line)
    for message in filter(None, (selection.error, *selection.failures)):
        warn(message)
    if selection.error or selection.failures:
        raise SystemExit(EXIT_ERROR)
    raise SystemExit(EXIT_FINDINGS if selection.rejected else 0)


EXCERPT = 60  # characters of a text that are shown


def selection_lines(selection: Selection) -> Iterator[str]:
    """Yield the notes, each rejected document with its reason and beginning, and the counts."""
    for note in selection.notes:
        yield f"note: {escaped(note)}"
    if selection.error:  # one reason for all of them, which the command says
        yield f"nothing was judged, so none of the {len(selection.judgments)} documents is kept"
        return
    for judgment in selection.rejected:
        yield f"rejected {escaped(judgment.document.id)}: {escaped(judgment.reason)}"
        # Masked before it is cut: half a secret is not recognized as one.
        yield f"    {escaped(mask_secrets(judgment.document.text)[:EXCERPT])}"
    yield f"{len(selection.kept)} kept, {len(selection.rejected)} rejected"
