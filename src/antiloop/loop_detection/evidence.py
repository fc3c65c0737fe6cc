"""What is kept of one call and its result: fingerprints and a judgement."""

import json
import logging
from typing import Any, Callable, Dict, Mapping, Optional, Union

from ..types import ToolCall, ToolResult
from .fingerprint import canonical_json, parsed_arguments, text_fingerprint
from .noise import gist, near_arguments, skeleton, without_noise
from .outcome import Outcome, outcome
from .tool_policy import NO_POLICY, ToolPolicy, seems_to_mutate

Result = Union[ToolResult, str, None]
"""What may stand in a list of results; None is a result that is not known."""

KEY_LENGTH = 10
"""Hexadecimal digits of a fingerprint that are kept: 40 bits tell the calls of a window apart."""
ACKNOWLEDGEMENT_LENGTH = 400
"""Characters of the longest answer that may merely say that all went well."""
LABEL_LENGTH = 60
"""Characters of the arguments that are shown to a person or a model."""

_logger = logging.getLogger("antiloop")


_NOTHING_KNOWN = (None, None, None)


class Facts:
    """The content of one call and its result, as fingerprints.

    ``call`` and ``result`` are exact. The looser forms are made when they are first asked for,
    since most steps of a healthy run are never compared that far: ``steady`` is the result without
    noise, ``gist`` its words without numbers and echoes of the arguments, ``near`` the
    arguments without cosmetic differences, ``skeleton`` the result's different
    lines without numbers. An unknown result is None, and so are its forms.
    """

    __slots__ = (
        "_forms",
        "_source",
        "call",
        "is_long",
        "label",
        "mutates",
        "outcome",
        "result",
        "tool",
    )

    def __init__(
        self, tool: str, call: str, result: Optional[str], kind: Outcome, mutates: bool
    ) -> None:
        self.tool = tool
        self.call = call
        self.result = result
        self.outcome = kind
        self.mutates = mutates
        self.is_long = False
        """Whether the result is too long for an acknowledgement."""
        self.label: Optional[str] = None
        self._forms: Dict[str, Optional[str]] = {}
        self._source: Any = None

    @classmethod
    def of(cls, call: ToolCall, result: Result, policy: ToolPolicy = NO_POLICY) -> "Facts":
        """Make the facts of a call and its result; never raises on what a model or tool made."""
        known, known_result, known_policy = call.__dict__.get("_facts", _NOTHING_KNOWN)
        if known_policy is not policy:
            known = None
        elif known_result is result:
            return known  # type: ignore[no-any-return]
        facts = _facts(call, result, policy, known)
        # The fields of a call are frozen; what is remembered beside them takes no part in equality.
        object.__setattr__(call, "_facts", (facts, result, policy))
        return facts

    def form(self, name: str) -> Optional[str]:
        """Give one of the looser forms by its name, None where it is not known."""
        if name not in self._forms:
            self._forms[name] = self._made(name)
        return self._forms[name]

    def restore(self, forms: Mapping[str, str]) -> None:
        """Take over forms that were made earlier, perhaps elsewhere."""
        self._forms.update(forms)

    def _made(self, name: str) -> Optional[str]:
        if self._source is None or self.result is None:
            return None
        arguments, text = self._source
        return _key(_FORMS[name](self, arguments, text))

    @property
    def says_something(self) -> bool:
        """Whether the words of the answer matter."""
        return self.outcome not in (Outcome.EMPTY, Outcome.SILENT)

    def says_like(self, other: "Facts") -> bool:
        """Whether two answers say the same; failures do if only echoes and numbers differ."""
        if self.result == other.result:
            return self.result is not None
        if self.outcome is not other.outcome or not self.is_fruitless:
            return False
        return self.gist == other.gist

    @property
    def is_fruitless(self) -> bool:
        """Whether the call failed, found nothing or says nothing."""
        return self.outcome.is_failure or not self.says_something

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
            self.label = shortened(canonical_json(self.arguments))
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
    "gist": lambda facts, arguments, text: gist(text, arguments) if facts.says_something else "",
    "near": lambda _, arguments, __: near_arguments(arguments),
    "skeleton": lambda _, __, text: skeleton(text),
}


class Evidence:
    """One call of a run: its facts, and what they were worth when they came."""

    __slots__ = ("call_id", "facts", "index", "is_change", "is_fresh", "is_known")

    def __init__(
        self,
        index: int,
        facts: Facts,
        call_id: Optional[str],
        is_fresh: bool,
        is_change: bool,
        is_known: bool,
    ) -> None:
        self.index = index
        self.facts = facts
        self.call_id = call_id
        self.is_fresh = is_fresh
        """Whether the answer is one that the window has not seen from this tool."""
        self.is_change = is_change
        """Whether the call changed the world in a way that the window has not seen."""
        self.is_known = is_known
        """Whether the window has seen both the call and its answer."""

    @property
    def is_barren(self) -> bool:
        """Whether nothing came of the call: it failed, found nothing, or told what was known."""
        kind = self.facts.outcome
        if kind in (Outcome.WAITING, Outcome.SILENT):
            return False
        return kind.is_failure or kind is Outcome.EMPTY or self.is_known


def shortened(text: str, length: int = LABEL_LENGTH) -> str:
    """Cut a text in the middle, so that both ends stay readable."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]}...{text[-half:]}"


def _facts(call: ToolCall, result: Result, policy: ToolPolicy, known: Optional[Facts]) -> Facts:
    """Make facts; those that are `known` of the same call with another result spare its half."""
    if known is None:
        known = _call_facts(call, policy)
    tool, arguments = known.tool, known._source[0]
    text, is_error = _text(result)
    kind = Outcome.UNKNOWN if text is None else outcome(text, is_error)
    if policy.poll and kind is Outcome.SUCCESS:
        kind = Outcome.WAITING
    if text is not None and policy.strip is not None:
        text = _declared(policy.compared_text, text, tool, "strip")
    if policy.idempotent and not kind.is_failure and text is not None:
        text = ""
    facts = Facts(tool, known.call, None if text is None else _key(text), kind, known.mutates)
    facts.is_long = text is not None and len(text) > ACKNOWLEDGEMENT_LENGTH
    facts._source = (arguments, text)
    return facts


def _call_facts(call: ToolCall, policy: ToolPolicy) -> Facts:
    """Make the half of the facts that needs no result."""
    tool = call.tool_name if isinstance(call.tool_name, str) else canonical_json(call.tool_name)
    arguments = parsed_arguments(call.arguments)
    if policy.key is not None:
        arguments = _declared(policy.compared_arguments, arguments, tool, "key")
    mutates = seems_to_mutate(tool, arguments) if policy.mutates is None else policy.mutates
    facts = Facts(
        tool, _key(f"{tool}\x00{canonical_json(arguments)}"), None, Outcome.UNKNOWN, mutates
    )
    facts._source = (arguments, None)
    return facts


def _text(result: Result) -> Any:
    if result is None:
        return None, False
    if isinstance(result, str):
        return result, False
    text, is_error = result.text, bool(result.is_error)
    return (text if isinstance(text, str) else canonical_json(text)), is_error


def _declared(rule: Callable[[Any], Any], value: Any, tool: str, name: str) -> Any:
    """Apply a rule that the user declared; one that raises is left out and logged."""
    try:
        return rule(value)
    except Exception:
        _logger.exception("the %s= declared for tool %r raised; it is left out", name, tool)
        return value


def _key(text: str) -> str:
    return text_fingerprint(text)[:KEY_LENGTH]
