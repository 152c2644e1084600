"""From the contract's items to those the library retains."""

from __future__ import annotations

from typing import Any

from recollect.errors import InvalidInput
from recollect.server.schemas import Item, RetainBody

# Accepted for the clients that send them; there is no LLM that they could steer.
_WITHOUT_EFFECT = {"resolve_entities", "observation_scopes", "strategy"}


def given_items(body: RetainBody) -> list[dict[str, Any]]:
    return [_item(n, item, body.document_tags or []) for n, item in enumerate(body.items)]


def _item(number: int, item: Item, document_tags: list[str]) -> dict[str, Any]:
    said = item.model_dump(exclude_none=True, exclude=_WITHOUT_EFFECT)
    if isinstance(item.content, list):
        said["content"] = _text(number, item.content)
    if document_tags:
        said["tags"] = list(dict.fromkeys([*(item.tags or []), *document_tags]))
    return said


def _text(number: int, blocks: list[dict[str, Any]]) -> str:
    """Blocks of text, one after the other. What is not text is not quietly left out."""
    for block in blocks:
        if block.get("type") != "text" or not isinstance(block.get("text"), str):
            raise InvalidInput(
                f"item {number} holds a block of type {block.get('type')!r}",
                hint="recollect reads text: describe the image, or extract the text of the file",
            )
    return "\n".join(block["text"] for block in blocks)
