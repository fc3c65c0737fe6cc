"""Answers that say that work is under way: in an object, in a text, in a table."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import step, verdicts

from antiloop import LoopDetector
from antiloop.loop_detection._evidence.outcome import Outcome, outcome
from antiloop.loop_detection._evidence.structure import form_of


@pytest.mark.parametrize("name", ["status", "state", "phase"])
def test_each_field_of_a_state_says_that_work_is_under_way(name):
    assert form_of(json.dumps({"id": 7, name: "queued"})).is_under_way


@pytest.mark.parametrize("status", ["working", {"state": "working", "timestamp": "2026-06-11"}])
def test_a_task_that_is_working_is_under_way(status):
    assert form_of(json.dumps({"taskId": "a7", "status": status})).is_under_way
    assert not form_of(json.dumps({"taskId": "a7", "note": "working"})).is_under_way
    assert outcome("Status: working") is Outcome.SUCCESS  # so says what is well


@given(st.sampled_from(["pending", "queued", "in_progress"]), st.integers(0, 99), st.integers(0, 9))
def test_a_count_of_what_is_not_done_says_that_work_is_under_way(name, left, done):
    answer = json.dumps({"total": left + done, "passed": done, name: left})
    assert form_of(answer).is_under_way == (left > 0)
    assert not form_of(answer.replace(name, "skipped")).is_under_way


@pytest.mark.parametrize(
    "name", ["done", "is_done", "isFinished", "ready", "completed", "Complete", "jobComplete"]
)
def test_what_is_not_done_by_its_field_is_under_way(name):
    assert outcome(json.dumps({"id": 7, name: False})) is Outcome.WAITING
    assert outcome(json.dumps({"id": 7, name: True})) is Outcome.SUCCESS
    assert outcome(json.dumps({"id": 7, name: None})) is Outcome.SUCCESS
    assert outcome(json.dumps({"id": 7, f"{name}_by": False})) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["unfinished", "already"])
def test_a_name_that_only_ends_like_such_a_field_says_nothing(name):
    assert outcome(json.dumps({"id": 7, name: False})) is Outcome.SUCCESS


@pytest.mark.parametrize("begin", ["startedAt", "start_time", "queued_at", "submittedOn"])
@pytest.mark.parametrize(
    "end", ["completedAt", "completeTime", "endTime", "finished_at", "stoppedAt", "completion_date"]
)
def test_what_has_a_time_of_its_start_and_none_of_its_end_is_under_way(begin, end):
    fields = {begin: "2026-11-03T09:00:00Z", end: None}
    assert outcome(json.dumps(fields)) is Outcome.WAITING
    assert outcome(json.dumps({**fields, end: "2026-11-03T09:10:00Z"})) is Outcome.SUCCESS
    assert outcome(json.dumps({**fields, begin: None, "id": 7})) is Outcome.SUCCESS
    # An open issue is no work under way.
    issue = {"created_at": "2026-11-03T09:00:00Z", "closed_at": None}
    assert outcome(json.dumps(issue)) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["building", "isRunning", "in_progress", "inProgress"])
@pytest.mark.parametrize("end", ["result", "conclusion", "finishedAt"])
def test_what_goes_on_by_its_field_and_has_no_result_is_under_way(name, end):
    assert outcome(json.dumps({name: True, end: None})) is Outcome.WAITING
    assert outcome(json.dumps({name: True, end: "SUCCESS"})) is Outcome.SUCCESS
    assert outcome(json.dumps({name: False, end: None, "id": 7})) is Outcome.SUCCESS
    assert outcome(json.dumps({"existing": True, end: None})) is Outcome.SUCCESS
    assert outcome(json.dumps({name: True, "parent": None})) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["exitCode", "exit_code", "exit_status"])
def test_a_program_without_an_exit_code_runs(name):
    assert outcome(json.dumps({"id": 7, name: None, "stdout": ""})) is Outcome.WAITING
    assert outcome(json.dumps({"id": 7, "code": None, "stdout": ""})) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["progress", "percent", "progressPercent", "percent_complete"])
@pytest.mark.parametrize("share", [0, 0.0, 0.35, 2, 40, 99.5])
def test_a_share_that_is_done_is_of_work_under_way(name, share):
    assert outcome(json.dumps({"id": 7, name: share})) is Outcome.WAITING
    for done in (1, 1.0, 100, 100.0, -1, "all", True):
        assert outcome(json.dumps({"id": 7, name: done})) is Outcome.SUCCESS
    assert outcome(json.dumps({"id": 7, f"cpu_{name}": share})) is Outcome.SUCCESS


@pytest.mark.parametrize("name", ["status", "statusCode", "http_status"])
def test_what_is_accepted_by_its_status_is_under_way(name):
    assert outcome(json.dumps({name: 202, "body": ""})) is Outcome.WAITING
    assert outcome(json.dumps({name: 200, "body": ""})) is not Outcome.WAITING


@pytest.mark.parametrize("job", [{"done": False}, {"startedAt": "09:00", "endedAt": None}])
def test_one_of_many_that_is_not_done_says_nothing(job):
    """Some of the items of a list are always open."""
    job = {"id": 7, **job}
    assert outcome(json.dumps([job])) is Outcome.WAITING
    assert outcome(json.dumps([job, {**job, "id": 8}])) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "answer",
    [
        '{"id": "b", "status": "validating"}',
        '{"phase": "ContainerCreating", "ready": 0}',
        '"CREATE_IN_PROGRESS"',
        '{"lastStatus": "PROVISIONING"}',
        '{"status": "running", "output": "The first of two steps went well"}',
        "Export 7\nProgress: 40%",
        "progress 99.5 %",
        "build\tpending\t0\thttps://ci/1",
        "NAME    READY   STATUS\nweb-1   0/1     Pending   0",
        "queued\t\tFix\tCI\tmain",
        "JOBID PARTITION NAME USER ST TIME\n55 gpu train u PD 0:00",
        '{"status": 503, "detail": "x"}',
    ],
)
def test_a_state_says_that_work_is_under_way(answer):
    assert outcome(answer) is Outcome.WAITING


def checks(state):
    names = ["build linux", "build mac", "build windows", "docs", "lint", "types", "unit"]
    rows = [f"{name}\tpass\t4m{n}s\thttps://ci.example/runs/{n}" for n, name in enumerate(names)]
    return "\n".join([*rows, f"end to end\t{state}\t0\thttps://ci.example/runs/9", *rows])


def pods(state):
    rows = [f"web-{n}-5d9f   1/1     Running   0          4d" for n in range(12)]
    return "\n".join(["NAME         READY   STATUS    AGE", f"api-7   1/1   {state}   9s", *rows])


@pytest.mark.parametrize("table", [checks, pods, lambda state: checks("pass") + f"\ne2e\t{state} "])
@pytest.mark.parametrize("state", ["pending", "Pending", "queued", "IN_PROGRESS", "creating"])
def test_one_open_cell_of_a_long_table_says_that_work_is_under_way(table, state):
    assert outcome(table(state)) is Outcome.WAITING
    assert outcome(table("Running")) is Outcome.SUCCESS
    assert outcome(table(f"{state} review")) is Outcome.SUCCESS
    assert outcome(table(state), is_error=True) is Outcome.FAILURE


@pytest.mark.parametrize(
    "line",
    ["    12\tpending  # yet", "   - pending   # yet", "are  (pending)  there", "is pending "],
)
def test_a_state_outside_of_a_cell_says_nothing(line):
    lines = [f"word {n}   and more" for n in range(30)]
    assert outcome("\n".join([*lines, line])) is Outcome.SUCCESS


JOBS = {
    "inside": lambda job: {"data": {"run": job}},
    "only one": lambda job: [job],
    "one in a list": lambda job: {"jobs": [job], "next": None},
}


@pytest.mark.parametrize("wrap", [dict, *JOBS.values()])
@pytest.mark.parametrize(
    "state",
    [
        {"status": "in_progress"},
        {"StackStatus": "CREATE_IN_PROGRESS"},
        {"buildPhase": "Provisioning"},
        {"decision": "pending"},
        {"queued": 3},
        {"status": "IN_QUEUE"},
    ],
)
def test_a_job_may_stand_inside_of_another_object(wrap, state):
    assert outcome(json.dumps(wrap({"id": 7, **state}))) is Outcome.WAITING


@pytest.mark.parametrize("wrap", [dict, *JOBS.values()])
@given(st.permutations(["active", "running", "failed", "validating"]), st.integers(0, 4))
def test_of_several_things_one_is_always_running_but_one_to_be_done_is_waited_for(wrap, states, at):
    others = [{"id": at, "status": state, "pending": 3} for at, state in enumerate(states)]
    for state in ("pending", "Queued", "in_progress"):
        items = [*others[:at], {"id": 7, "status": state}, *others[at:]]
        assert outcome(json.dumps(wrap({"items": items}))) is Outcome.WAITING
        items = [*others[:at], {"id": 7, "mood": state}, *others[at:]]
        assert outcome(json.dumps(wrap({"items": items}))) is Outcome.SUCCESS


@pytest.mark.parametrize("done", ["success", "Succeeded", "completed", "complete", "done"])
@given(st.permutations(["running", "failed", None, "skipped"]), st.integers(0, 4))
def test_where_one_of_several_jobs_is_done_the_others_will_be(done, states, at):
    jobs = [{"id": at, "state": state} for at, state in enumerate(states)]
    assert outcome(json.dumps({"tasks": jobs})) is Outcome.SUCCESS
    jobs.insert(at, {"id": 7, "state": done})
    assert outcome(json.dumps({"tasks": jobs})) is Outcome.WAITING
    over = [job for job in jobs if job["state"] != "running"]
    assert outcome(json.dumps({"tasks": over})) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "fields", [{"pending": 0}, {"mood": "running"}, {"status": "existing"}, {"queued": True}]
)
def test_a_field_that_is_no_state_of_a_job_says_nothing(fields):
    for wrap in JOBS.values():
        assert outcome(json.dumps(wrap({"id": 7, **fields}))) is Outcome.SUCCESS


def test_a_state_that_lies_too_deep_is_part_of_the_data():
    nested = {"status": "queued"}
    for _ in range(4):
        nested = {"inner": nested}
    assert outcome(json.dumps(nested)) is Outcome.SUCCESS
    assert outcome(json.dumps(nested["inner"])) is Outcome.WAITING


@pytest.mark.parametrize("state", ["missing", "existing", "done", "ready"])
def test_not_every_state_is_one_of_work(state):
    assert outcome(json.dumps({"id": 7, "status": state})) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "answer",
    [
        "Status: building",
        "id   dpl_1\n  status   ● Building\nage  2m",
        "Health Status: Progressing",
        "Phase: Init\nState=provisioning",
        "in progress\n✓ build (ID 1)\n* tests (ID 2)\n  * Run tests",
        "Waiting for deployment web to finish: 1 of 3 updated replicas are available...",
        "Still waiting on the lock",
        "db   Up 3 seconds (health: starting)   5432/tcp",
        "[1]+  Running                 make -j8 > build.log 2>&1 &",
        "Build in progress. 90 seconds remaining",
        "<retrieval_status>timeout</retrieval_status>\n\n<id>b3</id>\n\n<status>running</status>",
        "web   LoadBalancer   10.0.0.1   <pending>   80/TCP",
    ],
)
def test_a_text_names_its_state_as_an_object_does(answer):
    assert outcome(answer) is Outcome.WAITING


@pytest.mark.parametrize(
    "answer",
    [
        "status: string",
        "State: Wyoming",
        "state-tracking is merged",
        "Progress: 100%",
        "Battery: 40%",
        "HEAD is now at fbe998b Initial state\nRemoving a.diff",
        "Created issue 8: status checking by relay",
        "Running 5 tests. All passed",
    ],
)
def test_a_word_in_a_text_is_no_state(answer):
    assert outcome(answer) is Outcome.SUCCESS


def test_what_is_not_at_work_is_not_waited_for():
    assert outcome("The job is now running") is Outcome.WAITING
    assert outcome("The job is not running") is Outcome.FAILURE


@given(st.integers(0, 40), st.integers(1, 40), st.booleans())
def test_what_is_not_ready_in_a_table_is_under_way(ready, wanted, is_tabbed):
    row = ["web-1", f"{ready}/{wanted}", "Running", "0", "4d"]
    others = ["db-1", "2/2", "Running", "0", "4d"]
    table = [("\t" if is_tabbed else "   ").join(each) for each in (others, row, others)]
    table.insert(0, "NAME    READY   STATUS    RESTARTS   AGE")
    expected = Outcome.WAITING if ready < wanted else Outcome.SUCCESS
    assert outcome("\n".join(table)) is expected
    assert outcome("\n".join(table * 4)) is expected


@pytest.mark.parametrize("name", ["pendingCount", "pending_count", "Queued", "inProgress"])
def test_a_field_counts_what_is_not_done(name):
    expected = Outcome.SUCCESS if name == "inProgress" else Outcome.WAITING
    assert outcome(json.dumps({"desired": 2, name: 2})) is expected
    assert outcome(json.dumps({"desired": 2, f"{name}_at": 1_700_000_000})) is Outcome.SUCCESS


@pytest.mark.parametrize(
    "answer",
    [
        "Task b1 has not finished",
        "Job 7 hasn't completed.",
        "The agent is not done",
        "Your export isn't ready yet.",
        "Query q9 is not complete yet; check again in a minute",
        "Agent a7 has not yet finished its turn.",
        "Not done yet",
        "Not finished.",
        "The job is still busy.",
    ],
)
@pytest.mark.parametrize("preset", ["default", "escalating", "thorough"])
def test_what_is_not_over_yet_is_under_way(preset, answer):
    assert outcome(answer) is Outcome.WAITING
    asked = [step("get_result", answer, id="b1")] * 9
    found = verdicts(getattr(LoopDetector, preset)(), *([each] for each in asked))
    assert {each.action.value for each in found} == {"continue"}


@pytest.mark.parametrize(
    "answer",
    [
        "Build 12 has not finished because of errors in main.c",
        "Transaction was not completed. The card is invalid.",
        "Upload not completed: no space left",
        "Your profile is not complete.",
        "Error: not done yet",
    ],
)
def test_what_did_not_end_well_is_over(answer):
    assert outcome(answer) is Outcome.FAILURE
