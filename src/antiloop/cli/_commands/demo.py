"""``antiloop demo``: watch a scripted agent get stuck, receive a notice, go on, and be stopped."""

import argparse
import os
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._command import add_command, naming
from .._output.terminal import printable, tell

if TYPE_CHECKING:
    from ...agent import AgentResult

_ABOUT = "Watch a scripted agent get stuck, receive a notice, and be stopped."
_EXAMPLE = """\
The demo needs no API key because a script plays the model. It ends with a report about the same
run. On a desktop, a browser opens the report if the demo runs in a terminal.

example:
  antiloop demo
"""
_QUESTION = "After how many days can a customer still return something?"


def add(commands: Any) -> None:
    parser = add_command(commands, "demo", run, _ABOUT, _EXAMPLE)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        help="folder for the report and the recorded run (default: a temporary one)",
    )
    parser.add_argument(
        "--no-open", action="store_true", help="do not open the report in a browser"
    )


def run(args: argparse.Namespace) -> int:
    """Run the agent, print what its observer saw, and write the report."""
    from .demo_agent import DemoTimeline, stuck_agent

    timeline = DemoTimeline()
    result = stuck_agent(timeline).run(_QUESTION)
    tell(f"The user asks a scripted agent: {_QUESTION}")
    for line in timeline.lines:
        tell(printable(line))
    with naming(args.output or tempfile.gettempdir()):
        folder = Path(args.output or tempfile.mkdtemp(prefix="antiloop-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
        page = _report(result, folder)
    tell(printable(f"The same run as a report: {page}"))
    if not args.no_open and _has_desktop():
        webbrowser.open(page.resolve().as_uri())
    return 0


def _report(result: "AgentResult", folder: Path) -> Path:
    """Write the recorded run and the page about it, and return the path of the page."""
    from ...health import evaluate
    from ...report import write_page
    from ...traces import read_runs

    recorded, page = folder / "run.jsonl", folder / "report.html"
    recorded.write_text(result.trace.to_jsonl(), "utf-8")
    with page.open("w", encoding="ascii", newline="") as out:
        write_page(((run, evaluate(run)) for run in read_runs(str(recorded))), out)
    return page


def _has_desktop() -> bool:
    """Whether a browser would open in a window, and not take over the terminal."""
    if not sys.stdout.isatty():
        return False
    has_windows = sys.platform in ("win32", "darwin") and "SSH_CONNECTION" not in os.environ
    return has_windows or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
