"""The words of the rules are read out of the rules."""

from antiloop.loop_detection._evidence.vocabulary import rule_words


def test_words_come_out_of_patterns_tables_and_names():
    rule_words.cache_clear()  # else who asked first decides what is tried here
    words = rule_words()
    assert {
        "error",
        "errors",
        "sleep",
        "scroll",
        "taskoutput",
        "task",
        "output",
        "deployment",
        "错误",
    } <= words
    assert all(word == word.lower() and len(word) > 1 for word in words)
    only_in = {"patterns": "documents", "tables": "codebase", "lists": "toolname", "sets": "chmod"}
    assert [each for each, word in only_in.items() if word not in words] == []
