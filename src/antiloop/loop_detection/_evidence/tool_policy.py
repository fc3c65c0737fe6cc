"""The user's declarations about a tool; they overrule everything that is inferred."""

import logging
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Callable, FrozenSet, Mapping, Optional, Sequence, Union

from ..._checks import check_flag, check_threshold
from ..._frozen import frozen
from ..._short_repr import repr_of_fields
from ..._text.canonical import parsed_arguments, readable_json
from ...stability import stable

KeyOption = Union[Sequence[str], Callable[[Any], Any]]
StripRule = Union[Sequence[str], Callable[[str], str]]
_LISTS = (list, tuple, set, frozenset)
_logger = logging.getLogger("antiloop")


@stable
@dataclass(frozen=True)
class ToolPolicy:
    """Your declarations about a tool. Options that are not set are inferred.

    Args:
        poll: the tool reports on work elsewhere, so asking again is normal and only its results
            count. True, or, for a tool with several actions, the arguments that make a call a
            poll: ``{"action": ("poll", "log")}``.
        exempt: calls of this tool never count as evidence of a loop.
        mutates: a successful call changes something, so other calls may return other results.
        idempotent: True: the same call brings nothing new, whatever its result says. False: each
            call has a separate effect (`press_key`), so only failures count.
        key: the arguments that make two calls equal: names, or a function that takes the parsed
            arguments and returns a value to compare.
        strip: the noise in results: names of fields (``name: value``, ``name=value``; in JSON at
            any depth), or a function that takes the text and returns the text to compare.
        thresholds: thresholds for this tool by detector name, e.g. ``{"repeat": 10}``. Detectors
            of replies have none, and a call limit has its own option `per_tool`.

    Raises:
        ValueError: if a threshold is below 2, or a list is expected and something else is given.
        TypeError: if True or False, or a mapping of thresholds, is expected.
    """

    poll: Union[bool, Mapping[str, Sequence[Any]], None] = field(default=None, hash=False)
    exempt: bool = False
    mutates: Optional[bool] = None
    idempotent: Optional[bool] = None
    key: Optional[KeyOption] = field(default=None, hash=False)
    strip: Optional[StripRule] = field(default=None, hash=False)
    thresholds: Mapping[str, int] = field(default_factory=dict, hash=False)

    __repr__ = repr_of_fields

    def __post_init__(self) -> None:
        if not isinstance(self.thresholds, Mapping):
            raise TypeError(f"thresholds must be a mapping of names, got {self.thresholds!r}")
        for name, threshold in self.thresholds.items():
            check_threshold(f"threshold of {name!r}", threshold)
        for name, rule in (("key", self.key), ("strip", self.strip)):
            if not (rule is None or callable(rule) or _are_names(rule)):
                raise ValueError(f"{name} takes a list of names or a function, got {rule!r}")
        for name in ("poll", "exempt", "mutates", "idempotent"):
            flag = getattr(self, name)
            is_unset = flag is None and name != "exempt"
            if not (is_unset or (name == "poll" and isinstance(flag, Mapping))):
                check_flag(name, flag)
        for name, values in self.poll.items() if isinstance(self.poll, Mapping) else ():
            if not isinstance(values, _LISTS):
                raise ValueError(f"poll takes a list of values for {name!r}, got {values!r}")
        # One policy serves all runs of the process, so nothing in it may change.
        for name in ("key", "poll", "strip", "thresholds"):
            value = getattr(self, name)
            object.__setattr__(self, name, value if callable(value) else frozen(value))

    def polls(self, arguments: Any) -> bool:
        """Whether a call with these parsed arguments is a poll."""
        if not isinstance(self.poll, Mapping):
            return bool(self.poll)
        return isinstance(arguments, Mapping) and all(
            any(arguments.get(name) == value for value in values)
            for name, values in self.poll.items()
        )

    def compared_arguments(self, arguments: Any) -> Any:
        """Return the compared part of the parsed arguments; all if the key does not apply."""
        if callable(self.key):
            return self.key(arguments)
        if self.key is None or not isinstance(arguments, Mapping):
            return arguments
        named = {name: arguments[name] for name in self.key if name in arguments}
        return named or arguments

    def compared_text(self, text: str) -> str:
        """Return the part of a result that is compared."""
        if callable(self.strip):
            return self.strip(text)
        if not self.strip:
            return text  # no name at all would be a pattern of every field
        names = frozenset(self.strip)
        parsed = parsed_arguments(text) if text.lstrip()[:1] in ("{", "[") else text
        if isinstance(parsed, (dict, list)):
            # A pattern does not see where a value with values in it ends.
            return readable_json(_without_values(parsed, names))
        return field_values(names).sub(r"\1#", text)


@lru_cache(maxsize=256)
def field_values(names: FrozenSet[str]) -> "re.Pattern[str]":
    """Return the pattern of fields with these names; its first group ends before the value."""
    named = "|".join(map(re.escape, sorted(names)))
    # A list ends where another one begins: to look for its end further would take for ever in a
    # text that opens many.
    value = r"\"(?:[^\"\\]|\\.)*\"|\[[^\[\]]*\]|[^\s,;}]+"
    return re.compile(rf"(\b(?:{named})\b[\"']?\s*[:=]\s*)(?:{value})")


def _without_values(value: Any, names: FrozenSet[str]) -> Any:
    """Return a parsed value with a sign in the place of the values of these fields."""
    if isinstance(value, dict):
        return {
            name: "#" if name in names else _without_values(item, names)
            for name, item in value.items()
        }
    return [_without_values(item, names) for item in value] if isinstance(value, list) else value


def _are_names(rule: Any) -> bool:
    return isinstance(rule, _LISTS) and all(isinstance(name, str) for name in rule)


Policies = Mapping[str, ToolPolicy]
"""The user's declarations, by tool."""

NO_POLICY = ToolPolicy()
"""The policy without any declaration."""
NO_POLICIES: Policies = {}


def declared(rule: Callable[[Any], Any], value: Any, tool: str, name: str) -> Any:
    """Apply a rule that the user declared; one that raises is left out and logged."""
    try:
        return rule(value)
    except Exception:  # noqa: BLE001 - the user's own function; its error is logged
        _log_once(rule, tool, name)
        return value


@lru_cache(maxsize=256)
def _log_once(_: Callable[[Any], Any], tool: str, name: str) -> None:
    """Log the error of a rule: one that does not fit raises at every call."""
    text = "the %s= declared for tool %r raised; it is ignored, and this is logged once"
    _logger.exception(text, name, tool)
