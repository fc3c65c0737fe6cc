"""The coding clients: how each is started against a scripted model, and where its sessions are.

python tests/clients/programs.py   # the packages that are to be installed from the npm registry
"""

import json
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

PROMPT = "Please look for NOT_THERE."
Started = Tuple[List[str], Dict[str, str]]
"""Arguments and environment."""


class Client(NamedTuple):
    """A client.

    Args:
        title: its name for people.
        package: in the npm registry.
        program: its name.
        hook: its name for ``antiloop hook``; empty where it has no hooks.
        sessions: the folder or file of its sessions, in its home.
        start: prepares a run; given the address of the model, the home and the project.
        go_on: prepares a second prompt in the same session, given the home, for a client that
            compacts its context only when a person speaks.
    """

    title: str
    package: str
    program: str
    hook: str
    sessions: str
    start: Callable[[str, Path, Path], Started]
    go_on: Optional[Callable[[Path], List[str]]] = None


def _claude(address: str, home: Path, project: Path) -> Started:
    quiet = ("NONESSENTIAL_TRAFFIC", "AUTOUPDATER", "TELEMETRY", "ERROR_REPORTING")
    environment = {
        "ANTHROPIC_BASE_URL": address,
        "ANTHROPIC_API_KEY": "scripted",
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        **{f"DISABLE_{name}": "1" for name in quiet[1:]},
    }
    return ["-p", PROMPT, "--dangerously-skip-permissions"], environment


def _codex(address: str, home: Path, project: Path) -> Started:
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(
        'model = "gpt-5.1-codex"\nmodel_provider = "scripted"\n'
        "model_auto_compact_token_limit = 200000\n"
        f'[projects."{project}"]\ntrust_level = "trusted"\n'
        '[model_providers.scripted]\nname = "scripted"\nwire_api = "responses"\n'
        f'env_key = "SCRIPTED_KEY"\nbase_url = "{address}/v1"\n',
        encoding="utf-8",
    )
    flags = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox")
    return ["exec", *flags, "--skip-git-repo-check", PROMPT], {
        "CODEX_HOME": str(settings.parent),
        "SCRIPTED_KEY": "scripted",
    }


def _gemini(address: str, home: Path, project: Path) -> Started:
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    # With an own address, another kind of login would be chosen, which is not one for everybody.
    login = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    settings.write_text(json.dumps(login), encoding="utf-8")
    return ["-p", PROMPT, "--yolo"], {
        "GEMINI_API_KEY": "scripted",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_TELEMETRY_ENABLED": "false",
        "GOOGLE_GEMINI_BASE_URL": address,
        "NO_BROWSER": "1",
    }


def _gemini_goes_on(home: Path) -> List[str]:
    """Go on with a session whose context is full: its size is only estimated then."""
    settings = home / ".gemini" / "settings.json"
    known = json.loads(settings.read_text(encoding="utf-8"))
    known["model"] = {"compressionThreshold": 0.0003}
    settings.write_text(json.dumps(known), encoding="utf-8")
    return ["--resume", "latest", "-p", PROMPT, "--yolo"]


def _qwen(address: str, home: Path, project: Path) -> Started:
    return ["-p", PROMPT, "--yolo", "--auth-type", "openai"], {
        "OPENAI_API_KEY": "scripted",
        "OPENAI_MODEL": "scripted",
        "OPENAI_BASE_URL": f"{address}/v1",
    }


def _copilot(address: str, home: Path, project: Path) -> Started:
    return ["-p", PROMPT, "--allow-all-tools"], {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_BASE_URL": f"{address}/v1",
        "COPILOT_PROVIDER_API_KEY": "scripted",
        "COPILOT_MODEL": "gpt-4.1",
        "COPILOT_AUTO_UPDATE": "false",
        "COPILOT_ALLOW_ALL": "true",
    }


def _opencode(address: str, home: Path, project: Path) -> Started:
    model = {"name": "scripted", "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": f"{address}/v1", "apiKey": "scripted"},
        "models": {"scripted": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "permission": "allow",
        "provider": {"scripted": provider},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
    }
    (project / "opencode.json").write_text(json.dumps(settings), encoding="utf-8")
    return ["run", PROMPT], {}


CLIENTS: Dict[str, Client] = {
    "claude-code": Client(
        *("Claude Code", "@anthropic-ai/claude-code", "claude", "claude-code"),
        *(".claude/projects", _claude),
    ),
    "codex": Client("Codex", "@openai/codex", "codex", "codex", ".codex/sessions", _codex),
    "gemini-cli": Client(
        *("Gemini CLI", "@google/gemini-cli", "gemini", "gemini-cli"),
        *(".gemini/tmp", _gemini, _gemini_goes_on),
    ),
    "copilot": Client(
        "Copilot CLI", "@github/copilot", "copilot", "copilot", ".copilot/session-state", _copilot
    ),
    "opencode": Client(
        *("opencode", "opencode-ai", "opencode", "opencode"),
        *(".local/share/opencode/opencode.db", _opencode),
    ),
    "qwen-code": Client("Qwen Code", "@qwen-code/qwen-code", "qwen", "", ".qwen/projects", _qwen),
}
"""By their names."""


if __name__ == "__main__":
    print(*(client.package for client in CLIENTS.values()))
