"""Operators by themselves, called through the table that files are loaded by, so that one that is wrong is named: the
standard's own cases (`onnx.backend.test`), their gradients by differences and, where these say nothing, by PyTorch;
inputs that do not fit."""

import functools
import importlib
import pkgutil
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, numpy_helper
from onnx.backend.test.runner import Runner

from scalarviz.errors import InputError, ScalarvizError
from scalarviz.imported.operators.arrays import each
from scalarviz.imported.operators.table import TABLE, OperatorCall, supported
from scalarviz.onnx.graph import Node, Outside
from scalarviz.onnx.reading import graph_of
from scalarviz.scalar.array import Values, values
from scalarviz.scalar.value import as_value

KINDS = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""Element types whose cases have to pass."""
SLOW = {"attention", "averagepool", "image_decoder", "maxpool"}
"""Files of cases that take longer to make than all others together."""
NUMBERS_ONLY = {"ArgMax", "ArgMin", "Ceil", "Floor", "Mod", "NonZero", "Round"}
"""Operators without a derivative: of numbers that are known alone."""
LEFT_OUT = ("maxpool_with_argmax", "not_larger", "not_smaller", "tf_crop_and_resize")
"""In names of cases that ask for places of the largest, kept ratios of sides, pictures cut out: refused."""
SETTINGS = {"Dropout": {1}, "OneHot": {0, 1}, "Range": {0, 1, 2}, "Resize": {1, 2}, "Upsample": {1}}
"""Floating inputs that are no data: a ratio, a depth, bounds, scales."""
MOST = 5_000
"""Numbers of an input that are made one Value each."""
UNSTEADY = {
    "test_pow": "negative to the power of what is no whole number: NaN beside it",
    "test_pow_types_int64_float32": "the result is a whole number",
}
"""Cases at a place where differences say nothing."""


@functools.cache
def cases(slow):
    """The standard's cases of nodes, those of `SLOW` alone or all others."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of what the cases compute
        known = len(node._NodeTestCases)
        for module in pkgutil.iter_modules(node.__path__):
            if (module.name in SLOW) == slow:
                importlib.import_module(f"{node.__name__}.{module.name}")
    return node._NodeTestCases[known:]


def element_types(case):
    graph = case.model.graph
    return {
        port.type.tensor_type.elem_type if port.type.HasField("tensor_type") else -1
        for port in [*graph.input, *graph.output]
    }


def operator_of(case):
    """Of a case of one node of the standard's; empty for others."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 and not nodes[0].domain else ""


def listed(*, slow=False):
    """Cases of one node whose operator is known and whose types are those of `KINDS`, without `LEFT_OUT`."""
    tried = [
        case for case in cases(slow) if operator_of(case) in TABLE and not any(name in case.name for name in LEFT_OUT)
    ]
    return [case for case in tried if element_types(case) <= set(KINDS)]


def array_of(given):
    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def is_data(case, place, array):
    """Whether an input is made of Values where the graph computes."""
    return array.dtype.kind == "f" and place not in SETTINGS.get(operator_of(case), ())


def as_values(array):
    return values([as_value(x) for x in np.asarray(array, np.float64).ravel().tolist()], np.shape(array))


def run(case, inputs):
    """The outputs of a graph whose inputs are numbers or Values."""
    graph = graph_of(case.model, case.name, Outside(Path()))
    known = dict(graph.constants)
    known.update(zip([port.name for port in graph.inputs], inputs, strict=True))
    types = {port.name: port.dtype for port in graph.inputs}
    for node in graph.nodes:
        assert supported(node, graph.opset) == ""
        given = tuple(known[name] if name else None for name in node.inputs)
        dtypes = tuple(types.get(name) for name in node.inputs)
        known.update(
            zip(node.outputs, TABLE[node.operator](OperatorCall(node, given, graph.opset, dtypes)), strict=False)
        )
    return [known[port.name] for port in graph.outputs]


def numbers_of(case, found):
    """Outputs as numbers of the types that the case wants."""
    ports = case.model.graph.output
    return [
        x.data.astype(KINDS[port.type.tensor_type.elem_type]) if isinstance(x, Values) else x
        for x, port in zip(found, ports, strict=True)
    ]


def check(case, computed):
    """Compare with what the standard says; `computed`: floating inputs as Values."""
    for inputs, wanted in case.data_sets:
        given = [array_of(x) for x in inputs]
        if computed:
            given = [as_values(x) if is_data(case, k, x) else x for k, x in enumerate(given)]
        found = numbers_of(case, run(case, given))
        Runner.assert_similar_outputs([array_of(x) for x in wanted], found, case.rtol, case.atol)


def outcomes(tried, computed):
    """How many cases pass, and what is said of the others."""
    passed, wrong = 0, []
    for case in tried:
        try:
            check(case, computed)
            passed += 1
        except ScalarvizError as error:
            wrong.append((case.name, operator_of(case), f"refused: {error}"))
        except Exception as error:
            wrong.append((case.name, operator_of(case), f"{type(error).__name__}: {str(error)[:300]}"))
    return passed, wrong


def surprises(wrong):
    """Of cases with computed inputs: all but those that are for known numbers alone, which say so."""
    return [found for found in wrong if found[1] not in NUMBERS_ONLY or "computed from data or weights" not in found[2]]


def test_every_case_of_a_listed_operator_gives_the_standards_numbers():
    passed, wrong = outcomes(listed(), computed=False)
    assert wrong == []
    assert passed >= 250


def test_every_case_with_computed_inputs_gives_them_too():
    passed, wrong = outcomes(listed(), computed=True)
    assert surprises(wrong) == []
    assert passed >= 250


# ---- gradients


def moved(case, rng):
    """The inputs of a case in float64, a little beside the round numbers at which many curves have a kink."""
    given = [array_of(x) for x in case.data_sets[0][0]]
    return [x + rng.uniform(0.005, 0.02, x.shape) if is_data(case, k, x) else x for k, x in enumerate(given)]


def derivatives(case, rng):
    """Along a random direction, of the outputs in random shares: by the graph and by differences. None: no graph."""
    given = moved(case, rng)
    ways = [rng.normal(size=x.shape) if is_data(case, k, x) else None for k, x in enumerate(given)]
    graph = [x if way is None else as_values(x) for x, way in zip(given, ways, strict=True)]
    outputs = {k: x for k, x in enumerate(run(case, graph)) if isinstance(x, Values) and x.size}
    if not outputs:
        return None
    shares = {k: rng.normal(size=x.shape) for k, x in outputs.items()}

    def at(step):
        found = run(case, [x if way is None else x + step * way for x, way in zip(given, ways, strict=True)])
        with np.errstate(invalid="ignore"):
            return sum((found[k] * share).sum() for k, share in shares.items())

    if not np.isfinite(at(0.0)):  # an input or the result of no numbers is infinite
        return None
    sum(each("mul", outputs[k], share).sum() for k, share in shares.items()).backward()
    exact = sum((x.grad * way).sum() for x, way in zip(graph, ways, strict=True) if way is not None)
    return exact, (at(1e-6) - at(-1e-6)) / 2e-6


def compared(tried):
    rng, counts, wrong = np.random.default_rng(0), Counter(), []
    for case in tried:
        name = operator_of(case)
        if name in NUMBERS_ONLY or case.name in UNSTEADY or not element_types(case) & {1, 11}:
            continue
        found = derivatives(case, rng)
        if found is not None:
            counts[name] += 1
            if not np.isclose(*found, rtol=1e-5, atol=1e-6):
                wrong.append((case.name, *found))
    return counts, wrong


def test_gradients_are_those_of_differences():
    counts, wrong = compared(listed())
    assert wrong == []
    assert len(counts) >= 60


@pytest.mark.ci
def test_pools_give_the_standards_numbers_and_the_gradients_of_differences():
    tried = listed(slow=True)
    assert {operator_of(case) for case in tried} >= {"AveragePool", "MaxPool"}
    assert outcomes(tried, computed=False)[1] == []
    small = [case for case in tried if all(np.size(array_of(x)) <= MOST for x in case.data_sets[0][0])]
    assert len(small) >= 25
    assert surprises(outcomes(small, computed=True)[1]) == []
    assert compared(small)[1] == []


# ---- where differences say nothing, and where the standard has no case: PyTorch

OPSET = 22


def call(operator, inputs, opset=OPSET, outputs=1, **attributes):
    names = tuple(f"y{k}" for k in range(outputs))
    node = Node(operator, tuple("x" * (k + 1) for k in range(len(inputs))), names, attributes, "n")
    return TABLE[operator](OperatorCall(node, tuple(inputs), opset))


def i64(*numbers):
    return np.array(numbers, np.int64)


X = np.random.default_rng(3).normal(size=(2, 4, 6))
TIES = np.array([[1.0, -2.0, 1.0, 0.0], [0.0, 0.0, 3.0, 3.0]])

CASES = {
    "abs at 0": ("Abs", [TIES], {}, lambda t, x: t.abs(x)),
    "relu at 0": ("Relu", [TIES], {}, lambda t, x: t.relu(x)),
    "leaky relu at 0": ("LeakyRelu", [TIES], {"alpha": 0.1}, lambda t, x: t.nn.functional.leaky_relu(x, 0.1)),
    "clip on its bounds": ("Clip", [TIES, 0.0, 1.0], {}, lambda t, x, *_: t.clamp(x, 0.0, 1.0)),
    "max of equals": ("Max", [TIES, TIES[:, ::-1].copy()], {}, lambda t, a, b: t.maximum(a, b)),
    "min of equals": ("Min", [TIES, TIES[:, ::-1].copy()], {}, lambda t, a, b: t.minimum(a, b)),
    "largest, the first of equals": (
        "MaxPool", [TIES[:, None]], {"kernel_shape": (4,)}, lambda t, x: t.nn.functional.max_pool1d(x, 4),
    ),
    "border of what is inside": (
        "Pad", [X, i64(0, 0, 2, 0, 0, 1)], {"mode": "reflect"},
        lambda t, x: t.nn.functional.pad(x, (2, 1), mode="reflect"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_pytorchs(torch, name):
    operator, inputs, attributes, function = CASES[name]
    arrays = [np.asarray(x) for x in inputs]
    floats = [x.dtype == np.float64 and x.ndim > 0 for x in arrays]
    made = [as_values(x) if is_float else x for x, is_float in zip(arrays, floats, strict=True)]
    tensors = [torch.tensor(x, requires_grad=is_float) for x, is_float in zip(arrays, floats, strict=True)]
    (found, *_), wanted = (
        call(operator, made, **attributes),
        function(torch, *[x for x in tensors if x.dtype != torch.int64]),
    )
    np.testing.assert_allclose(found.data.reshape(wanted.shape), wanted.detach().numpy(), rtol=1e-9, atol=1e-12)
    shares = np.random.default_rng(0).normal(size=found.shape)
    (found * shares).sum().backward()
    (wanted * torch.tensor(shares.reshape(wanted.shape))).sum().backward()
    for x, tensor, is_float in zip(made, tensors, floats, strict=True):
        if is_float:
            expected = 0.0 if tensor.grad is None else tensor.grad.numpy()
            np.testing.assert_allclose(x.grad, np.broadcast_to(expected, x.shape), rtol=1e-9, atol=1e-10)


# ---- what does not fit

SIX, THREE, HALF, MANY = np.ones(6), np.ones(3), as_values([0.5]), ("134,217,728 numbers",)
UNFIT = {
    "sides": ("Reshape", [SIX, i64(4, 2)], {}, "(6,)", "4, 2"),
    "matrices": ("MatMul", [as_values(np.ones((2, 3))), np.ones((2, 3))], {}, "(2, 3) and (2, 3)"),
    "channels": ("Conv", [np.ones((1, 3, 5)), np.ones((2, 2, 3))], {}, "group=1"),
    "window": ("MaxPool", [np.ones((1, 1, 3))], {"kernel_shape": (5,)}, "larger than the input"),
    "border": ("MaxPool", [np.ones((1, 1, 3))], {"kernel_shape": (2,), "auto_pad": "MORE"}, "SAME_UPPER",
        "SAME_LOWER"),
    "shapes": ("Add", [THREE, as_values(np.ones(4))], {}, "(3,)", "(4,)"),
    "no slope": ("Floor", [HALF], {}, "derivative"), "rounding": ("Cast", [HALF], {"to": 7}, "int64"),
    "a type": ("Cast", [np.ones(2)], {"to": 16}, "16"), "an index": ("Gather", [THREE, i64(3)], {}, "-3", "2"),
    "terabytes": ("ConstantOfShape", [i64(1 << 20, 1 << 20)], {}, *MANY),
    "many Values": ("Expand", [as_values([1.0]), i64(1 << 30)], {}, "2,000,000 Values"),
    "a wide border": ("Pad", [np.ones(2), i64(1 << 60, 1 << 60)], {}, *MANY),
    "an outer sum": ("Add", [as_values(np.ones((2000, 1))), np.ones(2000)], {}, "2,000,000 Values"),
    "an outer comparison": ("Greater", [np.ones((20_000, 1)), np.ones(20_000)], {}, *MANY),
    "an outer choice": ("Where", [np.ones((20_000, 1), bool), np.ones(20_000), np.ones(1)], {}, *MANY),
    "a scale": ("Resize", [np.ones((1, 1, 4)), np.ones(0), np.array([1.0, 1.0, 1e9])], {}, "65536"),
    "places of the largest": ("MaxPool", [np.ones((1, 1, 3))], {"kernel_shape": (2,), "outputs": 2}, "second output"),
    "a picture cut out": ("Resize", [np.ones((1, 1, 4)), np.ones(6), np.ones(3)],
        {"coordinate_transformation_mode": "tf_crop_and_resize"}, "tf_crop_and_resize"),
    "kept ratios": ("Resize", [np.ones((1, 1, 4)), None, None, i64(1, 1, 8)],
        {"keep_aspect_ratio_policy": "not_larger"}, "ratio"),
    "a ratio": ("Dropout", [np.ones(2), np.float32(1.5), np.array(True)], {}, "1.5"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNFIT)
def test_what_does_not_fit_is_said_in_one_line_that_names_the_node(name):
    operator, inputs, attributes, *facts = UNFIT[name]
    given = [np.asarray(x) if isinstance(x, np.generic) else x for x in inputs]
    with pytest.raises(InputError, match=f"^{operator} 'n': [^\n]*$") as caught:
        call(operator, given, **attributes)
    assert [fact for fact in facts if fact not in str(caught.value)] == []
