"""The standard's own cases: `onnx.backend.test`, single nodes of every operator that is known."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import warnings
from collections import Counter

import numpy as np

from scalarviz.errors import InputError
from scalarviz.imported.operators.alike import each
from scalarviz.imported.operators.table import TABLE, Call, supported
from scalarviz.imported.operators.versions import VERSIONS
from scalarviz.nn._array import Values, values
from scalarviz.onnx.graph import Node
from scalarviz.scalar.value import as_value

KINDS = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""Element types whose cases have to pass."""


SLOW = {"attention", "averagepool", "image_decoder", "lppool", "maxpool"}
"""Files of cases that take longer to make than all others together."""


@functools.cache
def cases(*, slow=False):
    """The standard's cases of nodes, those of `SLOW` alone or all others."""
    from onnx.backend.test.case import node

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of what the cases compute
        known = len(node._NodeTestCases)
        for module in pkgutil.iter_modules(node.__path__):
            if (module.name in SLOW) == slow:
                importlib.import_module(f"{node.__name__}.{module.name}")
    return node._NodeTestCases[known:]


def plain(attribute):
    """An attribute as a graph that was read holds it."""
    from onnx import AttributeProto, helper, numpy_helper

    found = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.TENSOR:
        return numpy_helper.to_array(found)
    if isinstance(found, bytes):
        return found.decode()
    return tuple(x.decode() if isinstance(x, bytes) else x for x in found) if isinstance(found, list) else found


def node_of(proto):
    attributes = {a.name: plain(a) for a in proto.attribute}
    return Node(proto.op_type, tuple(proto.input), tuple(proto.output), attributes, proto.op_type, proto.domain)


def element_types(case):
    graph = case.model.graph
    return {
        port.type.tensor_type.elem_type if port.type.HasField("tensor_type") else -1
        for port in [*graph.input, *graph.output]
    }


def opset_of(case):
    return next(o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx"))


def listed():
    """Cases of one node whose operator is known and whose types are those of `KINDS`."""
    found = []
    for case in cases():
        nodes = case.model.graph.node
        if (
            len(nodes) == 1
            and nodes[0].op_type in VERSIONS
            and not nodes[0].domain
            and element_types(case) <= set(KINDS)
        ):
            found.append(case)
    return found


def array_of(given):
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def as_values(array):
    return values([as_value(x) for x in array.astype(np.float64).ravel().tolist()], array.shape)


def run(case, inputs):
    graph, opset = case.model.graph, opset_of(case)
    known = dict(zip([port.name for port in graph.input], inputs, strict=True))
    for proto in graph.node:
        node = node_of(proto)
        assert supported(node, opset) == ""
        given = tuple(known[name] if name else None for name in node.inputs)
        known.update(zip(node.outputs, TABLE[node.operator](Call(node, given, opset)), strict=False))
    return [known[port.name] for port in graph.output]


def numbers_of(case, found):
    """Outputs as numbers of the types that the case wants."""
    ports = case.model.graph.output
    return [
        x.data.astype(KINDS[port.type.tensor_type.elem_type]) if isinstance(x, Values) else x
        for x, port in zip(found, ports, strict=True)
    ]


def check(case, computed):
    """Compare with what the standard says; `computed`: floating inputs as Values."""
    from onnx.backend.test.runner import Runner

    for inputs, wanted in case.data_sets:
        given = [array_of(x) for x in inputs]
        if computed:
            given = [as_values(x) if x.dtype.kind == "f" else x for x in given]
        found = numbers_of(case, run(case, given))
        for x, port in zip(found, case.model.graph.output, strict=True):
            assert x.dtype == KINDS[port.type.tensor_type.elem_type]
        Runner.assert_similar_outputs([array_of(x) for x in wanted], found, case.rtol, case.atol)


def failures(computed):
    counts, wrong = Counter(), []
    for case in listed():
        try:
            check(case, computed)
            counts["passed"] += 1
        except InputError as error:
            counts["refused"] += 1
            wrong.append((case.name, f"refused: {error}"))
        except Exception as error:
            counts["failed"] += 1
            wrong.append((case.name, f"{type(error).__name__}: {str(error)[:300]}"))
    return counts, wrong


def test_every_case_of_a_listed_operator_gives_the_standards_numbers():
    counts, wrong = failures(computed=False)
    assert wrong == []
    assert counts["passed"] >= 200


NUMBERS_ONLY = {"Ceil", "Floor", "Hardmax", "Mod", "Round"}
"""Operators without a derivative: of numbers that are known alone."""


def test_every_case_with_computed_inputs_gives_them_too():
    counts, wrong = failures(computed=True)
    refused = {case.name for case in listed() if case.model.graph.node[0].op_type in NUMBERS_ONLY}
    assert [(name, said) for name, said in wrong if name not in refused or "refused" not in said] == []
    assert counts["passed"] >= 200


def test_every_listed_operator_has_a_function_and_every_function_is_listed():
    assert set(TABLE) == set(VERSIONS)


def test_the_versions_are_those_of_the_standard():
    from onnx import defs

    known = Counter()
    history = {name: set() for name in VERSIONS}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain and schema.name in VERSIONS:
            history[schema.name].add(schema.since_version)
    for name, (oldest, newest) in VERSIONS.items():
        assert {oldest, newest} <= history[name], name
        assert newest == max(history[name]), name  # a newer onnx knows a newer one: read what has changed
        at_9 = max([v for v in history[name] if v <= 9], default=oldest)
        assert oldest <= at_9, name  # opset 9 can be read
        known[name] += 1


# ---- gradients

UNSTEADY = {
    "test_pow": "negative to the power of what is no whole number: NaN beside it",
    "test_pow_types_int64_float32": "the result is a whole number",
}
"""Cases at a place where differences say nothing."""


def moved(case, rng):
    """The inputs of a case in float64, a little beside the round numbers at which many curves have a kink."""
    given = [array_of(x) for x in case.data_sets[0][0]]
    return [x + rng.uniform(0.005, 0.02, x.shape) if x.dtype.kind == "f" else x for x in given]


def derivatives(case, rng):
    """Along a random direction, of the outputs in random shares: by the graph and by differences. None: no graph."""
    given = moved(case, rng)
    ways = [rng.normal(size=x.shape) * (x.dtype.kind == "f") for x in given]
    graph = [as_values(x) if x.dtype.kind == "f" else x for x in given]
    outputs = {k: x for k, x in enumerate(run(case, graph)) if isinstance(x, Values)}
    if not outputs:
        return None
    shares = {k: rng.normal(size=x.shape) for k, x in outputs.items()}

    def at(step):
        found = run(case, [x + step * way if x.dtype.kind == "f" else x for x, way in zip(given, ways, strict=True)])
        return sum((found[k] * share).sum() for k, share in shares.items())

    sum((each("mul", outputs[k], share)).sum() for k, share in shares.items()).backward()
    exact = sum((x.grad * way).sum() for x, way in zip(graph, ways, strict=True) if isinstance(x, Values))
    return exact, (at(1e-6) - at(-1e-6)) / 2e-6


def test_gradients_are_those_of_differences():
    rng, compared, wrong = np.random.default_rng(0), Counter(), []
    for case in listed():
        operator = case.model.graph.node[0].op_type
        if operator in NUMBERS_ONLY or case.name in UNSTEADY or not element_types(case) & {1, 11}:
            continue
        found = derivatives(case, rng)
        if found is not None:
            compared[operator] += 1
            if not np.isclose(*found, rtol=1e-5, atol=1e-6):
                wrong.append((case.name, *found))
    assert wrong == []
    assert len(compared) >= 30
