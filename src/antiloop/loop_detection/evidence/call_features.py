"""What is kept of one call and its result: their keys and the outcome."""

from copy import copy
from typing import Any, Dict, Hashable, Mapping, Optional

from ...types import ToolCall, ToolResult
from ..text.masking import SECRETS, Masking
from .compared import Asked, Result, answer_of, asked_of
from .effect import command_changes, seems_to_look, seems_to_mutate
from .exact_keys import ExactKeys
from .fingerprint import KEY_LENGTH, digest_of
from .kept_text import BEGINNING, KeptText, kept_text
from .looser import LOOSER, NOT_SAID, looser_key
from .noise import command_line, does_nothing
from .outcome import INVALID, REFUSED, SILENT, SUCCESS, WAITING, Outcome, is_busy, names_no_tool
from .shown_arguments import UNKNOWN_ARGUMENTS, ShownArguments
from .tool_policy import NO_POLICY, ToolPolicy

_LEFT_OUT = ("...", "…")  # these stand for omitted text, so the answer is not empty
ACKNOWLEDGMENT_LENGTH = 400
"""Characters of the longest answer that may merely say that all went well."""


class CallFeatures(ExactKeys):
    """The content of one call and its result, as keys that are compared.

    The looser keys are made when they are first asked for, since most steps of a healthy run are
    never compared that far: ``steady`` is the result without noise, ``wording`` its words without
    numbers and echoes of the arguments, ``near`` the arguments without cosmetic differences,
    ``template`` the result's different lines without numbers. An unknown result is None, and so
    are its keys. At most a few kB of both texts are kept.
    """

    __slots__ = (
        *("_alters", "_is_command", "_is_missing", "_looks", "_mutates", "_normalized"),
        *("_shown", "is_long", "is_polled", "masking", "outcome"),
    )

    def __init__(
        self,
        tool: str,
        call_key: Hashable,
        mutates: Optional[bool],
        result_key: Hashable,
        kind: Outcome,
        is_long: bool,
    ) -> None:
        self.tool = tool
        self.call_key = call_key
        self.result_key = result_key
        self.answer_key = tool, result_key, "answer"
        self._call = self._result = self._text = None
        self._arguments = ...
        self._mutates = mutates
        self._is_command: Optional[bool] = None
        self._is_missing: Optional[bool] = None
        self.outcome = kind
        self.is_long = is_long
        """Whether the result is too long for an acknowledgment."""
        self.is_polled = False
        """Whether the call is declared to ask how work elsewhere goes on."""
        self.masking = SECRETS
        """What of the arguments may be shown."""
        self._normalized: Optional[Dict[str, Optional[str]]] = None
        self._alters: Optional[bool] = None
        self._looks: Optional[bool] = None
        self._shown: Optional[ShownArguments] = None

    @classmethod
    def of(
        cls,
        call: ToolCall,
        result: Result,
        policy: ToolPolicy = NO_POLICY,
        asked: Optional[Asked] = None,
        masking: Masking = SECRETS,
        by_fingerprint: bool = False,
    ) -> "CallFeatures":
        """Make the features of a call and its result; never raises on what a model or tool made.

        Args:
            call: the call.
            result: its result, None where it is not known.
            policy: what is declared about the tool.
            asked: what is known of the call already, if anything is.
            masking: what of the arguments may be shown.
            by_fingerprint: whether the window holds calls of which only fingerprints are known.
        """
        if asked is None:
            asked = asked_of(call, policy)
        known: Optional[CallFeatures] = asked.features
        is_same = asked.result is result and not by_fingerprint
        if known is not None and is_same and known.masking is masking:
            return known
        text, kind = answer_of(result, asked.tool, policy)
        is_long = text is not None and len(text) > ACKNOWLEDGMENT_LENGTH
        features = cls(asked.tool, asked.call_key, policy.mutates, text, kind, is_long)
        features.masking = masking
        features._arguments = asked.arguments
        features._text = text
        if text is not None and len(text) > BEGINNING:
            features._fold(text)
        if policy.poll or asked.is_long or kind is SILENT:
            features._complete(text, policy, asked.is_long)
        given: Any = result.text if type(result) is ToolResult else result
        if by_fingerprint:
            features.compare_as(features.call, features.result)
        elif type(given) is str or given is None:  # it cannot change in place
            asked.result, asked.features = result, features
        return features

    def _fold(self, text: str) -> None:
        """Keep of a long result what is needed of it."""
        digest = digest_of(text)
        self._text, self._result = kept_text(text), digest.hex()[:KEY_LENGTH]
        self._take_result_key(digest)

    def _complete(self, text: Optional[str], policy: ToolPolicy, is_long: bool) -> None:
        """Do what few calls need."""
        if self.outcome is SILENT and str(text).lstrip().startswith(_LEFT_OUT):
            self._looks = False
        if policy.poll:
            self.is_polled = policy.polls(self._arguments)
            if self.is_polled and self.outcome is SUCCESS:
                self.outcome = WAITING
        if is_long:
            self.settle()

    def as_unique(self, index: int) -> "CallFeatures":
        """Return these features for a call that equals no other; an unknown result stays so."""
        key = f"{index:0{KEY_LENGTH}x}"
        other = copy(self)
        other.compare_as(key, None if self.result_key is None else key)
        return other

    def refused(self) -> "CallFeatures":
        """Return these features as those of a call that was refused."""
        other = copy(self)
        other.outcome = REFUSED
        other._is_missing = None
        if self._arguments is not ...:
            other._normalized = other._alters = None
        return other

    def settle(self) -> None:
        """Derive now what may be asked of the arguments later, and let go of them."""
        self._call = self.call
        self._shown = ShownArguments.of_long(self._arguments, self.masking)
        self._mutates, self._alters = self.mutates, self.changes_world
        self._is_command, self._looks = self.is_command, self.only_looks
        for name in LOOSER:
            self.normalized(name)
        self._arguments = ...

    def normalized(self, name: str) -> Optional[str]:
        """Return one of the looser keys by its name, None where it is not known."""
        if self._normalized is None:
            self._normalized = {}
        if name not in self._normalized:
            self._normalized[name] = self._made(name)
        return self._normalized[name]

    def restore(
        self,
        looser: Mapping[str, str],
        shown: ShownArguments,
        *,
        changes_world: bool,
        is_polled: bool,
        is_command: bool,
        is_missing: bool,
        only_looks: bool,
    ) -> None:
        """Take over what was derived of the texts earlier, perhaps elsewhere.

        Args:
            looser: the looser keys, by name.
            shown: what may be shown of the arguments.
            changes_world: whether it changed the world.
            is_polled: whether the call is a poll.
            is_command: whether it is a line for a shell.
            is_missing: whether there is no such tool.
            only_looks: whether it was made for its answer alone.
        """
        self._normalized = dict(looser)
        self._shown = shown
        self._alters, self.is_polled = changes_world, is_polled
        self._is_command, self._is_missing = is_command, is_missing
        self._looks = only_looks

    def _made(self, name: str) -> Optional[str]:
        is_known = self._arguments is not ... if name == "near" else self._text is not None
        if not is_known:
            return None
        text = self._text if isinstance(self._text, KeptText) else KeptText(self._text or "")
        return looser_key(name, self.tool, self._arguments, text, self.outcome)

    @property
    def mutates(self) -> bool:
        """Whether the tool is declared to change the world, or sounds like it."""
        if self._mutates is None:
            self._mutates = seems_to_mutate(self.tool, self._arguments)
        return self._mutates

    @property
    def is_command(self) -> bool:
        """Whether the call is a line for a shell, which does all kinds of work."""
        if self._is_command is None:
            self._is_command = command_line(self._arguments) is not None
        return self._is_command

    @property
    def is_missing(self) -> bool:
        """Whether the answer says that the tool does not exist.

        A shell exists that runs a program which knows no such command.
        """
        if self._is_missing is None:
            said = str(self._text)
            is_missing = self.outcome is INVALID and names_no_tool(said)
            is_about_it = not self.is_command or self.tool.lower() in said.lower()
            self._is_missing = is_missing and is_about_it
        return self._is_missing

    @property
    def changes_world(self) -> bool:
        """Whether the call, when it succeeded, most likely changed something.

        A call that was turned away because the other side is busy changed nothing.
        """
        if self._alters is None:
            self._alters = not self._was_put_off() and (self.mutates or self._seems_to_change())
        return self._alters

    def _seems_to_change(self) -> bool:
        """Guess whether the call of a tool that need not change anything has changed something.

        A command line does by its words, and what says nothing was done for its effect, unless it
        has none or only looks.
        """
        if self.outcome is not SILENT:
            return command_changes(self._arguments)
        looks = seems_to_look(self.tool, self._arguments)
        if self._looks is None:
            self._looks = looks
        return not (looks or does_nothing(self._arguments))

    def _was_put_off(self) -> bool:
        return self.outcome is WAITING and isinstance(self._text, str) and is_busy(self._text)

    @property
    def only_looks(self) -> bool:
        """Whether the call was made for its answer alone, by its words."""
        if self._looks is None:
            self._looks = not self.mutates and seems_to_look(self.tool, self._arguments)
        return self._looks

    @property
    def steady(self) -> Optional[str]:
        """The result without noise."""
        return self.normalized("steady")

    @property
    def wording(self) -> Optional[str]:
        """The words of the result, without numbers and what echoes the arguments."""
        return self.normalized("wording")

    @property
    def left(self) -> Optional[str]:
        """How much is left to do by what the result says, as digits that compare as numbers do.

        None where it says nothing of that kind.
        """
        left = self.normalized("left")
        return None if left == NOT_SAID else left

    @property
    def near(self) -> Optional[str]:
        """The arguments without cosmetic differences."""
        return self.normalized("near")

    @property
    def template(self) -> Optional[str]:
        """The different lines of the result, without numbers and ids."""
        return self.normalized("template")

    @property
    def shown(self) -> ShownArguments:
        """The arguments, for a person or a model to read."""
        if self._shown is None:
            self._shown = (
                UNKNOWN_ARGUMENTS
                if self._arguments is ...
                else ShownArguments.of(self._arguments, self.masking)
            )
        return self._shown
