"""A guard that lives as long as the session judges it alike, however late the transcript is."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop import LoopDetector
from antiloop.integrations.claude_code import LoopGuard

SAME, OTHER = ("Bash", {"command": "make"}), ("Bash", {"command": "ls"})


class Session:
    """Claude Code, which writes its transcript late.

    Args:
        folder: where the transcript is.
        lags: for each event, how many lines are not written yet.
    """

    def __init__(self, folder, lags=()):
        self.path = Path(folder, "session.jsonl")
        self.path.write_text("", encoding="utf-8")
        self.guard = LoopGuard(LoopDetector.escalating())
        self.lines, self.lags, self.number, self.written = [], list(lags), 0, 0

    def ask(self, kind, **told):
        lag = self.lags.pop(0) if self.lags else 0
        self.written = max(self.written, len(self.lines) - lag)
        text = "".join(json.dumps(each) + "\n" for each in self.lines[: self.written])
        self.path.write_text(text, encoding="utf-8")
        event = {"hook_event_name": kind, "transcript_path": str(self.path), "session_id": "s"}
        return self.guard.answer({**event, **told})

    def speak(self):
        self.lines.append({"type": "user", "message": {"role": "user", "content": "Go on."}})
        return self.ask("UserPromptSubmit", prompt="Go on.")

    def resume(self):
        """Take the session up in another process, which finds all that came before written."""
        self.written = len(self.lines)
        self.guard = LoopGuard(LoopDetector.escalating())
        return self.speak()

    def round(self, name, arguments, text="nothing new"):
        """Make a call; return what the hook answered before and after it."""
        self.number += 1
        call_id = f"t{self.number}"
        call = {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
        told = {"tool_name": name, "tool_input": arguments, "tool_use_id": call_id}
        self.lines.append(
            {"type": "assistant", "message": {"role": "assistant", "content": [call]}}
        )
        before = self.ask("PreToolUse", **told)
        refusal = before.get("hookSpecificOutput", {}).get("permissionDecisionReason")
        result = {"type": "tool_result", "tool_use_id": call_id, "content": refusal or text}
        result["is_error"] = refusal is not None
        after = {}
        if refusal is None:
            after = self.ask("PostToolBatch", tool_calls=[{**told, "tool_response": text}])
        self.lines.append({"type": "user", "message": {"role": "user", "content": [result]}})
        return before, after


def said(answers):
    """Return the beginnings of what the model was told."""
    told = [part.get("hookSpecificOutput", {}) for each in answers for part in each]
    texts = [each.get("additionalContext", each.get("permissionDecisionReason")) for each in told]
    return [text and " ".join(text.split()[:2]) for text in texts]


def test_a_transcript_that_is_never_written_brings_one_notice(tmp_path):
    session = Session(tmp_path, [1_000] * 100)
    answers = said(session.round(*SAME) for _ in range(5))
    assert [text for text in answers if text] == ["[antiloop] Notice:", "[antiloop] Refused:"]
    assert answers.index("[antiloop] Notice:") == 5


def test_the_first_call_of_a_new_turn_is_not_refused(tmp_path):
    session = Session(tmp_path, [1_000] * 100)
    for _ in range(5):
        session.round(*SAME)
    session.speak()
    assert said([session.round(*SAME)]) == [None, None]


def test_the_first_call_of_a_session_that_is_taken_up_again_is_not_refused(tmp_path):
    session = Session(tmp_path)
    for _ in range(5):
        session.round(*SAME)
    session.lags = [1_000] * 100
    session.resume()
    assert said([session.round(*SAME)]) == [None, None]


def test_a_notification_in_the_place_of_the_user_begins_no_turn(tmp_path):
    session = Session(tmp_path, [1_000] * 100)
    for _ in range(4):
        session.round(*SAME)
    session.ask("UserPromptSubmit", prompt="<task-notification>\n<task-id>b1</task-id>")
    assert said([session.round(*SAME)])[0] == "[antiloop] Refused:"


@given(
    lags=st.lists(st.integers(0, 8), min_size=24, max_size=24),
    rounds=st.lists(
        st.sampled_from([SAME, SAME, OTHER, Session.speak, Session.resume]), min_size=1, max_size=8
    ),
)
def test_answers_do_not_depend_on_when_the_transcript_is_written(lags, rounds):
    def answers(lags):
        with tempfile.TemporaryDirectory() as folder:
            session = Session(folder, lags)
            for number, each in enumerate(rounds):
                if callable(each):
                    yield each(session), {}
                else:
                    yield session.round(*each, text=f"{number // 3}")

    assert said(answers(lags)) == said(answers([0] * 24))


@pytest.mark.parametrize("count", [60, 120])
def test_what_is_kept_is_bounded(tmp_path, count):
    session = Session(tmp_path, [1_000_000] * 1_000)
    for number in range(count):
        session.round("Bash", {"command": f"echo {number}"}, text=f"word {number}")
    (late,) = session.guard._late.values()
    assert len(late._rounds) <= 50
