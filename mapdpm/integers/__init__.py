"""The learner in whole numbers, defined in plain numbers of Python (docs/integers.md): C must have its bits."""
