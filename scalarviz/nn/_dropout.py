"""`Dropout`: in training each number is zeroed with a probability, anew at every step and for every sample."""

from __future__ import annotations

from typing import Any, ClassVar

from ..errors import InputError, shown
from ..scalar import Value
from ..scalar.mask import factors
from ..scalar.nested import flatten, nest, shape_of
from ..scalar.numbers import as_number
from ._inputs import titled
from ._module import Module


class Dropout(Module):
    """In training each number is 0 with probability `p`, else it is multiplied by ``1 / (1 - p)``; else it stays.

    Parameters
    ----------
    p : float
        Probability of a zero, in ``0 .. 1``.

    Raises
    ------
    InputError
        `p` is no number in ``0 .. 1``.

    Notes
    -----
    PyTorch's ``torch.nn.Dropout`` (N. Srivastava et al., "Dropout", JMLR 15, 2014), with masks of its own: in a
    :class:`~scalarviz.Run` a mask is a function of the run's seed, of the call of the module in the network, of the
    step, of the sample's place in the batch and of the unit. So any step can be done again with the same bits, on
    every engine. By hand every call draws the next mask of this process; :func:`scalarviz.nn.init.manual_seed` begins
    anew. ``predict``, ``evaluate`` and the pictures of a Run have no masks; ``net.eval()`` takes them away everywhere.
    """

    stage: ClassVar[str] = "dropout"
    keeps_shape: ClassVar[bool] = True

    def __init__(self, p: float = 0.5) -> None:
        self.p = p

    @property
    def p(self) -> float:
        """The probability of a zero; a Run has the one with which it was made (``run.change(model=net)``: of now)."""
        found: float = vars(self)["p"]
        return found

    @p.setter
    def p(self, p: float) -> None:
        share = as_number(p, "Dropout: p")
        if not 0.0 <= share <= 1.0:
            raise InputError(f"Dropout: p, the probability of a zero, must be in 0 .. 1, got {shown(p)}; try 0.5")
        vars(self)["p"] = share

    def forward(self, x: Any) -> Any:
        """The numbers, masked in training, in the shape of `x`."""
        if not self.training or self.p == 0.0:
            return x
        if isinstance(x, Value):
            return x * factors(1, self.p)[0]
        shape = shape_of(x, f"{titled(self, f'Dropout({self.p:g})')}: the input")
        row = flatten(x)
        return nest([v * factor for v, factor in zip(row, factors(len(row), self.p), strict=True)], shape)

    def extra_repr(self) -> str:
        """PyTorch's text."""
        return f"p={self.p:g}, inplace=False"
