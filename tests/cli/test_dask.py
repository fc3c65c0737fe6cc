"""A scan by a real Dask cluster of two workers on this machine."""

import json
from argparse import Namespace
from importlib import import_module

import pytest

from antiloop.cli import main
from antiloop.cli._command import CommandFailed
from antiloop.cli._engines.parallel import in_order
from antiloop.traces import _pieces as pieces

distributed = pytest.importorskip("distributed", reason='needs the extra: "antiloop[dask]"')

STEP = {"tool_name": "ls", "arguments": {"p": "."}, "result": "a.py"}


@pytest.fixture(scope="module")
def cluster():
    """Start a cluster as somebody else would, and give its address without the scheme."""
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with distributed.LocalCluster(2, **options) as running:
        yield running.scheduler_address.partition("://")[2]


@pytest.fixture
def archive(tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "SMALL_FILE", 1_000)
    monkeypatch.setattr(pieces, "PIECE", 500)
    for name in ("a.jsonl", "b.jsonl"):
        runs = [{"run_id": f"{name} {n}", "steps": [STEP] * (n % 5)} for n in range(40)]
        lines = [json.dumps(run) for run in runs]
        lines[7] = "{broken"
        (tmp_path / name).write_text("\n".join(lines))
    (tmp_path / "notes").write_text("no trace")
    return str(tmp_path)


def scanned(capfd, *arguments):
    status = main(["scan", *arguments])
    return status, *capfd.readouterr()


@pytest.mark.parametrize("output", ["text", "json", "jsonl", "sarif"])
def test_a_cluster_prints_what_is_printed_here(cluster, archive, capfd, output):
    here = scanned(capfd, "--format", output, archive)
    assert here[0] == 1
    there = scanned(capfd, "--format", output, "--engine", f"dask://{cluster}", archive)
    assert there == here


def test_both_workers_take_part(cluster, archive, capfd):
    with distributed.Client(cluster, set_as_default=False) as client:
        main(["scan", "--engine", f"dask://{cluster}", archive])
        told = client.run(lambda dask_worker: dask_worker.state.task_counter.current_count())
        logs = client.run(lambda dask_worker: len(dask_worker.state.log))
    assert len(told) == len(logs) == 2
    assert all(count > 0 for count in logs.values())


def test_a_cluster_of_its_own_prints_the_same(archive, capfd):
    here = scanned(capfd, archive)
    assert scanned(capfd, "--engine", "dask", "--jobs", "2", archive) == here


def test_no_cluster_at_an_address_is_2_and_told(archive, capfd, monkeypatch):
    from antiloop.cli._engines import dask_cluster

    monkeypatch.setattr(dask_cluster, "_TIMEOUT_S", 0.1)
    status, out, err = scanned(capfd, "--engine", "dask://127.0.0.1:1", archive)
    assert (status, out) == (2, "")
    assert err.startswith("antiloop: --engine dask://127.0.0.1:1: ")


@pytest.mark.parametrize("address", ["", "cluster", ":8786", "cluster:", "cluster:port"])
def test_an_address_without_host_or_port_is_2_and_told(address, archive, capfd):
    told = f"antiloop: --engine dask://{address}: write the address as dask://HOST:PORT\n"
    assert scanned(capfd, "--engine", f"dask://{address}", archive) == (2, "", told)


def test_workers_without_the_package_are_told(cluster):
    asked = Namespace(engine=f"dask://{cluster}", jobs=None)
    with pytest.raises(CommandFailed, match="--engine dask: No module named 'no_such_package'"):
        list(in_order(import_module, ["no_such_package"], asked))
