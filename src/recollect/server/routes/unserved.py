"""What Hindsight's contract has and recollect does not serve: said plainly, with what to use."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from recollect.server.problems import problem

router = APIRouter(include_in_schema=False)
_BANK = "/v1/default/banks/{bank_id}"
_ANY = ["GET", "POST", "PUT", "PATCH", "DELETE"]

# What it is, what to use instead, and the paths it has.
UNSERVED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "reflect",
        "recall what matters and let your own model answer from it; "
        "POST …/memories/recall gives dated, cited, calibrated facts",
        ("/reflect", "/prompts/preview", "/health/llm"),
    ),
    (
        "mental models",
        "retain what you conclude as an observation: an item with type `observation` and source_ids",
        ("/mental-models", "/mental-models/{rest:path}"),
    ),
    (
        "a knowledge base",
        "retain pages as documents with document_id, title and topic_path, and recall them",
        ("/knowledge-base/{rest:path}",),
    ),
    (
        "directives",
        "keep rules for your model in its prompt, or retain them with kind `workflow`",
        ("/directives", "/directives/{rest:path}"),
    ),
    (
        "webhooks",
        "ask GET …/operations/{operation_id} for the state of an asynchronous retain",
        ("/webhooks", "/webhooks/{rest:path}"),
    ),
    (
        "consolidation by an LLM",
        "retain observations yourself, with type `observation` and source_ids; duplicates are "
        "merged and superseded values marked without it",
        (
            "/consolidate",
            "/consolidation/{rest:path}",
            "/consolidation-strategies/{rest:path}",
            "/observations/{rest:path}",
            "/memories/{memory_id}/observations",
            "/entities/{entity_id}/regenerate",
        ),
    ),
    (
        "moving banks over HTTP",
        "`recollect export BANK` and `recollect import` move a bank, exactly",
        (
            "/import",
            "/export",
            "/document-transfer",
            "/document-transfer/{rest:path}",
            "/transfer/{rest:path}",
            "/clone",
        ),
    ),
    (
        "files and attachments",
        "extract the text and retain it; `recollect retain --file` reads Markdown, text and JSONL",
        ("/files/{rest:path}", "/attachments/{rest:path}"),
    ),
    (
        "aliases, dispositions and backgrounds of their own",
        "PATCH the bank or its config",
        ("/aliases", "/aliases/{rest:path}", "/background"),
    ),
    (
        "logs of LLM calls and of changes over HTTP",
        "recollect makes no LLM calls; changes are in the server's audit log (setting audit_log)",
        (
            "/llm-requests",
            "/llm-requests/{rest:path}",
            "/audit-logs",
            "/audit-logs/{rest:path}",
        ),
    ),
    (
        "this view",
        "GET …/memories/list with time_field, …/memories/{memory_id}/history and POST "
        "…/memories/why show how memories came about",
        (
            "/stats/memories-timeseries",
            "/documents/{document_id}/history",
            "/documents/{document_id}/reprocess",
            "/memories/dry-run-extract",
        ),
    ),
)


def _add(what: str, instead: str, path: str) -> None:
    async def unserved(request: Request) -> Any:
        return problem(
            501,
            f"recollect does not serve {what}",
            instead,
            kind="not-served",
            instance=request.url.path,
        )

    router.add_api_route(path, unserved, methods=_ANY, name=f"unserved {path}")


for _what, _instead, _paths in UNSERVED:
    for _path in _paths:
        _add(_what, _instead, _BANK + _path)
_add("bank templates", "PATCH …/config sets a bank's settings", "/v1/bank-template-schema")
_add("files", "extract the text and retain it", "/v1/default/files/{rest:path}")
