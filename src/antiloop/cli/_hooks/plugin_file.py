"""The plugin of an agent that does not accept commands as hooks: one file, written by antiloop."""

import json
import re
import shlex
from importlib import resources
from typing import Any, Dict, List

from .agent_settings import AgentSettings

_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


class PluginFile(AgentSettings):
    """Describe where an agent keeps its plugins; the settings are the text of our plugin."""

    @property
    def _mark(self) -> str:
        return f"// antiloop hook {self.name}"

    def parsed(self, text: str) -> Any:
        """Read the file."""
        return text

    def written(self, settings: Any) -> str:
        """Return the text of the file."""
        return str(settings)

    def with_hook(self, settings: Any, command: str) -> Any:
        """Return the plugin that calls the hook like this.

        Raises:
            ValueError: if the file holds another plugin.
        """
        self.without_hook(settings)
        source = (resources.files(__package__) / f"{self.name}_plugin.js").read_text("utf-8")
        words = json.dumps(shlex.split(command))
        return _COMMAND.sub(lambda _: f"const COMMAND = {words}", source, count=1)

    def without_hook(self, settings: Any) -> Any:
        """Return an empty file.

        Raises:
            ValueError: if the file holds another plugin.
        """
        if settings.strip() and not settings.startswith(self._mark):
            raise ValueError("another plugin has this name; move it elsewhere")
        return ""

    def commands_in(self, settings: Any) -> Dict[str, List[str]]:
        """Return the commands that call the hook, by event.

        Raises:
            ValueError: if the file holds another plugin, or no command that can be read.
        """
        self.without_hook(settings)
        found = _COMMAND.search(settings)
        words = json.loads(found[1]) if found else []
        if found and not (words and all(isinstance(word, str) for word in words)):
            raise ValueError("COMMAND must be a list of texts; run --install again")
        return dict.fromkeys(self.events, [shlex.join(words)] if found else [])
