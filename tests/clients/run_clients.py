"""Real coding clients against a scripted model, with antiloop's hooks as their pages install them.

    python tests/clients/run_clients.py --programs NODE_MODULES/.bin        # all, printed
    python tests/clients/run_clients.py --programs ... --only codex/shell   # some
    python tests/clients/run_clients.py --programs ... --write              # into the page

`.ci/clients` installs the clients first. For each run the model's server knows what the model was
told; the file of the session is then scanned, which has to say the same.
"""

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from clients_page import PAGE, Cell, page
from programs import CLIENTS, Client
from scenarios import OBEDIENT, SCENARIOS, Scenario
from scripted_model import OF_ANTILOOP, Play, ScriptedModel

TIMEOUT_S = 600
_LATE = f"not over after {TIMEOUT_S} s"
NOTICED_BY = 12
"""By which round a loop has to be noticed at the latest."""
_FILES = {
    "a.txt": "alpha\n",
    "b.txt": "beta\n",
    "n.txt": "1\n",
    "src/m.py": "x = 1\n",
    "t.py": "n = int(open('n.txt').read())\nprint(n, 'of 6 passed')\nraise SystemExit(n != 6)\n",
    "status.sh": "#!/bin/sh\nc=$(($(cat .c 2>/dev/null || echo 0) + 6))\necho $c > .c\n"
    'echo "build: $c % done"\n',
    **{f"f{number}.txt": f"text of file {number}\n" for number in range(9)},
}


def make_project(folder: Path) -> None:
    """Make a small project with all that the scenarios need."""
    for name, text in _FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "status.sh").chmod(0o755)
    as_author = ("-c", "user.name=n", "-c", "user.email=n@example.com")
    for words in (["init", "-q"], ["add", "-A"], [*as_author, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


class Scan(NamedTuple):
    """What ``antiloop scan`` says of the files of a run."""

    calls: int
    first: Optional[int]
    """How many calls a run had when it was told of a loop first; None for no loop."""


class Runner:
    """Runs clients.

    Args:
        programs: the folder with the clients' programs.
        antiloop: the program that users have.
        work: where runs have their folders.
        model: the server.
    """

    def __init__(self, programs: Path, antiloop: Path, work: Path, model: ScriptedModel) -> None:
        self._programs = programs
        self._antiloop = antiloop
        self._work = work
        self._model = model

    def cell(self, name: str, scenario_name: str) -> Cell:
        """Run a client in a scenario, and judge what came of it."""
        client, scenario = CLIENTS[name], SCENARIOS[scenario_name]
        place = self._work / name / scenario_name
        home, project = place / "home", place / "project"
        home.mkdir(parents=True)
        make_project(project)
        play = Play(scenario, str(project))
        run = f"{name}-{scenario_name}"
        self._model.plays[run] = play
        arguments, environment = client.start(self._model.address(run), home, project)
        environment = {**self._environment(home), **environment}
        if client.hook:
            self._antiloop_run(["hook", client.hook, "--install", "--yes"], environment, project)
        said = self._start(client, arguments, environment, project)
        if scenario.fills and client.go_on is not None:
            said += self._start(client, client.go_on(home), environment, project)
        lines = [f"{each.agent} {each.number} {each.told} -> {each.reply}" for each in play.rounds]
        lines += [f"aside: {each!r}" for each in play.asides]
        (place / "output.txt").write_text("\n".join([*lines, said]), encoding="utf-8")
        scan = self._scan(home / client.sessions, environment)
        return judged(client, scenario, play, said, scan)

    def version(self, name: str) -> str:
        """Return the version of a client."""
        package = self._programs.parent / CLIENTS[name].package / "package.json"
        return str(json.loads(package.read_text(encoding="utf-8"))["version"])

    def _environment(self, home: Path) -> Dict[str, str]:
        paths = (str(self._antiloop.parent), os.environ["PATH"])
        kept = ("LANG", "TMPDIR", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS")
        given = {name: os.environ[name] for name in kept if name in os.environ}
        return {**given, "HOME": str(home), "PATH": os.pathsep.join(paths)}

    def _start(
        self, client: Client, arguments: List[str], environment: Dict[str, str], project: Path
    ) -> str:
        command = [str(self._programs / client.program), *arguments]
        try:
            done = subprocess.run(
                command,
                env=environment,
                cwd=project,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired as late:
            return f"{(late.stdout or b'').decode(errors='replace')}\n{_LATE}"
        return f"{done.stdout.decode(errors='replace')}\nexit status {done.returncode}"

    def _antiloop_run(
        self, words: List[str], environment: Dict[str, str], folder: Path
    ) -> "subprocess.CompletedProcess[bytes]":
        done = subprocess.run(
            [str(self._antiloop), *words], env=environment, cwd=folder, capture_output=True
        )
        if done.returncode > 1:
            print(f"antiloop {' '.join(words)}: {done.stderr.decode()}", file=sys.stderr)
        return done

    def _scan(self, sessions: Path, environment: Dict[str, str]) -> Optional[Scan]:
        if not sessions.exists():
            return None
        words = ["scan", str(sessions), "--format", "json", "--preset", "escalating", "--isolated"]
        done = self._antiloop_run(words, environment, self._work)
        if done.returncode > 1:
            return None
        runs = json.loads(done.stdout or b"[]")
        first = [run["verdicts"][0]["step"] + 1 for run in runs if run["verdicts"]]
        return Scan(sum(run["steps"] for run in runs), min(first, default=None))


def judged(client: Client, scenario: Scenario, play: Play, said: str, scan: Optional[Scan]) -> Cell:
    """Say what happened in a run, and whether it is as it should be."""
    told = rounds_told(play)
    faults = []
    if said.endswith(_LATE):
        return Cell("", [_LATE])
    if not any(each.calls for each in play.rounds):
        faults.append("no call was made")
    if scenario.fills and not play.compactions:
        faults.append("no compaction came")
    if client.hook:
        faults += hook_faults(scenario, play, told, said)
    faults += scan_faults(scenario, play, told, scan, has_hook=bool(client.hook))
    words = ", ".join(f"{kind} {number}" for kind, number in told.items()) or "silent"
    if scenario.is_loop and "stopped" not in told and play.is_cut_off:
        words += ", then the client itself ended the run"
    if not client.hook:
        words = "found by `scan`" if scan and scan.first else "`scan` finds nothing"
    return Cell(words, faults)


def rounds_told(play: Play) -> Dict[str, int]:
    """Return after which round an agent was told first, by what it was told."""
    told: Dict[str, int] = {}
    for each in play.rounds:
        for kind in each.told:
            told.setdefault(kind, each.number)
    return told


def of_antiloop(told: Dict[str, int]) -> bool:
    return any(kind in told for kind in OF_ANTILOOP)


def hook_faults(scenario: Scenario, play: Play, told: Dict[str, int], said: str) -> List[str]:
    """List where the hook did not do what it should have done."""
    if not scenario.is_loop:
        return ["told though it was healthy"] if of_antiloop(told) else []
    # Where nothing can be added to an error, the first refusal stands for the notice.
    first, stop = told.get("notice", told.get("refused")), told.get("stopped")
    faults = []
    if first is None or first == stop:
        faults.append("no word before the stop")
    elif first > NOTICED_BY:
        faults.append(f"noticed after round {NOTICED_BY} only")
    if stop is None and not play.is_cut_off:
        faults.append("no stop")
    if stop is not None and not _is_over(play, stop, said):
        faults.append("went on after the stop")
    return faults


def _is_over(play: Play, stopped: int, said: str) -> bool:
    """Whether after the stop the model answered in words, or no call ran any more."""
    agent = next(each.agent for each in play.rounds if "stopped" in each.told)
    after = [each for each in play.rounds if each.agent == agent and each.number > stopped]
    return OBEDIENT in said or all(each.told for each in after if each.calls)


def scan_faults(
    scenario: Scenario,
    play: Play,
    told: Dict[str, int],
    scan: Optional[Scan],
    *,
    has_hook: bool,
) -> List[str]:
    """List where the recorded session does not say what the hook said."""
    if scan is None:
        return ["no session that can be read"]
    if not scan.calls:
        return ["scan finds no calls"]
    should = of_antiloop(told) if has_hook else scenario.is_loop
    if should != (scan.first is not None):
        return ["scan finds a loop" if scan.first else "scan finds no loop"]
    if has_hook and scan.first is not None:
        if "notice" not in told:
            return []
        least, most = calls_until(play, told["notice"])
        if not least <= scan.first <= most:
            return [f"scan tells at call {scan.first}, not {most}"]
    return []


def calls_until(play: Play, round_number: int) -> Tuple[int, int]:
    """Return the number of the first and the last call of the round before a notice."""
    agent = next(each.agent for each in play.rounds if "notice" in each.told)
    counts = [
        each.calls for each in play.rounds if each.agent == agent and each.number < round_number
    ]
    return sum(counts[:-1]) + 1, sum(counts)


def main() -> int:
    """Run what is asked for; the exit status is 1 if something does not hold."""
    options = argparse.ArgumentParser()
    options.add_argument("--programs", type=Path, required=True)
    options.add_argument("--antiloop", type=Path, default=Path(sys.executable).parent / "antiloop")
    options.add_argument("--only", nargs="*", default=["/"], help="parts of CLIENT/SCENARIO")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--write", action="store_true")
    options.add_argument("--keep", type=Path, help="a folder for what the runs leave")
    given = options.parse_args()
    work = given.keep or Path(tempfile.mkdtemp())
    try:
        versions, cells = run_all(given, work.absolute())
    finally:
        if given.keep is None:
            shutil.rmtree(work, ignore_errors=True)
    text = page(versions, cells, datetime.date.today())
    if given.write:
        PAGE.write_text(text, encoding="utf-8")
    print(text)
    return int(any(cell.faults for cell in cells.values()))


def run_all(
    given: argparse.Namespace, work: Path
) -> Tuple[Dict[str, str], Dict[Tuple[str, str], Cell]]:
    """Run the clients that are asked for; return their versions, and what came of each run."""
    model = ScriptedModel()
    runner = Runner(given.programs.absolute(), given.antiloop.absolute(), work, model)
    pairs = [
        (name, scenario)
        for scenario in SCENARIOS
        for name in CLIENTS
        if any(part in f"{name}/{scenario}" for part in given.only)
    ]

    def run(pair: Tuple[str, str]) -> Cell:
        cell = runner.cell(*pair)
        print("/".join(pair), cell.words, *cell.faults, sep="; ", file=sys.stderr, flush=True)
        return cell

    with ThreadPoolExecutor(given.jobs) as pool:
        cells = dict(zip(pairs, pool.map(run, pairs)))
    if model.unknown:
        print("not answered:", *sorted(set(model.unknown)), file=sys.stderr)
    model.close()
    return {name: runner.version(name) for name, _ in pairs}, cells


if __name__ == "__main__":
    sys.exit(main())
