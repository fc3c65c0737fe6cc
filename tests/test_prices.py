"""What models cost, given or read in LiteLLM's format."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antiloop.prices import Price, Prices

SMALL = Price(input=2, output=8, cached_input=0.5)
# As in LiteLLM's model_prices_and_context_window.json, its first entry included.
LITELLM = {
    "sample_spec": {"input_cost_per_token": "cost of a token", "mode": "one of: chat, embedding"},
    "gpt-5": {
        "cache_read_input_token_cost": 1.25e-07,
        "input_cost_per_token": 1.25e-06,
        "litellm_provider": "openai",
        "max_tokens": 128000,
        "mode": "chat",
        "output_cost_per_token": 1e-05,
    },
    "azure/gpt-5-mini": {"input_cost_per_token": 2.5e-07, "output_cost_per_token": 2e-06},
    "dall-e-3": {"input_cost_per_pixel": 3.81469e-08, "output_cost_per_pixel": 0.0},
}


@pytest.fixture
def litellm(tmp_path):
    path = tmp_path / "prices.json"
    path.write_text(json.dumps(LITELLM), "utf-8")
    return Prices.read(str(path))


def test_prices_are_read_in_the_format_of_litellm(litellm):
    assert len(litellm) == 2
    price = litellm.price("gpt-5")
    assert (price.input, price.output, price.cached_input) == pytest.approx((1.25, 10, 0.125))
    assert litellm.price("azure/gpt-5-mini").cached_input is None


@pytest.mark.parametrize(
    "name", ["gpt-5", "openai/gpt-5", "gpt-5-2025-08-07", "GPT-5", "eu/openai/gpt-5-20250807"]
)
def test_a_model_is_found_without_its_provider_and_date(litellm, name):
    assert litellm.price(name) == litellm.price("gpt-5")


def test_a_provider_in_the_table_is_left_out_too(litellm):
    assert litellm.price("gpt-5-mini") == litellm.price("azure/gpt-5-mini")


@pytest.mark.parametrize("name", [None, "", "gpt-6", "gpt", "gpt-5-nano"])
def test_another_model_is_not_known(litellm, name):
    assert litellm.price(name) is None
    assert litellm.cost(name, 10, 10) is None


def test_the_exact_name_counts_first():
    prices = Prices({"a/small": Price(1, 1), "small": Price(2, 2)})
    assert (prices.price("a/small"), prices.price("small")) == (Price(1, 1), Price(2, 2))


def test_input_from_a_cache_has_its_own_price():
    prices = Prices({"small": SMALL})
    assert prices.cost("small", 1_000_000, 0) == 2
    assert prices.cost("small", 1_000_000, 0, cached_tokens=1_000_000) == 0.5
    assert prices.cost("small", 1_000_000, 1_000_000, cached_tokens=500_000) == 9.25


def test_tokens_that_are_not_told_cost_nothing_or_are_unknown():
    prices = Prices({"small": SMALL})
    assert prices.cost("small", None, 1_000_000) == 8
    assert prices.cost("small", None, None) is None


@given(
    read=st.integers(-5, 10**9),
    written=st.integers(-5, 10**9),
    cached=st.none() | st.integers(-5, 10**9),
)
def test_a_cost_is_never_negative_and_a_cache_never_makes_it_more(read, written, cached):
    prices = Prices({"small": SMALL})
    assert 0 <= prices.cost("small", read, written, cached) <= prices.cost("small", read, written)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not JSON"),
        ("[]", "no prices; expected an object of models, each with input_cost_per_token"),
        ('{"a": {"input_cost_per_token": -1, "output_cost_per_token": 1}}', "no prices"),
        ('{"a": {"input_cost_per_token": NaN, "output_cost_per_token": 1}}', "no prices"),
        ('{"a": {"input_cost_per_token": 1e305, "output_cost_per_token": 1}}', "no prices"),
        (f'{{"a": {{"input_cost_per_token": 1{"0" * 400}, "output_cost_per_token": 1}}}}', "no"),
        ('{"a": 3}', "no prices"),
        ("[" * 9999, "not JSON"),
    ],
)
def test_a_file_without_prices_is_refused_with_its_name(tmp_path, text, words):
    path = tmp_path / "prices.json"
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words are looked at
        Prices.read(str(path))
    assert str(caught.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), 10**400, "2", True])
def test_what_is_no_amount_is_refused(value):
    with pytest.raises(ValueError, match="input must be a number of 0 or more"):
        Price(value, 1)
    with pytest.raises(ValueError, match="cached_input must be a number"):
        Price(1, 1, value)


def test_a_table_holds_prices():
    with pytest.raises(TypeError, match="prices must be Price objects, got 3"):
        Prices({"small": 3})
