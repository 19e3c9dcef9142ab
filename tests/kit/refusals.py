"""Rows of bad calls: each is refused by an error of the package that names the fault, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def refusals(rows: dict[str, tuple[Any, ...]]) -> pytest.MarkDecorator:
    """Parametrise a test over ``{name: (call, error, *facts)}``; it receives each as `refusal`."""
    made = {name: Refusal(call, error, tuple(facts)) for name, (call, error, *facts) in rows.items()}
    return pytest.mark.parametrize("refusal", list(made.values()), ids=list(made))
