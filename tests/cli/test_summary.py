"""``antiloop summary``: what is printed, as text, JSON and a page."""

import io
import json
import re
import sys
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser

import pytest

from antiloop.cli import main

THREADS = "concurrent.futures:ThreadPoolExecutor"
DAY = timedelta(days=1)
VOID = {"meta", "!doctype"}


def events(run_id, calls, *, at=None, tool="ls", **of_reply):
    """Return the events of a run in which the same call is made again and again."""
    time = {} if at is None else {"timestamp": at.isoformat()}
    for number in range(calls):
        yield {"run_id": run_id, "type": "llm_call_completed", **time, **of_reply}
        call = {"run_id": run_id, "tool": tool, "input": {}, "call_id": f"{number}", **time}
        yield {**call, "type": "tool_call_started"}
        yield {**call, "type": "tool_call_completed", "output": "a.py"}


@pytest.fixture
def recorded(tmp_path):
    """Write the events of some runs to a file, and give its path."""

    def write(*runs):
        path = tmp_path / "runs.jsonl"
        path.write_text("".join(json.dumps(each) + "\n" for run in runs for each in run), "utf-8")
        return str(path)

    return write


@pytest.fixture
def two_weeks(recorded):
    now = datetime.now(timezone.utc)
    reply = {"agent": "builder", "model": "small", "tokens": {"input": 100_000, "output": 0}}
    return recorded(
        events("fresh", 8, at=now - DAY, **reply),
        events("fine", 2, at=now - 2 * DAY, **reply),
        events("last week", 10, at=now - 9 * DAY, **reply, tool="cat"),
        events("old", 4, at=now - 30 * DAY, **reply),
        events("undated", 4, **reply),
    )


def test_a_week_is_compared_with_the_week_before(two_weeks, capsys):
    assert main(["summary", two_weeks, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    total = told["total"]
    assert (total["now"]["runs"], total["now"]["loops"], total["now"]["calls"]) == (2, 1, 10)
    assert (total["now"]["wasted_calls"], total["now"]["wasted_tokens"]) == (7, 700_000)
    assert (total["before"]["calls"], total["before"]["wasted_calls"]) == (10, 9)
    assert total["trend"] == pytest.approx(-0.2)
    assert [each["name"] for each in told["agents"]] == ["builder"]
    assert [each["name"] for each in told["models"]] == ["small"]
    assert [each["name"] for each in told["tools"]] == ["ls", "cat"]
    assert (told["untimed"]["runs"], told["untimed"]["run_ids"]) == (1, ["undated"])
    assert told["earlier_runs"] == 1


def test_the_page_of_text_has_a_table_for_each(two_weeks, capsys):
    assert main(["summary", two_weeks]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"Runs since \S+Z, compared with those of the period before,.*", first)
    assert lines == [
        "",
        "period            runs    loops    calls  wasted calls    share  wasted tokens",
        "this period          2        1       10             7   70.0 %        700,000",
        "period before        1        1       10             9   90.0 %        900,000",
        "without time         1        1        4             3   75.0 %        300,000",
        "",
        "agent       runs    loops    calls  wasted calls    share  wasted tokens    trend",
        "builder        3        2       14            10   71.4 %      1,000,000    -20.0",
        "",
        "model     runs    loops    calls  wasted calls    share  wasted tokens    trend",
        "small        3        2       14            10   71.4 %      1,000,000    -20.0",
        "",
        "tool     runs    loops    calls  wasted calls    share  wasted tokens    trend",
        "ls          3        2       14            10   71.4 %      1,000,000      new",
        "and 1 more tool without loops",
        "",
        "loop     runs    loops    calls  wasted calls    share    trend",
        "ls          2        2       12            10   83.3 %      new",
        "",
        "Runs without any time count, but in no trend: undated.",
        "",
        "Not counted, as they began before both periods: 1 run.",
    ]


def test_another_period_counts_other_runs(two_weeks, capsys):
    since = (datetime.now(timezone.utc) - 40 * DAY).date().isoformat()
    for period, count in (("36h", 1), ("10d", 3), (since, 4)):
        main(["summary", two_weeks, "--since", period, "--format", "json"])
        assert json.loads(capsys.readouterr().out)["total"]["now"]["runs"] == count


def test_prices_say_what_it_cost(two_weeks, tmp_path, capsys):
    price = {"small": {"input_cost_per_token": 1e-5, "output_cost_per_token": 2e-5}}
    (tmp_path / "prices.json").write_text(json.dumps(price), "utf-8")
    command = ["summary", two_weeks, "--prices", str(tmp_path / "prices.json")]
    main(command)
    assert re.search(r"^builder .*  14\.00        10\.00    -20\.0$", capsys.readouterr().out, re.M)
    main([*command, "--format", "json"])
    told = json.loads(capsys.readouterr().out)
    now = told["total"]["now"]
    assert (now["cost"], now["wasted_cost"]) == (pytest.approx(10), pytest.approx(7))
    assert told["tools"][0]["now"]["wasted_cost"] == pytest.approx(7)


@pytest.mark.parametrize("name", ["text", "html"])
def test_others_count_the_same(name, two_weeks, capsys):
    def told(*options):
        main(["summary", two_weeks, "--since", "2020-01-01", "--format", name, *options])
        return re.sub(r"\d{4}-\S+Z", "", capsys.readouterr().out)

    assert told() == told("--jobs", "2", "--engine", THREADS)


class Page(HTMLParser):
    """Reads a page: its elements are closed as they were opened."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "style")]
        self.links += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(two_weeks, capsys):
    assert main(["summary", two_weeks, "--format", "html"]) == 0
    text = capsys.readouterr().out
    page = Page(text)
    assert (page.open, page.links, page.tags.count("table")) == ([], [], 5)
    assert "script" not in page.tags
    assert text.isascii()
    assert "url(" not in text
    assert "@media (prefers-color-scheme: dark)" in text
    assert "<td>700,000</td>" in text


def test_what_a_recording_names_is_escaped(recorded, capsys):
    name = "<script>alert(1)</script>\x1b[2J\u202e\u00e9"
    now = datetime.now(timezone.utc)
    path = recorded(
        events(name, 4, at=now, tool=name, agent=name, model=name), events(name + "2", 1)
    )
    for format_ in ("text", "json", "html"):
        main(["summary", path, "--format", format_])
        out = capsys.readouterr().out
        assert not set("\x1b\u202e") & set(out)
        if format_ == "html":
            assert "script" not in Page(out).tags
            assert out.count("&lt;script&gt;alert(1)") == 4


def test_long_tables_are_cut_and_told_whole_with_v(recorded, capsys):
    now = datetime.now(timezone.utc)
    path = recorded(*(events(f"r{n}", 4, at=now, tool=f"tool-{n}") for n in range(25)))
    main(["summary", path])
    assert "and 5 more; -v or --format json tells all" in capsys.readouterr().out.splitlines()
    main(["summary", path, "-v"])
    out = capsys.readouterr().out
    assert "more" not in out
    assert all(f"tool-{n} " in out for n in range(25))
    main(
        [
            "summary",
            recorded(*(events(f"r{n}", 4, at=now, tool=f"t{n}") for n in range(101))),
            "--format",
            "html",
        ]
    )
    assert "<p>and 1 more</p>" in capsys.readouterr().out


def test_what_has_no_loops_is_counted_in_one_line(recorded, capsys):
    now = datetime.now(timezone.utc)
    runs = [events(f"r{n}", 1, at=now, tool=f"tool-{n}") for n in range(25)]
    path = recorded(*runs, events("stuck", 4, at=now, tool="make"))
    main(["summary", path])
    out = capsys.readouterr().out
    assert "and 25 more tools without loops" in out.splitlines()
    assert "tool-3" not in out
    main(["summary", path, "-v"])
    assert "tool-3" in capsys.readouterr().out
    main(["summary", recorded(*[events("r", 1, at=now)]), "--format", "html"])
    out = capsys.readouterr().out
    assert "<p>and 1 tool without loops</p>" in out
    assert Page(out).open == []


def test_a_chart_shows_each_part_of_both_periods(two_weeks, capsys):
    main(["summary", two_weeks, "--format", "html"])
    out = capsys.readouterr().out
    assert 'aria-label="Calls from ' in out
    assert "at most 10 in a bar; 16 of all are wasted." in out
    assert out.count('<rect class="calls"') == 3
    assert out.count('<rect class="wasted"') == 2
    assert out.count('class="between"') == 1
    main(["summary", two_weeks, "--format", "html", "--since", "36h"])
    out = capsys.readouterr().out
    assert out.count('<rect class="calls"') == 2
    assert ": 8 calls, 7 wasted</title>" in out


def test_the_page_leads_into_a_report_of_the_same_runs(two_weeks, tmp_path, capsys):
    main(["report", two_weeks, "-o", str(tmp_path / "week.html")])
    capsys.readouterr()
    main(["summary", two_weeks, "--format", "html", "--report", "week.html#run-1"])
    links = Page(capsys.readouterr().out).links
    assert links[0] == "week.html#list?agent=builder"
    assert [each.partition("=")[0] for each in links] == [
        f"week.html#list?{name}" for name in ("agent", "model", "tool", "loop")
    ]
    assert links[3].rpartition("=")[2] in (tmp_path / "week.html").read_text()
    for wrong in ("javascript:alert(1)", "data:text/html,x", "vbscript:x"):
        with pytest.raises(SystemExit):
            main(["summary", two_weeks, "--report", wrong])
        assert "must be a path or an http address" in capsys.readouterr().err


def test_many_runs_without_a_time_are_not_all_named(recorded, capsys):
    main(["summary", recorded(*(events(f"r{n}", 1) for n in range(12)))])
    assert "r8, r9 and 2 more." in capsys.readouterr().out.splitlines()[-1]


def test_a_narrow_terminal_gets_lists(two_weeks, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(sys, "stdout", Terminal())
    main(["summary", two_weeks])
    lines = sys.stdout.getvalue().splitlines()
    assert [line for line in lines if len(line) > 40] == []
    assert "  wasted calls        7" in lines


@pytest.mark.parametrize("since", ["soon", "0d"])
def test_a_period_that_is_none_is_told(since, two_weeks, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["summary", two_weeks, "--since", since])
    assert f"must be like 7d, 24h or 2026-01-31, got {since!r}" in capsys.readouterr().err


def test_a_period_that_has_not_begun_is_2(two_weeks, capsys):
    assert main(["summary", two_weeks, "--since", "9999-01-01"]) == 2
    told = "antiloop: --since: 9999-01-01T00:00:00Z is not in the past\n"
    assert capsys.readouterr() == ("", told)


def test_what_cannot_be_read_is_told_and_2(two_weeks, tmp_path, capsys):
    assert main(["summary", two_weeks, str(tmp_path / "none")]) == 2
    out, err = capsys.readouterr()
    assert "this period " in out
    assert "none" in err


def test_without_runs_it_is_2_and_nothing_is_printed(two_weeks, tmp_path, capsys):
    assert main(["summary", "--from", "openai-chat", two_weeks]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.endswith("no recorded runs found, nothing was counted\n")
    (tmp_path / "empty").touch()
    assert main(["summary", str(tmp_path / "empty")]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
