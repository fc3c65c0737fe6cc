"""SWE-agent's files."""

STEP = {"action": "ls", "observation": "a.py"}


def test_what_was_spent_and_how_it_ended_is_kept(read):
    spent = {"instance_cost": 0.5, "tokens_sent": 70, "tokens_received": 20}
    info = {"model_stats": spent, "exit_status": "exit_cost"}
    (run,) = read({"instance_id": "django-1", "trajectory": [STEP], "info": info})
    assert (run.run_id, run.cost, run.input_tokens, run.output_tokens) == ("django-1", 0.5, 70, 20)
    assert run.failed
    assert not read({"trajectory": [STEP], "info": {"exit_status": "submitted (exit_cost)"}})[
        0
    ].failed


def test_how_long_an_action_took_is_an_event(read):
    timed = {**STEP, "execution_time": 0.5}
    empty = {"action": "", "observation": "", "execution_time": 0.1}
    (run,) = read({"trajectory": [STEP, timed, empty]})
    assert [(event.step, event.tool, event.latency_ms) for event in run.events] == [(1, "ls", 500)]
    assert run.run_id == run.source


def test_other_lines_are_told(read):
    own = {"trajectory": [STEP]}
    assert len(read(own, {"trajectory": []}, {"history": [{"action": "run"}]}, 7)) == 1
    assert [what.rpartition(":")[2] for what in read.trouble] == [
        " expected SWE-agent trajectories; skipped"
    ] * 3
