"""Files of ATIF trajectories."""

STEP = {
    "step_id": 1,
    "source": "agent",
    "model_name": "m",
    "timestamp": "1970-01-01T00:00:10Z",
    "tool_calls": [{"tool_call_id": "1", "function_name": "ls", "arguments": {}}],
    "metrics": {"prompt_tokens": 5, "completion_tokens": 2, "cost_usd": 0.5},
}


def test_replies_are_events_and_are_added_up(read):
    last = {"step_id": 2, "source": "agent", "message": "done"}
    (run,) = read({"session_id": "s", "agent": {"name": "a"}, "steps": [STEP, last]})
    first, second = run.events
    assert (first.step, first.time_s, first.tokens, first.cost) == (0, 10.0, 7, 0.5)
    assert (second.step, second.time_s, second.tokens) == (1, None, None)
    assert (run.run_id, run.agent, run.model) == ("s", "a", "m")
    assert (run.input_tokens, run.output_tokens, run.cost) == (5, 2, 0.5)


def test_written_sums_go_before_counted_ones(read):
    sums = {"total_prompt_tokens": 50, "total_completion_tokens": 0, "total_cost_usd": 1}
    (run,) = read({"steps": [STEP], "final_metrics": sums})
    assert (run.input_tokens, run.output_tokens, run.cost) == (50, 0, 1.0)
    assert run.run_id == run.source


def test_trajectories_of_subagents_are_runs_of_their_own(read):
    inner = {"schema_version": "ATIF-v1.7", "trajectory_id": "inner", "steps": []}
    outer = {"schema_version": "ATIF-v1.7", "trajectory_id": "outer", "steps": [STEP]}
    runs = read({**outer, "subagent_trajectories": [inner, 7]})
    assert [run.run_id for run in runs] == ["outer", "inner"]


def test_other_lines_are_told(read):
    assert len(read({"steps": [STEP]}, {"steps": []}, {"steps": 7})) == 1
    assert [what.rpartition(":")[2] for what in read.trouble] == [
        " expected ATIF trajectories; skipped"
    ] * 2
