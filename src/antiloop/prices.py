"""The prices of models, as a table, given or read from a file in LiteLLM's format."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Mapping, Optional

from ._checks import check_kind, is_number
from ._regular_file import opener
from ._short_repr import counted, short_repr
from .stability import beta

__all__ = ["Price", "Prices"]

_MILLION = 1_000_000
_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2})$")
_COSTS = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
_EXPECTED = "expected an object of models, each with input_cost_per_token and output_cost_per_token"


@beta
@dataclass(frozen=True)
class Price:
    """The price of a model for a million tokens, in a currency of your choice.

    Raises:
        ValueError: if a price is not a number of 0 or more.
    """

    input: float
    """Price of input tokens."""
    output: float
    """Price of output tokens."""
    cached_input: Optional[float] = None
    """Price of cached input tokens; by default that of other input tokens."""

    def __post_init__(self) -> None:
        for name in ("input", "output", "cached_input"):
            value = getattr(self, name)
            if not (_is_amount(value) or (value is None and name == "cached_input")):
                raise ValueError(f"{name} must be a number of 0 or more, got {value!r}")


@beta
class Prices:
    """The prices of models.

    Args:
        models: the price of each model, by its name.

    A model is looked up by its exact name, then by its name without a provider prefix
    (``openai/``) and without a date at the end.

    >>> prices = Prices({"small": Price(input=2, output=8, cached_input=0.5)})
    >>> prices.cost("acme/small-2026-01-31", input_tokens=1_000_000, output_tokens=500_000)
    6.0
    """

    def __init__(self, models: Optional[Mapping[str, Price]] = None) -> None:
        self._models = dict(models or {})
        wrong = next((each for each in self._models.values() if not isinstance(each, Price)), None)
        if wrong is not None:
            raise TypeError(f"prices must be Price objects, got {wrong!r}")
        self._plain: Dict[str, Price] = {}
        for name, price in self._models.items():
            self._plain.setdefault(_plain(name), price)

    @classmethod
    def read(cls, path: str) -> "Prices":
        """Read a file in the format of LiteLLM's model_prices_and_context_window.json.

        Raises:
            OSError: if it cannot be read.
            ValueError: if it holds no prices; the message names the file.
        """
        with open(path, encoding="utf-8-sig", opener=opener) as file:
            try:
                given = json.load(file)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}: not JSON: {error}; {_EXPECTED}") from error
        found = {str(name): _litellm(each) for name, each in _pairs(given)}
        models = {name: price for name, price in found.items() if price is not None}
        if not models:
            raise ValueError(f"{path}: no prices; {_EXPECTED}")
        return cls(models)

    def __len__(self) -> int:
        return len(self._models)

    def __repr__(self) -> str:
        return short_repr(self, counted(len(self), "model"))

    def price(self, model: Optional[str]) -> Optional[Price]:
        """Return the price of a model; None if it is unknown.

        Raises:
            TypeError: for what is not a name or None.
        """
        if model is None:
            return None
        check_kind("price takes the name of a model", model, str, "None stands for an unknown one")
        return self._models.get(model) or self._plain.get(_plain(model))

    def cost(
        self,
        model: Optional[str],
        input_tokens: Optional[int],
        output_tokens: Optional[int],
        cached_tokens: Optional[int] = None,
    ) -> Optional[float]:
        """Return the cost of tokens; None if model or tokens are unknown.

        Args:
            model: name of the model.
            input_tokens: tokens that it read, including cached ones.
            output_tokens: tokens that it wrote.
            cached_tokens: the part of the input tokens that came from a cache.
        """
        price = self.price(model)
        if price is None or (input_tokens is None and output_tokens is None):
            return None
        read, written = max(0, input_tokens or 0), max(0, output_tokens or 0)
        cached = min(max(0, cached_tokens or 0), read)
        rate = price.input if price.cached_input is None else price.cached_input
        return ((read - cached) * price.input + cached * rate + written * price.output) / _MILLION


def _plain(name: str) -> str:
    return _DATE.sub("", name.rpartition("/")[2].lower())


def _pairs(given: Any) -> Any:
    return given.items() if isinstance(given, dict) else ()


def _litellm(given: Any) -> Optional[Price]:
    """Read the entry of one model; None if it is not priced by tokens."""
    costs: Dict[str, Any] = given if isinstance(given, dict) else {}
    read, written, cached = (_per_million(costs.get(name)) for name in _COSTS)
    return None if read is None or written is None else Price(read, written, cached)


def _per_million(value: Any) -> Optional[float]:
    """Return the price of a million tokens; None if it is unknown."""
    price = float(value) * _MILLION if _is_amount(value) else None
    return price if _is_amount(price) else None


def _is_amount(value: Any) -> bool:
    try:
        return is_number(value) and math.isfinite(value) and value >= 0
    except OverflowError:  # an integer that no float can hold
        return False
