"""Runs the entries of a library in the hostile tree and writes, as JSON, what each showed.

A program of its own, started with -I in the tree: `library_entries.py FAMILY`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from hostile_tree import CHANGED, FILES, QUERY, STALE, TRUSTED

from codeguard.api import CodeGuard

K = 20
MAIN = ("add", "add_all", "add_two", "add_words", "add_key")  # the function that each file is about
OWN, STALE_TEXT = "Your own code: the manifest", "the file has changed since it was indexed"
Shown = dict[str, Any]


def shown(
    value: object,
    *,
    cleared: Iterable[str] = (),
    vouched: Iterable[str] | None = None,
    trusted: Iterable[str] = (),
    stale: Iterable[str] = (),
) -> Shown:
    """Return what an entry showed: its text, and the files that it found nothing against, whose function it called
    right (all those by default), that it called the team's own, and that it called changed.
    """
    found = {"cleared": set(cleared), "trusted": set(trusted), "stale": set(stale)}
    found["vouched"] = found["cleared"] if vouched is None else set(vouched)
    text = value if isinstance(value, str) else repr(value)
    return {"text": text} | {name: sorted(paths) for name, paths in found.items()}


def of_items(
    items: Iterable[Any], value: object, name: Callable[[Any], str] = lambda item: item.chunk.path
) -> Shown:
    """Return what ranked texts show; `name` says which file one is from."""
    about = [item for item in items if item.chunk.symbol in MAIN or not item.chunk.path]
    return shown(
        value,
        cleared=(name(item) for item in about if not item.demoted and not item.convicted),
        vouched=(
            name(item)
            for item in about
            if item.trust.value in ("trusted", "copy") or (item.verdict == "pass" and not item.demoted)
        ),
        trusted=(name(item) for item in about if item.trust.value == "trusted"),
        stale=(name(item) for item in about if item.on_disk.differs),
    )


def of_ranking(ranking: Any) -> Shown:
    return of_items(ranking.ranking, (ranking.ranking, ranking.dropped, ranking.warnings))


def of_ranking_of_evaluation(guard: CodeGuard) -> Shown:
    from codeguard.ranking.evaluation import DefenseEvaluator

    (evaluation,) = DefenseEvaluator(lambda chunk: False, guard.query).fetch([QUERY], K)
    return of_items(evaluation.after, (evaluation.after, evaluation.dropped))


def of_audit(report: Any) -> Shown:
    from codeguard.models import Severity

    failing = {item.path for item in report.failing(Severity.MEDIUM)}
    return shown(report, cleared=FILES.keys() - failing)


def documents() -> dict[str, str]:
    """Return the tree's texts as a store of somebody else holds them, by path; each trusted file is one chunk."""
    return {path: text for path, text in FILES.items() if "/" in path} | {CHANGED: STALE}


def api(guard: CodeGuard) -> dict[str, Shown]:
    from codeguard.behavior.specs.library import SpecLibrary
    from codeguard.behavior.verdict.checker import BehaviorChecker
    from codeguard.corpus.chunking import chunk_file
    from codeguard.ranking.defense import Candidate, DefenseManager
    from codeguard.ranking.signals.base import SignalServices, Subject
    from codeguard.sandbox import Level, Sandbox

    found = {
        "CodeGuard.query": of_ranking(guard.query(QUERY, K)),
        "CodeGuard.query_many": of_ranking(guard.query_many([QUERY], K)[0]),
        "CodeGuard.audit": of_audit(guard.audit(["theirs"])),
    }
    files = [chunk_file(path, text.encode()) for path, text in documents().items() if path.endswith(".py")]
    subjects = [(chunk, file) for file in files for chunk in file.chunks if chunk.symbol in MAIN]
    workspace = guard.workspace
    services = SignalServices(static=workspace.static_evidence(guard.settings.defense))
    manager = DefenseManager(manifest=workspace.manifest, services=services)
    found["DefenseEvaluator.fetch"] = of_ranking_of_evaluation(guard)
    outcome = manager.apply([Candidate(file.path, chunk, file, 0.1) for chunk, file in subjects])
    found["DefenseManager.apply"] = of_items(outcome.retained, outcome)
    evidence = {
        file.path: manager.evidence(Subject(chunk, file, manager.trust_of(chunk, file)))
        for chunk, file in subjects
    }
    found["DefenseManager.evidence"] = shown(
        evidence,
        cleared=(
            path
            for path, parts in evidence.items()
            if not any(part.demotes or part.convicts for part in parts)
        ),
        vouched=(path for path, parts in evidence.items() if any(part.penalty < 0 for part in parts)),
    )
    trust = {file.path: manager.trust_of(chunk, file).value for chunk, file in subjects}
    found["DefenseManager.trust_of"] = shown(
        trust, vouched=(path for path, value in trust.items() if value in ("trusted", "copy"))
    )
    library = SpecLibrary.load(shipped=False).with_trusted([file for file in files if file.path == TRUSTED])
    with Sandbox(Level.L0, workers=1) as sandbox:
        checker = BehaviorChecker(library, sandbox, seed=b"invariants")
        reports = dict(zip([file.path for _, file in subjects], checker.check_many(subjects), strict=True))
        one = {
            path: checker.check(chunk, file) for (chunk, file), path in zip(subjects, reports, strict=True)
        }
        text = {
            file.path: dict(checker.check_code(file.text)).get(chunk.symbol, reports[file.path])
            for chunk, file in subjects
        }
    for name, by_path in {"check_many": reports, "check": one, "check_code": text}.items():
        found[f"BehaviorChecker.{name}"] = shown(
            by_path, vouched=(path for path, report in by_path.items() if report.verdict.value == "pass")
        )
    return found


def mcp(guard: CodeGuard) -> dict[str, Shown]:
    from mcp import Client

    from codeguard.integrations.mcp import make_server

    server = make_server(guard, mode="rerank", roots=[Path.cwd()])

    async def ask() -> dict[str, Shown]:
        async with Client(server) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                return (await client.call_tool(tool, arguments)).structured_content

            answer = await call("search_code", query=QUERY, k=K)
            main = [item for item in answer["results"] if item["symbol"] in MAIN]
            audits = {
                path: await call("audit_path", path=path) for path in FILES if path.startswith("theirs/")
            }
            checks = {path: await call("check_code", code=text) for path, text in documents().items()}
            files = {path: await call("read", path=path) for path in FILES}
            parts = [
                (path, part)
                for path, said in files.items()
                for part in (said or {"parts": []})["parts"]
                if part["symbol"] in MAIN
            ]
            return {
                "search_code": shown(
                    plain(answer),
                    cleared=(item["path"] for item in main if not item.get("demoted")),
                    trusted=(item["path"] for item in main if item["trust"] == "trusted"),
                    stale=(item["path"] for item in main if item.get("on_disk") in ("changed", "gone")),
                ),
                "read": shown(
                    plain([said for said in files.values() if said]),
                    cleared=(path for path, part in parts if not part.get("demoted")),
                    trusted=(path for path, part in parts if part["trust"] == "trusted"),
                    stale=(path for path, part in parts if part.get("on_disk") in ("changed", "gone")),
                ),
                "audit_path": shown(
                    plain(list(audits.values())),
                    cleared=(p for p, said in audits.items() if said and said["outcome"] != "suspicious"),
                ),
                "check_code": shown(
                    plain(list(checks.values())),
                    cleared=(p for p, said in checks.items() if said and said["outcome"] == "verified"),
                ),
                "explain": shown(plain(await call("explain", rule="insecure.command-injection"))),
            }

    return asyncio.run(ask())


def plain(value: Any) -> str:
    """Return every text in an answer as a client reads it, decoded."""
    if isinstance(value, dict):
        return "\n".join(plain(part) for item in value.items() for part in item)
    return "\n".join(map(plain, value)) if isinstance(value, list) else str(value)


def web(guard: CodeGuard) -> dict[str, Shown]:
    import httpx

    from codeguard.integrations.web import Application, Gate
    from codeguard.reports.html.page import file_id

    gate = Gate(8765)
    application = Application(guard, gate)
    headers = {"cookie": gate.new_cookie.partition(";")[0]}

    async def ask(address: str) -> str:
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as client:
            return (await client.get(address, headers=headers)).text

    def page(address: str) -> str:
        return asyncio.run(ask(address))

    paths = [*guard.catalog.files()]
    files = {path: page(f"/file?id={file_id(path)}") for path in paths}
    findings = page("/findings")
    search = page(f"/search?q={QUERY.replace(' ', '+')}&k={K}")
    found = {
        "/": shown(page("/")),
        "/findings": shown(findings, cleared=(path for path in paths if path not in findings)),
        "/file": shown(
            "\n".join(files.values()),
            cleared=(path for path, text in files.items() if ": none convicted" in text or OWN in text),
            trusted=(path for path, text in files.items() if OWN in text),
            stale=(path for path, text in files.items() if STALE_TEXT in text),
        ),
        "/search": shown(search, stale=[CHANGED] if STALE_TEXT in search else []),
        "/style.css": shown(page("/style.css")),
    }
    application.close()
    return found


def chroma(guard: CodeGuard) -> dict[str, Shown]:
    import chromadb

    from codeguard.integrations.chroma import GuardedClient, GuardedCollection
    from codeguard.integrations.documents import CHANGED as STALE_MARK
    from codeguard.integrations.documents import DEMOTED, DocumentJudge, Retrieval, StoredText

    # The caller's own client reads no settings of the tree, as ours does not.
    client = chromadb.EphemeralClient(chromadb.Settings(_env_file=None))
    texts = documents()

    def of_rows(ids: Any, rows: Any, answer: object) -> Shown:
        marks = {id_: row or {} for id_, row in zip(ids, rows, strict=True)}
        return shown(
            answer,
            cleared=(id_ for id_, row in marks.items() if not row.get(DEMOTED)),
            stale=(id_ for id_, row in marks.items() if row.get(STALE_MARK)),
        )

    def of_query(collection: GuardedCollection) -> Shown:
        answer = collection.query(query_embeddings=[[1.0, 0.0]], n_results=K)
        return of_rows(answer["ids"][0], answer["metadatas"][0], answer)

    def of_get(collection: GuardedCollection, ask: str) -> Shown:
        answer = getattr(collection, ask)()
        return of_rows(answer["ids"], answer["metadatas"], {**answer, "embeddings": None})

    guarded = GuardedClient(client, guard)
    collection = guarded.create_collection("texts", embedding_function=None)
    collection.add(
        ids=list(texts),
        embeddings=[[1.0, 0.1 * n] for n in range(len(texts))],
        documents=list(texts.values()),
        metadatas=[{"path": path} for path in texts],
    )
    opened = guarded.get_collection("texts", embedding_function=None)
    stored = [StoredText(path, text, 0.1, {"path": path}) for path, text in texts.items()]
    judged = DocumentJudge(guard).judge(stored)
    return {
        "GuardedClient.create_collection": of_query(collection),
        "GuardedClient.get_collection": of_query(opened),
        "GuardedClient.get_or_create_collection": of_query(
            guarded.get_or_create_collection("texts", embedding_function=None)
        ),
        "GuardedCollection.query": of_query(opened),
        "GuardedCollection.get": of_get(opened, "get"),
        "GuardedCollection.peek": of_get(opened, "peek"),
        "DocumentJudge.judge": of_items(judged.retained, judged, lambda item: str(item.id)),
        "Retrieval.ask": of_items(found := Retrieval(guard).ask(QUERY, K, "drop"), found),
    }


def of_metadata(found: Iterable[tuple[str, dict[str, Any]]], value: object, prefix: str = "") -> Shown:
    rows = list(found)
    return shown(
        value,
        cleared=(path for path, row in rows if not row[f"{prefix}demoted"] and not row[f"{prefix}convicted"]),
        trusted=(path for path, row in rows if row[f"{prefix}trust"] == "trusted"),
        stale=(path for path, row in rows if row[f"{prefix}on_disk"] in ("changed", "gone")),
    )


def langchain(guard: CodeGuard) -> dict[str, Shown]:
    from codeguard.integrations.langchain import CodeGuardRetriever

    found = CodeGuardRetriever(guard=guard, k=K).invoke(QUERY)
    rows = [(item.metadata["path"], item.metadata) for item in found if item.metadata["symbol"] in MAIN]
    return {"langchain.CodeGuardRetriever": of_metadata(rows, found)}


def llamaindex(guard: CodeGuard) -> dict[str, Shown]:
    from llama_index.core.schema import NodeWithScore, TextNode

    from codeguard.integrations.llamaindex import CodeGuardPostprocessor, CodeGuardRetriever

    found = CodeGuardRetriever(guard, k=K).retrieve(QUERY)
    rows = [(item.node.metadata["codeguard_path"], item.node.metadata) for item in found]
    rows = [row for row in rows if row[1]["codeguard_symbol"] in MAIN]
    nodes = [
        NodeWithScore(node=TextNode(id_=path, text=text, metadata={"path": path}), score=0.5)
        for path, text in documents().items()
    ]
    judged = CodeGuardPostprocessor(guard).postprocess_nodes(nodes)
    texts = [(item.node.node_id, item.node.metadata) for item in judged]
    content = [item.node.get_content() for item in judged]
    return {
        "llamaindex.CodeGuardRetriever": of_metadata(rows, found, "codeguard_"),
        "llamaindex.CodeGuardPostprocessor": of_metadata(texts, content, "codeguard_"),
    }


FAMILIES = {
    "api": api,
    "mcp": mcp,
    "web": web,
    "chroma": chroma,
    "langchain": langchain,
    "llamaindex": llamaindex,
}


def main() -> None:
    """Write what each entry of a family showed."""
    warnings.simplefilter("ignore")
    with CodeGuard.open(create=False) as guard:
        print(json.dumps(FAMILIES[sys.argv[1]](guard)))


if __name__ == "__main__":
    main()
