"""Families in C: ``families.source_of`` writes the verbs of a class, ``cache.loaded`` compiles them (decision 156)."""
