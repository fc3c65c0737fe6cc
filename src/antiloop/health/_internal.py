"""The names of health that other parts of antiloop use; no promise to anyone else."""

from ._numbers import budget_from_environment
