"""Makes data/format-1.db, a store as the first release writes it. Run once per format, never
again for one that has been released: `python tests/storage/make_format_1.py`."""

from __future__ import annotations

from pathlib import Path

from recollect.testing import open_fake

HERE = Path(__file__).parent


def main() -> None:
    path = HERE / "data" / "format-1.db"
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    with open_fake(path) as memory:
        memory.retain("old", {"content": "Bob runs. Dan swims.", "document_id": "note"})
        memory.retain(
            "old",
            [
                {"text": "Cara sails at night.", "tags": ["sea"], "timestamp": "2026-04-01"},
                {"text": "Tea is good", "type": "opinion", "confidence": 0.6},
                {"text": "Alice works at Google", "timestamp": "2024-01-01"},
                {"text": "Alice works at Meta", "timestamp": "2025-01-01"},
            ],
        )


if __name__ == "__main__":
    main()
