"""A person says whether a finding is right; the browser keeps it and saves a file of labels."""

import json

import pytest
from report_pages import REPEAT, cycle, run_of, wait_for_text, wait_until

from antiloop.cli import main
from antiloop.cli._review.labels import Label, read_labels
from antiloop.traces import read_runs

EVIL = '</script><img src=x onerror="pwned=1">\u202e'
RUNS = [run_of(*REPEAT, run_id=EVIL), run_of(*cycle(5), run_id="cycle")]


def pressed(page):
    return page.locator(".verdicts [aria-pressed=true]").all_inner_texts()


def test_a_finding_is_marked_kept_and_saved(open_page, tmp_path):
    page = open_page(*RUNS)
    assert page.locator("#marks").inner_text() == "Load labels"
    page.locator("#rows a", has_text="onerror").click()
    page.get_by_role("button", name="Wrong").click()
    assert pressed(page) == ["Wrong"]
    page.get_by_role("button", name="Right").press("Enter")
    assert pressed(page) == ["Right"]
    page.reload()
    wait_until(page, "document.querySelector('.verdicts') !== null")
    assert pressed(page) == ["Right"]
    page.get_by_role("link", name="All runs").click()
    page.locator("#rows a", has_text="cycle").click()
    wait_for_text(page, "#run-id", "cycle")
    page.get_by_role("button", name="Wrong").click()
    page.get_by_role("link", name="All runs").click()
    assert "2 findings marked, 1 of them wrong." in page.locator("#marks").inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save labels").click()
    assert download.value.suggested_filename == "labels.jsonl"
    download.value.save_as(tmp_path / "labels.jsonl")
    labels = read_labels(str(tmp_path / "labels.jsonl"))
    assert [(each.run_id, each.is_stuck, each.steps) for each in labels] == [
        (EVIL, True, (0, 5)),
        ("cycle", False, (1, 10)),
    ]
    assert all(isinstance(each, Label) and each.loop for each in labels)
    assert page.evaluate("typeof pwned") == "undefined"
    page.asked = {url for url in page.asked if not url.startswith("blob:")}
    page.evaluate("localStorage.clear()")


def load(page, path):
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Load labels").click()
    chooser.value.set_files(str(path))
    page.locator("#marks", has_text="loaded").wait_for()


def saved(page, path):
    with page.expect_download() as download:
        page.get_by_role("button", name="Save labels").click()
    download.value.save_as(path)
    page.asked = {url for url in page.asked if not url.startswith("blob:")}
    return read_labels(str(path))


def forget(page):
    """Come back on another day, in another browser."""
    page.evaluate("localStorage.clear()")
    page.reload()
    wait_until(page, "document.querySelector('#marks button') !== null")


LOADED = [
    Label(EVIL, False, (0, 5), "another loop"),
    Label("cycle", True, (2, 3)),
    Label("not on this page", False),
    Label("not on this page", True, (0, 1), EVIL),
]


def test_labels_are_loaded_and_saved_again_as_they_were(open_page, tmp_path):
    page = open_page(*RUNS)
    path = tmp_path / "labels.jsonl"
    path.write_text("\ufeff\n" + "\n".join(each.to_line() for each in LOADED), "utf-8")
    load(page, path)
    assert "4 findings marked, 2 of them wrong." in page.locator("#marks").inner_text()
    assert "4 labels loaded." in page.locator("#marks").inner_text()
    assert page.evaluate("document.activeElement.textContent") == "Load labels"
    assert saved(page, tmp_path / "again.jsonl") == LOADED
    assert page.evaluate("typeof pwned") == "undefined"
    page.evaluate("localStorage.clear()")


def test_a_loaded_label_is_shown_on_its_loop_and_replaces_what_was_kept(open_page, tmp_path):
    page = open_page(RUNS[1])
    page.get_by_role("button", name="Right").click()
    (label,) = saved(page, tmp_path / "one.jsonl")
    page.get_by_role("button", name="Wrong").click()
    load(page, tmp_path / "one.jsonl")
    assert pressed(page) == ["Right"]
    forget(page)
    assert pressed(page) == []
    load(page, tmp_path / "one.jsonl")
    assert pressed(page) == ["Right"]
    assert saved(page, tmp_path / "two.jsonl") == [label]
    page.evaluate("localStorage.clear()")


@pytest.mark.parametrize(
    "line",
    [
        *("{", "[]", "null", '{"run_id": 1, "is_stuck": true}', '{"run_id": "a"}'),
        '{"run_id": "a", "is_stuck": true, "steps": [2, 1]}',
        '{"run_id": "a", "is_stuck": true, "steps": [true, true]}',
        '{"run_id": "a", "is_stuck": true, "loop": 1}',
    ],
)
def test_a_file_that_holds_no_labels_is_refused_as_a_whole(open_page, tmp_path, line):
    page = open_page(RUNS[1])
    path = tmp_path / "labels.jsonl"
    path.write_text(LOADED[1].to_line() + "\n" + line + "\n", "utf-8")
    load(page, path)
    text = page.locator("#marks").inner_text()
    assert "Line 3 of the file is no label; nothing was loaded." in text
    assert "marked" not in text
    assert page.evaluate("localStorage.length") == 0


def same(tool, count, result, **arguments):
    return [{"tool_name": tool, "arguments": arguments, "result": result}] * count


def test_a_review_of_twenty_findings_on_two_days_changes_thresholds(open_page, tmp_path, capsys):
    runs = {f"wait{n}": same("status", 5 + n, "same", job=n) for n in range(10)}
    runs.update({f"stuck{n}": same("search", 4 + n, "No results.", q=n) for n in range(10)})
    recorded, labels = tmp_path / "runs.jsonl", tmp_path / "labels.jsonl"
    recorded.write_text(
        "".join(json.dumps({"run_id": name, "steps": each}) + "\n" for name, each in runs.items())
    )
    page = open_page(*read_runs(str(recorded)))
    for day in (0, 1):
        forget(page)
        if day:
            load(page, labels)
        for name in [name for at, name in enumerate(runs) if at % 2 == day]:
            page.locator(f"#rows .id:has-text('{name}')").first.click()
            wait_for_text(page, "#run-id", name)
            page.get_by_role("button", name="Wrong" if "wait" in name else "Right").click()
            page.get_by_role("link", name="All runs").click()
        assert len(saved(page, labels)) == 10 + 10 * day
    page.evaluate("localStorage.clear()")
    settings = tmp_path / "antiloop.toml"
    command = ["calibrate", str(recorded), "--labels", str(labels), "-o", str(settings)]
    main([*command, "--format", "json"])
    done = json.loads(capsys.readouterr().out)
    assert (done["before"]["stopped"], done["after"]["stopped"]) == (10, 0)
    assert done["recall"]["before"] == done["recall"]["after"]
    assert done["recall"]["after"]["caught"] == 10
    assert "repeat = 15" in settings.read_text()


def test_a_mark_is_taken_back_by_the_same_button(open_page):
    page = open_page(RUNS[1])
    for _ in range(2):
        page.get_by_role("button", name="Wrong").click()
    assert pressed(page) == []
    assert page.evaluate("Object.keys(JSON.parse(localStorage['antiloop-labels'])).length") == 0


def test_what_else_is_kept_in_the_browser_does_no_harm(open_page):
    page = open_page(RUNS[1])
    for wrong in ("{", "null", "[1]", '{"a": null}', '"text"'):
        page.evaluate("value => { localStorage['antiloop-labels'] = value }", wrong)
        page.reload()
        wait_until(page, "document.querySelector('.verdicts') !== null")
        assert pressed(page) == []
    page.evaluate("localStorage.clear()")
