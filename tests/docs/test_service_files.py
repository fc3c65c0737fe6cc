"""The recipes for services: they name each other's ports and secrets, and build where Docker is."""

import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest

from antiloop.cli import _parser
from antiloop.cli._command import COULD_NOT_RUN, FOUND
from antiloop.cli._live.board import Board
from antiloop.cli._live.page_server import PageServer, token_of_environment

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "examples" / "service"
TOKEN = "a" * 16 + "-_" + "Z9" * 8
SECRETS = {"DOMAIN": "localhost", "SESSIONS": "/tmp", "LITELLM_MASTER_KEY": "sk-1"}


@pytest.fixture(scope="module")
def compose():
    yaml = pytest.importorskip("yaml", reason="reads the Compose file")
    return yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))


def test_the_proxy_leads_where_the_services_listen(compose):
    services, proxy = compose["services"], (FOLDER / "Caddyfile").read_text("utf-8")
    watch = services["watch"]["command"]
    port = watch[watch.index("--serve") + 1]
    assert f"reverse_proxy 127.0.0.1:{port}" in proxy
    assert f"header_up Host 127.0.0.1:{port}" in proxy
    gateway = services["gateway"]["entrypoint"]
    assert f"reverse_proxy gateway:{gateway[gateway.index('--port') + 1]}" in proxy
    assert services["proxy"]["network_mode"] == "service:watch"
    for name in re.findall(r"\{\$(\w+)\}", proxy):
        assert name in services["proxy"]["environment"]
    for service in services.values():
        for volume in service["volumes"]:
            local = volume.partition(":")[0]
            assert not local.startswith("./") or (FOLDER / local).is_file()


def test_every_secret_is_asked_for(compose):
    head = (FOLDER / "compose.yaml").read_text("utf-8").partition("services:")[0]
    wanted = set(re.findall(r"\$\{(\w+)", str(compose)))
    assert wanted == set(re.findall(r"^#   (\w+)=", head, re.MULTILINE))


def test_the_commands_of_the_recipes_are_understood(compose):
    assert _parser().parse_args(compose["services"]["watch"]["command"]).serve == 8000
    unit = (FOLDER / "antiloop-watch.service").read_text("utf-8")
    [command] = re.findall(r"^ExecStart=\S+/antiloop (.+)$", unit, re.MULTILINE)
    assert _parser().parse_args(command.split()).serve == 8000


def test_the_image_is_built_of_what_is_let_through():
    dockerfile = (FOLDER / "Dockerfile").read_text("utf-8")
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text("utf-8")
    copied = {
        name
        for line in re.findall(r"^COPY (.+)$", dockerfile, re.MULTILINE)
        for name in line.split()[:-1]
    }
    assert copied == set(re.findall(r"^!(.+)$", ignored, re.MULTILINE))
    assert all((ROOT / name).exists() for name in copied)


def test_the_unit_is_not_failed_by_a_finding_nor_started_again_for_a_wrong_token():
    unit = (FOLDER / "antiloop-watch.service").read_text("utf-8")
    for line in (f"SuccessExitStatus={FOUND}", f"RestartPreventExitStatus={COULD_NOT_RUN}"):
        assert f"\n{line}\n" in unit


def get(url, **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(url, headers=named)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_a_page_behind_a_proxy_keeps_its_token_and_turns_others_away(monkeypatch):
    monkeypatch.setenv("ANTILOOP_TOKEN", TOKEN)
    with closing(PageServer(Board(), str, print)) as server:
        assert server.url.endswith(f"/{TOKEN}/")
        assert get(server.url, Sec_Fetch_Site="none") == 200
        assert get(server.url, Sec_Fetch_Site="same-origin") == 200
        assert get(server.url, Sec_Fetch_Site="cross-site") == 403
        assert get(server.url.replace(TOKEN, TOKEN[:-1])) == 403


@pytest.mark.parametrize("token", ["short", "a" * 31, "a" * 257, "a/" * 20, "\u00e9" * 40])
def test_a_token_that_could_be_guessed_is_refused(token, monkeypatch):
    monkeypatch.setenv("ANTILOOP_TOKEN", token)
    with pytest.raises(ValueError, match="ANTILOOP_TOKEN must be 32 to 256"):
        token_of_environment()


def docker_works():
    """Return whether images can be built: the program may be there without its service."""
    if "CI" not in os.environ or not shutil.which("docker"):
        return False
    asked = (["docker", "compose", "version"], ["docker", "info"])
    return not any(subprocess.run(each, capture_output=True).returncode for each in asked)


@pytest.mark.skipif(not docker_works(), reason="needs Docker and its service")
def test_the_image_builds_and_the_compose_file_is_understood():
    environment = {**os.environ, **SECRETS, "ANTILOOP_TOKEN": TOKEN}
    for command in (
        ["docker", "compose", "config", "-q"],
        ["docker", "compose", "build", "watch"],
        ["docker", "compose", "run", "--rm", "--no-deps", "watch", "--version"],
    ):
        done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
