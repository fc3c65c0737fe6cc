"""A call and its answer as they are compared: a value that never changes.

Fingerprints and the outcome are there from the beginning. All else is derived from the texts when a
detector first asks for it, because most steps of a healthy run are never compared that far: at
most a few kB of the texts are kept for this. `CallFeatures.settled` derives everything and lets go
of the texts; that is what a snapshot holds.

The looser comparisons, from strict to loose:

* ``steady``: the answer without noise (times, random ids, counters);
* ``wording``: the words of the answer, without numbers and echoes of the arguments;
* ``template``: the different lines of the answer, without numbers and ids;
* ``statement``: the sentences of the answer, without addresses and echoes of the arguments;
* ``near``: the arguments without cosmetic differences;
* ``shape``: the same without numbers.

Each is a fingerprint, so that one from a snapshot compares like one that was made just now.
"""

from typing import Any, Mapping, Optional, Tuple

from ..._text.masking import SECRETS, Masking
from ..._text.shortening import beginning_of, shortened
from .._profiles import ClientProfile
from . import effect
from .amount import amount_left
from .answered import Result, answer_of
from .asked import Asked
from .derived import derived, derived_of
from .document import LEAST_LINES, NONE, Checksums, lines_of, sentences_of, texts_of
from .fingerprint import KEY_LENGTH
from .host_lines import HostLines
from .kept_text import KeptText, kept_text
from .keys import Keys, declared_keys, key_of
from .noise import (
    command_line,
    does_nothing,
    measures,
    near_arguments,
    statement,
    template,
    without_numbers,
    wording,
)
from .outcome import (
    EMPTY,
    FAILURE,
    INVALID,
    REFUSED,
    SILENT,
    SUCCESS,
    UNKNOWN,
    WAITING,
    Outcome,
    is_busy,
    names_no_tool,
)
from .place import place_of
from .shown_arguments import ShownArguments
from .structure import is_bare
from .waiting import has_ended
from .wrapping import is_object

_BEGIN = 4
_SAID = 120  # characters of an answer that a person is shown
ACKNOWLEDGMENT_LENGTH = 400
"""Characters of the longest answer that may merely say that all went well."""


class CallFeatures:
    """The content of one call and its result; equal for equal content in any process.

    Made by `of`, or of the fields themselves where the texts are no longer known.
    """

    tool: str
    call: str
    """The fingerprint of the call."""
    result: Optional[str]
    """The fingerprint of the result; None where it is not known."""
    outcome: Outcome
    is_long: bool
    """Whether the result is too long for an acknowledgment."""
    is_polled: bool
    """Whether the call is declared to ask how work elsewhere goes on."""
    waits: bool
    """Whether the call waits for work elsewhere that has not ended."""
    finishes: bool
    """Whether an agent declares itself done with the call."""
    keys: Mapping[str, Optional[str]]
    """The keys that detectors declare, by name."""
    has_texts: bool
    """Whether the texts are still known, so that more can be derived from them."""
    arguments: Any
    """As plain JSON."""
    compared: Any
    """The arguments that make calls equal; all of them, unless the user declares others."""
    text: Optional[KeptText]
    """The result, None where it is not known."""
    look: Optional[Tuple[str, int]] = None
    """The beginning of the result and its lines, quick to compare; None without the texts."""

    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"what is known of a call does not change: {name}")

    @classmethod
    def of(
        cls,
        asked: Asked,
        result: Result,
        masking: Masking = SECRETS,
        rules: Optional[Keys] = None,
        host: Optional[HostLines] = None,
    ) -> "CallFeatures":
        """Read the result of a call; never raises on what a tool made.

        Args:
            asked: the call as it is compared.
            result: its result, None where it is not known.
            masking: what of the arguments may be shown.
            rules: the keys that detectors declare, by name.
            host: the lines of the host, which learns from the result.
        """
        policy, client = asked.policy, asked.client
        given, text, kind = answer_of(asked, result, host)
        is_polled = bool(policy.poll) and policy.polls(asked.arguments)
        waits = asked.waits and not kind.is_failure  # one that failed has waited for nothing
        is_open = waits or (is_polled and kind is SUCCESS)
        # Once the work has ended, to go on waiting is a repetition like any other.
        if is_open and has_ended(given or "", asked.arguments):
            waits = is_polled = is_open = False
        was_object = text is not given and is_object(given or "")
        kept = None if text is None else kept_text(text, was_object)
        features = cls(
            tool=asked.tool,
            call=asked.call,
            result=None if text is None else key_of(text),
            outcome=WAITING if is_open else kind,
            is_long=text is not None and len(text) > ACKNOWLEDGMENT_LENGTH,
            is_polled=is_polled,
            waits=waits,
            finishes=effect.seems_to_finish(asked.tool)
            or client.finishes_by(asked.tool, asked.arguments),
            has_texts=True,
            keys=declared_keys(rules, asked, given, kind.is_failure) if rules else {},
            arguments=asked.arguments,
            compared=asked.compared,
            text=kept,
            look=kept and (kept.begin[:_BEGIN], kept.begin.count("\n")),
            _masking=masking,
            _declared_to_mutate=policy.mutates,
            _client=client,
        )
        # An act found nothing only if it says so in words: "[]" is how many acknowledge.
        if features.outcome is EMPTY and is_bare(given or "") and features.mutates:
            features = features.replaced(outcome=SILENT)
        if not asked.is_long:
            return features
        # Too long to be kept, so all is derived at once.
        shown = ShownArguments.of_long(asked.arguments, masking)
        return features.replaced(shown=shown).settled()

    def replaced(self, **fields: Any) -> "CallFeatures":
        """Return these features with other fields; nothing derived from the texts is kept."""
        gone = DERIVED if self.has_texts else ()
        kept = {name: value for name, value in vars(self).items() if name not in gone}
        return CallFeatures(**{**kept, **fields})

    def as_unique(self, index: int) -> "CallFeatures":
        """Return these features for a call that equals no other; an unknown result stays so."""
        key = f"{index:0{KEY_LENGTH}x}"
        return self.replaced(call=key, result=None if self.result is None else key)

    def settled(self) -> "CallFeatures":
        """Return the same features without the texts, with all that can be derived from them."""
        derived = {name: getattr(self, name) for name in DERIVED}
        return self.replaced(**derived, has_texts=False, arguments=None, compared=None, text=None)

    def refused(self) -> "CallFeatures":
        """Return these features as those of a call that was refused."""
        return self.replaced(outcome=REFUSED, is_missing=False)

    _masking: Masking
    _declared_to_mutate: Optional[bool]
    _client: ClientProfile

    @property
    def said(self) -> str:
        """The ends of the answer, masked, for a person; empty where it is not known.

        A refusal of antiloop is not an answer.
        """
        if self.text is None or self.outcome is REFUSED or not self._masking.shows_answers:
            return ""
        # Mask first: half a secret would not be recognized as one.
        return shortened(" ".join(self._masking.text(beginning_of(self.text.begin)).split()), _SAID)

    @derived
    def mutates(self) -> bool:
        """Whether the tool is declared to change the world, or sounds like it."""
        declared = self._declared_to_mutate
        if declared is not None or self._client.looks_by(self.tool, self.arguments):
            return bool(declared)
        return effect.seems_to_mutate(self.tool, self.arguments)

    @derived
    def is_command(self) -> bool:
        """Whether the call is a line for a shell, which does all kinds of work."""
        return command_line(self.arguments) is not None

    @derived
    def is_missing(self) -> bool:
        """Whether the answer says that the tool does not exist.

        A shell exists that runs a program which knows no such command.
        """
        if self.outcome is not INVALID or self.text is None:
            return False
        said = self.text.begin
        return names_no_tool(said) and (not self.is_command or self.tool.lower() in said.lower())

    @derived
    def changes_world(self) -> bool:
        """Whether the call, if it succeeded and was not put off, most likely changed the world."""
        return not self.is_put_off and (self.mutates or self._seems_to_change())

    @property
    def is_put_off(self) -> bool:
        """Whether the other side is too busy for it; "accepted, queued" is an act that was done."""
        return self.outcome is WAITING and self.text is not None and is_busy(self.text.begin)

    def _seems_to_change(self) -> bool:
        """Guess whether the call of a tool that need not change anything has changed something.

        A command line does by its words, or if it says nothing, unless it has none or only looks.
        Another call does that brings a text and is answered in short.
        """
        tool, arguments, kind = self.tool, self.arguments, self.outcome
        if kind is SILENT and effect.is_typed(tool, arguments):
            return not (effect.seems_to_look(tool, arguments) or does_nothing(arguments))
        is_short = kind in (SILENT, SUCCESS) and not (self.is_long or self.is_page)
        return effect.command_changes(arguments) or (
            is_short and effect.carries_text(tool, arguments)
        )

    @derived
    def only_looks(self) -> bool:
        """Whether the call was made for its answer alone, by its words."""
        if self.outcome is SILENT and self.text and self.text.is_cut:
            return False  # something was there
        looks = self._client.looks_by(self.tool, self.arguments)
        return not self.mutates and (looks or effect.seems_to_look(self.tool, self.arguments))

    @derived
    def moves(self) -> bool:
        """Whether the same call may lead further each time, and its answer does not say where.

        A click whose answer is not known is judged like any call: it may as well miss.
        """
        if self.is_long or self.outcome not in (SUCCESS, SILENT, EMPTY, UNKNOWN):
            return False
        if self._client.acts_by(self.tool, self.arguments):
            return True
        is_blind = self.outcome is UNKNOWN and "click" in self.tool.lower()
        return not is_blind and effect.seems_to_move(self.tool, self.arguments)

    @derived
    def changes_midway(self) -> bool:
        """Whether a command line failed at its end, after a part of it had changed something."""
        return self.outcome is FAILURE and effect.changes_midway(self.arguments)

    @derived
    def switches_midway(self) -> bool:
        """Whether it went to another state of the files before: the failure is that of this one."""
        return self.changes_midway and effect.switches_midway(self.arguments)

    @derived
    def is_terse(self) -> bool:
        """Whether the answer is a value such as "available": different questions may share it."""
        text = self.text
        return text is None or text.is_value or (text.is_object and not self.only_looks)

    @derived
    def names_one(self) -> bool:
        """Whether the call is about one of many things, which it names."""
        return effect.names_one_of_many(self.tool, self.arguments)

    @derived
    def is_page(self) -> bool:
        """Whether the answer has several lines: it shows something, whatever the call did."""
        return self.text is not None and self.text.begin.count("\n") > 1

    @derived
    def is_question(self) -> bool:
        """Whether another call should have another answer: the tool neither acts nor types."""
        acts = self.moves or self.is_command or self.mutates or self.changes_world
        return not (acts or effect.seems_to_type(self.tool))

    @derived
    def steady(self) -> Optional[str]:
        """The result without noise."""
        if self.text is None:
            return None
        kind = self.outcome
        # How long it took says nothing while work goes on or once it has ended, and may be what a
        # job answers.
        asks = kind is SUCCESS and effect.asks_of_a_job(self.tool, self.arguments)
        asks = asks and not has_ended(self.text.begin)
        # A measurement is noise beside a verdict, and the answer of what measures.
        keeps_counts = self.is_polled or asks or (kind is SUCCESS and measures(self.text.begin))
        return key_of(self.text.without_noise(keeps_counts, kind.is_failure))

    @derived
    def wording(self) -> Optional[str]:
        """The words of the result, without numbers and what echoes the arguments."""
        if self.text is None:
            return None
        says = self.outcome.says_something
        return key_of(wording(self.text.begin, self.arguments) if says else "")

    @derived
    def left(self) -> Optional[str]:
        """The work that is left by what the result says, as digits that compare as numbers do."""
        text, is_waiting = self.text, self.outcome is WAITING
        left = None if text is None else amount_left(text.begin, is_waiting)
        return None if left is None else key_of(left)

    @derived
    def near(self) -> str:
        """The arguments without cosmetic differences."""
        return key_of(near_arguments(self.compared))

    @derived
    def shape(self) -> str:
        """The arguments without cosmetic differences and numbers: ``head -20``, ``head -21``."""
        return key_of(without_numbers(near_arguments(self.compared)))

    @derived
    def place(self) -> Optional[str]:
        """The place on a screen that the arguments name."""
        return place_of(self.compared)

    @derived
    def template(self) -> Optional[str]:
        """The different lines of the result, without numbers and ids; None if the tool looks."""
        # Where nothing is changed, the numbers are the answer.
        return key_of(template(self.text.begin)) if self.text and self.mutates else None

    @property
    def may_state(self) -> bool:
        """Whether the answer may be a statement, by what is quick to find out."""
        if self.text is None or self.outcome is not SUCCESS or self.text.rest:
            return False
        # A form shows the same page while its fields are filled.
        fills = self.is_page and effect.seems_to_type(self.tool)
        acts = self.changes_world or (self.is_command and not self.only_looks)
        return not (fills or self.text.is_data or acts)

    @derived
    def statement(self) -> Optional[str]:
        """The answer without echoes and addresses; None where it is data, or acknowledges an act.

        It begins with what is quick to compare, so most that differ need not be made for it.
        """
        said = self.text and self.may_state and statement(self.text.begin, self.arguments)
        return key_of(f"{self.look} {said}") if said else None

    @derived
    def lines(self) -> Checksums:
        """Some lines of an answer of several; none where it is not kept whole."""
        text = self.text
        if text is None or self.look is None or text.rest or self.outcome is not SUCCESS:
            return NONE
        # Most answers are shorter or those of a shell, which is quick to find out.
        is_page, is_json = self.look[1] >= LEAST_LINES - 1, text.begin.startswith(("{", "["))
        if not (is_page or is_json) or self.is_command:
            return NONE
        sentences = sentences_of(text.begin) if is_json else NONE
        return sentences or (lines_of(text.begin) if is_page else NONE)

    @derived
    def texts(self) -> Checksums:
        """The texts in the arguments of a call that asked for a document."""
        return texts_of(self.compared) if self.lines and self.is_question else NONE

    @derived
    def shown(self) -> ShownArguments:
        """The arguments, for a person or a model to read."""
        return ShownArguments.of(self.arguments, self._masking)


DERIVED = derived_of(CallFeatures)
"""The features that are derived from the texts."""
