"""The names of recorded runs that other parts of antiloop use; no promise to anyone else."""

from ._doubts import Doubt
from ._files.folders import is_recording
from ._files.source import open_lines
from ._live.live_lines import Begin, LiveFile, LiveLines, LiveVerdict
from ._live.live_session import LiveSession, LiveState, by_trouble
from ._live.live_sessions import LiveSessions
from ._own_clients import NO_OWN, OwnClients
from ._pieces import PIECE, Piece, pieces_of, read_piece
from ._readers.otlp import event_of, handoff
from ._reading import read_lines
from ._recorded_run import check_run
from ._replay import replaying
from ._shared.run_under_way import RunUnderWay
