"""The release: how it is built, looked into, used and described. ``python -m release.check`` runs all of it."""
