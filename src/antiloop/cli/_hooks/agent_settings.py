"""The JSON settings of agents: adding the hook and removing it."""

import json
import os
import re
import shlex
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

USER, PROJECT, LOCAL = "user", "project", "local"
"""The kinds of settings: yours for all projects, shared by the project, yours for the project."""

Settings = Dict[str, Any]

_COMMANDS = ("command", "bash", "powershell")


def nested_entry(command: str, timeout: int = 30) -> Dict[str, Any]:
    """Return the entry for the list of one event."""
    return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": timeout}]}


def flat_entry(command: str) -> Dict[str, Any]:
    """Return the entry for the list of one event, for bash and PowerShell."""
    return {"type": "command", "bash": command, "powershell": command, "timeoutSec": 30}


def forgiving(command: str) -> str:
    """Return a command for bash and PowerShell that ends well even if its program is missing.

    Settings are shared with machines that have no antiloop, and some agents take any failure of a
    hook for a refusal.
    """
    return f"{command}; exit 0"


@dataclass(frozen=True)
class AgentSettings:
    """Describe where an agent keeps its hooks, and how."""

    name: str
    """The agent's name on the command line."""
    events: Tuple[str, ...]
    """The events at which the agent calls the hook."""
    files: Mapping[str, str]
    """The file of each place; in the user's folder for `USER`."""
    folder: str
    """The user's folder, under the home."""
    variable: str = ""
    """The environment variable that names another folder, if there is one."""
    entry: Callable[[str], Dict[str, Any]] = nested_entry
    """Makes the entry for the list of one event from a command."""
    frame: Settings = field(default_factory=dict)
    """A file must hold this beside the hooks."""
    no_events: Tuple[str, ...] = ()
    """Keys among the hooks that are not events."""
    note: str = ""
    """An instruction for the user after the hook is installed."""
    distrust: Optional[Callable[[str], Optional[str]]] = None
    """Says, given the user's folder, why hooks of this project are not called; None if they are."""

    def path_of(self, place: str) -> str:
        """Return the path of the settings of a place."""
        if place not in self.files:
            places = " and ".join(sorted(self.files, reverse=True))
            raise ValueError(f"{self.name} has no {place} settings, only {places} settings")
        if place != USER:
            return os.path.join(*self.files[place].split("/"))
        return os.path.join(self.home, *self.files[USER].split("/"))

    @property
    def home(self) -> str:
        """The user's folder of the agent."""
        named = os.environ.get(self.variable) if self.variable else None
        return os.path.expanduser(named or os.path.join("~", self.folder))

    def parsed(self, text: str) -> Any:
        return json.loads(text) if text.strip() else {}

    def written(self, settings: Any) -> str:
        return json.dumps(settings, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def with_hook(self, settings: Any, command: str) -> Settings:
        """Return settings that call the hook with a command; an older hook is replaced."""
        kept = self.without_hook(settings)
        hooks = dict(kept.get("hooks", {}))
        for event in self.events:
            hooks[event] = [*hooks.get(event, []), self.entry(command)]
        return {**self.frame, **kept, "hooks": hooks}

    def without_hook(self, settings: Any) -> Settings:
        """Return settings without the hook; everything else stays.

        Raises:
            ValueError: for malformed settings; the message names the place.
        """
        whole: Settings = _expect(dict, settings, "the file")
        hooks: Dict[str, Any] = _expect(dict, whole.get("hooks", {}), "hooks")
        kept = {
            event: entries if event in self.no_events else self._others(entries, f"hooks.{event}")
            for event, entries in hooks.items()
        }
        left = {event: kept[event] for event in hooks if kept[event] or not hooks[event]}
        if left or not hooks:
            return {**whole, "hooks": left} if "hooks" in whole else dict(whole)
        rest = {name: value for name, value in whole.items() if name != "hooks"}
        return {} if rest == self.frame else rest

    def commands_in(self, settings: Any) -> Dict[str, List[str]]:
        """Return the commands that call the hook, by event."""
        self.without_hook(settings)  # raises if the settings are malformed
        hooks = settings.get("hooks", {})
        return {
            event: [
                command
                for each in hooks.get(event, [])
                for hook in (each, *each.get("hooks", []))
                for command in self._commands(hook)[:1]
            ]
            for event in self.events
        }

    def _others(self, entries: Any, place: str) -> List[Any]:
        """Return the entries of an event without our hook; hooks beside it are kept."""
        others = []
        for number, each in enumerate(_expect(list, entries, place)):
            at = f"{place}[{number}]"
            hooks = _expect(list, _expect(dict, each, at).get("hooks", []), f"{at}.hooks")
            if self._commands(each):
                continue
            rest = [hook for hook in hooks if not self._commands(hook)]
            if rest or not hooks:
                others.append(each if len(rest) == len(hooks) else {**each, "hooks": rest})
        return others

    def _commands(self, hook: Any) -> List[str]:
        """Return the commands of our hook; an empty list for another hook."""
        given = [hook.get(key) for key in _COMMANDS] if isinstance(hook, dict) else []
        return [
            command
            for command in given
            if isinstance(command, str) and "antiloop" in command and f"hook {self.name}" in command
        ]


def _expect(kind: Callable[..., Any], value: Any, place: str) -> Any:
    if type(value) is not kind:
        expected = {dict: "an object", list: "a list"}[kind]  # type: ignore[index]
        raise ValueError(f"{place} must be {expected}, got {type(value).__name__}")
    return value


_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


class PluginFile(AgentSettings):
    """Describe where an agent keeps its plugins; the settings are the text of our plugin."""

    @property
    def _mark(self) -> str:
        return f"// antiloop hook {self.name}"

    def parsed(self, text: str) -> Any:
        return text

    def written(self, settings: Any) -> str:
        return str(settings)

    def with_hook(self, settings: Any, command: str) -> Any:
        """Return the plugin that calls the hook like this."""
        self.without_hook(settings)
        source = (resources.files(__package__) / f"{self.name}_plugin.js").read_text("utf-8")
        words = json.dumps(shlex.split(command))
        return _COMMAND.sub(lambda _: f"const COMMAND = {words}", source, count=1)

    def without_hook(self, settings: Any) -> Any:
        """Return an empty file.

        Raises:
            ValueError: if the file holds another plugin.
        """
        if settings.strip() and not settings.startswith(self._mark):
            raise ValueError("another plugin has this name; move it elsewhere")
        return ""

    def commands_in(self, settings: Any) -> Dict[str, List[str]]:
        """Return the commands that call the hook, by event.

        Raises:
            ValueError: if the file holds another plugin, or no command that can be read.
        """
        self.without_hook(settings)
        found = _COMMAND.search(settings)
        words = json.loads(found[1]) if found else []
        if found and not (words and all(isinstance(word, str) for word in words)):
            raise ValueError("COMMAND must be a list of texts; run --install again")
        return dict.fromkeys(self.events, [shlex.join(words)] if found else [])
