"""The page about many sessions shows the table that the command draws."""

import os
import re
import shutil
import time
from pathlib import Path

from antiloop.cli import main
from antiloop.cli._live import watching
from antiloop.traces import RunRecorder

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "watch-sessions.md"
EXAMPLES = ROOT / "docs" / "examples"


def write_sessions(folder):
    """Write four sessions; each was written a while before the one above it on the page."""
    nightly = RunRecorder(str(folder / "refunds.jsonl"), run_id="refunds-nightly")
    for number in range(12):
        query = f"order {min(number, 9)}"
        nightly.tool_call("search", {"q": query}, f"results for {query}")
    shutil.copy(EXAMPLES / "codex-session.jsonl", folder)
    invoices = RunRecorder(str(folder / "invoices.jsonl"), run_id="invoices-tue")
    for number in range(30):
        invoices.tool_call("read_invoice", {"number": number}, f"{number} EUR")
    shutil.copy(EXAMPLES / "claude-code-session.jsonl", folder)
    ages_s = {"refunds": 0, "codex-session": 20, "invoices": 5, "claude-code-session": 600}
    for name, age_s in ages_s.items():
        written_s = time.time() - age_s
        os.utime(folder / f"{name}.jsonl", (written_s, written_s))


def test_the_table_of_the_page_is_what_the_command_draws(tmp_path, monkeypatch, capsys):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(watching, "is_in_place", lambda format_: True)
    monkeypatch.setattr(watching.time, "sleep", interrupt)
    monkeypatch.setenv("COLUMNS", "110")
    write_sessions(tmp_path)
    assert main(["watch", str(tmp_path)]) == 1
    screen = capsys.readouterr().out.rpartition("\x1b[H")[2].partition("\x1b[J")[0]
    drawn = re.sub(r"\x1b\[[?\d]*[a-zA-Z]|\r", "", screen)
    assert f"```text\n{drawn}\n```" in PAGE.read_text("utf-8")
