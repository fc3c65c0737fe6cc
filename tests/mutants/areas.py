"""What is tested with mutants, and by which tests; `.ci/mutants` uses it together with mutmut.

    python tests/mutants/areas.py changed < FILES                    # areas that hold one of these
    python tests/mutants/areas.py settings AREA < FILES              # for pyproject.toml
    python tests/mutants/areas.py sample AREA SIZE SEED [REVISION]   # names of mutants
    python tests/mutants/areas.py score AREA LEAST FEW < RESULTS

A sample is the same for the same code and seed. With a revision, it is taken from the functions
that are not as they were there; where files are given, only these are touched, and tests that take
long are left out, as are the laws.
"""

import json
import random
import subprocess
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence

FOUND = ("killed", "timeout", "segfault", "suspicious")
"""The words of mutmut for a mutant that the tests noticed."""
MISSED = ("survived", "no tests")
OPTIONS = ["-p", "no:cacheprovider", "--hypothesis-profile=mutants"]


class Area(NamedTuple):
    """Files that are tested together."""

    sources: Sequence[str]
    """Patterns of the files to change."""
    tests: Sequence[str]
    """Where the tests are that shall notice."""
    slow: Sequence[str] = ()
    """More of them, for which there is no time where only changes are looked at."""
    without: Sequence[str] = ()
    """Tests that fail as soon as a function is called through another one, as mutmut does it."""


AREAS: Dict[str, Area] = {
    "health": Area(["src/antiloop/health/*.py"], ["tests/health", "tests/test_short_repr.py"]),
    "agent": Area(
        ["src/antiloop/agent/_core.py", "src/antiloop/agent/_drivers/*sync_driver.py"],
        ["tests/agent"],
        ["tests/properties/test_agent_parity.py"],
        [
            "tests/agent/test_async_driver.py"
            "::test_leaving_the_stream_without_closing_it_closes_everything_with_the_event_loop"
        ],
    ),
    "loop_detection": Area(
        ["src/antiloop/loop_detection/*.py"],
        ["tests/loop_detection", "tests/test_short_repr.py"],
        [
            "tests/properties/test_laws.py",
            "tests/properties/test_ladder_laws.py",
            "tests/properties/test_differential.py",
            "tests/properties/test_copies.py",
            "tests/properties/test_refused_options.py",
        ],
        [
            "tests/properties/test_refused_options.py::test_no_flag_is_left_out",
        ],
    ),
}


def holds(area: Area, path: str) -> bool:
    """Whether a file is among those of an area."""
    return any(fnmatch(path, pattern) for pattern in area.sources)


def settings(area: Area, files: Sequence[str]) -> str:
    """Return mutmut's table of pyproject.toml; texts and lists in JSON are TOML, too."""
    tests = [*area.tests, *(() if files else area.slow)]
    without = [test for test in area.without if test.startswith(tuple(tests))]
    quick = ["-m", "not hypothesis"] if files else []  # laws take most of the time
    options = {
        "source_paths": ["src"],
        "only_mutate": [path for path in files if holds(area, path)] or [*area.sources],
        "also_copy": ["docs", "README.md", "CHANGELOG.md", ".ci", ".github"],
        "pytest_add_cli_args": [*OPTIONS, *quick, *(f"--deselect={test}" for test in without)],
        "timeout_multiplier": 2,  # of what the tests take, so that an endless loop ends soon
        "timeout_constant": 5,
        "pytest_add_cli_args_test_selection": tests,
    }
    return "\n[tool.mutmut]\n" + "".join(f"{key} = {json.dumps(options[key])}\n" for key in options)


def mutants(area: Area, revision: Optional[str]) -> Iterator[str]:
    """Yield the names of the mutants of an area, or of its functions that have changed."""
    for path in sorted(path.as_posix() for path in Path("src").rglob("*.py")):
        if holds(area, path):
            yield from mutants_of(path, None if revision is None else text_at(revision, path))


def mutants_of(path: str, before: Optional[str]) -> Iterator[str]:
    from mutmut.mutation.file_mutation import compute_function_hashes, mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    text = Path(path).read_text(encoding="utf-8")
    if text == before:
        return  # to put faults into a file takes a second
    now, then = compute_function_hashes(text), compute_function_hashes(before or "")
    for name in mutate_file_contents(path, text).mutant_names:
        function = name.partition("__mutmut_")[0]
        if before is None or now.get(function) != then.get(function):
            yield get_mutant_name(Path(path), name)


def text_at(revision: str, path: str) -> str:
    """Return a file as it was; nothing, where it was not there."""
    shown = ["git", "show", f"{revision}:{path}"]
    return subprocess.run(shown, capture_output=True, encoding="utf-8").stdout


def sample(names: Iterable[str], size: int, seed: int) -> List[str]:
    """Choose so many of the names; all of them if size is 0."""
    known = sorted(names)
    return random.Random(seed).sample(known, min(size, len(known))) if size else known


def score(area: str, least: float, few: int, results: Iterable[str]) -> bool:
    """Print how many mutants were found and which were not; return whether that is enough.

    Of fewer mutants than ``few``, the share says nothing; if none was tried, it is not enough.
    """
    lines = [line.strip().rpartition(": ")[::2] for line in results if ": " in line]
    counts = Counter(status for _, status in lines)
    found, missed = (sum(map(counts.__getitem__, words)) for words in (FOUND, MISSED))
    for name, status in sorted(lines):
        if status in MISSED:
            print(f"  {status}: {name}")
    tried = found + missed
    share = 100 * found / max(1, tried)
    print(f"{area}: {found} of {tried} mutants found, {share:.1f} % ({least:g} % asked)")
    return share >= least or 0 < tried < few


if __name__ == "__main__":
    command, *arguments = sys.argv[1:]
    if command == "changed":
        paths = sys.stdin.read().split()
        print(*(name for name, area in AREAS.items() if any(holds(area, each) for each in paths)))
    elif command == "settings":
        print(settings(AREAS[arguments[0]], sys.stdin.read().split()))
    elif command == "sample":
        name, size, seed, *since = arguments
        names = mutants(AREAS[name], since[0] if since else None)
        print(*sample(names, int(size), int(seed)), sep="\n")
    elif command == "score":
        sys.exit(not score(arguments[0], float(arguments[1]), int(arguments[2]), sys.stdin))
