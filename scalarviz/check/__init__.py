"""``sv.check``: exercises that check themselves. What a pupil wrote is tried at random points and compared.

A check says which input differs, what was found and what it should be, and the usual cause, which it finds by trying
mistakes until one gives the same numbers; it never says the answer. `gradient`, `backward`, `training`, `module` and
`answer` are the checks, each in the file of its name; `report` is what they give back, `pupil_code` looks at what a
pupil wrote, `exercise` knows those of the lessons, `points` draws the places, `guesses` has the mistakes that numbers
can betray, `walks` goes through a graph rightly and wrongly.
"""

from .answer import answer
from .backward import backward
from .exercise import exercise
from .gradient import gradient
from .module import module
from .report import Report, forget
from .training import training

__all__ = ["Report", "answer", "backward", "exercise", "forget", "gradient", "module", "training"]
