"""``sv.check``: exercises that check themselves. They try a pupil's code at random points and compare the results.

A check reports the input that differs, the result and the expected one, and the usual cause. It finds the cause by
making mistakes until one gives the same numbers. It never shows the answer. The checks are `gradient`, `backward`,
`training`, `module` and `answer`, each in the file of its name; `gradient` also holds the mistakes that numbers reveal.
`report` holds their result, `pupil_code` inspects a pupil's code, `exercise` checks one of the lessons' exercises,
which stand in `answers`, `points` draws points, and `walks` walks graphs correctly and with mistakes.
"""

from .answer import answer
from .backward import backward
from .exercise import exercise
from .gradient import gradient
from .module import module
from .report import Report, forget
from .training import training

__all__ = ["Report", "answer", "backward", "exercise", "forget", "gradient", "module", "training"]
