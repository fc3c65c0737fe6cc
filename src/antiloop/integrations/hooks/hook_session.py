"""One session of a coding agent, as its hooks report it: calls that begin and end, and the user.

No agent reports which calls belong to one reply of the model. Calls that begin before one of them
has ended are taken as one round. A call whose end is never reported, such as one that the user did
not allow, ends without a known result when the next round begins.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Dict, List, NamedTuple, Optional

from ...exceptions import SnapshotError
from ...loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ...loop_detection.evidence.compared import asked_of
from ...loop_detection.evidence.tool_policy import NO_POLICY
from ...loop_detection.text.canonical import canonical_json
from ...types import ToolCall, ToolResult
from ..guard import stopped

LONG = 1 << 16
"""How many characters of arguments or of a result are kept; of longer ones, their hash."""
ROUND = 50
"""How many calls a round holds at most."""

COPIES = 2
"""How many equal calls one reply of a model is taken to hold at most."""

_SHOWN = 200
_VERSION = 2


class Decision(NamedTuple):
    """What is to be done about an event; empty texts: nothing."""

    refusal: str = ""
    """Why the call is not to run."""
    notice: str = ""
    """The message to the model."""
    end: str = ""
    """Why the run is to end."""


@dataclass
class Begun:
    """A call of the round that is under way; without a result while it runs."""

    call: ToolCall
    key: str
    result: Optional[ToolResult] = None
    is_refused: bool = False

    def to_list(self) -> List[Any]:
        """Return the call as plain JSON."""
        result = self.result and [self.result.text, self.result.is_error]
        call = self.call
        return [call.tool_name, call.arguments, call.id, self.key, result, self.is_refused]

    @classmethod
    def of(cls, kept: Any) -> "Begun":
        """Take over what `to_list` gave."""
        name, arguments, call_id, key, result, is_refused = kept
        call = ToolCall(name, arguments, call_id)
        return cls(call, key, result and ToolResult(*result), bool(is_refused))


class HookSession:
    """Judges a session, event by event.

    Args:
        monitor: one that has seen nothing yet.
        kept: what `to_dict` gave after the event before; empty at the first one.
        refuses_all: refuse all calls after the end, and not only those of the loop, until the user
            speaks: for agents whose run a hook cannot end.
    """

    def __init__(self, monitor: LoopMonitor, kept: Dict[str, Any], *, refuses_all: bool) -> None:
        self._monitor = monitor
        self._refuses_all = refuses_all
        self._round: List[Begun] = []
        self._members: List[str] = []
        self._notice = self._end = self._turn = ""
        self.verdict: Optional[LoopVerdict] = None
        """The verdict on the round that this event has ended; None if it ended none."""
        if kept.get("version") == _VERSION:
            self._load(kept)

    def user_message(self) -> Decision:
        """Start again: the user has spoken."""
        self._monitor.user_message()
        self._round.clear()
        self._members.clear()
        self._notice = self._end = ""
        return Decision()

    def turn(self, name: str) -> None:
        """Set the user's turn that the event is in, if it has a name."""
        if self._turn and name and name != self._turn:
            self.user_message()
        self._turn = name

    def before(self, call: ToolCall, *, takes_notice: bool = False) -> Decision:
        """Decide whether a call may run, and note that it begins."""
        begun = Begun(shortened(call), key_of(call))
        if self._is_next_round(begun):
            self._judge_all()
        if self._end and (self._refuses_all or begun.key in self._members):
            return Decision(refusal=self._end, end=self._end)
        verdict = self._monitor.before(begun.call)
        self._round.append(begun)
        if verdict.action is LoopAction.BLOCK:
            begun.result, begun.is_refused = ToolResult(verdict.message, is_error=True), True
            self._judge_refusal()
            return Decision(refusal=verdict.message, end=self._end)
        return Decision(notice=self._take_notice() if takes_notice else "")

    def after(self, call: ToolCall, result: ToolResult, *, takes_notice: bool = False) -> Decision:
        """Note what a call gave; judge the round if it is over."""
        begun = self._begun(call)
        begun.result = shortened_result(result)
        if not any(each.result is None for each in self._round):
            self._judge()
        return Decision(notice=self._take_notice() if takes_notice else "", end=self._end)

    def to_dict(self) -> Dict[str, Any]:
        """Return the state as plain JSON."""
        return {
            "version": _VERSION,
            "run": self._monitor.snapshot(),
            "round": [each.to_list() for each in self._round],
            "members": self._members,
            "said": [self._notice, self._end, self._turn],
        }

    def _load(self, kept: Dict[str, Any]) -> None:
        try:
            self._monitor.restore(kept["run"])
            self._round = [Begun.of(each) for each in kept["round"]]
            self._members = [str(each) for each in kept["members"]]
            self._notice, self._end, self._turn = map(str, kept["said"])
        except (LookupError, TypeError, ValueError, SnapshotError):
            # A damaged file counts as none.
            self._monitor.reset()
            self._round, self._members = [], []
            self._notice = self._end = self._turn = ""

    def _is_next_round(self, begun: Begun) -> bool:
        """Whether a call that begins is of another round than those that are under way."""
        same = [each for each in self._round if each.key == begun.key]
        return (
            any(each.result is not None and not each.is_refused for each in self._round)
            or len(self._round) >= ROUND
            or any(each.is_refused for each in same)
            or len(same) >= COPIES
        )

    def _begun(self, call: ToolCall) -> Begun:
        """Return the call that has ended; an unreported call begins now."""
        new = Begun(shortened(call), key_of(call))
        for each in self._round:
            is_same = each.key == new.key if call.id is None else each.call.id == call.id
            if each.result is None and is_same:
                return each
        self._round.append(new)
        return new

    def _judge_all(self) -> None:
        """Judge the round that is over; copies of one call without reported ends are judged singly.

        A model repeats such a call because it fails before it runs.
        """
        waiting = list(self._round)
        if len({each.key for each in waiting}) > 1 or any(each.result for each in waiting):
            self._judge()
            return
        for each in waiting:
            self._round = [each]
            self._judge()

    def _judge(self) -> None:
        """Judge the round that is over."""
        calls = [each.call for each in self._round]
        results = [each.result for each in self._round]
        self._round.clear()
        self.verdict = verdict = self._monitor.after(calls, results)
        if verdict.action is LoopAction.NOTIFY:
            self._notice = verdict.message
        elif verdict.action.ends_run:
            self._end = stopped(verdict)
            found = verdict.detection
            self._members = list(found.members) if found else []

    def _judge_refusal(self) -> None:
        """Judge a round of refused calls at once if that ends the run.

        Else it waits for other calls of the same reply, which may still begin.
        """
        if not all(each.is_refused for each in self._round):
            return
        before, waiting = self._monitor.snapshot(), list(self._round)
        self._judge()
        if not self._end:
            self._monitor.restore(before)
            self._round, self._notice, self.verdict = waiting, "", None

    def _take_notice(self) -> str:
        notice, self._notice = self._notice, ""
        return notice


def key_of(call: ToolCall) -> str:
    """Return the key of a call: equal for equal calls, whatever their ids."""
    return asked_of(shortened(call), NO_POLICY).call


def shortened(call: ToolCall) -> ToolCall:
    """Replace long arguments by their hash, so that a file of a session stays small."""
    text = canonical_json(call.arguments)
    if len(text) <= LONG:
        return call
    return replace(call, arguments={"start": text[:_SHOWN], "sha256": _hash(text)})


def shortened_result(result: ToolResult) -> ToolResult:
    """Replace the middle of a long result by its hash."""
    text = result.text
    if len(text) <= LONG:
        return result
    half = LONG // 2
    return replace(result, text=f"{text[:half]}\n{_hash(text)}\n{text[-half:]}")


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
