"""Rows of bad calls: each is refused by an error of the package that names the fault, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from scalarviz.errors import ScalarvizError


@dataclass(frozen=True)
class Refusal:
    """A call, the class of its error, and facts that its message contains (the bad value, what is allowed, a way out).

    Facts are compared without regard to case; an int or float stands for its digits. Do not write sentences: a message
    may be reworded as long as it keeps its facts.
    """

    call: Callable[..., Any]
    error: type[Exception]
    facts: tuple[Any, ...]

    def check(self, *arguments: Any) -> None:
        """Do the call; fail unless it is refused as the row says."""
        with pytest.raises(self.error) as caught:
            self.call(*arguments)
        assert isinstance(caught.value, ScalarvizError), f"not an error of the package: {caught.value!r}"
        said = str(caught.value).lower()
        missing = [fact for fact in self.facts if str(fact).lower() not in said]
        assert not missing, f"the message does not say {missing}: {caught.value}"


def refusals(rows: dict[str, tuple[Any, ...]], names: dict[str, Any] | None = None) -> pytest.MarkDecorator:
    """Parametrise a test over rows of bad calls; it receives each as `refusal`.

    A row is ``name: (call, error, *facts)``, or, with the ``globals()`` of the test as `names`, the text of the call
    itself: ``"nn.Linear(0, 2)": (InputError, "n_in", 0)``.
    """
    made = {}
    for name, row in rows.items():
        call, error, *facts = row if not isinstance(row[0], type) else (partial(_evaluated, name, names), *row)
        made[name] = Refusal(call, error, tuple(facts))
    return pytest.mark.parametrize("refusal", list(made.values()), ids=list(made))


def _evaluated(text: str, names: dict[str, Any] | None, *arguments: Any) -> Any:
    """What a text means in the test's module; the arguments of the check are `it`."""
    return eval(text, {**(names or {}), **({"it": arguments[0]} if arguments else {})})
