"""What the tests of written files share: a network, written and run by onnxruntime, beside the network itself."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime

import scalarviz as sv
from scalarviz.scalar.nested import every

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def by_hand(net, samples):
    """What a network gives for each sample, in evaluation, in plain float64 objects."""
    modes = [(module, module.training) for module in net.modules()]
    net.eval()
    try:
        with sv.no_grad():
            rows = [net(sample.tolist()) for sample in samples]
    finally:
        for module, mode in modes:
            module.training = mode
    return np.array([[v.data for v in every(row, "a network")] for row in rows])


def agrees(net, tmp_path, shape, *, given=None, ids=None, samples=3, bound=1e-5, scale=1.0):
    """Whether onnxruntime's numbers are a network's, norm-wise; returns the file's model."""
    path = tmp_path / "net.onnx"
    net.to_onnx(path, given)
    random = np.random.default_rng(7)
    x = random.integers(0, ids, (samples, *shape)) if ids else scale * random.standard_normal((samples, *shape))
    run = session(path)
    [port] = run.get_inputs()
    assert port.shape == ["N", *shape]
    assert run.get_outputs()[0].shape[0] == "N"
    got = run.run(None, {port.name: x.astype(TYPES[port.type])})[0].astype(np.float64)
    assert got.shape == (samples, *run.get_outputs()[0].shape[1:])
    wanted = by_hand(net, x.astype(np.float32).astype(np.float64))
    difference = np.linalg.norm(got.reshape(samples, -1) - wanted)
    assert difference <= bound * np.linalg.norm(wanted), difference
    return onnx.load(path)


def operators(model):
    return [node.op_type for node in model.graph.node if node.op_type != "Constant"]


def weights(model):
    return {one.name: onnx.numpy_helper.to_array(one) for one in model.graph.initializer}
