"""One session of a coding agent, as its hooks report it: calls that begin and end, and the user.

No agent reports which calls belong to one reply of the model. Calls that begin before one of them
has ended are taken as one round. A call whose end is never reported, such as one that the user did
not allow, ends without a known result when the next round begins.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from ..._amounts import number
from ..._text.canonical import canonical_json
from ...exceptions import SnapshotError
from ...formats._internal import timed
from ...loop_detection import LoopAction, LoopMonitor, LoopVerdict
from ...loop_detection._internal import asked_of
from ...types import ToolCall, ToolResult
from .._guard import stopped

LONG = 1 << 16
"""The characters kept of arguments or of a result; of longer ones only their hash is kept."""
ROUND = 50
"""The largest number of calls in a round."""

COPIES = 2
"""The largest number of equal calls that one reply of a model is taken to hold."""

REFUSALS = 3
"""The number of calls that are refused after the end before the run is ended for good."""
REPORT = (
    "No further call is run. Answer in words now: say what you were asked, what you know, and what"
    " is missing."
)

_SHOWN = 200
_VERSION = 4


class Decision(NamedTuple):
    """The decision about an event; where all texts are empty, there is nothing to do."""

    refusal: str = ""
    """The reason why the call must not run."""
    notice: str = ""
    end: str = ""


def denied(reason: str) -> Dict[str, Any]:
    """Refuse the call that an event asks for, in words of Claude Code that others took over."""
    return specific("PreToolUse", permissionDecision="deny", permissionDecisionReason=reason)


def specific(event: str, **words: Any) -> Dict[str, Any]:
    """Return what is answered to one kind of event."""
    return {"hookSpecificOutput": {"hookEventName": event, **words}}


def ended(reason: str) -> Dict[str, Any]:
    """End the run."""
    return {"continue": False, "stopReason": reason}


@dataclass
class Begun:
    """A call of the round that is under way; without a result while it runs."""

    call: ToolCall
    key: str
    result: Optional[ToolResult] = None
    is_refused: bool = False

    def to_list(self) -> List[Any]:
        known, call = self.result, self.call
        result = known and [known.text, known.is_error, known.duration_s]
        asked = [call.tool_name, call.arguments, call.id, call.started_at]
        return [*asked, self.key, result, self.is_refused]

    @classmethod
    def of(cls, kept: Any) -> "Begun":
        """Take over what `to_list` gave."""
        name, arguments, call_id, started_at, key, result, is_refused = kept
        call = ToolCall(name, arguments, call_id, started_at=started_at)
        return cls(call, key, result and ToolResult(*result), bool(is_refused))


class HookSession:
    """Judges a session, event by event.

    After a verdict that ends the run, all calls are refused until the user speaks, so that the
    model answers in words: a run that is cut off leaves the user without a report. If it goes on
    calling all the same, the run is ended for good.

    Nothing tells apart agents that share a session. While several are at work, each call counts
    once for as many of them, and nothing that they do ends the main run.

    Args:
        monitor: one that has seen nothing yet.
        kept: what `to_dict` gave after the event before; empty at the first one.
        starts_agent: whether a tool, by its name, starts an agent that shares the session; None
            where each agent has its session.

    Raises:
        SnapshotError: if the state is damaged.
    """

    def __init__(
        self,
        monitor: LoopMonitor,
        kept: Dict[str, Any],
        starts_agent: Optional[Callable[[str], bool]] = None,
    ) -> None:
        self.monitor = monitor
        self._starts_agent = starts_agent
        self._round: List[Begun] = []
        self._agents: List[Begun] = []
        self._members: List[str] = []
        self._of_agents: Dict[str, int] = {}
        self._notice = self._end = self._turn = ""
        self._refusals = 0
        self.is_calm = True
        """Whether no loop was found since the user spoke."""
        self.verdict: Optional[LoopVerdict] = None
        """The verdict on the round that this event has ended; None if it ended none."""
        if kept:
            self._load(kept)

    def user_message(self, text: str = "") -> Decision:
        """Start again: the user has spoken."""
        self.monitor.user_message(text)
        for each in (self._round, self._agents, self._members, self._of_agents):
            each.clear()
        self._notice = self._end = ""
        self._refusals, self.is_calm = 0, True
        return Decision()

    def forgot(self) -> Decision:
        """Note that the model no longer sees what came before."""
        # What was asked for before the compaction belongs to the time before it.
        if self._round:
            self._judge_all()
        self.monitor.forgot()
        return Decision()

    def turn(self, name: str) -> None:
        """Set the user's turn that the event is in, if it has a name."""
        if self._turn and name and name != self._turn:
            self.user_message()
        self._turn = name

    def before(self, call: ToolCall) -> Decision:
        """Decide whether a call may run, and note that it begins."""
        begun = Begun(shortened(call), key_of(call))
        if self._is_next_round(begun):
            self._judge_all()
        # Subagents share the session: the end of the main run refuses their calls only where these
        # are calls of the loop.
        if self._end and (not self._agents or begun.key in self._members):
            self._refusals += 1
            return self._decision(self._end)
        verdict = self.monitor.before(begun.call)
        if verdict.action is LoopAction.BLOCK:
            self._round.append(begun)
            begun.result, begun.is_refused = ToolResult(verdict.message, is_error=True), True
            if self._notice:  # no end without a word before: this refusal is the first one
                self._notice = ""
            else:
                self._judge_refusal()
            return self._decision(self._end or verdict.message)
        self._begin(begun)
        return Decision()

    def after(self, call: ToolCall, result: ToolResult, *, takes_notice: bool = False) -> Decision:
        """Note what a call gave; judge the round if it is over.

        A call that is known to have begun ends with this report.
        """
        begun = self._begun(call)
        if begun is not None:
            begun.result = shortened_result(timed(result, begun.call, call.started_at))
            # While one of its calls runs, others of the same reply may still begin.
            if not any(each.result is None for each in self._round):
                self._judge()
        return Decision(notice=self._take_notice() if takes_notice else "")

    def to_dict(self) -> Dict[str, Any]:
        return {
            "version": _VERSION,
            "run": self.monitor.snapshot(),
            "round": [each.to_list() for each in self._round],
            "agents": [each.to_list() for each in self._agents],
            "of_agents": self._of_agents,
            "members": self._members,
            "said": [self._notice, self._end, self._turn],
            "refusals": self._refusals,
            "calm": self.is_calm,
        }

    def _load(self, kept: Dict[str, Any]) -> None:
        if kept.get("version") != _VERSION:
            raise SnapshotError(f"expected version {_VERSION}, got {kept.get('version')!r}")
        try:
            self.monitor.restore(kept["run"])
            self._round = [Begun.of(each) for each in kept["round"]]
            self._agents = [Begun.of(each) for each in kept["agents"]]
            self._of_agents = {str(key): int(n) for key, n in kept["of_agents"].items()}
            self._members = [str(each) for each in kept["members"]]
            self._notice, self._end, self._turn = map(str, kept["said"])
            self._refusals, self.is_calm = int(kept["refusals"]), kept["calm"] is True
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise SnapshotError(f"the session is damaged: {error!r}") from error

    def _decision(self, refusal: str) -> Decision:
        # While subagents work, an end would cut them off, and one of them may have made the call.
        is_over = self._end and self._refusals > REFUSALS and not self._agents
        return Decision(refusal, end=self._end if is_over else "")

    def _begin(self, begun: Begun) -> None:
        """Note that a call begins, among those whose results are waited for."""
        # An agent works beside the calls that it makes, so it must not hold up their rounds.
        if self._starts_agent is not None and self._starts_agent(begun.call.tool_name):
            self._agents.append(begun)
            return
        if len(self._agents) > 1:
            count = self._of_agents.get(begun.key, 0)
            self._of_agents[begun.key] = count + 1
            if count % len(self._agents):
                return  # another of the agents may do it for the first time
        self._round.append(begun)

    def _agent_ended(self, call: ToolCall, key: str) -> Optional[Begun]:
        """Return the agent that has ended, as a separate round."""
        for each in self._agents:
            if each.key == key if call.id is None else each.call.id == call.id:
                self._agents.remove(each)
                if not self._agents:
                    self._of_agents.clear()
                    if self._members and self._end:  # subagents do not end the main run
                        self._end, self._members = "", []
                self._judge_all()
                self._round.append(each)
                return each
        return None

    def _is_next_round(self, begun: Begun) -> bool:
        """Whether a call that begins is of another round than those that are under way."""
        same = [each for each in self._round if each.key == begun.key]
        return (
            # A model asks again only after it has read what its reply brought.
            any(each.result is not None and not each.is_refused for each in self._round)
            or len(self._round) >= ROUND
            or any(each.is_refused for each in same)
            or len(same) >= COPIES
        )

    def _begun(self, call: ToolCall) -> Optional[Begun]:
        """Return the call that has ended; an unreported call begins now.

        None stands for a call of one of several agents that does not count.
        """
        # When it began was not said.
        new = Begun(replace(shortened(call), started_at=None), key_of(call))
        for each in self._round:
            is_same = each.key == new.key if call.id is None else each.call.id == call.id
            if each.result is None and is_same:
                return each
        agent = self._agent_ended(call, new.key)
        if agent is not None:
            return agent
        if len(self._agents) > 1 and new.key in self._of_agents:
            return None
        self._round.append(new)
        return new

    def _judge_all(self) -> None:
        """Judge the round that is over; copies of one call without reported ends are judged singly.

        A model repeats such a call because it fails before it runs.
        """
        waiting = list(self._round)
        if not waiting:
            return
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
        self.verdict = verdict = self.monitor.after(calls, results)
        self.is_calm = self.is_calm and verdict.decision.detection is None
        if verdict.action is LoopAction.NOTIFY:
            self._notice = verdict.message
        elif verdict.action.ends_run:
            self._end = self._notice = f"{stopped(verdict)} {REPORT}"
            found = verdict.detection
            self._members = list(found.members) if found else []

    def _judge_refusal(self) -> None:
        """Judge a round of refused calls at once if that ends the run.

        Else it waits for other calls of the same reply, which may still begin.
        """
        if not all(each.is_refused for each in self._round):
            return
        # On trial: an end must come at once, and anything milder waits for the whole reply.
        before, waiting = self.monitor.snapshot(), list(self._round)
        self._judge()
        if not self._end:
            self.monitor.restore(before)
            self._round, self._notice, self.verdict = waiting, "", None

    def _take_notice(self) -> str:
        notice, self._notice = self._notice, ""
        return notice


def stated_s(event: Mapping[str, Any]) -> Optional[float]:
    """Return how long a call took where the agent says so: without the wait for an approval."""
    took = number(event.get("duration_ms"))
    return None if took is None or took < 0 else took / 1000


def key_of(call: ToolCall) -> str:
    """Return the key of a call: equal for equal calls, whatever their ids."""
    return asked_of(shortened(call)).call


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
