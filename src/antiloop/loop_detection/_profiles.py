"""Client profiles: what is known of an agent's program and of its tools, as data.

One table serves readers, hooks, adapters and the gateway, so a session is judged alike while it
runs, at the gateway and from its file.
"""

import re
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from .._checks import check_choice
from .._short_repr import Shown
from .._text.canonical import parsed_arguments, text_of
from ..exceptions import SettingsError
from ..stability import beta
from ._profile_table import PROFILES

_TAG = re.compile(r"<([\w-]+)")
_ENOUGH = 3
"""The number of a client's tools that must be offered to recognize it."""


@beta
@dataclass(frozen=True, repr=False)
class CallPattern(Shown):
    """Calls of one tool, all of them or those with certain arguments.

    Raises:
        ValueError: for a pattern that is not a regular expression.
    """

    tool: str
    where: Mapping[str, str] = field(default_factory=dict, hash=False)
    """By argument, the pattern that all of its text matches; a missing argument is an empty text.
    The name ``""`` stands for all arguments as text."""
    handle: str = ""
    """The argument that names what is waited for."""

    def __post_init__(self) -> None:
        for pattern in self.where.values():
            _compiled((pattern,))

    def matches(self, tool_name: str, arguments: Any) -> bool:
        """Whether a call is one of these."""
        if not _is_named(tool_name, self.tool):
            return False
        if not self.where:
            return True
        given = parsed_arguments(arguments)
        return all(
            _compiled((pattern,)).fullmatch(_text_in(given, name)) is not None
            for name, pattern in self.where.items()
        )

    def waited_for(self, arguments: Any) -> str:
        """Return the value of the handle; empty where there is none."""
        return _text_in(parsed_arguments(arguments), self.handle) if self.handle else ""


Patterns = Tuple[str, ...]
Calls = Tuple[CallPattern, ...]


@beta
@dataclass(frozen=True, repr=False)
class ClientProfile(Shown):
    r"""The conventions of a client, an agent's program, or of a family of tools.

    Tools are compared by their names, those of MCP servers by how their names end. Patterns are
    regular expressions; ``^`` stands for the beginning of a line. All fields may be empty. Where
    calls are listed, the name of a tool stands for all its calls.

    Raises:
        ValueError: for a pattern that is not a regular expression, or a comment without a tool.
        TypeError: if a field is not a list of what it holds.

    >>> codex = ClientProfile.named("codex")
    >>> codex.unwrapped("Chunk ID: 89f193\nWall time: 0.0813 seconds\nOutput:\nstate: pending\n")
    'Output:\nstate: pending\n'
    >>> codex.is_of_host("<environment_context>\n  <cwd>/home</cwd>")
    True
    >>> codex.wait_in("write_stdin", {"session_id": 7, "chars": ""}).waited_for({"session_id": 7})
    '7'
    """

    name: str
    title: str = ""
    """Its name for people."""
    tools: Patterns = ()
    """Names of tools by which it is recognized."""
    wraps: Patterns = ()
    """Patterns of the text that it wraps around results: ids, times, reminders. That text is left
    out where results are compared."""
    host_texts: Patterns = ()
    """The beginnings of texts in the user's place that no person wrote."""
    compaction: Patterns = ()
    """The beginnings of texts in the user's place that show that earlier messages are gone."""
    compaction_events: Patterns = ()
    """The events of its hooks that say so."""
    plans: Patterns = ()
    """Tools that plan, ask and answer; their calls never count."""
    waits: Calls = ()
    """Calls that wait for work elsewhere."""
    looks: Calls = ()
    """Calls that only look."""
    acts: Calls = ()
    """Calls whose acknowledgment says nothing: the next look shows what they did."""
    finishes: Calls = ()
    """Calls by which an agent declares itself done."""
    agents: Patterns = ()
    """Tools that start another agent."""
    comments: Patterns = ()
    """Arguments in which the model says what a call is for, as ``TOOL.ARGUMENT``; the tool ``*`` is
    every tool. They change nothing that the call does, so they are left out of comparisons."""

    def __deepcopy__(self, memo: object) -> "ClientProfile":
        return self  # it never changes

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.name not in ("name", "title")):
            object.__setattr__(self, name, _checked(name, getattr(self, name)))
        for name in ("wraps", "host_texts", "compaction"):
            _compiled(getattr(self, name))
        for comment in self.comments:
            if not all(comment.rpartition(".")):
                raise ValueError(f"comments: {comment!r} must be TOOL.ARGUMENT, or *.ARGUMENT")

    @classmethod
    def named(cls, name: str) -> "ClientProfile":
        """Return a known profile.

        Raises:
            ValueError: for an unknown profile; the message lists the known ones.
            TypeError: if the name is not a text.
        """
        check_choice("profile", name, PROFILES)
        return cls.from_dict(name, PROFILES[name])

    @classmethod
    def all(cls) -> "List[ClientProfile]":
        """Return the known profiles."""
        return [cls.named(name) for name in PROFILES]

    @classmethod
    def from_dict(cls, name: str, values: Mapping[str, Any]) -> "ClientProfile":
        """Make a profile of plain JSON or TOML, such as a table of ``antiloop.toml``.

        Args:
            name: its name.
            values: the fields; a call is the name of its tool, or an object with ``tool``,
                ``where`` and ``handle``.

        Raises:
            SettingsError: for an unknown field, or a value of another kind; the message names it.
        """
        if not isinstance(values, Mapping):
            raise SettingsError(f"profiles.{name}: must be an object of fields, got {values!r}")
        known = [each.name for each in fields(cls) if each.name != "name"]
        read: Dict[str, Any] = {}
        for field_name, value in values.items():
            place = f"profiles.{name}.{field_name}"
            if field_name not in known:
                raise SettingsError(f"{place}: no such field; choose from {', '.join(known)}")
            if field_name == "title":
                read[field_name] = _text(value, place)
            elif field_name in _OF_CALLS:
                read[field_name] = tuple(_call(each, place) for each in _list(value, place))
            else:
                read[field_name] = tuple(_text(each, place) for each in _list(value, place))
        try:
            return cls(name, **read)
        except ValueError as error:
            raise SettingsError(f"profiles.{name}: {error}") from error

    @classmethod
    def known_or_new(cls, name: str, values: Mapping[str, Any]) -> "ClientProfile":
        """Make a profile of plain values, with what is known of a client of this name.

        Raises:
            SettingsError: as that of `from_dict`.
        """
        own = cls.from_dict(name, values)
        return cls.named(name).with_more(own) if name in PROFILES else own

    @classmethod
    def of_tools(
        cls, names: Iterable[str], among: "Optional[Iterable[ClientProfile]]" = None
    ) -> "Optional[ClientProfile]":
        """Recognize a client by the tools that it offers to its model.

        Args:
            names: names of tools.
            among: profiles to choose from; the known ones by default.

        Returns:
            The profile with the most of these tools, if there are at least three, or all of its.
        """
        offered = list(names)
        best, most = None, 0
        for each in _known() if among is None else among:
            count = sum(any(_is_named(name, tool) for name in offered) for tool in each.tools)
            if count > most and count >= min(_ENOUGH, len(each.tools)):
                best, most = each, count
        return best

    def with_more(self, other: "ClientProfile") -> "ClientProfile":
        """Return this profile with what another one says besides."""
        more: Dict[str, Any] = {
            each.name: tuple(dict.fromkeys((*getattr(self, each.name), *getattr(other, each.name))))
            for each in fields(self)
            if each.name not in ("name", "title", *_OF_CALLS)
        }
        more.update({name: (*getattr(self, name), *getattr(other, name)) for name in _OF_CALLS})
        return replace(self, title=other.title or self.title, **more)

    def unwrapped(self, text: str) -> str:
        """Return a result without what the client wraps around it."""
        return _compiled(self.wraps).sub("", text) if self.wraps else text

    def is_of_host(self, text: str) -> bool:
        """Whether a text in the user's place was written by the program, and by no person.

        A program may put what it says, in tags, before the words of a person.
        """
        rest = text.strip()
        while rest and _begins(rest, self.host_texts):
            tag = _TAG.match(rest)
            _, closing, rest = rest.partition(f"</{tag[1]}>") if tag else ("", "", "")
            rest = rest.strip() if closing else ""
            if not rest:
                return True
        return self.shows_compaction(text)

    def shows_compaction(self, text: str) -> bool:
        """Whether a text in the user's place stands for earlier messages that are gone."""
        return _begins(text, self.compaction)

    def wait_in(self, tool_name: str, arguments: Any) -> Optional[CallPattern]:
        """Return which wait a call is; None if it is none."""
        return next((each for each in self.waits if each.matches(tool_name, arguments)), None)

    def looks_by(self, tool_name: str, arguments: Any) -> bool:
        """Whether a call only looks."""
        return any(each.matches(tool_name, arguments) for each in self.looks)

    def acts_by(self, tool_name: str, arguments: Any) -> bool:
        """Whether a call acts, and the next look shows what it did."""
        return any(each.matches(tool_name, arguments) for each in self.acts)

    def finishes_by(self, tool_name: str, arguments: Any) -> bool:
        """Whether an agent declares itself done with a call."""
        return any(each.matches(tool_name, arguments) for each in self.finishes)

    def starts_agent(self, tool_name: str) -> bool:
        """Whether a tool starts another agent."""
        return any(_is_named(tool_name, name) for name in self.agents)

    def without_comments(self, tool_name: str, arguments: Any) -> Any:
        """Return the arguments of a call without those that only comment on it.

        >>> claude = ClientProfile.named("claude-code")
        >>> claude.without_comments("Bash", {"command": "ls", "description": "List files"})
        {'command': 'ls'}
        """
        if not (self.comments and isinstance(arguments, dict)):
            return arguments
        split = [comment.rpartition(".") for comment in self.comments]
        named = {name for tool, _, name in split if tool == "*" or _is_named(tool_name, tool)}
        left = {name: value for name, value in arguments.items() if name not in named}
        return left or arguments  # what is all of a call is not a comment on it


_OF_CALLS = ("waits", "looks", "acts", "finishes")


@lru_cache(maxsize=1)
def _known() -> "List[ClientProfile]":
    return ClientProfile.all()


@lru_cache(maxsize=1024)
def _compiled(patterns: Patterns) -> "re.Pattern[str]":
    """Compile patterns as alternatives.

    Raises:
        ValueError: for one that is not a regular expression.
    """
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
    return re.compile("|".join(f"(?:{each})" for each in patterns), re.MULTILINE)


def _begins(text: str, patterns: Patterns) -> bool:
    return bool(patterns) and _compiled(patterns).match(text.lstrip()) is not None


def _is_named(tool_name: str, name: str) -> bool:
    """Whether a tool has a name; those of MCP servers have the server's in front.

    A name of one word could be the end of any other: ``wait`` is not ``mcp__x__do_not_wait``.
    """
    if tool_name == name:
        return True
    at = -len(name) - 1
    return "_" in name and tool_name.endswith(name) and tool_name[at : at + 1] in ("_", "-", ".")


def _text_in(arguments: Any, name: str) -> str:
    """Return an argument as text; empty where it is missing."""
    if not name:
        if isinstance(arguments, Mapping) and len(arguments) == 1:
            (arguments,) = arguments.values()  # a program as the only argument
        return text_of(arguments)
    value = arguments.get(name) if isinstance(arguments, Mapping) else None
    return "" if value is None else text_of(value)


def _checked(name: str, given: Any) -> Tuple[Any, ...]:
    """Return a field of a profile; the name of a tool stands for all its calls."""
    kind = CallPattern if name in _OF_CALLS else str
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise TypeError(f"{name} must be a list, got {given!r}")
    found = tuple(kind(each) if isinstance(each, str) else each for each in given)
    for each in found:
        if not isinstance(each, kind):
            raise TypeError(f"{name} must be a list of {kind.__name__}, got {each!r} in it")
    return found


def _call(value: Any, place: str) -> CallPattern:
    if isinstance(value, str):
        return CallPattern(value)
    if not isinstance(value, Mapping) or not {"tool"} <= set(value) <= {"tool", "where", "handle"}:
        raise SettingsError(f"{place}: expected a tool's name, or tool, where and handle")
    where = value.get("where", {})
    if not isinstance(where, Mapping):
        raise SettingsError(f"{place}.where: expected patterns by argument, got {where!r}")
    patterns = {str(name): _text(each, f"{place}.where") for name, each in where.items()}
    tool, handle = _text(value["tool"], place), _text(value.get("handle", ""), f"{place}.handle")
    try:
        return CallPattern(tool, patterns, handle)
    except ValueError as error:
        raise SettingsError(f"{place}: {error}") from error


def _list(value: Any, place: str) -> Union[List[Any], Tuple[Any, ...]]:
    if not isinstance(value, (list, tuple)):
        raise SettingsError(f"{place}: expected a list, got {value!r}")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise SettingsError(f"{place}: expected a text, got {value!r}")
    return value


NO_CLIENT = ClientProfile("")
"""The profile of a client of which nothing is known."""


def client_of(given: Any) -> ClientProfile:
    """Return the profile that is given, or the one of this name; for None the empty one.

    Raises:
        ValueError: for an unknown name.
        TypeError: for any other value.
    """
    if isinstance(given, ClientProfile):
        return given
    if not isinstance(given, (str, type(None))):
        raise TypeError(f"client must be a ClientProfile or the name of one, got {given!r}")
    return ClientProfile.named(given) if given else NO_CLIENT
