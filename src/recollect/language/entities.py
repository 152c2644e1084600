from recollect.retain.entities import EntityResolver, KnownEntity, Mention, find_entities

__all__ = ["EntityResolver", "KnownEntity", "Mention", "find_entities"]
