"""The detector that a command uses: from the settings, a preset, or a configuration file."""

import argparse
import inspect
import json
import sys
from typing import Any, Callable, Iterator, Optional, Tuple, Union

from .._regular_file import opener
from ..exceptions import SettingsError
from ..loop_detection import ClientProfile, LoopDetector
from ..loop_detection._internal import ProjectSettings
from ..loop_detection.presets import PRESETS
from ..prices import Prices
from ._command import add_names, reason_of
from ._named_judge import imported, with_judge

Config = Union[LoopDetector, ProjectSettings]


def add_detector(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose a detector to a command, also one that is not built in."""
    add_configured_detector(parser).add_argument(
        "--detector",
        type=_named,
        metavar="MODULE:NAME",
        help="a LoopDetector of your program; antiloop.toml does not change it",
    )


def add_configured_detector(parser: argparse.ArgumentParser) -> Any:
    """Add the options that choose a detector to a command, and list the presets in its help."""
    choice = add_choice(parser, "default", read_config, "; - is JSON from standard input")
    add_isolated(parser)
    add_names(parser, "presets", _presets())
    return choice


def add_choice(
    parser: argparse.ArgumentParser, preset: str, read: Callable[[str], object], more: str = ""
) -> Any:
    """Add the options that choose a detector to a command; return their group.

    Args:
        parser: of the command.
        preset: the name of the preset that is used if nothing is chosen.
        read: makes the value of ``--config`` of what the user wrote.
        more: the end of the help on ``--config``.
    """
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument(
        "--preset",
        choices=PRESETS,
        metavar="NAME",
        help=f"detector preset (default: the one in antiloop.toml, otherwise {preset})",
    )
    choice.add_argument(
        "--config",
        type=read,
        metavar="FILE",
        help="settings from FILE.toml, or a detector from JSON that calibrate or"
        f" LoopDetector.to_config wrote{more}",
    )
    return choice


def add_isolated(parser: argparse.ArgumentParser) -> None:
    """Add the option to read no settings, alone to a command that takes no detector."""
    parser.add_argument(
        "--isolated", action="store_true", help="ignore antiloop.toml and pyproject.toml"
    )


def settings_of(args: argparse.Namespace) -> ProjectSettings:
    """Read the settings that hold for a command.

    Raises:
        SettingsError: if the file is malformed.
    """
    config = getattr(args, "config", None)
    if isinstance(config, ProjectSettings):
        return config
    return ProjectSettings() if args.isolated else ProjectSettings.read()


def profiles_of(args: argparse.Namespace) -> Tuple[ClientProfile, ...]:
    """Return the client profiles of the settings that hold for a command."""
    return tuple(settings_of(args).profiles.values())


def detector_of(args: argparse.Namespace) -> LoopDetector:
    """Make the chosen detector, with the judge from the command line."""
    instead = args.config if isinstance(args.config, LoopDetector) else None
    if args.preset is not None:
        instead = PRESETS[args.preset]()
    own: Optional[LoopDetector] = getattr(args, "detector", None)
    chosen = own or settings_of(args).detector(LoopDetector, instead=instead)
    return with_judge(chosen, getattr(args, "second_opinion", None))


def add_prices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--prices",
        type=_read_prices,
        metavar="FILE",
        help="model prices, in LiteLLM's format (model_prices_and_context_window.json)",
    )


def prices_of(args: argparse.Namespace) -> Optional[Prices]:
    """Return the model prices from the command line, otherwise from the settings, or None."""
    given: Optional[Prices] = args.prices
    return settings_of(args).prices if given is None else given


def _read_prices(path: str) -> Prices:
    try:
        return Prices.read(path)
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _presets() -> Iterator[str]:
    for name, make in PRESETS.items():
        about, _, _ = (inspect.getdoc(make) or "").partition("\n")
        yield f"{name:<11} {about}"


def _named(name: str) -> LoopDetector:
    found = imported(name, "detector")
    if not isinstance(found, LoopDetector):
        raise argparse.ArgumentTypeError(f"{name} is not a LoopDetector, got {found!r}")
    return found


def read_config(path: str) -> Config:
    """Read a configuration or settings; report a malformed one as a wrong argument."""
    try:
        if path.endswith(".toml"):
            return ProjectSettings.read(path)
        return LoopDetector.from_config(json.loads(_read(path)))
    except SettingsError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    except (OSError, RecursionError, TypeError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{path}: {reason_of(error)}") from error


def _read(path: str) -> str:
    if path == "-":
        if sys.stdin is None:
            raise OSError("not open")
        return sys.stdin.read()
    with open(path, encoding="utf-8-sig", opener=opener) as file:
        return file.read()
