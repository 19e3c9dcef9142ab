"""``sv.mistakes``: the classic mistakes of backpropagation, made on purpose, to see what they do.

Each is a ``with`` block (or a decorator) of the objects engine: of `Value`, `Weight`, modules and optimisers in a loop
by hand, in the thread that is in the block. While one is on, other functions stand in the place of those that it
concerns; off, they are the package's own again, so nothing is slower and every bit is as before. A Run
inside one is refused: its engines make no mistakes. `made` has the mistakes, `block` what they share.
"""

from .block import Block, on
from .made import (
    missing_factor,
    no_bias_correction,
    no_loss_scale,
    no_zero_grad,
    overwrite,
    symmetric_init,
    wrong_order,
)

__all__ = [
    "Block", "missing_factor", "no_bias_correction", "no_loss_scale", "no_zero_grad", "on", "overwrite",
    "symmetric_init", "wrong_order",
]  # fmt: skip
