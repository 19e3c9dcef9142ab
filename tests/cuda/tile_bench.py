"""One layer or convolution as a program on any device, and what NumPy makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from scalarviz.engine.cuda.machine import Machine, Shape
from scalarviz.scalar import ops
from scalarviz.tape import Instruction, Program

SLOPE = 0.3
NONE = np.zeros(0, np.int64)


class Case:
    """Inputs, an operation on them, a layer, an operation on its results; random numbers.

    Parameters
    ----------
    args : ndarray of int, shape (positions, n)
        Which inputs the layer reads.
    outputs : int
    front, behind : str
        Operations of one operand, or ``leaky_relu``; empty for none.
    """

    def __init__(
        self, args: Any, outputs: int, bias: bool = True, front: str = "", behind: str = "", uses: int = 1
    ) -> None:
        args = np.asarray(args, np.int64)
        (self.positions, self.n), self.outputs, self.bias = args.shape, outputs, bias
        self.args, self.front, self.behind, self.uses = args, front, behind, uses
        self.inputs = int(args.max()) + 1
        self.slope = self.inputs
        instructions, row, read = [], self.inputs + 1, args
        if front:
            instructions.append(self._op(front, row, np.arange(self.inputs)))
            read, row = args + row, row + self.inputs
        self.weights = 3  # a parameter in front of them that nothing uses
        biases = self.weights + outputs * self.n
        self.n_theta = biases + (outputs if bias else 0) + 2
        first = np.arange(outputs) * self.n + self.weights
        results = []
        for _ in range(uses):
            count = outputs * self.positions
            kind = "conv" if self.positions > 1 else "layer"
            layer = Instruction(kind, row, count, read, weights=first, bias=biases if bias else -1)
            instructions.append(layer)
            self.dst, row = row, row + count
            if behind:
                instructions.append(self._op(behind, row, np.arange(self.dst, row)))
                row += count
            results.append(np.arange(row - count, row))
        self.results = np.concatenate(results)
        needs = np.ones(row, bool)
        needs[self.slope] = False
        self.program = Program(
            n_rows=row, n_theta=self.n_theta, instructions=tuple(instructions), input_rows=np.arange(self.inputs),
            input_index=np.arange(self.inputs), constant_rows=np.array([self.slope]), constants=np.array([SLOPE]),
            outputs=self.results, loss=-1, taps=(), needs_gradient=needs,
        )  # fmt: skip

    def _op(self, name: str, dst: int, rows: Any) -> Instruction:
        others = [np.full(len(rows), self.slope) for _ in ops.get(name).args[1:]]
        return Instruction("op", dst, len(rows), np.array([rows, *others]), name)

    def numbers(self, lanes: int, seed: int = 0) -> dict[str, Any]:
        """Inputs, parameters and the adjoints of the results."""
        make = np.random.default_rng(seed)
        return {
            "inputs": make.normal(size=(self.inputs, lanes)), "theta": make.normal(size=self.n_theta),
            "upstream": make.normal(size=(len(self.results), lanes)),
        }  # fmt: skip

    def expected(self, inputs: Any, theta: Any, upstream: Any) -> dict[str, Any]:
        """Results, adjoints of the inputs and the gradient, by NumPy in float64."""
        x, dx = apply(self.front, inputs)
        w = theta[self.weights :][: self.outputs * self.n].reshape(self.outputs, self.n)
        b = theta[self.weights + w.size :][: self.outputs] if self.bias else np.zeros(self.outputs)
        picked = x[self.args]  # positions, n, lanes
        y, dy = apply(self.behind, np.einsum("jk,pkl->jpl", w, picked) + b[:, None, None])
        up = upstream.reshape(self.uses, self.outputs, self.positions, -1).sum(axis=0) * dy
        gradient = np.zeros(self.n_theta)
        gradient[self.weights :][: w.size] = np.einsum("jpl,pkl->jk", up, picked).ravel()
        if self.bias:
            gradient[self.weights + w.size :][: self.outputs] = up.sum(axis=(1, 2))
        back = np.zeros_like(x)
        np.add.at(back, self.args, np.einsum("jk,jpl->pkl", w, up))
        results = np.concatenate([y.reshape(-1, y.shape[-1])] * self.uses)
        return {"results": results, "adjoints": back * dx, "gradient": gradient}


def apply(name: str, a: Any) -> tuple[Any, Any]:
    """Value and derivative, written down here once more."""
    if name == "":
        return a, np.ones_like(a)
    if name == "tanh":
        return np.tanh(a), 1 - np.tanh(a) ** 2
    if name == "relu":
        return np.maximum(a, 0), (a > 0) * 1.0
    assert name == "leaky_relu"
    return np.where(a > 0, a, SLOPE * a), np.where(a > 0, 1, SLOPE)


class Loaded:
    """A case in a device's memory."""

    def __init__(self, case: Case, device: Any, dtype: str, chunk: int, shape: Shape) -> None:
        self.case, self.device, self.dtype = case, device, np.dtype(dtype)
        seeds = tuple(case.results.tolist())
        self.machine = Machine(case.program, device, dtype, chunk, shape, seeds)

    def kernels(self) -> list[str]:
        """All that is launched."""
        return [launch.kernel.name for launch in self._launches(1)]

    def _launches(self, lanes: int, fresh: bool = True) -> list[Any]:
        made, theta = self.machine, self.machine.values
        return [*made.forward(theta, lanes), *made.backward(theta, lanes), *made.sums(lanes, fresh)]

    def run(self, lanes: int, inputs: Any, theta: Any, upstream: Any, chunks: int = 1) -> dict[str, Any]:
        """Results, adjoints and gradient of `lanes` lanes; the gradient of so many chunks with the same numbers."""
        made, device, stride = self.machine, self.device, self.machine.chunk
        parameters = made.constant(np.asarray(theta, self.dtype))
        grad = device.empty(self.case.n_theta, self.dtype)
        self._put(made.values, 0, inputs, stride)
        for place in range(len(self.case.results)):
            self._put(made.adjoints, int(self.case.results[place]), upstream[place : place + 1], stride)
        launches = []
        for k in range(chunks):
            launches += [*made.forward(parameters, lanes), *made.backward(parameters, lanes)]
            launches += made.sums(lanes, k == 0)
        device.record([*launches, *made.join(grad, True)]).run()
        values, adjoints, gradient = (
            np.empty(buffer.size, self.dtype) for buffer in (made.values, made.adjoints, grad)
        )  # fmt: skip
        for buffer, array in ((made.values, values), (made.adjoints, adjoints), (grad, gradient)):
            device.download(buffer, array)
        device.wait()
        values, adjoints = values.reshape(-1, stride), adjoints.reshape(-1, stride)
        adjoints[np.setdiff1d(np.arange(self.case.inputs), self.case.args)] = 0  # nobody reads them
        return {
            "results": values[self.case.results, :lanes], "adjoints": adjoints[: self.case.inputs, :lanes],
            "gradient": gradient,
        }  # fmt: skip

    def _put(self, buffer: Any, row: int, numbers: Any, stride: int) -> None:
        """Rows from `row` on; what stands behind the last lane stays."""
        for k, line in enumerate(np.asarray(numbers, self.dtype)):
            self.device.upload(buffer.part((row + k) * stride, len(line)), line)
        self.device.wait()


def distance(found: Any, expected: Any) -> float:
    """Norm-wise."""
    return float(np.linalg.norm(found.astype(float) - expected) / np.linalg.norm(expected))
