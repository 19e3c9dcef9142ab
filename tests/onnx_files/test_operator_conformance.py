"""The standard's own cases: `onnx.backend.test`, single nodes of every operator that is known."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest

from scalarviz.errors import InputError, ScalarvizError
from scalarviz.imported.operators.alike import each
from scalarviz.imported.operators.table import TABLE, Call, supported
from scalarviz.imported.operators.versions import VERSIONS
from scalarviz.nn._array import Values, values
from scalarviz.onnx.reading import graph_of
from scalarviz.scalar.value import as_value

KINDS = {1: np.float32, 7: np.int64, 9: np.bool_, 11: np.float64}
"""Element types whose cases have to pass."""
SLOW = {"attention", "averagepool", "image_decoder", "lppool", "maxpool"}
"""Files of cases that take longer to make than all others together."""
NUMBERS_ONLY = {"ArgMax", "ArgMin", "Ceil", "Floor", "Hardmax", "Mod", "NonZero", "Round"}
"""Operators without a derivative: of numbers that are known alone."""
PLACES = {f"test_maxpool_with_argmax_2d_precomputed_{name}" for name in ("pads", "strides")}
"""Cases that ask where the largest number stands."""
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
    """The operator of a case of one node of the standard's; empty for others."""
    nodes = case.model.graph.node
    return nodes[0].op_type if len(nodes) == 1 and not nodes[0].domain else ""


def listed(*, slow=False):
    """Cases of one node whose operator is known and whose types are those of `KINDS`."""
    return [case for case in cases(slow) if operator_of(case) in VERSIONS and element_types(case) <= set(KINDS)]


def array_of(given):
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(given) if isinstance(given, TensorProto) else np.asarray(given)


def is_data(case, place, array):
    """Whether an input is made of Values where the graph computes."""
    return array.dtype.kind == "f" and place not in SETTINGS.get(operator_of(case), ())


def as_values(array):
    return values([as_value(x) for x in array.astype(np.float64).ravel().tolist()], array.shape)


def run(case, inputs):
    """The outputs of a graph whose inputs are numbers or Values."""
    graph = graph_of(case.model, case.name)
    known = dict(graph.constants)
    known.update(zip([port.name for port in graph.inputs], inputs, strict=True))
    types = {port.name: port.dtype for port in graph.inputs}
    for node in graph.nodes:
        assert supported(node, graph.opset) == ""
        given = tuple(known[name] if name else None for name in node.inputs)
        dtypes = tuple(types.get(name) for name in node.inputs)
        known.update(zip(node.outputs, TABLE[node.operator](Call(node, given, graph.opset, dtypes)), strict=False))
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
    from onnx.backend.test.runner import Runner

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
        except InputError as error:
            wrong.append((case.name, operator_of(case), f"refused: {error}"))
        except Exception as error:
            wrong.append((case.name, operator_of(case), f"{type(error).__name__}: {str(error)[:300]}"))
    return passed, wrong


def surprises(wrong):
    """Of cases with computed inputs: all but those that are for known numbers alone, which say so."""
    return [found for found in wrong if not (found[1] in NUMBERS_ONLY or found[0] in PLACES) or "known" not in found[2]]


def test_every_case_of_a_listed_operator_gives_the_standards_numbers():
    passed, wrong = outcomes(listed(), computed=False)
    assert wrong == []
    assert passed >= 250


def test_every_case_with_computed_inputs_gives_them_too():
    passed, wrong = outcomes(listed(), computed=True)
    assert surprises(wrong) == []
    assert passed >= 250


def test_every_listed_operator_has_a_function_and_every_function_is_listed():
    assert set(TABLE) == set(VERSIONS)


def test_the_versions_are_those_of_the_standard():
    from onnx import defs

    history = {name: set() for name in VERSIONS}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain and schema.name in VERSIONS:
            history[schema.name].add(schema.since_version)
    for name, (oldest, newest) in VERSIONS.items():
        assert newest == max(history[name]), name  # a newer onnx knows a newer one: read what has changed
        assert oldest <= max([v for v in history[name] if v <= 9], default=oldest), name  # opset 9 can be read
        assert oldest in history[name], name


DOCS = Path(__file__).resolve().parents[2] / "docs" / "onnx.md"


def test_the_docs_name_every_operator_once_and_those_for_known_numbers():
    (table,) = re.findall(r"(?ms)^## Operators$.*?\n((?:\|[^\n]*\n)+)", DOCS.read_text(encoding="utf-8"))
    named = re.findall(r"`(\w+)`(°?)", table)
    assert Counter(name for name, _ in named) == dict.fromkeys(VERSIONS, 1)
    assert {name for name, mark in named if mark} == NUMBERS_ONLY


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
        if name in NUMBERS_ONLY or case.name in {*UNSTEADY, *PLACES} or not element_types(case) & {1, 11}:
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
    assert {operator_of(case) for case in tried} >= {"AveragePool", "LpPool", "MaxPool"}
    assert outcomes(tried, computed=False)[1] == []
    small = [case for case in tried if all(np.size(array_of(x)) <= MOST for x in case.data_sets[0][0])]
    assert len(small) >= 30
    assert surprises(outcomes(small, computed=True)[1]) == []
    assert compared(small)[1] == []


def is_known(case):
    """Whether our own tables say that a case can be computed."""
    graph = graph_of(case.model, case.name)
    return not any(supported(node, graph.opset) for node in graph.nodes)


def counted(everything):
    """How many cases pass, how many are refused, and the names of those that give something else."""
    passed, refused, other = 0, 0, []
    for case in everything:
        if not is_known(case):
            refused += 1
            continue
        try:
            check(case, computed=False)
            passed += 1
        except ScalarvizError:
            refused += 1
        except Exception as error:
            other.append((case.name, str(error)[:200]))
    return passed, refused, other


@pytest.mark.ci
def test_the_docs_say_how_many_of_the_standards_cases_pass():
    everything = [*cases(False), *cases(True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        names = {case.name for case in everything}
        everything += [case for case in load_model_tests(kind="node") if case.name not in names]
    passed, refused, other = counted(everything)
    assert other == []
    tried = [*listed(), *listed(slow=True)]
    small = [case for case in tried if all(np.size(array_of(x)) <= MOST for x in case.data_sets[0][0])]
    graphs, _ = outcomes(small, computed=True)
    text = " ".join(DOCS.read_text(encoding="utf-8").split())
    if f"onnx {onnx.__version__})" in text:  # of another version the numbers are others
        assert f"brings {len(everything):,} cases" in text
        assert f"{passed:,} of them pass, {refused:,} ask for" in text
        assert f"all {len(tried):,} cases of one node" in text
        assert f"and {graphs:,} of them as graphs" in text
    assert passed >= 1000
