"""A review: what people say about findings, and what thresholds are made of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from antiloop import LoopDetector, ToolCall, ToolPolicy
from antiloop.calibration import calibrate
from antiloop.cli import main
from antiloop.cli._review.labels import Label, Reviewed, read_labels, review
from antiloop.cli._review.policies import with_policies
from antiloop.cli._review.recall import recall_of
from antiloop.cli._review.settings_text import toml_of
from antiloop.loop_detection._internal import ProjectSettings
from antiloop.traces import RecordedRun
from antiloop.types import ToolResult

ROOT = Path(__file__).parents[2]
LABELED = str(ROOT / "docs" / "examples" / "labeled-runs.jsonl")


def calls(tool, count, result="same", **arguments):
    return [{"tool_name": tool, "arguments": arguments, "result": result}] * count


@pytest.fixture
def reviewed(runs, tmp_path):
    """Twenty findings: builds that wait for long are fine, searches that find nothing are stuck."""
    by_id = {f"wait{n}": calls("status", 5 + n, job=n) for n in range(10)}
    by_id.update({f"stuck{n}": calls("search", 4 + n, "No results.", q=n) for n in range(10)})
    path, labels = runs(**by_id), str(tmp_path / "labels.jsonl")
    for name in by_id:
        verdict = "wrong" if name.startswith("wait") else "right"
        assert main(["label", verdict, path, "--run", name, "-o", labels]) == 0
    return path, labels


def test_twenty_labels_change_thresholds_and_cost_no_loop(reviewed, tmp_path, capsys):
    path, labels = reviewed
    settings = tmp_path / "antiloop.toml"
    capsys.readouterr()
    status = main(["calibrate", path, "--labels", labels, "-o", str(settings), "--format", "json"])
    assert status == 1  # ten good runs do not support one in a hundred
    done = json.loads(capsys.readouterr().out)
    assert (done["runs"], done["before"]["stopped"], done["after"]["stopped"]) == (10, 10, 0)
    assert done["recall"]["before"] == done["recall"]["after"]
    assert done["recall"]["after"] == {"loops": 10, "caught": 10, "ended": 10}
    assert done["recall"]["changes"] == [{"change": "tool 'status'", "caught": 0, "ended": 0}]
    assert settings.read_text() == 'preset = "default"\n\n[tools.status.thresholds]\nrepeat = 15\n'
    assert main(["scan", path, "--config", str(settings), "--format", "json"]) == 1
    found = {run["run_id"] for run in json.loads(capsys.readouterr().out) if run["verdicts"]}
    assert found == {f"stuck{n}" for n in range(10)}


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of this kind")
def test_a_full_disk_leaves_no_half_line(runs, tmp_path, capsys):
    import resource

    path, labels = runs(a=calls("search", 4)), tmp_path / "labels.jsonl"
    assert main(["label", "right", path, "--run", "a", "-o", str(labels)]) == 0
    before = labels.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, limits[1]))
    try:
        assert main(["label", "wrong", path, "--run", "a", "-o", str(labels)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert labels.read_bytes() == before
    assert "File too large" in capsys.readouterr().err


def test_labels_go_on_behind_a_last_line_without_an_end_and_into_no_recording(runs, tmp_path):
    path, labels = runs(r1=calls("search", 4)), tmp_path / "labels.jsonl"
    recorded = Path(path).read_text()
    label = ["label", "right", path, "--run", "r1", "-o"]
    for before in ("", '{"run_id": "r0", "steps": [1, 3], "is_stuck": true}'):
        labels.write_text(before)
        assert main([*label, str(labels)]) == 0
        assert [each.run_id for each in read_labels(str(labels))] == ["r0", "r1"][not before :]
    with pytest.raises(SystemExit) as ended:
        main([*label, path])
    assert (ended.value.code, Path(path).read_text()) == (2, recorded)


def test_a_file_of_labels_holds_no_runs(runs, tmp_path, capsys):
    path = runs(r1=calls("search", 4))
    labels = str(Path(path).parent / "labels.jsonl")
    assert main(["label", "right", path, "--run", "r1", "-o", labels]) == 0
    capsys.readouterr()
    assert main(["scan", str(Path(path).parent), "--format", "jsonl"]) == 1
    captured = capsys.readouterr()
    assert [json.loads(line)["run_id"] for line in captured.out.splitlines()] == ["r1"]
    assert "1 of 2 files hold no runs" in captured.err


def test_what_a_change_costs_is_said_with_each(runs, tmp_path, capsys):
    labels = tmp_path / "labels.jsonl"
    path = runs(
        good=calls("status", 5, job=1), also=calls("look", 4, at=1), bad=calls("status", 4, job=2)
    )
    for verdict, name in (("wrong", "good"), ("wrong", "also"), ("right", "bad")):
        main(["label", verdict, path, "--run", name, "-o", str(labels)])
    capsys.readouterr()
    main(["calibrate", path, "--labels", str(labels)])
    out = capsys.readouterr().out
    assert "1 labeled loop\n  found                                    1         0\n" in out
    assert "repeat                      1 not found, 1 not ended" in out


def polled(tool, count, **arguments):
    """Calls whose results differ by a duration, which counts as noise unless the tool is a poll."""
    return [
        {"tool_name": tool, "arguments": arguments, "result": f"job 7: {n} s"} for n in range(count)
    ]


@pytest.fixture
def waits(runs, tmp_path):
    """Long waits are fine; a status that never changes, and a search beside ticks, are stuck."""
    path = runs(
        wait=polled("queue", 40, job=1),
        tick=calls("tick", 40),
        same=calls("queue", 20, "queued", job=2),
        search=[*calls("tick", 1), *calls("search", 5, "No results.", q="a")],
    )
    labels = str(tmp_path / "labels.jsonl")
    for verdict, name in (("good", "wait"), ("good", "tick"), ("right", "same")):
        assert main(["label", verdict, path, "--run", name, "-o", labels]) == 0
    main(["label", "stuck", path, "--run", "search", "--steps", "0-5", "-o", labels])
    return path, labels


def test_tools_are_declared_where_thresholds_would_not_do(waits, tmp_path, capsys):
    path, labels = waits
    settings = tmp_path / "antiloop.toml"
    capsys.readouterr()
    main(["calibrate", path, "--labels", labels, "-o", str(settings), "--format", "json"])
    done = json.loads(capsys.readouterr().out)
    assert (done["before"]["stopped"], done["after"]["stopped"]) == (2, 0)
    assert done["recall"]["before"] == done["recall"]["after"]
    tried = {(each["tool"], each["name"]): each for each in done["recall"]["choices"]}
    assert [key for key, each in tried.items() if each["is_taken"]] == [
        ("queue", "poll"),
        ("tick", "exempt"),
    ]
    assert tried["queue", "thresholds"]["stopped"] == 2
    assert tried["queue", "exempt"]["not_caught"] == 1
    assert [(each["option"], each["before"], each["after"]) for each in done["changes"]] == [
        ("poll of 'queue'", None, True),
        ("exempt of 'tick'", None, True),
    ]
    assert settings.read_text() == (
        'preset = "default"\n\n[tools.queue]\npoll = true\n\n[tools.tick]\nexempt = true\n'
    )
    assert ProjectSettings.read(str(settings)).detector(LoopDetector).to_config() == (
        LoopDetector.from_config(done["config"]).to_config()
    )


def test_what_was_tried_is_told_with_its_cost(waits, capsys):
    path, labels = waits
    capsys.readouterr()
    main(["calibrate", path, "--labels", labels])
    out = capsys.readouterr().out
    assert "  poll of 'queue'             not declared -> true\n" in out
    assert "  'queue', thresholds         2 good runs stopped; cost: none\n" in out
    assert "  'queue', poll               1 good run stopped; cost: none  (taken)\n" in out
    assert "1 good run stopped; cost: 1 not found, 1 not ended\n" in out
    assert "No loop of a tool that is exempt is found any more." in out


TOOLS = st.sampled_from(["queue", "tick"])
RUNS = st.lists(
    st.tuples(TOOLS, st.sampled_from(["same", "noise"]), st.sampled_from([3, 14])), max_size=2
)


@settings(max_examples=15)
@given(RUNS, RUNS)
def test_a_policy_of_a_tool_never_costs_a_loop_that_thresholds_would_keep(good, stuck):
    def run_of(name, tool, kind, count):
        steps = calls(tool, count) if kind == "same" else polled(tool, count)
        asked = tuple(ToolCall(step["tool_name"]) for step in steps)
        return RecordedRun(name, asked, tuple(ToolResult(step["result"]) for step in steps))

    good = [run_of(f"good{at}", *each) for at, each in enumerate(good)]
    loops = [run_of(f"stuck{at}", *each) for at, each in enumerate(stuck)]
    reviewed = Reviewed(good, [(run, [(0, len(run) - 1)]) for run in loops], 0, ())
    detector = LoopDetector.default()

    def fit(policies):
        return calibrate(good, detector, max_raise=4, by_tool=True, policies=policies)

    plain, (done, tried) = fit({}), with_policies(reviewed, detector, fit)
    assert len(done.after.stops) <= len(plain.after.stops)
    before, after = (
        recall_of(reviewed.stuck, LoopDetector.from_config(each.config)) for each in (plain, done)
    )
    assert (after.caught, after.ended) >= (before.caught, before.ended)
    taken = [(each.tool, each.name) for each in tried if each.is_taken]
    declared = {
        (tool, name)
        for tool, policy in done.config["tools"].items()
        for name in ("poll", "exempt")
        if policy.get(name)
    }
    assert declared == {each for each in taken if each[1] != "thresholds"}
    known = {each[0] for each in stuck}
    assert all(tool in known for tool, name in taken if name == "exempt")


def test_a_tool_that_is_a_poll_already_is_not_tried_as_one():
    run = RecordedRun("good", (ToolCall("tick"),) * 14, (ToolResult("same"),) * 14)
    detector = LoopDetector.default(tools={"tick": ToolPolicy(poll=True)})
    reviewed = Reviewed([run], [], 0, ())
    _, tried = with_policies(reviewed, detector, lambda _: calibrate([run], detector))
    assert [each.name for each in tried] == ["thresholds", "exempt"]


def test_no_threshold_is_raised_tenfold_unless_it_is_said(runs, tmp_path, capsys):
    labels, path = str(tmp_path / "labels.jsonl"), runs(good=calls("status", 35, job=1))
    main(["label", "good", path, "--run", "good", "-o", labels])
    capsys.readouterr()
    assert main(["calibrate", path, "--labels", labels]) == 1
    out = capsys.readouterr().out
    assert "No threshold is raised 10 times or more" in out
    assert "Still stopped:\n  repeat          1 run: good" in out
    main(["calibrate", path, "--labels", labels, "--max-raise", "20"])
    out = capsys.readouterr().out
    assert "threshold of 'status' as for others -> 36" in out
    assert "No threshold" not in out


@pytest.mark.parametrize("times", ["1", "0.5", "nan", "many"])
def test_a_factor_that_is_none_is_refused(times, capsys):
    with pytest.raises(SystemExit):
        main(["calibrate", LABELED, "--max-raise", times])
    assert "must be more than 1" in capsys.readouterr().err


def test_settings_that_are_there_are_never_written_over(reviewed, tmp_path, capsys):
    path, labels = reviewed
    settings = tmp_path / "antiloop.toml"
    settings.write_text('# ours\npreset = "patient"\nmask = "arguments"\n')
    capsys.readouterr()
    command = ["calibrate", path, "--labels", labels, "--config", str(settings)]
    assert main([*command, "-o", str(settings)]) == 2
    assert "is there already; name another file" in capsys.readouterr().err
    assert settings.read_text().startswith("# ours")
    main([*command, "-o", str(tmp_path / "new.toml")])
    written = (tmp_path / "new.toml").read_text()
    assert written.startswith('preset = "patient"\nmask = "arguments"\n')


def test_a_configuration_is_no_settings(reviewed, tmp_path, capsys):
    path, labels = reviewed
    config = tmp_path / "config.json"
    config.write_text(json.dumps(LoopDetector.default().to_config()))
    out = str(tmp_path / "new.toml")
    command = ["calibrate", path, "--labels", labels, "--config", str(config), "-o", out]
    assert main(command) == 2
    assert "settings name a preset, not a JSON configuration" in capsys.readouterr().err


def test_what_is_missed_and_what_is_good_can_be_said(runs, tmp_path, capsys):
    labels = str(tmp_path / "labels.jsonl")
    path = runs(a=calls("ls", 2), b=calls("ls", 2))
    assert main(["label", "stuck", path, "--run", "a", "--steps", "0-1", "-o", labels]) == 0
    assert main(["label", "good", path, "--run", "b", "-o", labels]) == 0
    assert read_labels(labels) == [Label("a", True, (0, 1)), Label("b", False)]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["right", "--run", "a"], "no loop is found in a; see antiloop scan"),
        (["right", "--run", "b", "--step", "9"], "no loop is found in b at step 9"),
        (["right", "--run", "c"], "no run c; there are a, b"),
        (["stuck", "--run", "a"], "stuck needs --steps FIRST-LAST"),
        (["stuck", "--run", "a", "--steps", "0-2"], "the run has 2 steps, counted from 0"),
        (["good", "--run", "a", "-o", "/nowhere/l"], "No such file or directory"),
    ],
)
def test_a_label_on_nothing_is_refused(arguments, problem, runs, monkeypatch, tmp_path, capsys):
    path = runs(a=calls("ls", 2), b=calls("ls", 5))
    monkeypatch.chdir(tmp_path)
    assert main(["label", arguments[0], path, *arguments[1:]]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "labels.jsonl").exists()


@pytest.mark.parametrize("steps", ["4", "4-", "9-4", "-4", "a-b"])
def test_steps_that_are_none_are_refused(steps, capsys):
    with pytest.raises(SystemExit):
        main(["label", "stuck", LABELED, "--run", "a", f"--steps={steps}"])
    assert "must be like 4-12" in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "1", '{"run_id": 1, "is_stuck": true}', '{"run_id": "a"}'),
        '{"run_id": "a", "is_stuck": true, "steps": [2, 1]}',
        '{"run_id": "a", "is_stuck": true, "steps": [true, true]}',
        '{"run_id": "a", "is_stuck": true, "steps": 4}',
        '{"run_id": "a", "is_stuck": "yes"}',
    ],
)
def test_a_line_that_is_no_label_is_named(line, tmp_path, capsys):
    path = tmp_path / "labels.jsonl"
    path.write_text('{"run_id": "a", "is_stuck": false}\n\n' + line + "\n")
    with pytest.raises(ValueError, match=r"labels\.jsonl:3: expected a label like"):
        read_labels(str(path))
    assert main(["calibrate", LABELED, "--labels", str(path)]) == 2
    assert "expected a label like" in capsys.readouterr().err


def test_without_a_good_run_there_is_nothing_to_calibrate(runs, tmp_path, capsys):
    labels, path = str(tmp_path / "labels.jsonl"), runs(a=calls("ls", 5))
    main(["label", "right", path, "--run", "a", "-o", labels])
    assert main(["calibrate", path, "--labels", labels]) == 2
    assert "no label says that a finding is wrong" in capsys.readouterr().err
    assert main(["calibrate", path, "--labels", str(tmp_path / "none")]) == 2


def test_what_has_no_label_and_labels_without_a_run_are_counted(runs, tmp_path, capsys):
    labels, path = tmp_path / "labels.jsonl", runs(a=calls("ls", 1), b=calls("ls", 5))
    labels.write_text(Label("a", False).to_line() + Label("gone", False).to_line())
    main(["calibrate", path, "--labels", str(labels)])
    out = capsys.readouterr().out
    assert "Left out, as they have no label: 1 run." in out
    assert "Labels without a run: gone." in out


SPANS = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 9)).map(
    lambda pair: (min(pair), max(pair))
)
LABELS = st.builds(
    Label, st.sampled_from("ab\u00e9"), st.booleans(), SPANS, st.sampled_from(["", "k1", "k2"])
)


@given(st.lists(LABELS, max_size=8))
def test_a_later_label_on_the_same_replaces_an_earlier_one(tmp_path_factory, labels):
    path = tmp_path_factory.getbasetemp() / "labels.jsonl"
    path.write_text("".join(each.to_line() for each in labels), "utf-8")
    assert read_labels(str(path)) == [
        each
        for at, each in enumerate(labels)
        if all(later.subject != each.subject for later in labels[at + 1 :])
    ]


@given(st.lists(LABELS, max_size=8))
def test_each_run_counts_once_and_is_good_only_before_its_loops(labels):
    steps = tuple(ToolCall("ls", {"n": n}) for n in range(10))
    runs = [RecordedRun(name, steps, (ToolResult("a"),) * 10) for name in "abc"]
    found = review(runs, labels)
    said = {each.run_id for each in labels}
    assert found.unlabeled == sum(run.run_id not in said for run in runs)
    assert set(found.unknown) == said - set("abc")
    loops = {run.run_id: spans[0][0] for run, spans in found.stuck}
    for run in found.good:
        assert len(run) == loops.get(run.run_id, 10)
        assert len(run) == len(run.results)
    assert {run.run_id for run, _ in found.stuck} == {
        each.run_id for each in labels if each.is_stuck and each.run_id in "abc"
    }


WORDS = st.text(max_size=8).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
VALUES = st.recursive(
    st.integers(-(2**31), 2**31) | st.booleans() | WORDS | st.lists(WORDS, max_size=3),
    lambda inner: st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_settings_are_read_as_they_were_written(values):
    toml = pytest.importorskip("tomllib")
    assert toml.loads(toml_of(values)) == values


def test_the_figures_of_quality_come_of_the_same_labels(reviewed):
    path, labels = reviewed
    command = [sys.executable, str(ROOT / "tests/benchmarks/quality.py"), path, "--labels", labels]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = {line[:34].strip(): line[34:].split() for line in out.splitlines()}
    assert rows["caught (of 10)"] == ["1", "1"]
    assert rows["clean runs stopped (of 10)"][0] == "1"


def test_calibrated_settings_make_the_calibrated_detector(reviewed, tmp_path, capsys):
    path, labels = reviewed
    out = str(tmp_path / "fitted.toml")
    capsys.readouterr()
    main(["calibrate", path, "--labels", labels, "-o", out, "--format", "json"])
    config = json.loads(capsys.readouterr().out)["config"]
    fitted = ProjectSettings.read(out).detector(LoopDetector)
    assert fitted.to_config() == LoopDetector.from_config(config).to_config()
