"""The names of the agent that other parts of antiloop use; no promise to anyone else."""

from ._drivers.asking import aask, ask
