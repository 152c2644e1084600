"""Names in text, and which thing of the bank each of them names."""

from recollect.retain.entities.find import Mention, find_entities
from recollect.retain.entities.matcher import NameMatcher
from recollect.retain.entities.resolve import EntityResolver, KnownEntity, Resolution

__all__ = [
    "EntityResolver",
    "KnownEntity",
    "Mention",
    "NameMatcher",
    "Resolution",
    "find_entities",
]
