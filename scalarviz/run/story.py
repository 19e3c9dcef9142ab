"""`Story`: what a scene says before its first step and after its last one. Words only; where, a view knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..checks import function, text
from ..errors import InputError, TypeMismatchError, shown
from .moment import Moment

if TYPE_CHECKING:
    from .run import Run

LONGEST = 120
"""Characters of a sentence: it is read within four seconds."""


@dataclass(frozen=True, slots=True)
class Story:
    """One sentence of what will happen, and one of what has happened.

    Attributes
    ----------
    sentence : str
        What the weights should do ("They should turn every colour into its opposite."). In the present tense, without
        jargon, on one line.
    headline : str
        What stands above it; default: how many weights there are ("12 weights.").
    claim : callable or None
        ``claim(moment)`` returns a sentence that is true of that moment ("Each output now falls when its own colour
        rises."), or an empty text where none is. Asked once, after the last step, if the loss has fallen.
    fall : float
        Share of the loss of its beginning by which it must have fallen, more than 0 and less than 1.
    reached : callable or None
        ``reached(moment)`` returns whether it has learnt what it should; default: the loss has fallen. With it the
        claim is said of what stopped short too.
    anew : callable or None
        ``anew(moment)`` returns the sentence of a first moment that a hand has changed: its points, its network;
        default: the sentence.

    Raises
    ------
    TypeMismatchError
        Texts that are none, a claim (reached, anew) that cannot be called, a fall that is no number.
    InputError
        No sentence, or one that is longer than 120 characters or a line; another fall.
    """

    sentence: str
    headline: str = ""
    claim: Callable[[Moment], str] | None = None
    fall: float = 0.5
    reached: Callable[[Moment], bool] | None = None
    anew: Callable[[Moment], str] | None = None

    def __post_init__(self) -> None:
        for what, words in (("sentence", self.sentence), ("headline", self.headline)):
            text(words, f"Story: the {what}")
            if len(words) > LONGEST or len(words.splitlines()) > 1:
                raise InputError(f"Story: the {what} has {len(words)} characters; allowed: one line of {LONGEST}")
        if not self.sentence.strip():
            raise InputError("Story: the sentence is empty; try 'They should turn every colour into its opposite.'")
        for what, asked in (("the claim", self.claim), ("reached", self.reached), ("anew", self.anew)):
            if asked is not None:
                function(asked, f"Story: {what}")
        fall: Any = self.fall
        if isinstance(fall, bool) or not isinstance(fall, int | float):
            raise TypeMismatchError(f"Story: fall is a share of the loss, got {type(fall).__name__} {shown(fall)}")
        if not 0 < fall < 1:
            raise InputError(f"Story: fall must be more than 0 and less than 1, got {shown(fall)}; try 0.5")

    def opening(self, weights: int) -> str:
        """The headline over the sentence, of so many weights."""
        return self.headline or weights_text(weights)


def weights_text(count: int) -> str:
    """The sentence ``12 weights.`` of a count."""
    return f"{count:,} weight{'' if count == 1 else 's'}."


def plain_story(run: Run) -> Story:
    """What can be said of any run."""
    samples: Any = run.problem.data.shape[1]
    they = "It" if run.n_weights == 1 else "They"
    return Story(f"{they} should learn {samples:,} example{'' if samples == 1 else 's'}.")
