"""The search for the mode of a hierarchical Dirichlet process: starts, sweeps and moves of grouped points."""
