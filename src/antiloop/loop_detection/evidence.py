"""What is kept of one call and its result: fingerprints and a judgement."""

import json
from typing import Any, Callable, Dict, Mapping, Optional

from ..types import ToolCall
from .compared import KEY_LENGTH, Result, answer_of, asked_of
from .fingerprint import (
    canonical_json,
    text_fingerprint,
)
from .noise import does_nothing, gist, near_arguments, skeleton, without_noise
from .outcome import Outcome
from .shortening import shortened
from .tool_policy import NO_POLICY, ToolPolicy, command_changes, seems_to_mutate, seems_to_read

ACKNOWLEDGEMENT_LENGTH = 400
"""Characters of the longest answer that may merely say that all went well."""


class Facts:
    """The content of one call and its result, as fingerprints.

    ``call`` and ``result`` are exact. The looser forms are made when they are first asked for,
    since most steps of a healthy run are never compared that far: ``steady`` is the result without
    noise, ``gist`` its words without numbers and echoes of the arguments, ``near`` the arguments
    without cosmetic differences, ``skeleton`` the result's different lines without numbers. An
    unknown result is None, and so are its forms.
    """

    __slots__ = (
        "_forms",
        "_mutates",
        "_source",
        "answer",
        "call",
        "is_long",
        "is_polled",
        "label",
        "outcome",
        "result",
        "tool",
    )

    def __init__(
        self,
        tool: str,
        call: str,
        mutates: Optional[bool],
        result: Optional[str],
        kind: Outcome,
        is_long: bool,
        source: Any = None,
    ) -> None:
        self.tool = tool
        self.call = call
        self._mutates = mutates
        self.result = result
        self.outcome = kind
        self.is_long = is_long
        """Whether the result is too long for an acknowledgement."""
        self.is_polled = False
        """Whether the call is declared to ask how work elsewhere goes on."""
        self.answer = f"{tool}\x00{result}"
        """The result as that of this tool."""
        self.label: Optional[str] = None
        self._forms: Optional[Dict[str, Optional[str]]] = None
        self._source = source

    @classmethod
    def of(cls, call: ToolCall, result: Result, policy: ToolPolicy = NO_POLICY) -> "Facts":
        """Make the facts of a call and its result; never raises on what a model or tool made."""
        known_policy, asked, known_result, facts = call.__dict__.get("_facts", _NOTHING)
        if known_policy is not policy:
            asked = asked_of(call, policy)
        elif facts is not None and known_result is result:
            return facts  # type: ignore[no-any-return]
        tool, key, mutates, arguments = asked
        text, kind = answer_of(result, tool, policy)
        if text is None:
            facts = cls(tool, key, mutates, None, kind, False, (arguments, None))
        else:
            is_long = len(text) > ACKNOWLEDGEMENT_LENGTH
            result_key = text_fingerprint(text)[:KEY_LENGTH]
            facts = cls(tool, key, mutates, result_key, kind, is_long, (arguments, text))
        if policy.poll:
            facts.is_polled = policy.polls(arguments)
            if facts.is_polled and kind is Outcome.SUCCESS:
                facts.outcome = Outcome.WAITING
        # What is remembered beside the fields of a call takes no part in equality.
        call.__dict__["_facts"] = (policy, asked, result, facts)
        return facts

    def of_its_own(self, index: int) -> "Facts":
        """Give these facts as those of a call that equals no other."""
        key = f"{index:0{KEY_LENGTH}x}"
        return Facts(self.tool, key, self._mutates, key, self.outcome, self.is_long, self._source)

    def form(self, name: str) -> Optional[str]:
        """Give one of the looser forms by its name, None where it is not known."""
        if self._forms is None:
            self._forms = {}
        if name not in self._forms:
            self._forms[name] = self._made(name)
        return self._forms[name]

    def restore(self, forms: Mapping[str, str]) -> None:
        """Take over forms that were made earlier, perhaps elsewhere."""
        self._forms = dict(forms)

    def _made(self, name: str) -> Optional[str]:
        if self._source is None or self.result is None:
            return None
        arguments, text = self._source
        return text_fingerprint(_FORMS[name](self, arguments, text))[:KEY_LENGTH]

    def says_like(self, other: "Facts") -> bool:
        """Whether two answers say the same; failures do if only echoes and numbers differ."""
        if self.result == other.result:
            return self.result is not None
        if self.outcome is not other.outcome or not self.outcome.is_fruitless:
            return False
        return not self.outcome.says_something or self.gist == other.gist

    @property
    def mutates(self) -> bool:
        """Whether the tool is declared to change the world, or sounds like it."""
        if self._mutates is None:
            self._mutates = seems_to_mutate(self.tool, self._source[0])
        return self._mutates

    @property
    def changes_world(self) -> bool:
        """Whether the call, when it succeeded, most likely changed something.

        A tool does by its name or declaration, a command line by its words, and what says nothing
        was done for its effect, unless it has none or only looks.
        """
        if self.mutates or self._source is None:
            return self.mutates
        arguments = self._source[0]
        if self.outcome is Outcome.SILENT:
            return not (does_nothing(arguments) or seems_to_read(self.tool))
        return command_changes(arguments)

    @property
    def steady(self) -> Optional[str]:
        """The result without noise."""
        return self.form("steady")

    @property
    def gist(self) -> Optional[str]:
        """The words of the result, without numbers and what echoes the arguments."""
        return self.form("gist")

    @property
    def near(self) -> Optional[str]:
        """The arguments without cosmetic differences."""
        return self.form("near")

    @property
    def skeleton(self) -> Optional[str]:
        """The different lines of the result, without numbers and ids."""
        return self.form("skeleton")

    @property
    def shown(self) -> str:
        """The arguments, shortened, for a person or a model to read."""
        if self.label is None:
            self.label = shortened(canonical_json(self._source[0]))
        return self.label

    @property
    def arguments(self) -> Any:
        """The arguments as plain JSON, shortened text where they are long or no longer kept."""
        if self._source is None:
            return self.label
        text = canonical_json(self._source[0])
        return json.loads(text) if len(text) <= 2_000 else shortened(text)


_FORMS: Dict[str, Callable[[Facts, Any, str], str]] = {
    "steady": lambda facts, _, text: without_noise(text, facts.outcome is Outcome.WAITING),
    "gist": lambda facts, arguments, text: (
        gist(text, arguments) if facts.outcome.says_something else ""
    ),
    "near": lambda _, arguments, __: near_arguments(arguments),
    "skeleton": lambda _, __, text: skeleton(text),
}


class Evidence:
    """One call of a run: its facts, and what they were worth when they came."""

    __slots__ = ("_is_change", "call_id", "facts", "index", "is_fresh", "is_known", "is_new")

    def __init__(
        self,
        index: int,
        facts: Facts,
        call_id: Optional[str],
        is_fresh: bool,
        is_new: bool,
        is_known: bool,
        is_change: Optional[bool] = None,
    ) -> None:
        self.index = index
        self.facts = facts
        self.call_id = call_id
        self.is_fresh = is_fresh
        """Whether the answer is one that the window has not seen from this tool."""
        self.is_new = is_new
        """Whether the window has not seen the call."""
        self.is_known = is_known
        """Whether the window has seen both the call and its answer."""
        self._is_change = is_change

    @property
    def is_change(self) -> bool:
        """Whether the call changed the world in a way that the window has not seen."""
        if self._is_change is None:
            facts = self.facts
            # A long answer that was given before acknowledges nothing.
            is_told = self.is_fresh or not facts.is_long
            is_possible = self.is_new and is_told and not facts.outcome.is_failure
            self._is_change = is_possible and facts.changes_world
        return self._is_change

    @property
    def is_barren(self) -> bool:
        """Whether nothing came of the call: it failed, found nothing, or told what was known."""
        kind = self.facts.outcome
        if kind in (Outcome.WAITING, Outcome.SILENT):
            return False
        return kind.is_failure or kind is Outcome.EMPTY or self.is_known


def call_key(call: ToolCall, policy: ToolPolicy = NO_POLICY) -> str:
    """Give the fingerprint of a call alone, and remember it with the call."""
    known_policy, asked, _, __ = call.__dict__.get("_facts", _NOTHING)
    if known_policy is not policy:
        asked = asked_of(call, policy)
        call.__dict__["_facts"] = (policy, asked, None, None)
    key: str = asked[1]
    return key


_NOTHING = (None, None, None, None)
