"""``sv.mistakes``: the classic mistakes of backpropagation, made on purpose, to see what they do.

Each is a ``with`` block (or a decorator) for the objects engine: for `Value`, `Weight`, modules and optimisers in a
hand-written loop, in the thread that runs the block. While a mistake is on, other functions replace the ones that it
concerns. Afterwards the package's own functions are back, so nothing is slower and every bit is as before. A Run inside
a block is refused: its engines make no mistakes. `made` holds the mistakes, `block` their shared base.
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
