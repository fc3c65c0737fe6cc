"""What every adapter must do, run against the real framework with a scripted model.

A test file makes a subclass of `Contract` and tells, in `carry_out`, how its framework carries out
a `Script`. The lines of the contract are the test methods here.
"""

import asyncio
import multiprocessing
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import pytest
from adapters import ADAPTERS

from antiloop import AgentObserver, BaseDetector, LoopDetectedError, LoopDetector, LoopPolicy
from antiloop.agent import _internal as asking_module
from antiloop.loop_detection import Escalation, Opinion, RepeatDetector, SecondOpinion
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER

Call = Tuple[str, Dict[str, Any]]

SAME = ("search", {"query": "refunds"})
"""The call that the scripted model repeats."""
TIMES = 6


@dataclass(frozen=True)
class Script:
    """What the model asks for, reply by reply; then it says that it is done.

    Two tools are there, ``search(query: str)`` and ``note(text: str)``. What they answer is in
    `answers`, by the number of the run of that tool; the last answer is given from then on.
    """

    rounds: Sequence[Sequence[Call]]
    heeds: bool = False
    """Whether the model is done as soon as it has read a notice."""
    answers: Sequence[str] = ("nothing found",)

    says: Sequence[str] = ()
    """What it says with the calls of each reply; nothing from then on."""
    breaks_at: Optional[int] = None
    """The reply at which the connection to the model breaks, counted from 0."""

    def reply(self, number: int, seen: Sequence[str]) -> Sequence[Call]:
        """Return the calls of a reply, counted from 0; none: the model says that it is done."""
        if number == self.breaks_at:
            raise ConnectionError("the connection to the model broke")
        told = self.heeds and any(NOTICE_MARKER in text for text in seen)
        return () if told or number >= len(self.rounds) else self.rounds[number]

    def text(self, number: int, calls: Sequence[Any]) -> str:
        """Return the words of a reply with these calls."""
        if not calls:
            return "done"
        return self.says[number] if number < len(self.says) else ""


@dataclass
class Ran:
    """What happened."""

    tools: List[str] = field(default_factory=list)
    """The names of the tools that ran, in order."""
    seen: List[str] = field(default_factory=list)
    """All texts that the model was sent in its last request."""
    asked: int = 0
    """How often the model was asked."""
    error: Optional[LoopDetectedError] = None
    """What reached the caller, where the adapter's page says it is found."""

    def answer(self, script: Script, tool: str) -> str:
        """Note that a tool runs, and give its answer."""
        self.tools.append(tool)
        return script.answers[min(self.tools.count(tool), len(script.answers)) - 1]

    @property
    def searches(self) -> int:
        return self.tools.count("search")


def functions(script: Script, ran: Ran) -> List[Callable[[str], str]]:
    """Return the tools of a script as plain functions."""

    def search(query: str) -> str:
        """Search."""
        return ran.answer(script, "search")

    def note(text: str) -> str:
        """Note."""
        return ran.answer(script, "note")

    return [search, note]


class Hearer(AgentObserver):
    """Remembers of which loops it was told, and of which runs."""

    def __init__(self) -> None:
        self.heard: List[str] = []
        self.runs: List[str] = []
        self.shadows: List[bool] = []
        self.opinions: List[bool] = []
        self.verdicts: List[str] = []
        self.rounds: List[List[str]] = []
        self.users: List[str] = []

    def on_user_message(self, run_id, text) -> None:
        self.users.append(text)

    def on_round(self, run_id, calls, results) -> None:
        assert len(calls) == len(results)
        self.rounds.append([call.tool_name.rpartition("__")[2] for call in calls])

    def on_verdict(self, run_id, verdict) -> None:
        self.verdicts.append(verdict.action.value)

    def on_tool_loop_detected(self, run_id, detector_name, details) -> None:
        self.heard.append(detector_name)
        self.shadows.append(details.get("shadow", False))
        self.runs.append(run_id)

    def on_second_opinion(self, run_id, case, opinion) -> None:
        self.opinions.append(opinion.stuck)


class Raising(BaseDetector):
    """A detector with a bug."""

    name = "raising"

    def check(self, tool_calls, tool_results):
        raise RuntimeError("a bug of a detector")


def in_another_process(function, *args):
    """Run a function of a test module in a fresh interpreter and give what it returns."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(function, *args).result()


def broken_off(adapter, store, script, options):
    with pytest.raises(Exception, match="the connection to the model broke"):
        adapter.begin(store, script, **options)


def same(parallel: bool = False, times: int = TIMES) -> List[List[Call]]:
    """Return the rounds of a model that repeats one call, alone or beside calls that differ."""
    beside = [[("note", {"text": f"line {number}"})] if parallel else [] for number in range(times)]
    return [[SAME, *other] for other in beside]


def read_twice() -> Script:
    """Return the script of a model that reads nine texts, and then all of them again."""
    words = "one two three four five six seven eight nine".split() * 2
    asked = [[("search", {"query": word})] for word in words]
    return Script(asked, answers=[f"the text of {word}" for word in words])


def detector(policy, *detectors) -> LoopDetector:
    return LoopDetector(detectors or [RepeatDetector(3, require_same_result=True)], policy)


VAIN = [
    [("search", {"query": word})]
    for word in ("tea", "cocoa", "milk", "juice", "mate", "rum", "ale")
]
"""Searches that find nothing, each for something else: no detector is certain of them."""


class Judge:
    """Says that a run is stuck, and remembers about which steps it was asked."""

    def __init__(self) -> None:
        self.steps: List[int] = []

    def __call__(self, case) -> Opinion:
        self.steps.append(case.step)
        return Opinion(True, 0.9, "It is not there.")

    async def later(self, case) -> Opinion:
        await asyncio.sleep(0)
        return self(case)


def asking(judge, **options) -> LoopDetector:
    """Return a detector that finds nothing in vain searches by itself."""
    asked = judge and SecondOpinion(judge, **options)
    same_result = RepeatDetector(3, require_same_result=True)
    return LoopDetector([same_result], Escalation(), second_opinion=asked)


CONCLUDE = detector(Escalation(("conclude",)))

last_words = pytest.mark.parametrize(
    ("words", "answer"),
    [("It is not there.", "It is not there."), ("", "Stopped: the agent was stuck in a loop.")],
    ids=["words", "no words"],
)
"""What a model says that calls a tool instead of saying its last words, and how its run ends."""


def unheard(words: str) -> Script:
    """Return the script of a model that repeats its call where it should say its last words."""
    return Script(same(), says=["", "", "", words])


rounds = pytest.mark.parametrize("parallel", [False, True], ids=["single", "parallel"])


class Contract:
    """The lines of the contract, for the adapter `name`."""

    name: str
    verdicts: Tuple[str, ...] = ("continue", "continue", "stop")
    """What `on_verdict` receives while one call is made three times."""
    tells_rounds = True
    """Whether observers receive the rounds, too."""
    users: Sequence[str] = ("go",)
    """The words that they hear of the user, who speaks once."""

    def carry_out(self, mode: str, script: Script, ran: Ran, **options: Any) -> None:
        """Carry out a script with the real framework.

        Args:
            mode: ``sync``, ``async`` or ``stream``.
            script: what the model and the tools say.
            ran: where to note what happens.
            options: for the adapter's `LoopGuard`: ``detector``, ``ignore``, ``observers``.

        Raises:
            LoopDetectedError: as the adapter's page says.
        """
        raise NotImplementedError

    def begin(self, store: Path, script: Script, **options: Any) -> None:
        """Carry out a script whose connection breaks; keep in the store what the user would keep.

        Raises:
            ConnectionError: or what the framework makes of it.
        """
        raise NotImplementedError

    def go_on(self, store: Path, script: Script, ran: Ran, **options: Any) -> None:
        """Carry out the rest of a script from what is in the store; no user has spoken since."""
        raise NotImplementedError

    def talk(self, script: Script, ran: Ran, **options: Any) -> Callable[[], None]:
        """Begin a conversation, and return what lets the user speak.

        Each time, the script is carried out from where it stood.
        """
        raise NotImplementedError

    def run(self, mode: str, script: Script, **options: Any) -> Ran:
        """Carry out a script, and tell what happened."""
        ran = Ran()
        try:
            self.carry_out(mode, script, ran, **options)
        except LoopDetectedError as error:
            ran.error = error
        return ran

    def resumed(self, folder: Path, script: Script, **options: Any) -> Ran:
        """Carry out a script whose first two rounds ran in another process; tell of this one."""
        store, ran = folder / "store", Ran()
        in_another_process(broken_off, self, store, replace(script, breaks_at=2), options)
        self.go_on(store, script, ran, **options)
        return ran

    @pytest.fixture(params=["sync", "async", "stream"])
    def mode(self, request, _line) -> str:
        if request.param not in ADAPTERS[self.name].modes:
            pytest.skip(ADAPTERS[self.name].holes[request.param])
        return request.param

    @pytest.fixture(autouse=True)
    def _line(self, request, record_property) -> None:
        """Say which adapter this is, and leave out what its framework cannot do."""
        record_property("adapter", self.name)
        line = request.function.__name__[len("test_") :]
        if line in ADAPTERS[self.name].holes:
            pytest.skip(ADAPTERS[self.name].holes[line])

    @rounds
    def test_notify(self, mode, parallel):
        script = Script(same(parallel), heeds=True)
        ran = self.run(mode, script, detector=detector(LoopPolicy.INJECT_MESSAGE))
        assert (ran.searches, ran.asked) == (3, 4)
        assert sum(text.count(NOTICE_MARKER) for text in ran.seen) == 1

    @rounds
    def test_block(self, mode, parallel):
        policy = Escalation(("block",))
        ran = self.run(mode, Script(same(parallel)), detector=detector(policy))
        assert (ran.searches, ran.tools.count("note")) == (3, TIMES if parallel else 0)
        assert sum(REFUSED_MARKER in text for text in ran.seen) == TIMES - 3

    @rounds
    def test_stop(self, mode, parallel):
        ran = self.run(mode, Script(same(parallel)), detector=detector(LoopPolicy.STOP))
        assert (ran.searches, ran.asked, ran.error) == (3, 3, None)

    @pytest.mark.parametrize("heeds", [True, False], ids=["heeds", "calls on"])
    @rounds
    def test_conclude(self, mode, parallel, heeds):
        script = Script(same(parallel), heeds=heeds)
        ran = self.run(mode, script, detector=detector(Escalation(("conclude",))))
        assert ran.searches == 3
        if ADAPTERS[self.name].last_words:
            assert (ran.asked, ran.error) == (4, None)
            (asked,) = [text for text in ran.seen if "Your tools are withdrawn" in text]
            assert "was called 3 times in a row" in asked
        else:
            assert ran.asked == 3

    @rounds
    def test_raise(self, mode, parallel):
        ran = self.run(mode, Script(same(parallel)), detector=detector(LoopPolicy.RAISE))
        assert (ran.searches, ran.asked) == (3, 3)
        assert ran.error.detector == "repeat"
        assert ran.error.details["count"] == 3

    @rounds
    def test_ladder(self, mode, parallel):
        ran = self.run(mode, Script(same(parallel)), detector=detector(Escalation()))
        assert (ran.searches, ran.asked, ran.error) == (4, 5, None)

    def test_own_words(self, mode):
        same_result = RepeatDetector(3, require_same_result=True)
        found = LoopDetector([same_result], Escalation(), inject_message="Try something else.")
        ran = self.run(mode, Script(same()), detector=found)
        assert ran.searches > 3

    def test_resumed_elsewhere(self, tmp_path):
        ran = self.resumed(tmp_path, Script(same()), detector=detector(LoopPolicy.STOP))
        assert ran.searches == 1

    def test_a_user_message_keeps_the_rung(self):
        asked, ran = same(times=3), Ran()
        found = detector(Escalation(("notify", "block")))
        speak = self.talk(Script(asked), ran, detector=found)
        speak()
        assert ran.searches == 3
        asked += same(times=TIMES)
        speak()
        assert ran.searches == 6

    def test_a_user_message_ends_a_block(self):
        asked, ran = same(times=4), Ran()
        speak = self.talk(Script(asked), ran, detector=detector(Escalation(("block",))))
        speak()
        assert ran.searches == 3
        asked += same(times=2)
        speak()
        assert ran.searches > 3

    @rounds
    def test_shadow(self, mode, parallel):
        hearer, ladder = Hearer(), Escalation()
        found = LoopDetector([RepeatDetector(3, require_same_result=True)], ladder, shadow=True)
        ran = self.run(mode, Script(same(parallel)), detector=found, observers=[hearer])
        assert (ran.searches, ran.asked, ran.error) == (6, 7, None)
        assert not any("[antiloop]" in text for text in ran.seen)
        if "observers_are_notified" not in ADAPTERS[self.name].holes:
            assert hearer.shadows == [True] * len(hearer.heard)
            assert len(hearer.heard) >= 3

    def test_different_calls_pass(self, mode):
        calls = [[("search", {"query": f"{topic} rules"})] for topic in "abcdef"]
        answers = [f"the rules of {topic}" for topic in "abcdef"]
        ran = self.run(mode, Script(calls, answers=answers))
        assert (ran.searches, ran.asked) == (6, 7)
        assert not any("[antiloop]" in text for text in ran.seen)

    def test_a_poll_that_moves_on_passes(self, mode):
        answers = [f"{done} of 60 files are copied" for done in range(10, 70, 10)]
        ran = self.run(mode, Script(same(), answers=answers))
        assert (ran.searches, ran.asked) == (6, 7)
        assert not any("[antiloop]" in text for text in ran.seen)

    def test_a_refused_call_tells_the_model_why(self, mode):
        ran = self.run(mode, Script(same()), detector=detector(Escalation(("block",))))
        refusals = [text for text in ran.seen if REFUSED_MARKER in text]
        assert len(refusals) == 3
        assert all("was called 3 times in a row" in text for text in refusals[:1])

    def test_a_detector_that_raises_harms_nothing(self, mode):
        ran = self.run(mode, Script(same()), detector=detector(LoopPolicy.RAISE, Raising()))
        assert (ran.searches, ran.error) == (6, None)

    def test_observers_are_notified(self, mode):
        hearer = Hearer()
        self.run(mode, Script(same()), detector=detector(LoopPolicy.STOP), observers=[hearer])
        assert hearer.heard == ["repeat"]
        assert tuple(hearer.verdicts) == self.verdicts
        assert hearer.rounds == [["search"]] * len(self.verdicts) * self.tells_rounds
        assert [text.lower() for text in hearer.users if text] == list(self.users)

    def test_ignored_tools_pass(self, mode):
        ran = self.run(mode, Script(same()), detector=detector(LoopPolicy.STOP), ignore=["search"])
        assert (ran.searches, ran.asked) == (6, 7)

    @pytest.mark.parametrize("is_async", [False, True], ids=["sync judge", "async judge"])
    def test_a_second_opinion_is_asked(self, mode, is_async, monkeypatch):
        blocked, ask = [], asking_module.ask
        monkeypatch.setattr(
            asking_module, "ask", lambda *given: blocked.append(is_in_a_loop()) or ask(*given)
        )
        judge, hearer = Judge(), Hearer()
        found = asking(judge.later if is_async else judge)
        ran = self.run(mode, Script(VAIN), detector=found, observers=[hearer])
        assert (judge.steps, hearer.opinions) == ([3, 5], [True, True])
        assert (ran.searches, ran.asked, hearer.heard) == (6, 6, ["second_opinion"] * 2)
        assert mode == "sync" or not any(blocked)

    def test_a_judge_that_fails_harms_nothing(self, mode, hanging):
        ran = [
            self.run(mode, Script(VAIN), detector=asking(judge, timeout=0.02))
            for judge in (None, lambda case: 1 / 0, lambda case: "stuck", *hanging)
        ]
        assert {(each.searches, each.asked, each.error) for each in ran} == {(7, 8, None)}

    def test_a_model_stuck_in_words_is_noticed(self, mode):
        calls = [[("search", {"query": f"{topic} rules"})] for topic in "abcdef"]
        answers = [f"the rules of {topic}" for topic in "abcdef"]
        chant = "I will look again, and then I will tell you. " * 40
        said = ["I look for the rules. " * 3, chant]
        ran = self.run(mode, Script(calls, heeds=True, answers=answers, says=said))
        assert (ran.searches, ran.asked) == (2, 3)
        assert sum(text.count(NOTICE_MARKER) for text in ran.seen) == 1
        assert any("repeats itself" in text for text in ran.seen)

    @pytest.fixture
    def hanging(self):
        """Return judges that never answer, sync and async."""
        is_over = threading.Event()

        async def hang(case):
            await asyncio.Event().wait()

        yield lambda case: is_over.wait(60), hang
        is_over.set()


def is_in_a_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class FolderContract(Contract):
    """The contract, for an adapter whose framework works in a folder."""

    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path


IN_CIRCLES = ["I should look at the file again before I go on. "] * 60
"""What a model thinks, piece by piece, that repeats itself without end."""
FORWARD = [f"Part {number} comes now. " for number in range(60)]


class ThoughtsContract:
    """What an adapter does that hears a model's thoughts while they are streamed."""

    def answer(self, pieces: Iterator[str], **options: Any) -> str:
        """Stream a run whose model thinks these pieces and then says "done"; return its answer."""
        raise NotImplementedError

    def test_a_model_that_thinks_in_circles_is_left(self):
        hearer, pieces = Hearer(), iter(IN_CIRCLES)
        answer = self.answer(pieces, observers=[hearer])
        assert answer.startswith("Stopped: the agent was stuck in a loop. What the model thinks")
        assert len(list(pieces)) > 30
        assert hearer.heard == ["chant"]

    def test_a_model_that_thinks_in_circles_raises_where_the_policy_says_so(self):
        pieces = iter(IN_CIRCLES)
        with pytest.raises(Exception, match="What the model thinks repeats itself") as raised:
            self.answer(pieces, detector=LoopDetector.escalating(policy="raise"))
        assert LoopDetectedError in map(type, (raised.value, raised.value.__cause__))
        assert len(list(pieces)) > 30

    def test_a_model_whose_thoughts_move_on_is_heard_to_the_end(self):
        hearer, pieces = Hearer(), iter(FORWARD)
        assert self.answer(pieces, observers=[hearer]) == "done"
        assert list(pieces) == hearer.heard == []

    def test_a_shadow_detector_only_says_that_a_model_thinks_in_circles(self):
        hearer, pieces = Hearer(), iter(IN_CIRCLES)
        shadow = LoopDetector.escalating(shadow=True)
        assert self.answer(pieces, detector=shadow, observers=[hearer]) == "done"
        assert (list(pieces), hearer.heard, hearer.shadows) == ([], ["chant"], [True])

    def test_a_detector_of_calls_alone_hears_no_thoughts(self):
        pieces = iter(IN_CIRCLES)
        assert self.answer(pieces, detector=detector("stop")) == "done"
        assert list(pieces) == []
