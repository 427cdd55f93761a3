"""Reference samplers: one MCMC algorithm a file, exact, and the judges of everything faster."""

from mapdpm.samplers.collapsed_gibbs import CollapsedGibbs

__all__ = ["CollapsedGibbs"]
