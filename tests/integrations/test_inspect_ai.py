"""The contract with evaluations of Inspect AI, what is special about them, and their logs."""

import asyncio

import pytest
from adapters import ADAPTERS
from contract import CONCLUDE, TIMES, Contract, Hearer, Ran, Script, detector, same

pytest.importorskip("inspect_ai", reason="needs the extra 'inspect'")

from inspect_ai import Task, eval_async, score
from inspect_ai import eval as evaluate
from inspect_ai.agent import react
from inspect_ai.approval import ApprovalPolicy, auto_approver
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import chain, generate, use_tools, user_message
from inspect_ai.tool import ToolCall, ToolDef

from antiloop import LoopPolicy
from antiloop.cli import main
from antiloop.integrations._guard import WITHDRAWN
from antiloop.integrations.inspect_ai import LoopGuard, loop_free
from antiloop.loop_detection import Escalation
from antiloop.loop_detection._evidence.outcome import REFUSED_MARKER
from antiloop.loop_detection._messages import NOTICE_MARKER
from antiloop.traces import read_runs

pytestmark = [
    pytest.mark.usefixtures("_elsewhere"),
    *map(pytest.mark.filterwarnings, ADAPTERS["inspect_ai"].warnings),
]


@pytest.fixture
def _elsewhere(tmp_path, monkeypatch):
    """Let logs be written where nobody minds them."""
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("INSPECT_DISPLAY", "none")


def scripted(script, ran):
    """Make a model that says what a script says; which reply it is, is read off the input."""

    def reply(messages, tools, tool_choice, config):
        ran.asked += 1
        ran.seen[:] = [text for message in messages for text in texts_of(message)]
        number = sum(message.role == "assistant" for message in messages)
        asked = script.reply(number, ran.seen)
        output = ModelOutput.from_content("mockllm/model", script.text(number, asked))
        output.message.tool_calls = [
            ToolCall(f"call-{number}-{position}", name, arguments)
            for position, (name, arguments) in enumerate(asked)
        ] or None
        # It counts tokens with files from the network where nothing is told of them.
        output.usage = ModelUsage(input_tokens=10, output_tokens=2, total_tokens=12)
        return output

    return get_model("mockllm/model", custom_outputs=reply, memoize=False)


def texts_of(message):
    """Return what a model reads of a message; of a call that failed it is the error."""
    error = getattr(message, "error", None)
    return [message.text, *([error.message] if error else [])]


def tools_of(script, ran):
    """Return the tools of a script, which Inspect wants to be coroutines that are described."""

    async def search(query: str) -> str:
        return ran.answer(script, "search")

    async def note(text: str) -> str:
        return ran.answer(script, "note")

    return [
        ToolDef(search, description="Search.", parameters={"query": "what to look for"}),
        ToolDef(note, description="Note.", parameters={"text": "what to keep"}),
    ]


def made_task(script, ran, *, policies=None, samples=("What are the rules?",), **options):
    return Task(
        dataset=[Sample(input=each, id=f"sample-{n}") for n, each in enumerate(samples)],
        solver=[use_tools(tools_of(script, ran)), generate()],
        approval=policies or LoopGuard(**options).policies(),
        scorer=loop_free(),
        name="rules",
    )


def evaluated(task, script, ran):
    (log,) = evaluate(task, model=scripted(script, ran))
    assert log.status == "success", log.error
    return log


async def aevaluated(task, script, ran):
    (log,) = await eval_async(task, model=scripted(script, ran))
    assert log.status == "success", log.error
    return log


class TestInspect(Contract):
    name = "inspect_ai"
    users = ("what are the rules?",)

    def carry_out(self, mode, script, ran, **options):
        task = made_task(script, ran, **options)
        if mode == "async":
            asyncio.run(aevaluated(task, script, ran))
        else:
            evaluated(task, script, ran)

    def asked_again(self, asked, *ladder):
        """Carry out a script in which the user speaks again after a reply without a call."""
        script, ran = Script(asked), Ran()
        task = made_task(script, ran, detector=detector(Escalation(ladder)))
        task.solver = chain(task.solver, user_message("Go on."), generate())
        evaluated(task, script, ran)
        return ran.searches

    def test_a_user_message_keeps_the_rung(self):
        assert self.asked_again([*same(times=3), (), *same(times=4)], "notify", "block") == 6

    def test_a_user_message_ends_a_block(self):
        assert self.asked_again([*same(times=4), (), *same(times=1)], "block") == 4


def test_a_stopped_sample_ends_as_at_a_limit_and_is_scored():
    script, ran = Script(same()), Ran()
    (sample,) = evaluated(
        made_task(script, ran, detector=detector(LoopPolicy.STOP)), script, ran
    ).samples
    assert (sample.error, sample.limit.type) == (None, "custom")
    assert sample.scores["loop_free"].value == 0


@pytest.mark.parametrize("says", ["It is not there.", ""])
def test_a_sample_ends_with_the_last_words_of_its_model(says):
    script, ran = Script(same(times=3), says=["", "", "", says]), Ran()
    (sample,) = evaluated(made_task(script, ran, detector=CONCLUDE), script, ran).samples
    assert (sample.output.completion, sample.limit, ran.searches) == ("done", None, 3)
    assert sample.scores["loop_free"].value == 0


def test_a_sample_that_goes_on_after_its_last_words_ends_as_at_a_limit():
    script, ran = Script(same()), Ran()
    (sample,) = evaluated(made_task(script, ran, detector=CONCLUDE), script, ran).samples
    assert (sample.error, sample.limit.type, ran.searches) == (None, "custom", 3)
    (refused,) = [each.error for each in sample.messages if getattr(each, "error", None)]
    assert WITHDRAWN in refused.message


def test_an_agent_that_is_urged_on_after_its_last_words_ends_as_at_a_limit():
    script, ran = Script(same(times=3)), Ran()
    task = made_task(script, ran, detector=CONCLUDE)
    task.solver = react(tools=tools_of(script, ran))
    (sample,) = evaluated(task, script, ran).samples
    assert (sample.limit.type, ran.asked, ran.searches) == ("custom", 4, 3)


def test_a_refused_call_is_an_error_of_its_message():
    script, ran = Script(same()), Ran()
    task = made_task(script, ran, detector=detector(Escalation(("block",))))
    (sample,) = evaluated(task, script, ran).samples
    errors = [each.error for each in sample.messages if each.role == "tool"]
    assert errors[:3] == [None] * 3
    assert {error.type for error in errors[3:]} == {"approval"}
    assert all(error.message.startswith(REFUSED_MARKER) for error in errors[3:])


def test_a_notice_is_sent_and_not_kept():
    script, ran = Script(same(), heeds=True), Ran()
    task = made_task(script, ran, detector=detector(Escalation()))
    (sample,) = evaluated(task, script, ran).samples
    assert NOTICE_MARKER in ran.seen[-1]
    assert not any(NOTICE_MARKER in message.text for message in sample.messages)


def test_who_else_approves_is_asked_after_the_guard():
    script, ran = Script(same(times=2)), Ran()
    others = [
        ApprovalPolicy(auto_approver("reject"), "search*"),
        ApprovalPolicy(auto_approver(), "*"),
    ]
    evaluated(made_task(script, ran, policies=LoopGuard().policies(*others)), script, ran)
    assert ran.searches == 0


def test_samples_are_told_apart():
    script, ran, hearer = Script(same(times=2)), Ran(), Hearer()
    task = made_task(script, ran, samples="abc", observers=[hearer])
    evaluated(task, script, ran)
    assert (ran.searches, hearer.heard) == (6, [])


def test_observers_hear_of_which_sample():
    script, ran, hearer = Script(same()), Ran(), Hearer()
    found = detector(LoopPolicy.STOP)
    task = made_task(script, ran, samples="ab", detector=found, observers=[hearer])
    evaluated(task, script, ran)
    assert len(hearer.runs) == 2
    assert len(set(hearer.runs)) == 2


def test_a_task_without_a_guard_is_left_alone():
    script, ran = Script(same()), Ran()
    task = made_task(script, ran, policies=[ApprovalPolicy(auto_approver(), "*")])
    (sample,) = evaluated(task, script, ran).samples
    assert (ran.searches, sample.scores["loop_free"].value) == (TIMES, 0)


def test_the_scorer_says_what_it_found_and_where():
    script, ran = Script(same()), Ran()
    task = made_task(script, ran, policies=[ApprovalPolicy(auto_approver(), "*")])
    log = evaluated(task, script, ran)
    stuck = log.samples[0].scores["loop_free"]
    assert (stuck.value, stuck.answer) == (0, "stuck")
    assert "was called 6 times in a row" in stuck.explanation
    assert stuck.metadata["detectors"] == ["repeat"]
    assert stuck.metadata["steps"][0] == 2
    (again,) = score(log, loop_free("escalating", ignore=["search"])).samples
    fine = again.scores["loop_free1"]
    assert (fine.value, fine.answer, fine.explanation) == (1, "loop_free", "no tool-call loop")


def test_a_preset_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="unknown preset 'strict'; choose from default"):
        loop_free("strict")


@pytest.mark.parametrize("log_format", ["eval", "json"])
def test_logs_that_inspect_writes_are_read(log_format, tmp_path, capsys):
    long = "no rule of the handbook matches this question. " * 9
    script, ran = Script(same(parallel=True), answers=[long]), Ran()
    task = made_task(script, ran, policies=[ApprovalPolicy(auto_approver(), "*")])
    (log,) = evaluate(
        task, model=scripted(script, ran), log_format=log_format, log_dir=str(tmp_path)
    )
    (run,) = read_runs(log.location)
    (sample,) = read_eval_log(log.location).samples
    said = [each for each in sample.messages if each.role == "tool"]
    assert [result.text for result in run.results] == [message.text for message in said]
    assert [call.tool_name for call in run.calls] == ["search", "note"] * TIMES
    assert [call.arguments for call in run.calls[:1]] == [{"query": "refunds"}]
    assert (run.run_id, run.model) == ("sample-0_epoch_1", "mockllm/model")
    assert (run.input_tokens, run.output_tokens, len(run.events)) == (70, 14, 7)
    assert main(["scan", log.location]) == 1
    said_by_scan = capsys.readouterr().out
    assert 'search "refunds"' in said_by_scan
    assert "3 times in a row" in said_by_scan


def test_errors_and_refusals_in_a_log_are_the_results_of_their_calls(tmp_path):
    script, ran = Script(same()), Ran()
    task = made_task(script, ran, detector=detector(Escalation(("block",))))
    (log,) = evaluate(task, model=scripted(script, ran), log_dir=str(tmp_path))
    (run,) = read_runs(log.location)
    assert [result.is_error for result in run.results] == [False] * 3 + [True] * 3
    assert run.results[-1].text.startswith(REFUSED_MARKER)
