"""``antiloop config``: show the active settings and where each comes from."""

import argparse
import json
from typing import Any, Dict, Iterator, NamedTuple

from ...loop_detection import Escalation, LoopDetector
from ...loop_detection._internal import (
    DETECTING,
    DISABLED,
    SHADOW,
    ProjectSettings,
    is_on,
    settings_schema,
)
from .._command import add_command, add_format
from .._detector import add_configured_detector, detector_of, settings_of
from .._output.terminal import line_of, named, say, tell

_ABOUT = "Show the active settings and where each comes from."
_EXAMPLE = """\
Settings are read from antiloop.toml, or from [tool.antiloop] in pyproject.toml. The nearest file
counts, from the working folder upwards. The command line overrides it. The environment variables
ANTILOOP_SHADOW=1 and ANTILOOP_DISABLED=1 hold for all live monitors.

The exit status is 0, or 2 if the settings cannot be read.

example, from a clone of the repository:
  antiloop config --config docs/examples/antiloop.toml
"""
_COMMAND_LINE, _FILE, _DEFAULT = "command line", "file", "default"
_ENVIRONMENT = "environment"
_OF_SETTINGS = ("preset", "ignore", "baseline", "prices")
"""Only a settings file or the command line says these; a configuration as JSON has none of them."""


class Setting(NamedTuple):
    """One setting."""

    name: str
    value: Any
    """As plain JSON."""
    source: str
    """Its source: the command line, the environment, the file, the path of the JSON
    configuration that the file names, or the default of the preset."""


def add(commands: Any) -> None:
    parser = add_command(commands, "config", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON schema of the settings instead"
    )
    add_format(parser, ("text", "json"))
    add_configured_detector(parser)


def run(args: argparse.Namespace) -> int:
    """Print the settings, or their schema."""
    if args.schema:
        say(json.dumps(settings_schema(), indent=2))
        return 0
    settings = settings_of(args)
    listed = list(_listed(args, settings, detector_of(args)))
    if args.format == "json":
        values = {each.name: {"value": each.value, "source": each.source} for each in listed}
        say(json.dumps({"file": settings.file.path or None, "settings": values}, indent=2))
        return 0
    tell(f"settings: {line_of(settings.file.name) if settings.file.path else 'no file'}")
    width = max(len(named(each.name)) for each in listed)
    sources = max(12, *(len(named(each.source)) for each in listed))
    for name, value, source in listed:
        place = f"  {named(source):<{sources}}  {named(name):<{width}}"
        tell(f"{place}  {line_of(_shown(value))}", width + sources + 6)
    return 0


def _listed(
    args: argparse.Namespace, settings: ProjectSettings, detector: LoopDetector
) -> Iterator[Setting]:
    is_given = isinstance(args.config, LoopDetector)
    is_chosen = args.preset is not None or is_given
    json_file = None if is_chosen else settings.values.get("config")
    otherwise = _COMMAND_LINE if is_given else json_file or _DEFAULT
    for name, value in _in_force(args, settings, detector).items():
        if is_chosen and name.partition(".")[0] in DETECTING:
            source = _COMMAND_LINE
        elif _is_set(settings.values, name):
            source = _FILE
        else:
            source = _DEFAULT if name in _OF_SETTINGS else otherwise
        yield Setting(name, value, source)
    for name, variable in (("shadow", SHADOW), ("disabled", DISABLED)):
        if is_on(variable):
            yield Setting(f"{name} ({variable})", True, _ENVIRONMENT)


def _is_set(values: Any, name: str) -> bool:
    for part in name.split(".", 1):
        if part not in values:
            return False
        values = values[part]
    return True


def _in_force(
    args: argparse.Namespace, settings: ProjectSettings, detector: LoopDetector
) -> Dict[str, Any]:
    config = detector.to_config()
    ladder: Escalation = detector.escalation
    chosen: Dict[str, Any] = {"preset": args.preset or settings.values.get("preset", "default")}
    if isinstance(args.config, LoopDetector) or "config" in settings.values:
        chosen = {"config": settings.values.get("config", "given")}
    counts = {
        f"thresholds.{options.pop('name', kind)}": options
        for kind, options in ((each.pop("type"), each) for each in config["detectors"])
    }
    tools = {f"tools.{name}": _said(policy) for name, policy in config["tools"].items()}
    for name in set(settings.ignore).difference(settings.values.get("tools", {})):
        del tools[f"tools.{name}"]
    return {
        **chosen,
        "policy": [getattr(action, "value", action) for action in ladder.actions],
        **counts,
        **tools,
        "ignore": list(settings.ignore),
        **{name: config[name] for name in ("shadow", "mask", "window", "notice_role")},
        **{name: config[name] for name in ("inject_message", "log_verdicts")},
        "baseline": settings.baseline,
        "prices": settings.values.get("prices"),
    }


def _said(policy: Dict[str, Any]) -> Dict[str, Any]:
    """Leave out what is not set for a tool."""
    return {name: value for name, value in policy.items() if value not in (None, False, {})}


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return value if isinstance(value, str) else "none" if value is None else json.dumps(value)
