"""The names of the report that other parts of antiloop use; no promise to anyone else."""

from ._data.loops import Loop as Loop
from ._data.loops import Spending as Spending
from ._data.loops import loops_of as loops_of
from ._data.moments import moments_of as moments_of
from ._live_page import live_page as live_page
from ._live_page import live_row as live_row
from ._live_page import live_run as live_run
