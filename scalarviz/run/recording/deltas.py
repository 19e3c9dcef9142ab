"""`Deltas`: how the loss of one sample depends on what each stage made of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..forward import Forward
from ..opened.network import Network

Float = NDArray[np.float64]


class Deltas:
    """Forward and backward of one sample, on arrays of its own.

    Parameters
    ----------
    forward : Forward
        The network.
    """

    def __init__(self, forward: Forward) -> None:
        stages = list(zip(forward.stages, forward.taps, strict=True))
        self._forward = forward
        self._network = Network(forward.tape, stages, lambda: forward._loss_runner)

    def rows(self, probe: Float, target: Float, values: NDArray[np.floating]) -> dict[str, Float] | None:
        """The derivative of the sample's loss by each number of each stage; NaN where no weight stands before it.

        The loss is that of a batch of the sample alone: a mean over weighted targets divides by its own weight.

        Parameters
        ----------
        probe, target : ndarray, shapes (n_inputs,) and (n_targets,)
        values : ndarray, shape (P,)

        Returns
        -------
        dict of str to ndarray, shape (outputs,)
            None where a sample's loss depends on the others of its batch.
        """
        network, body = self._network, self._network.body
        if body.program.couples:
            return None
        theta, _ = network.runner.extended(values.astype(np.float64))
        numbers = network.runner.encode(np.concatenate([probe, target])[:, None])
        rows = body.forward(theta, numbers)
        adjoints = np.zeros_like(rows)
        adjoints[body.program.loss] = self._forward.scale_of_one(target)
        body.backward(rows, adjoints, theta, np.zeros(len(theta)))
        found = {"input": np.full(len(probe), np.nan)}
        for name, places in network.rows_of.items():
            found[name] = np.where(network.before_weights[name], np.nan, adjoints[places, 0])
        return found
