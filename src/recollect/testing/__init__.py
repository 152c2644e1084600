"""For tests of what is built on recollect: fakes, and the contract every store must keep."""

from __future__ import annotations

from recollect.testing.contract import StoreContract
from recollect.testing.fakes import FakeEmbedder, aopen_fake, open_fake

__all__ = ["FakeEmbedder", "StoreContract", "aopen_fake", "open_fake"]
