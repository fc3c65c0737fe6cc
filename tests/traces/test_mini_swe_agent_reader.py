"""mini-swe-agent's files."""

import json

from antiloop.traces import read_runs


def test_cost_model_and_end_are_kept_and_other_lines_told(tmp_path):
    info = {
        "exit_status": "LimitsExceeded",
        "model_stats": {"instance_cost": 0.5},
        "config": {"model": {"model_name": "m"}},
    }
    own = {"trajectory_format": "mini-swe-agent-1", "messages": []}
    lines = [{**own, "instance_id": "x", "info": info}, own, {"messages": []}, 7]
    path = tmp_path / "f"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    trouble = []
    first, second = read_runs(str(path), on_trouble=trouble.append)
    assert (first.run_id, first.model, first.cost, first.failed) == ("x", "m", 0.5, True)
    assert (second.run_id, second.model, second.cost, second.failed) == (
        second.source,
        *[None] * 2,
        False,
    )
    assert [what.rpartition(":")[2] for what in trouble] == [
        " no mini-swe-agent trajectory here; skipped"
    ] * 2
