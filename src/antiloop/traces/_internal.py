"""The names of recorded runs that other parts of antiloop use; no promise to anyone else."""

from ._files.folders import is_recording as is_recording
from ._files.source import open_lines as open_lines
from ._live.live_files import Begin as Begin
from ._live.live_files import LiveFile as LiveFile
from ._live.live_lines import LiveLines as LiveLines
from ._live.live_lines import LiveVerdict as LiveVerdict
from ._live.live_session import LiveSession as LiveSession
from ._live.live_session import LiveState as LiveState
from ._live.live_session import by_trouble as by_trouble
from ._live.live_sessions import LiveSessions as LiveSessions
from ._own_clients import OwnClients as OwnClients
from ._pieces import PIECE as PIECE
from ._pieces import Doubt as Doubt
from ._pieces import Piece as Piece
from ._pieces import pieces_of as pieces_of
from ._pieces import read_piece as read_piece
from ._readers.otlp import event_of as event_of
from ._readers.otlp import handoff as handoff
from ._reading import read_lines as read_lines
from ._recorded_run import check_run as check_run
from ._shared.run_under_way import RunUnderWay as RunUnderWay
