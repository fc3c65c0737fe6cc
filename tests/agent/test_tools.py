from __future__ import annotations

import enum
import functools
from dataclasses import dataclass, fields
from typing import Any, Dict, List, Literal, Optional

import pytest

from antiloop import ToolCall, ToolResult, tool
from antiloop.agent import Tool
from antiloop.agent._tools import ToolOptions
from antiloop.agent._tools.results import result_of
from antiloop.agent._tools.toolbox import Invocation, Toolbox
from antiloop.loop_detection import ToolPolicy


class Unit(enum.Enum):
    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Place:
    city: str
    country: str = "IT"

    def __post_init__(self) -> None:
        if not self.city:
            raise ValueError("city must not be empty")


def weather(
    place: Place, days: int = 3, unit: Unit = Unit.CELSIUS, detail: Literal["low", "high"] = "low"
) -> Any:
    """Tell the weather.

    Args:
        place: where.
        days: how many
            days ahead.
    """
    return place, days, unit, detail


def prepared(function: Any, arguments: Any) -> Any:
    box = Toolbox([function])
    return box.prepare(ToolCall(box.schemas[0].name, arguments))


def run(function: Any, arguments: Any) -> Any:
    """Return what the function gets."""
    invocation = prepared(function, arguments)
    assert isinstance(invocation, Invocation), invocation
    return invocation.tool.function(*invocation.bound.args, **invocation.bound.kwargs)


def refused(function: Any, arguments: Any) -> str:
    result = prepared(function, arguments)
    assert isinstance(result, ToolResult), result
    assert result.is_error
    return result.text


def test_a_function_is_described_by_its_signature_and_docstring():
    [schema] = Toolbox([weather]).schemas
    assert schema.name == "weather"
    assert schema.description == "Tell the weather."
    assert schema.parameters["required"] == ["place"]
    assert schema.parameters["additionalProperties"] is False
    assert schema.parameters["properties"]["days"] == {
        "type": "integer",
        "default": 3,
        "description": "how many days ahead.",
    }
    assert schema.parameters["properties"]["unit"] == {
        "type": "string",
        "enum": ["c", "k"],
        "default": "c",
    }
    assert schema.parameters["properties"]["place"]["required"] == ["city"]
    assert schema.parameters["properties"]["place"]["description"] == "where."


def test_the_decorator_works_bare():
    @tool
    def find(query: str) -> str:
        """Find pages."""
        return query.upper()

    assert isinstance(find, Tool)
    assert find.name == "find"
    assert find.schema.description == "Find pages."
    assert find("x") == "X"
    assert find.__doc__ == "Find pages."
    assert repr(find) == "Tool('find')"


def test_the_decorator_takes_options():
    @tool(name="search", description="Look it up.", timeout_s=2.5)
    def find(query: str) -> str:
        """Find pages."""

    assert (find.name, find.schema.description, find.timeout_s) == ("search", "Look it up.", 2.5)
    assert find.schema.parameters["required"] == ["query"]


def test_an_empty_description_is_a_description():
    assert tool(description="")(weather).schema.description == ""


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_a_timeout_that_is_no_time_is_refused(value):
    with pytest.raises(ValueError, match=f"timeout_s .* got {value!r}"):
        tool(timeout_s=value)(weather)


def test_a_decorated_method_is_a_tool_of_its_object():
    class Shop:
        def __init__(self, stock: int) -> None:
            self.stock = stock

        @tool(timeout_s=1)
        def sell(self, count: int) -> int:
            """Sell."""
            return self.stock - count

    shop = Shop(5)
    assert shop.sell.schema.parameters["required"] == ["count"]
    assert (shop.sell.name, shop.sell.timeout_s) == ("sell", 1)
    assert run(shop.sell, {"count": 2}) == 3
    assert isinstance(Shop.sell, Tool)


def test_bound_methods_partials_and_callable_objects_are_tools():
    class Adder:
        """Not these words."""

        def __call__(self, a: int, b: int = 1) -> int:
            return a + b

    def power(base: int, exponent: int) -> int:
        """Raise to a power."""
        return base**exponent

    square = Tool(functools.partial(power, exponent=2), name="square")
    assert run(square, {"base": 3}) == 9
    assert square.schema.description == "Raise to a power."
    assert square.schema.parameters["required"] == ["base"]
    assert refused(square, {"base": "three"}).endswith("expected an integer, got 'three'")
    assert run(Tool(Adder(), name="add"), {"a": 2}) == 3
    assert refused(Tool(Adder(), name="add"), {"a": "two"})


def test_a_tool_without_a_name_is_refused():
    with pytest.raises(TypeError, match=r"has no name; give one with tool\(name=...\)"):
        Tool(functools.partial(weather))


def test_annotations_that_cannot_be_resolved_are_refused_with_the_function():
    def lost(x: Nowhere) -> None:  # noqa: F821
        """Never."""

    with pytest.raises(TypeError, match=r"annotations of .*lost: name 'Nowhere'"):
        Tool(lost)


def test_what_a_function_returns_need_not_be_resolved():
    def fine(x: int) -> Nowhere:  # noqa: F821
        """Fine."""

    assert Tool(fine).schema.parameters["required"] == ["x"]


def test_a_wrapped_function_keeps_its_parameters():
    def logged(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    assert Tool(logged(weather)).schema.parameters["required"] == ["place"]
    assert run(logged(weather), {"place": {"city": "Rome"}})[0] == Place("Rome")


def test_two_tools_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two tools are named 'weather'"):
        Toolbox([weather, tool(weather)])


def test_arguments_become_what_the_annotations_say():
    got = run(weather, {"place": {"city": "Rome"}, "unit": "k", "days": 2.0, "detail": "high"})
    assert got == (Place("Rome", "IT"), 2, Unit.KELVIN, "high")


def test_defaults_stand_in_for_what_is_left_out():
    assert run(weather, {"place": {"city": "Rome"}})[1:] == (3, Unit.CELSIUS, "low")


def test_positional_only_keyword_only_and_further_parameters_get_theirs():
    def odd(a: int, b: int = 2, /, *rest: Any, c: int, **more: int) -> Any:
        return a, b, rest, c, more

    assert run(odd, {"c": 3, "a": 1, "x": 9}) == (1, 2, (), 3, {"x": 9})
    assert Tool(odd).schema.parameters["additionalProperties"] is True
    assert list(Tool(odd).schema.parameters["properties"]) == ["a", "b", "c"]


def test_null_is_accepted_where_the_default_is_none():
    def find(limit: int = None) -> Any:  # noqa: RUF013
        return limit

    assert run(find, {"limit": None}) is None
    assert run(find, {"limit": 3}) == 3


def test_a_default_that_means_nothing_to_a_model_is_not_told():
    def find(limit: Any = object(), tags: Any = ("a",)) -> Any:  # noqa: B008
        return limit

    properties = Tool(find).schema.parameters["properties"]
    assert properties == {"limit": {}, "tags": {"default": ["a"]}}


@pytest.mark.parametrize("nothing", [None, "", " ", "\n", "null", "{}", {}])
def test_no_arguments_may_be_said_in_several_ways(nothing):
    def now() -> str:
        return "12:00"

    assert run(now, nothing) == "12:00"


def test_arguments_may_be_json_text():
    assert run(weather, '{"place": {"city": "Rome"}}')[0] == Place("Rome")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "arguments.place: missing"),
        ({"place": {"city": "R"}, "when": 1}, "arguments.when: unexpected"),
        ({"place": "Rome"}, "arguments.place: expected an object, got 'Rome'"),
        ({"place": {"city": 1}}, "arguments.place.city: expected a string, got 1"),
        ({"place": {"city": "R"}, "unit": "f"}, "arguments.unit: expected one of 'c', 'k'"),
        ({"place": {"city": ""}}, "city must not be empty"),
        ('{"place":', "not valid JSON"),
        ("[1]", "expected a JSON object, got list"),
        (["x"], "expected a JSON object, got list"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_wrong_arguments_are_told_by_name(arguments, problem):
    text = refused(weather, arguments)
    assert text.startswith("Invalid arguments for tool 'weather': ")
    assert problem in text


def test_all_wrong_arguments_are_told_at_once():
    text = refused(weather, {"days": "many", "unit": "f"})
    assert text.count("arguments.") == 3


def test_an_unknown_tool_is_told_with_the_ones_there_are():
    box = Toolbox([weather, tool(name="find")(weather)])
    assert box.prepare(ToolCall("wether", {})) == ToolResult(
        "Unknown tool 'wether'. Available tools: weather, find.", is_error=True
    )


def test_an_unknown_tool_is_told_where_there_are_none():
    result = Toolbox([]).prepare(ToolCall("find", {}))
    assert result == ToolResult("Unknown tool 'find'. Available tools: none.", is_error=True)


def test_a_tools_own_limit_comes_before_the_agents():
    own, other = tool(name="a", timeout_s=1)(weather), tool(name="b")(weather)
    box = Toolbox([own, other])
    arguments = {"place": {"city": "Rome"}}
    assert box.prepare(ToolCall("a", arguments), 9).timeout_s == 1
    assert box.prepare(ToolCall("b", arguments), 9).timeout_s == 9
    assert box.prepare(ToolCall("b", arguments)).timeout_s is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, ""),
        (1.5, "1.5"),
        (True, "true"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        (Place("Rome"), '{"city": "Rome", "country": "IT"}'),
        (Unit.KELVIN, '"k"'),
    ],
)
def test_what_a_tool_returns_becomes_text(value, text):
    assert result_of(value) == ToolResult(text)


def test_a_tool_may_say_itself_that_it_failed():
    assert result_of(ToolResult("no", is_error=True)) == ToolResult("no", is_error=True)


async def _coroutine(x: Optional[List[Dict[str, int]]] = None) -> str:
    return "done"


def test_async_functions_are_recognized():
    class Async:
        async def __call__(self) -> str:
            return "done"

    assert Tool(_coroutine).is_async
    assert Tool(functools.partial(_coroutine), name="p").is_async
    assert Tool(Async(), name="a").is_async
    assert not Tool(weather).is_async


def test_a_tool_declares_what_loop_detection_should_know():
    @tool(poll=True, key=["job"])
    def status(job: str, note: str = "") -> str:
        return job

    assert status.policy == ToolPolicy(poll=True, key=["job"])


def test_a_tool_without_a_word_declares_nothing():
    assert tool(len, name="size").policy is None


def test_a_declared_method_keeps_what_it_declares():
    class Desk:
        @tool(mutates=True)
        def tidy(self) -> str:
            return "tidy"

    assert Desk().tidy.policy == ToolPolicy(mutates=True)


def test_an_unknown_declaration_is_refused():
    with pytest.raises(TypeError, match="polls"):
        tool(len, polls=True)


def test_the_options_of_a_tool_are_those_of_its_policy():
    own = {"name", "description", "timeout_s"}
    declared = {each.name for each in fields(ToolPolicy)}
    assert ToolOptions.__annotations__.keys() == own | declared
