"""`Asking`: the part of a run that answers questions about its past: why a weight moved, and which moved most."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ...checks import integer
from ...errors import InputError, StateError
from ...scalar.weight import Weight
from ..naming import index_of
from ..turns import in_turn
from .compare import MOST, Comparison, compared
from .opening import Opening
from .why import Why, say, why


class Asking(Opening):
    """Questions whose answers are tables. The run stands afterwards where it stood, bit for bit."""

    def why(self, weight: Weight | str | int, step: int | None = None) -> Why:
        """Print why a weight moved: the terms of its gradient, their sum, the optimiser's rule with every number.

        Parameters
        ----------
        weight : Weight, str or int
            ``net[0].weight[2][1]``, ``"0.weight[2][1]"``, or its flat index.
        step : int, optional
            Which step, from 1: one that was done on this branch, or the coming one. Default: the last one; before the
            first, the first.

        Returns
        -------
        Why
            What was printed, as numbers.

        Raises
        ------
        InputError
            There is no such weight here, or no such step.
        StateError
            The run is closed, or the step is kept no longer.

        Notes
        -----
        The run goes back to the step and returns: it stands as before, bit for bit.
        """
        index = index_of(self.tensors, self._tape.blocks, weight)
        if step is None:
            step = max(self._training.steps, self.timeline.span[0] + 1)
        opened = self.open(step=step)
        if opened.tape is not self._tape:
            raise StateError(f"why: step {step:,} was done with another model; go there first (run.to)")
        found = why(opened, index)
        say(str(found))
        return found

    @in_turn
    def compare(self, step_a: int, step_b: int, most: int = MOST) -> Comparison:
        """Which weights moved most between two steps of this branch.

        Parameters
        ----------
        step_a, step_b : int
            In ``run.span``, in either order.
        most : int
            How many weights have a row of their own.

        Returns
        -------
        Comparison
            ``print`` it for a table.

        Raises
        ------
        InputError
            There is no such step.
        StateError
            The run is closed, or a step is kept no longer.

        Notes
        -----
        The run goes to both and returns: it stands as before, bit for bit.
        """
        self._check_live()
        steps = integer("compare: step_a", step_a, 0), integer("compare: step_b", step_b, 0)
        most = integer("compare: most", most, 0)
        self.timeline.enter()
        first, newest = self.timeline.span
        wrong = [step for step in steps if not first <= step <= newest]
        if wrong:
            raise InputError(f"compare: there is no step {wrong[0]:,}; allowed: {first:,} to {newest:,} (run.span)")
        found: dict[int, tuple[NDArray[Any], float]] = {}
        with self._returning():
            for step in sorted(set(steps)):
                self.timeline.to(step)
                found[step] = self._store.value.copy(), self._training.loss
        if len({len(values) for values, _ in found.values()}) > 1:
            raise StateError(f"compare: the model was changed between step {min(steps):,} and step {max(steps):,}")
        (a, loss_a), (b, loss_b) = (found[step] for step in steps)
        return compared(steps, (a, b), (loss_a, loss_b), self.tensors, most)
