"""The prompt that the page on second opinions shows is one that a judge gets."""

from pathlib import Path

from antiloop import LoopDetector

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "ask-for-a-second-opinion.md"


def test_the_prompt_is_shown_whole():
    monitor = LoopDetector.escalating(second_opinion=lambda _: None).monitor()
    cases = []
    text = "import yaml\n\nCONFIG = load(find())\n"
    monitor.record_call("read_file", {"path": "src/app.py"}, text)
    for name in ("config.yaml", "settings.yaml", "conf.yml", "options.yaml", "app.yaml"):
        verdict = monitor.record_call("search_files", {"pattern": name}, "No files found.")
        cases += [verdict.case] if verdict.case else []
    assert cases[0].prompt() in PAGE.read_text(encoding="utf-8")
