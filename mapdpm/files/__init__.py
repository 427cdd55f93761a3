"""Files: the container, which C reads too; batch models in it; models as C source; load and save."""
