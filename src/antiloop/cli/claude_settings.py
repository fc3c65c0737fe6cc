"""Claude Code's settings, as the JSON that they are: our hook put in, or taken out."""

from typing import Any, Callable, Dict, List

EVENTS = ("PreToolUse", "PostToolBatch")
"""When Claude Code is to call the hook: before each call, and after the calls of a round."""

Settings = Dict[str, Any]


def entry(command: str) -> Dict[str, Any]:
    """Give what stands in the list of one event."""
    return {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 30}]}


def with_hook(settings: Any, command: str) -> Settings:
    """Give settings in which the hook is called like this; one that is there already is replaced.

    Raises:
        ValueError: for what are no settings, naming the place.
    """
    kept = without_hook(settings)
    hooks = dict(kept.get("hooks", {}))
    for event in EVENTS:
        hooks[event] = [*hooks.get(event, []), entry(command)]
    return {**kept, "hooks": hooks}


def without_hook(settings: Any) -> Settings:
    """Give settings without the hook; all else stays as it is.

    Raises:
        ValueError: for what are no settings, naming the place.
    """
    whole: Settings = _expect(dict, settings, "the file")
    hooks: Dict[str, Any] = _expect(dict, whole.get("hooks", {}), "hooks")
    kept = {event: _others(entries, f"hooks.{event}") for event, entries in hooks.items()}
    left = {event: kept[event] for event in hooks if kept[event] or not hooks[event]}
    if left or not hooks:
        return {**whole, "hooks": left} if "hooks" in whole else dict(whole)
    return {name: value for name, value in whole.items() if name != "hooks"}


def commands_in(settings: Any) -> Dict[str, List[str]]:
    """Give the commands that call the hook, by event.

    Raises:
        ValueError: for what are no settings, naming the place.
    """
    without_hook(settings)  # says what is wrong, if anything
    hooks = settings.get("hooks", {})
    return {
        event: [
            hook["command"]
            for each in hooks.get(event, [])
            for hook in each.get("hooks", [])
            if _is_ours(hook)
        ]
        for event in EVENTS
    }


def _others(entries: Any, place: str) -> List[Any]:
    """Give the entries of an event without ours; other hooks beside ours in one are kept."""
    others = []
    for number, each in enumerate(_expect(list, entries, place)):
        at = f"{place}[{number}]"
        hooks = _expect(list, _expect(dict, each, at).get("hooks", []), f"{at}.hooks")
        rest = [hook for hook in hooks if not _is_ours(hook)]
        if rest or not hooks:
            others.append(each if len(rest) == len(hooks) else {**each, "hooks": rest})
    return others


def _is_ours(hook: Any) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and "antiloop" in command and "hook claude-code" in command


def _expect(kind: Callable[..., Any], value: Any, place: str) -> Any:
    if type(value) is not kind:
        expected = {dict: "an object", list: "a list"}[kind]  # type: ignore[index]
        raise ValueError(f"{place} must be {expected}, got {type(value).__name__}")
    return value
