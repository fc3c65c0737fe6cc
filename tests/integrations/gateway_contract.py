"""The contract, for adapters that stand between agents and their model."""

import json

import pytest
from contract import Contract, Ran, Script, detector, same
from gateway_clients import AGENTS

from antiloop import LoopPolicy
from antiloop.loop_detection import Escalation


class GatewayContract(Contract):
    """The lines of the contract for one API, and what takes the place of the holes."""

    kind: str
    """The API."""
    running = None

    @staticmethod
    def start():
        """Return a context of the gateway: its URL, its model, and what sets its guard."""
        raise NotImplementedError

    @pytest.fixture(autouse=True)
    def _gateway(self, gateway_of, monkeypatch):
        # Of the class: the test itself goes into another process.
        monkeypatch.setattr(GatewayContract, "running", gateway_of(type(self).start))

    def ask(self, mode, script, ran, conversation=None, **options):
        """Carry out a script, and give the agent."""
        url, model, set_guard = self.running
        model.serve(script, ran)
        set_guard(**options)
        agent = AGENTS[self.kind](url, mode, script, ran, conversation)
        self.kept = agent.conversation
        return agent.run()

    def carry_out(self, mode, script, ran, **options):
        self.ask(mode, script, ran, **options)

    def talk(self, script, ran, **options):
        said = []

        def speak():
            said.append({"role": "user", "content": "Go"})
            said[:] = self.ask("sync", script, ran, list(said), **options).conversation

        return speak

    def begin(self, store, script, **options):
        with self.start() as self.running:
            try:
                self.carry_out("sync", script, Ran(), **options)
            finally:
                store.write_text(json.dumps(self.kept))

    def go_on(self, store, script, ran, **options):
        self.ask("sync", script, ran, json.loads(store.read_text()), **options)

    def test_a_stopped_agent_is_answered_why(self, mode):
        agent = self.ask(mode, Script(same()), Ran(), detector=detector(LoopPolicy.STOP))
        assert agent.answer.startswith("Stopped: the agent was stuck in a loop. Tool 'search' was")

    def test_where_no_tool_may_be_called_the_model_is_told_why(self, mode):
        ran, options = Ran(), {"detector": detector(Escalation(("block",)))}
        agent = self.ask(mode, Script(same(parallel=True)), ran, **options)
        assert (ran.searches, ran.asked, agent.answer) == (3, 4, "done")
        (told,) = [text for text in ran.seen if "No tool can be called now" in text]
        assert "was called 3 times in a row" in told

    def test_a_raise_is_an_error_with_the_status_400(self, mode):
        ran = Ran()
        with pytest.raises(Exception, match="was called 3 times in a row") as caught:
            self.ask(mode, Script(same()), ran, detector=detector(LoopPolicy.RAISE))
        assert (caught.value.status_code, ran.searches, ran.asked) == (400, 3, 3)

    def test_a_user_who_says_try_again_is_heard(self, mode):
        ran, options = Ran(), {"detector": detector(LoopPolicy.STOP)}
        agent = self.ask(mode, Script(same()), ran, **options)
        said = [*agent.conversation, {"role": "user", "content": "Try again."}]
        self.ask(mode, Script(same()), ran, said, **options)
        assert ran.searches == 6
