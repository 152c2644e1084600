"""Names in text, and which thing of the bank each of them names."""

from recollect.language.entities.find import Mention, find_entities
from recollect.language.entities.matcher import NameMatcher
from recollect.language.entities.resolve import EntityResolver, KnownEntity, Resolution

__all__ = [
    "EntityResolver",
    "KnownEntity",
    "Mention",
    "NameMatcher",
    "Resolution",
    "find_entities",
]
