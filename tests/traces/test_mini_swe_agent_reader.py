"""mini-swe-agent's files."""

OWN = {"trajectory_format": "mini-swe-agent-1", "messages": []}


def test_cost_model_and_end_are_kept_and_other_lines_told(read):
    info = {
        "exit_status": "LimitsExceeded",
        "model_stats": {"instance_cost": 0.5},
        "config": {"model": {"model_name": "m"}},
    }
    first, second = read({**OWN, "instance_id": "x", "info": info}, OWN, {"messages": []}, 7)
    assert (first.run_id, first.model, first.cost, first.failed) == ("x", "m", 0.5, True)
    assert (second.run_id, second.model, second.cost) == (second.source, None, None)
    assert not second.failed
    assert [what.rpartition(":")[2] for what in read.trouble] == [
        " expected mini-swe-agent trajectories; skipped"
    ] * 2


def test_each_reply_that_tells_what_it_took_is_an_event(read):
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    extra = {"cost": 0.25, "response": {"model": "m", "usage": usage}}
    asks = {"role": "assistant", "content": "```bash\nls\n```"}
    seen = {"role": "user", "content": "a.py"}
    (run,) = read({**OWN, "messages": [asks, seen, {**asks, "extra": extra}, seen]})
    assert [(event.step, event.tokens, event.cost, event.model) for event in run.events] == [
        (1, 7, 0.25, "m")
    ]
    assert (run.input_tokens, run.output_tokens, run.cost) == (5, 2, None)
