"""The clients that a user declares, and which of them a recorded run is of."""

from dataclasses import replace
from typing import Collection, Iterable

from ..formats._internal import read_by
from ..loop_detection import ClientProfile
from ..loop_detection._internal import PROFILES
from ._recorded_run import Client, RecordedRun


class OwnClients:
    """Finds the client of a run among the declared ones, and reads the run by its profile."""

    def __init__(self, profiles: Iterable[ClientProfile] = ()) -> None:
        self._profiles = {each.name: each for each in profiles}

    def __bool__(self) -> bool:
        return bool(self._profiles)

    @property
    def profiles(self) -> Collection[ClientProfile]:
        """The declared ones, one of a name."""
        return self._profiles.values()

    def known(self, client: Client, tools: Collection[str] = ()) -> Client:
        """Return the declared profile of a run's client, else the name of a known one, or None.

        Args:
            client: the recording's own word.
            tools: those that the run has used; they tell where the recording says nothing. Other
                than a request it does not show which were offered.
        """
        if isinstance(client, str):
            return self._profiles.get(client) or (client if client in PROFILES else None)
        if client is not None or not (tools and self._profiles):
            return client
        own = self._profiles.values()
        alone = (each for each in own if set(tools) <= set(each.tools))
        return ClientProfile.of_tools(tools, own) or next(alone, None)

    def read(self, run: RecordedRun) -> RecordedRun:
        """Return a run as the profile of its client shows it."""
        client = self.known(run.client, {call.tool_name for call in run.calls})
        if isinstance(client, ClientProfile):
            return replace(run, client=client, **vars(read_by(client, run)))
        return run if client == run.client else replace(run, client=None)


NO_OWN = OwnClients()
"""No client is declared."""
