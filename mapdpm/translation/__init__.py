"""Families in C: ``families.source_of`` writes the verbs of a class as C, ``cache.loaded`` compiles it (decision 156)."""
