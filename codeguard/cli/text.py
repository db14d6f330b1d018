"""`codeguard text`: the text-domain defenses over files and collections of documents."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from codeguard.cli.options import option_group
from codeguard.cli.output import EXIT_ERROR, EXIT_FINDINGS, guarded, say, say_json, warn
from codeguard.errors import ConfigError
from codeguard.index.embedding import Embedding
from codeguard.reports.text_selection import selection_lines
from codeguard.text.consensus import RULES, STRICTNESS
from codeguard.text.extractive import ExtractiveReader
from codeguard.text.files import Fields, read_documents, read_examples, read_pairs
from codeguard.text.label_flip import CHOICES, LEVELS, LabelFlipConfig, LabelFlipDefense, LLMLabelJudge
from codeguard.text.llm import LLMClient, LLMConfig
from codeguard.text.llm_reader import LLMReader
from codeguard.text.model import Document, Selection, TextDefense
from codeguard.text.reading import Reader
from codeguard.text.tokens import MAX_CHARACTERS

SHORT_ANSWER = 5  # words of an answer that Freq-Density is taken with
DEFAULT_STORE = ".codeguard"

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


llm_options = option_group(
    click.option("--llm-url", help="OpenAI-compatible endpoint; without it no LLM is used."),
    click.option("--llm-model", default="default", show_default=True),
    click.option("--llm-timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True,
                 help="Seconds for one call with all its attempts."),
    click.option("--llm-attempts", type=click.IntRange(1), default=3, show_default=True),
)  # fmt: skip
field_options = option_group(
    click.option("--text-field", default="text", show_default=True),
    click.option("--label-field", default="label", show_default=True),
    click.option("--id-field", default="id", show_default=True),
    click.option("--source-field", default="source", show_default=True),
)
output_options = option_group(
    click.option(
        "--embedding",
        default="auto",
        show_default=True,
        help="auto, minilm, lexical, static, …; see `codeguard doctor`.",
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="text: what was rejected and why.",
    ),
)
store_option = click.option(
    "--store", default=DEFAULT_STORE, show_default=True, help="Folder, or http(s)://host:port of Chroma."
)
detector_options = option_group(
    click.option("--detector", type=click.Choice(CHOICES), default="auto", show_default=True),
    click.option("--level", type=click.Choice(LEVELS), default="entry", show_default=True),
    click.option("--neighbours", type=click.IntRange(1), default=11, show_default=True),
    click.option("--batch-share", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.5,
                 show_default=True, help="Share of disagreeing entries at which --level auto rejects a batch."),
)  # fmt: skip
collection_options = option_group(
    click.option("--collection", help="Ask this collection instead of reading DOCUMENTS."),
    store_option,
    click.option(
        "--in-order", is_flag=True, help="DOCUMENTS were retrieved already, the nearest first: take all."
    ),
)


@click.group()
def text() -> None:
    """Defend text corpora: label flips, poisoned passages, consensus of summaries.

    Documents are read from CSV, TSV, JSON (an array of objects) or
    JSON-lines files; --text-field and similar options name their fields. No file can declare a document
    trusted.
    """


@text.command("label-flip")
@click.argument("batch", type=FILE)
@click.option("--base", "base_file", type=FILE, required=True, help="Labelled documents that are right.")
@detector_options
@field_options
@llm_options
@output_options
@guarded
def label_flip(batch: Path, base_file: Path, form: str, **options: Any) -> None:
    """Check the labels of BATCH against its texts, using a base with correct labels.

    By default the base is cross-validated, the detector that performs best on it is chosen, and its expected
    detection and false rejection rates are shown; if no detector can distinguish the labels, nothing is
    checked (exit code 2). --level auto rejects a whole batch if half of it disagrees.

    With --llm-url a model decides the label of entries that fit two labels about equally well.

    Exit code 0: everything kept; 1: something rejected; 2: error, a failed call of the model too.
    """
    from codeguard.text.labels import label_embedding

    fields, embedding = _fields(options), label_embedding(options["embedding"])
    defense = _detector(_documents(base_file, fields, labels=True), embedding, options)
    selection = defense.select(_documents(batch, fields, labels=True))
    _show(selection, form, "codeguard.text.label-flip/1")


@text.command("ingest")
@click.argument("file", type=FILE)
@click.option("--collection", required=True, help="The Chroma collection to add to; made where missing.")
@store_option
@click.option(
    "--base", "base_file", type=FILE, help="Labelled documents that are right.  [default: the collection]"
)
@detector_options
@field_options
@llm_options
@output_options
@guarded
def ingest_command(
    file: Path, collection: str, store: str, base_file: Path | None, form: str, **options: Any
) -> None:
    """Add the documents of FILE whose labels match their texts to a collection: all of them, or none.

    They are checked against --base, or against the content of the collection.
    Documents without an id are named by the digest of their text, so that
    the same file can be ingested again: existing documents are skipped.

    Exit code 0: everything added; 1: something rejected; 2: error, nothing was added.
    """
    from codeguard.text.collections import open_collection
    from codeguard.text.ingest import ingest, stored_documents
    from codeguard.text.labels import label_embedding

    fields, embedding = _fields(options), label_embedding(options["embedding"])
    documents = _documents(file, fields, labels=True)
    with open_collection(store, collection, embedding, create=base_file is not None) as opened:
        base = (
            _documents(base_file, fields, labels=True) if base_file is not None else stored_documents(opened)
        )
        defense = _detector(base, embedding, options)
        report = ingest(opened, documents, defense, embedding=embedding)
    done = (
        f"{len(report.added)} added to {collection}, "
        f"{len(report.skipped)} skipped (repeated or there already), batch {report.batch}"
    )
    extra = {"batch": report.batch, "added": list(report.added), "skipped": list(report.skipped)}
    _show(report.selection, form, "codeguard.text.ingest/1", extra, [done])


@text.command("filter")
@click.argument("documents", type=FILE, required=False)
@click.option("--query", default="", help="The question; the --top nearest documents are retrieved for it.")
@collection_options
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
@click.option("--matching", type=click.Choice(["literal", "semantic"]), default="semantic", show_default=True)
@click.option("--top", type=click.IntRange(1), default=4, show_default=True)
@click.option("--keep", type=click.IntRange(0), default=2, show_default=True, help="0 keeps all that pass.")
@field_options
@llm_options
@output_options
@guarded
def filter_command(
    documents: Path | None,
    query: str,
    collection: str | None,
    store: str,
    train_file: Path | None,
    model_file: Path | None,
    clean_file: Path | None,
    keep_clean: float,
    threshold: float | None,
    matching: str,
    top: int,
    keep: int,
    form: str,
    **options: Any,
) -> None:
    """Drop retrieved DOCUMENTS crafted to answer one question: FilterRAG, or ML-FilterRAG with --model.

    `--train EXAMPLES --model FILE` trains a filter and saves it to FILE.
    `--calibrate PASSAGES --model FILE` without DOCUMENTS fits a saved filter
    to a corpus by its clean passages and saves it again. Calibration is refused
    where imitated poison, in the passages' own style, would pass.

    Exit code 0: everything within --keep passed; 1: something rejected; 2: error, a failed call of the model too.
    """
    from codeguard.index.embedding import open_embedding
    from codeguard.text.filterrag import FilterConfig, FilterRAG, calibrate_threshold
    from codeguard.text.frequency import LengthThreshold, WordMatcher
    from codeguard.text.mlfilter import MLFilterRAG, TrainedFilter, recalibrate, train_filter

    opened, fields = open_embedding(options["embedding"], prose=True), _fields(options)
    reader = _reader(options, opened, SHORT_ANSWER)
    # A trained filter must count words the same way as when its signals were chosen.
    literal = matching == "literal" or train_file is not None or model_file is not None
    matcher = WordMatcher(None if literal else opened)
    if train_file is not None:
        if model_file is None:
            raise click.UsageError("--train needs --model FILE to save to")
        model = train_filter(read_examples(train_file, fields), opened, reader, matcher=matcher)
        model.save(model_file)
        say(f"trained on {train_file}, threshold {model.threshold:.3f}")
        return
    given = documents is not None or collection is not None
    if not (given and query.strip()) and not (clean_file and model_file and not given):
        raise click.UsageError("give DOCUMENTS or --collection and --query, or --train and --model")
    notes: tuple[str, ...] = ()
    pairs = read_pairs(clean_file, fields) if clean_file is not None else None
    defense: TextDefense
    if model_file is not None:
        trained = TrainedFilter.load(model_file)
        if pairs is not None:
            fitted = recalibrate(trained, pairs, opened, reader, matcher=matcher, keep=keep_clean)
            fitted.require_useful()
            trained, notes = fitted.model, fitted.notes
        if not given:
            trained.save(model_file)
            for note in notes:
                say(note)
            return
        defense = MLFilterRAG(trained, opened, reader, matcher, top, keep)
    else:
        limit: float | LengthThreshold | None = threshold
        if pairs is not None:
            learned = calibrate_threshold(pairs, reader, matcher, keep=keep_clean)
            learned.require_useful()
            limit, notes = learned.threshold, learned.notes
        if limit is None:
            raise ConfigError(
                "the filter is not calibrated, and would drop an unknown share of clean documents",
                hint="give --calibrate PASSAGES or --model FILE; --threshold 0.2 filters without a promise",
            )
        defense = FilterRAG(reader, matcher, FilterConfig(top, keep, limit))
    found = _found(documents, collection, store, query, top, options, fields, opened)
    selection = defense.select(found, query)
    selection = replace(selection, notes=(*notes, *selection.notes))
    _show(selection, form, "codeguard.text.filter/1")


@text.command("consensus")
@click.argument("documents", type=FILE, required=False)
@click.option(
    "--query", required=True, help="The question; the --top nearest documents are retrieved for it."
)
@collection_options
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
@field_options
@llm_options
@output_options
@guarded
def consensus_command(
    documents: Path | None,
    query: str,
    collection: str | None,
    store: str,
    top: int,
    rule: str,
    strictness: str,
    trusted: tuple[str, ...],
    form: str,
    **options: Any,
) -> None:
    """Summarize each document separately, and answer from those that agree, with a stated confidence.

    Documents that contradict each other are shown as two camps, each with its claim and its share of the
    votes. --strictness says when that means no answer.

    Exit code 0: everything kept; 1: something rejected, or abstained; 2: error, a failed call of the model too.
    """
    from codeguard.index.embedding import open_embedding
    from codeguard.text.consensus import Consensus, ConsensusConfig

    if (documents is None and collection is None) or not query.strip():
        raise click.UsageError("give DOCUMENTS or --collection, and a --query that is not blank")
    opened = open_embedding(options["embedding"], prose=True)
    found = _found(documents, collection, store, query, top, options, _fields(options), opened)
    items = [replace(item, trusted=bool(item.source) and item.source in trusted) for item in found]
    config = ConsensusConfig(rule=rule, strictness=strictness)  # type: ignore[arg-type]
    result = Consensus(_reader(options, opened), opened, config).answer(items, query)
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
    _show(result.selection, form, "codeguard.text.consensus/2", extra, lines)


def _detector(base: Sequence[Document], embedding: Embedding, options: Mapping[str, Any]) -> LabelFlipDefense:
    from codeguard.text.labels import LabelledBase

    config = LabelFlipConfig(
        detector=options["detector"],
        level=options["level"],
        neighbours=options["neighbours"],
        large_part=options["batch_share"],
    )
    judge = LLMLabelJudge(_client(options)) if options["llm_url"] else None
    return LabelFlipDefense(LabelledBase.of(base, embedding), config, judge)


def _found(
    documents: Path | None,
    collection: str | None,
    store: str,
    query: str,
    top: int,
    options: Mapping[str, Any],
    fields: Fields,
    embedding: Embedding,
) -> tuple[Document, ...]:
    """Return the `top` documents of the file or the collection that are nearest to the query."""
    from codeguard.text.collections import nearest_documents, open_collection, rank_documents
    from codeguard.text.labels import label_embedding

    if documents is not None:
        given = _documents(documents, fields)
        return given if options["in_order"] else rank_documents(given, query, top, embedding)
    joined = label_embedding(options["embedding"])
    with open_collection(store, collection or "", joined) as opened:
        return nearest_documents(opened, query, top, joined)


def _fields(options: Mapping[str, Any]) -> Fields:
    return Fields(
        text=options["text_field"],
        label=options["label_field"],
        id=options["id_field"],
        source=options["source_field"],
    )


def _documents(path: Path, fields: Fields, *, labels: bool = False) -> tuple[Document, ...]:
    """Return the documents of a file; report what is not read and which names are ambiguous."""
    documents = read_documents(path, labels=labels, fields=fields)
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
    """Return a reader: the model at the given address, or else sentences selected by the embedding."""
    if options["llm_url"] is None:
        return ExtractiveReader(embedding, answer_words=answer_words)
    return LLMReader(_client(options))


def _client(options: Mapping[str, Any]) -> LLMClient:
    """Return the client; its key comes from CODEGUARD_LLM_KEY."""
    return LLMClient(
        LLMConfig(
            base_url=options["llm_url"],
            model=options["llm_model"],
            api_key=os.environ.get("CODEGUARD_LLM_KEY", ""),
            timeout_s=options["llm_timeout"],
            attempts=options["llm_attempts"],
        )
    )


def _show(
    selection: Selection,
    form: str,
    schema: str,
    extra: Mapping[str, Any] | None = None,
    said: Sequence[str] = (),
) -> None:
    """Print a selection and exit with the matching code."""
    if form == "json":
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
