"""Searches whose clusters have shares in several mixtures: groups, or what comes after a state."""
