"""Feed damaged recordings to each reader: nothing may come of it but runs or TraceUnreadable.

    python tests/fuzz/fuzz_readers.py --inputs 100000
    python tests/fuzz/fuzz_readers.py --inputs 100000 --only otlp --seed 7

Each input is read as its format, and some also by what they hold; one in three times, damaged
messages go as Python objects to a function of `antiloop.formats`; and one input in ``--thorough``
is replayed, judged, and written by the commands. What fails is printed with its number;
``--first NUMBER --inputs 1`` repeats it.
"""

import argparse
import contextlib
import io
import json
import math
import os
import random
import re
import sys
import tempfile
import traceback
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Iterator, List, Sequence

from hostile import as_objects
from mutation import Corpus, damaged_file, damaged_values

from antiloop import LoopDetector, formats
from antiloop.cli import main as command
from antiloop.exceptions import TraceUnreadable
from antiloop.health import evaluate
from antiloop.report import write_page
from antiloop.traces import FORMATS, RecordedRun, read_runs, replay
from antiloop.types import ToolCall, ToolResult

PIECE = 500
FUNCTIONS = {name: getattr(formats, name) for name in formats.__all__ if name.startswith("from_")}
OF_FORMAT = {
    "claude-code": "from_claude_transcript",
    "codex": "from_codex_rollout",
    "gemini-cli": "from_gemini_session",
}
COMMANDS = (
    ("scan", "--preset", "escalating"),
    ("scan", "--format", "json"),
    ("scan", "--format", "jsonl"),
    ("report", "-o", os.devnull),
)
_AMOUNTS = ("time_s", "latency_ms", "cost", "input_tokens", "output_tokens", "tokens")
_DATA = re.compile(r'<script type="application/json"[^>]*>(.*)</script>')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="of each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--only", choices=FORMATS, nargs="+", default=list(FORMATS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--thorough", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    with ProcessPoolExecutor(args.jobs) as pool:
        failed = [report(name, try_all(pool, name, args)) for name in args.only]
    sys.exit(any(failed))


def try_all(pool: ProcessPoolExecutor, name: str, args: argparse.Namespace) -> List[str]:
    """Try the inputs of one format in pieces, and give what went wrong."""
    stop = args.first + args.inputs
    pieces = [
        pool.submit(fuzz, name, start, min(start + PIECE, stop), args.seed, args.thorough)
        for start in range(args.first, stop, PIECE)
    ]
    return [failure for piece in pieces for failure in piece.result()]


def report(name: str, failures: Sequence[str]) -> bool:
    """Print how the inputs of one format fared; return whether any failed."""
    for failure in failures:
        print(failure)
    print(f"{name}: {len(failures):,} failed", flush=True)
    return bool(failures)


def fuzz(name: str, start: int, stop: int, seed: int, thorough: int) -> List[str]:
    """Try some inputs of one format, and give what went wrong."""
    corpora = {known: Corpus(known) for known in FORMATS}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged")
        for number in range(start, stop):
            chance = random.Random(f"{seed} {name} {number}")
            try:
                runs = read_damaged(corpora[name], list(corpora.values()), chance, path)
                if number % 3 == 0:
                    call_function(corpora[name], list(corpora.values()), chance)
                if number % thorough == 0:
                    use(runs, path)
            except Exception:  # noqa: BLE001 - whatever it is, it is what we look for
                failures.append(f"{name}, input {number}:\n{traceback.format_exc(limit=-6)}")
    return failures


def read_damaged(
    corpus: Corpus, all_: Sequence[Corpus], chance: random.Random, path: str
) -> List[RecordedRun]:
    """Read one damaged file, and give the runs that are left in it."""
    with open(path, "wb") as file:
        file.write(damaged_file(corpus, chance, all_))
    runs: List[RecordedRun] = []
    for source in (corpus.name, None) if chance.random() < 0.3 else (corpus.name,):
        with contextlib.suppress(TraceUnreadable):
            for run in read_runs(path, source=source, on_trouble=str):
                check(run)
                runs.append(run)
    return runs


def check(run: RecordedRun) -> None:
    """Hold what every reader promises, whatever it read."""
    check_calls(run)
    assert isinstance(run.run_id, str)
    assert [stop for _, stop in run.rounds()][-1:] == [len(run)][: len(run)]
    assert all(0 <= event.step <= len(run) for event in run.events)
    for holder in (run, *run.events):
        for amount in (getattr(holder, name, None) for name in _AMOUNTS):
            assert amount is None or math.isfinite(amount)


def check_calls(told: Any) -> None:
    """Hold what stands in a run and in a conversation alike."""
    assert len(told.calls) == len(told.results)
    assert all(isinstance(call, ToolCall) for call in told.calls)
    assert all(isinstance(call.tool_name, str) for call in told.calls)
    assert all(isinstance(result, (ToolResult, type(None))) for result in told.results)
    assert all(0 <= start <= len(told.calls) for start in told.turn_starts)


def call_function(corpus: Corpus, all_: Sequence[Corpus], chance: random.Random) -> None:
    """Return damaged messages as objects to the format's function, or to another one."""
    own = OF_FORMAT.get(corpus.name, f"from_{corpus.name.replace('-', '_')}")
    if own not in FUNCTIONS or chance.random() < 0.3:
        own = chance.choice(list(FUNCTIONS))
    messages = as_objects(damaged_values(corpus, chance, all_), chance)
    for told in list(lists_in(messages))[:5]:
        check_calls(FUNCTIONS[own](told))


def lists_in(messages: Any) -> Iterator[Any]:
    """Yield what a function may be given: the values, each of them, and the lists within them."""
    if not isinstance(messages, (list, tuple)):
        return
    yield messages
    for one in messages:
        held = one.values() if type(one) is dict else [one]
        yield from (inner for inner in held if isinstance(inner, (list, tuple)))


def use(runs: Sequence[RecordedRun], path: str) -> None:
    """Do with damaged runs whatever this library does with runs."""
    for run in runs:
        for detector in (LoopDetector.default(), LoopDetector.escalating()):
            list(replay(run, detector))
    reports = [evaluate(run) for run in runs] + [evaluate(run, literal=True) for run in runs]
    for report in reports:
        json.dumps(report.to_dict(), allow_nan=False)
    page = io.StringIO()
    write_page(zip(runs, reports), page)
    for data in _DATA.findall(page.getvalue()):
        json.loads(data, parse_constant=_refuse)
    for words in COMMANDS:
        with contextlib.redirect_stdout(_screen()), contextlib.redirect_stderr(_screen()):
            assert command([*words, path]) in (0, 1, 2)


def _screen() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), "utf-8")


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


if __name__ == "__main__":
    main()
