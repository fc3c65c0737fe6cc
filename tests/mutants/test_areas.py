"""What `.ci/mutants` chooses and how it counts; mutmut itself is not needed here."""

from pathlib import Path

import areas
import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("area", areas.AREAS.values(), ids=list(areas.AREAS))
def test_every_file_and_test_of_an_area_exists(area):
    assert all(any(ROOT.glob(pattern)) for pattern in area.sources)
    assert all((ROOT / path).exists() for path in [*area.tests, *area.slow])
    for test in area.without:
        path, _, name = test.partition("::")
        assert (f"def {name}(" if name else "def test_") in (ROOT / path).read_text(
            encoding="utf-8"
        )


def test_the_agent_is_tested_by_its_loop_and_both_drivers():
    area = areas.AREAS["agent"]
    paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / "src").rglob("*.py")]
    held = {path.rpartition("/")[2] for path in paths if areas.holds(area, path)}
    assert held == {"_core.py", "sync_driver.py", "async_driver.py"}


def test_only_changed_files_are_touched_and_slow_tests_left_out():
    area = areas.AREAS["loop_detection"]
    ladder = "src/antiloop/loop_detection/_ladder.py"
    changed = areas.settings(area, [ladder, "src/antiloop/agent/_core.py"])
    assert f'only_mutate = ["{ladder}"]' in changed
    assert "tests/properties" not in changed
    assert '"not hypothesis"' in changed
    whole = areas.settings(area, [])
    assert "tests/properties" in whole
    assert "not hypothesis" not in whole


def test_a_sample_is_the_same_for_the_same_seed_and_all_without_a_size():
    names = [f"mutant_{number}" for number in range(100)]
    chosen = areas.sample(names, 10, seed=1)
    assert chosen == areas.sample(reversed(names), 10, seed=1)
    assert chosen != areas.sample(names, 10, seed=2)
    assert len(set(chosen)) == 10
    assert areas.sample(names, 200, seed=1) != []
    assert areas.sample(names, 0, seed=1) == sorted(names)


RESULTS = """
    a.x_f__mutmut_1: killed
    a.x_f__mutmut_2: timeout
    a.x_f__mutmut_3: survived
    a.x_g__mutmut_1: no tests
    a.x_g__mutmut_2: not checked
""".splitlines()


@pytest.mark.parametrize(
    ("least", "few", "is_enough"), [(50, 0, True), (51, 0, False), (51, 5, True)]
)
def test_a_share_counts_what_was_tried_and_says_nothing_of_a_few(least, few, is_enough, capsys):
    assert areas.score("a", least, few, RESULTS) is is_enough
    assert capsys.readouterr().out.splitlines() == [
        "  survived: a.x_f__mutmut_3",
        "  no tests: a.x_g__mutmut_1",
        f"a: 2 of 4 mutants found, 50.0 % ({least} % asked)",
    ]


@pytest.mark.parametrize("few", [0, 10])
def test_a_run_that_tried_nothing_is_not_enough(few):
    assert not areas.score("a", 90, few, [])
    assert not areas.score("a", 90, few, ["a.x_f__mutmut_1: not checked"])
