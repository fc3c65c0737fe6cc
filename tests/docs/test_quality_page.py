"""The figures of quality: what is counted, how it is drawn, and what the page shows."""

import gzip
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labeled_runs import LabeledRun, Segment, read_labeled, score
from quality import main
from threshold_curve import SHIFTS, Point, curves_of, draw, shifted

from antiloop import LoopDetector, ToolCall
from antiloop.traces import RecordedRun

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "quality.md"
EXAMPLE = ROOT / "docs" / "examples" / "labeled-runs.jsonl"
SEGMENT = Segment(4, 6, 8, 12, True, "")
VERDICTS = st.lists(st.tuples(st.integers(0, 19), st.sampled_from(["notify", "block", "raise"])))


def labeled(*segments):
    calls = [ToolCall("look", {"page": number}) for number in range(20)]
    return LabeledRun(RecordedRun("run", calls, [None] * 20), "", segments)


def figures(verdicts, *segments):
    return score(labeled(*segments), verdicts).figures()


def printed(capsys, *options):
    main([str(option) for option in options])
    return capsys.readouterr().out


@pytest.mark.parametrize("step", range(20))
def test_where_each_figure_begins_and_ends(step):
    counted = figures([(step, "block")], SEGMENT)
    assert counted["caught"] == (4 <= step <= 12)
    assert counted["stopped"] == (6 <= step <= 12)
    assert counted["stop precision"] == (6 <= step <= 13)
    assert counted["first word right"] == (4 <= step <= 13)
    assert counted["false notices per 1,000 steps"] == 50 * (not 4 <= step <= 13)
    assert counted["median delay, steps"] == (step - 6 if 4 <= step <= 12 else None)


def test_a_notice_stops_nothing():
    counted = figures([(6, "notify")], SEGMENT)
    assert (counted["caught"], counted["stopped"], counted["stop precision"]) == (1, 0, None)


def test_only_the_first_stop_of_a_run_is_right_or_wrong():
    assert figures([(5, "block"), (7, "stop")], SEGMENT)["stop precision"] == 0
    assert figures([(7, "block"), (18, "stop")], SEGMENT)["stop precision"] == 1


def test_a_segment_without_a_stop_is_not_to_be_stopped():
    assert figures([(7, "stop")], SEGMENT._replace(stop_at=None))["stopped"] is None


@given(VERDICTS)
def test_a_doubtful_segment_is_neither_wanted_nor_held_against_a_preset(verdicts):
    doubtful = figures(sorted(verdicts), Segment(0, 0, 0, 19, False, ""))
    assert doubtful["caught"] is doubtful["stopped"] is None
    assert not doubtful["false notices per 1,000 steps"]
    assert not doubtful["clean runs stopped"]


@given(VERDICTS)
def test_a_run_without_segments_only_costs(verdicts):
    counted = figures(sorted(verdicts))
    assert counted["false notices per 1,000 steps"] == 50 * len(verdicts)
    stops = [step for step, action in verdicts if action != "notify"]
    assert counted["clean runs stopped"] == bool(stops)


def test_the_labels_belong_to_their_runs(tmp_path):
    lines = EXAMPLE.read_text("utf-8").splitlines()
    packed = tmp_path / "labeled.jsonl.gz"
    packed.write_bytes(gzip.compress("\n".join(reversed(lines)).encode()))
    found = {each.run.run_id: each for each in read_labeled(packed)}
    for line in map(json.loads, lines):
        each = found[line["run_id"]]
        assert len(each.run) == len(line["steps"])
        assert each.corpus == line["corpus"]
        assert [s.end for s in each.segments] == [s["end"] for s in line["label"]["segments"]]


def changed(**other):
    record = json.loads(EXAMPLE.read_text("utf-8").splitlines()[0])
    record["label"]["segments"][0].update(other)
    return {**record, "run_id": "another"}


@pytest.mark.parametrize(
    ("record", "what"),
    [
        ({"run_id": "a", "steps": []}, '"label"'),
        ([], '"run_id"'),
        (changed(end=70), "that the run has"),
        (changed(start=3, nudge_at=1), "start <= nudge_at"),
        (changed(start="2"), "start <= nudge_at"),
        (changed(confidence="sure"), "high, medium, low"),
    ],
)
def test_a_label_that_is_none_is_named_by_its_line(tmp_path, record, what):
    file = tmp_path / "labeled.jsonl"
    file.write_text(EXAMPLE.read_text("utf-8") + "\n" + json.dumps(record), "utf-8")
    with pytest.raises(SystemExit, match=re.escape(f"{file}:9: ")) as error:
        main([str(file)])
    assert what in str(error.value)


def test_two_runs_with_one_id_are_refused(tmp_path):
    file = tmp_path / "labeled.jsonl"
    file.write_text(2 * EXAMPLE.read_text("utf-8"), "utf-8")
    with pytest.raises(ValueError, match=r":8: run 'late-refund' is there already"):
        read_labeled(file)


def test_the_page_shows_what_the_example_gives(capsys):
    assert printed(capsys, EXAMPLE) in PAGE.read_text("utf-8")


def test_a_corpus_left_out_is_a_file_without_it(capsys, tmp_path):
    lines = EXAMPLE.read_text("utf-8").splitlines(keepends=True)
    rest = tmp_path / "rest.jsonl"
    rest.write_text("".join(x for x in lines if json.loads(x)["corpus"] != "support"), "utf-8")
    plain = printed(capsys, rest)
    for preset, column in (("default", -2), ("escalating", -1)):
        told = printed(capsys, EXAMPLE, "--left-out").partition(f"\n{preset}, without")[2]
        row = re.search(r"^support +(.+)$", told, re.MULTILINE)[1].split()
        assert row == [line.split()[column] for line in plain.splitlines()[1:]]
        bounds = {name: re.search(rf"^{name} +(.+)$", told, re.MULTILINE)[1] for name in EDGES}
        assert all(EDGES[name](*pair) for name in EDGES for pair in zip(bounds[name].split(), row))


EDGES = {
    "minimum": lambda bound, value: value == "-" or float(bound) <= float(value),
    "maximum": lambda bound, value: value == "-" or float(bound) >= float(value),
}


def test_each_detector_is_left_out_once(capsys):
    told = printed(capsys, EXAMPLE, "--detectors").partition("\nescalating, without")[2]
    caught = {line.split()[0]: line.split()[1] for line in told.splitlines()[1:]}
    assert list(caught) == [each.name for each in LoopDetector.escalating().detectors]
    assert [name for name, share in caught.items() if share != "0.75"] == ["failure_streak"]


def test_sessions_that_went_well_are_counted(capsys, tmp_path):
    stuck = [each.run.run_id for each in read_labeled(EXAMPLE) if each.segments]
    (tmp_path / "leave.json").write_text(json.dumps([*stuck, "awaited-reply"]), "utf-8")
    everything = printed(capsys, EXAMPLE, "--quiet", EXAMPLE)
    assert re.search(r"^of 7 quiet sessions: heard +3 +4$", everything, re.MULTILINE)
    rest = printed(capsys, EXAMPLE, "--quiet", EXAMPLE, "--leave", tmp_path / "leave.json")
    assert re.search(r"^of 2 quiet sessions: stopped +0 +0$", rest, re.MULTILINE)


def test_troubles_name_what_is_missed_and_what_is_false(capsys):
    told = printed(capsys, EXAMPLE, "--troubles").partition("\nescalating\n")[2].splitlines()
    assert [line.partition(",")[0] for line in told] == [
        "missed: polished-notes",
        "false notify: awaited-reply",
        "false block: awaited-reply",
        "wrong stop: awaited-reply",
    ]


@pytest.mark.parametrize("preset", [LoopDetector.default, LoopDetector.escalating])
def test_thresholds_go_up_and_down_together(preset):
    assert shifted(preset(), 0).to_config() == preset().to_config()
    for shift in SHIFTS:
        plain, other = preset().to_config(), shifted(preset(), shift).to_config()
        for before, after in zip(plain["detectors"], other["detectors"]):
            if "threshold" in before:
                assert after["threshold"] == max(2, before["threshold"] + shift)


def test_the_curve_passes_through_the_presets_as_they_are():
    runs = read_labeled(EXAMPLE)
    curves = {
        **curves_of("default", LoopDetector.default(), runs),
        **curves_of("escalating", LoopDetector.escalating(), runs),
    }
    assert [Point(0, 0.5, 0.6667), Point(0, 0.75, 0.75), Point(0, 0.75, 0.75)] == [
        next(point for point in curve if not point.shift) for curve in curves.values()
    ]


@given(
    st.dictionaries(
        st.sampled_from(["a", "b(): stopped", "<c & 'd'>", '"e"']),
        st.lists(
            st.builds(Point, st.integers(-9, 9), st.floats(0, 1), st.floats(0, 1)), min_size=1
        ),
        max_size=3,
    )
)
def test_a_drawing_holds_each_point_once_and_inside(curves):
    dots = [
        part
        for part in ElementTree.fromstring(draw(curves)).iter("{http://www.w3.org/2000/svg}circle")
        if part.get("class") == "dot"
    ]
    assert len(dots) == sum(map(len, curves.values()))
    assert all(
        0 <= float(dot.get("cx")) <= 760 and 0 <= float(dot.get("cy")) <= 480 for dot in dots
    )


def test_the_drawing_on_the_page_needs_nothing_else():
    drawing = (PAGE.parent / "quality.svg").read_text("utf-8")
    assert "](quality.svg)" in PAGE.read_text("utf-8")
    assert ElementTree.fromstring(drawing).tag.endswith("svg")
    assert "prefers-color-scheme: dark" in drawing
    assert re.findall(r"(?:href|src|url\(|@import)", drawing) == []


def test_the_drawing_shows_the_figures_of_the_page():
    drawing = (PAGE.parent / "quality.svg").read_text("utf-8")
    table = re.findall(
        r"^\| (?:loops stopped|stop precision:).*\|$", PAGE.read_text(), re.MULTILINE
    )
    stopped, precise = ([f"{float(x):.0f}%" for x in re.findall(r"[\d.]+", row)] for row in table)
    for preset, recall, precision in zip(("default", "escalating"), stopped, precise):
        told = re.search(rf"{preset}\(\): stopped: [^;]*\b0: (\d+%) at (\d+%)", drawing)
        assert told.groups() == (recall, precision)


def test_the_readme_promises_no_more_than_the_page():
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text("utf-8"), re.M)
    figures = {
        name: float(text.split()[0]) for name, _, text in reversed(rows) if text.endswith(" %")
    }
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    told = re.search(r"finds (\d+) of 10 loops and stops 1 in ([\d,]+) runs that have none", readme)
    assert 10 * int(told[1]) <= figures["loops caught"]
    assert 100 / int(told[2].replace(",", "")) >= figures["runs without a loop that are stopped"]
