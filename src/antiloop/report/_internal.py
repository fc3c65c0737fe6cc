"""The names of the report that other parts of antiloop use; no promise to anyone else."""

from ._data.loops import Loop, Spending, loops_of
from ._data.moments import moments_of
from ._live_page import live_page, live_row, live_run
