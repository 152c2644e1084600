"""What recollect reads beside a graph: a manifest with pinned hashes, and the tokens whose vectors are not kept."""

from __future__ import annotations

import hashlib
import json
import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

# Function words whose vectors say little by themselves. Names, numbers, question words' answers
# and pronouns stay: who said it is what memories are about.
_STOP_WORDS = (
    "a an the of to in on at for and or but is are was were be been am do does did has have had "
    "it its this that these those with by as from so if then than there here just very really "
    "would could should will can may might"
)


def skip_tokens(tokenizer: Tokenizer) -> list[int]:
    """Ids whose passage vectors are not kept: separators, punctuation, stop words."""
    words = [
        "[SEP]",
        "[PAD]",
        *string.punctuation,
        *_STOP_WORDS.split(),
        "’",
        "‘",
        "“",
        "”",
        "…",
        "–",
        "—",
    ]
    ids = (tokenizer.token_to_id(word) for word in words)
    return sorted(i for i in ids if i is not None)


def write_manifest(path: Path, manifest: dict[str, Any], names: Sequence[str]) -> None:
    files = {name: hashlib.sha256((path.parent / name).read_bytes()).hexdigest() for name in names}
    text = json.dumps(manifest | {"files": files}, indent=1) + "\n"
    path.write_text(text, encoding="utf-8")
