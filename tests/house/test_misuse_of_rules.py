"""What fails of networks, rules and runs with wrong arguments fails in words: found by random calls."""

from __future__ import annotations

import math

import numpy as np
import pytest

import scalarviz as sv
from scalarviz import Value, Weight, nn, optim
from scalarviz.errors import InputError, OutOfRangeError, ScalarvizError, TypeMismatchError

HUGE = 10**400
X = np.linspace(0, 1, 12).reshape(4, 3)


def circle():
    rows = [1.0]
    rows.append(rows)
    return rows


def parameter():
    return nn.Parameter([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def run(**given):
    net = nn.Linear(3, 2, seed=0)
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), lr=0.1), (X, X[:, :2]), engine="numpy", **given)


def groups():
    rules = [{"params": [Weight(1.0)]}, {"params": [Weight(2.0)], "lr": 0.2}]
    return optim.SGD(rules, lr=0.1).param_groups


def set_group(name):
    groups()[0][name] = 0.1


def in_place(p, other):
    with sv.no_grad():
        p -= other


CALLS = {
    "a list that holds itself, added": lambda: parameter() + circle(),
    "a list that holds itself, multiplied": lambda: parameter()[:, [0, 2]] * circle(),
    "a list that holds itself, in a product": lambda: parameter() @ circle(),
    "a list that holds itself, in place": lambda: in_place(parameter(), circle()),
    "ids that hold themselves": lambda: sv.gather(parameter(), circle()),
    "an index that holds itself": lambda: parameter()[circle()],
    "an index of Values that holds itself": lambda: parameter()[:, [0, 2]][circle()],
    "an index of Values beyond": lambda: parameter()[:, [0, 2]][9],
    "an index of Values that is huge": lambda: parameter()[:, [0, 2]][2**63],
    "an index of Values that is a text": lambda: parameter()[:, [0, 2]]["a"],
    "a class that no float holds": lambda: nn.CrossEntropyLoss()([1.0, 2.0], HUGE),
    "a class below all": lambda: nn.NLLLoss()([1.0, 2.0], -HUGE),
    "a class that is a list": lambda: nn.NLLLoss()([1.0, 2.0], [[]]),
    "a class in two lists": lambda: nn.MultiMarginLoss()([1.0, 2.0], [[1, 0]]),
    "outputs without a length": lambda: nn.CrossEntropyLoss()(np.array(1.0), 0),
    "weights that no float holds": lambda: nn.CrossEntropyLoss([HUGE, 1]),
    "a power that is an array": lambda: nn.MultiMarginLoss(np.ones(2)),
    "a list as a group's number": lambda: groups()[0][["lr"]],
    "an array as a group's number": lambda: groups()[0][np.array(["lr", "lr"])],
    "a set as a group's number": lambda: set_group({"lr"}),
    "a sample's number that is a list": lambda: run().sample([0, 1]),
    "a sample's number that is none": lambda: run().sample(True),
    "a sample that there is not": lambda: run().sample(4),
    "a branch that there is not": lambda: run().switch(10**5000),
    "a pace that is none": lambda: run().restore(run().state_dict(), {}, 1, (0.1, None, None)),
    "an operation that is a list": lambda: sv.scalar.function(["exp"]),
    "a probability set to 5": lambda: setattr(nn.Dropout(), "p", 5),
    "a probability set to an array": lambda: setattr(nn.Dropout(), "p", np.ones(2)),
    "a clipping length that is infinite": lambda: run(clip_norm=math.inf),
    "an array as last_epoch": lambda: optim.lr_scheduler.StepLR(optim.SGD([Weight(1.0)]), 2, last_epoch=np.zeros(2)),
}


@pytest.mark.parametrize("what", CALLS)
def test_it_is_refused_in_one_line_of_words(what):
    with pytest.raises(ScalarvizError) as caught:
        CALLS[what]()
    assert 10 < len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("model", "loss", "said"), [
    (nn.Linear, nn.MSELoss(), "model .* the class Linear; give an object"),
    (nn.Linear(3, 2), nn.MSELoss, r"loss .* give an object of it, MSELoss\(\)"),
    (nn.Linear(3, 2), "mse", "loss must be a module or a function of Values, got str"),
])  # fmt: skip
def test_a_class_is_no_object_of_it(model, loss, said):
    with pytest.raises(TypeMismatchError, match=said):
        sv.Run(model, loss, optim.SGD([Weight(1.0)], lr=0.1), (X, X[:, :2]))


def test_what_is_allowed_stands_in_the_message():
    with pytest.raises(InputError, match="clip_norm must be a finite number above 0, or None"):
        run(clip_norm=0)
    with pytest.raises(OutOfRangeError, match=r"the samples: there is no number -5, it has 4"):
        run().sample(-5)
    np.testing.assert_array_equal(run().sample(-1)[0], np.float32(X[3]))
    with pytest.raises(TypeMismatchError, match="pace"):
        run().restore(run().state_dict(), {}, 1, 0.1)


def test_arrays_of_values_are_iterated_and_searched_as_ever():
    array = parameter()[:, [0, 2]]
    assert [[w.data for w in row] for row in array] == [[1.0, 3.0], [4.0, 6.0]]
    with pytest.raises(IndexError, match=r"shape \(2, 2\)\[2\]"):
        array[2]


def test_a_probability_that_is_set_counts_from_the_next_call_on():
    dropout = nn.Dropout(0.5)
    dropout.p = 1
    assert [v.data for v in dropout([Value(1.0), 2.0])] == [0.0, 0.0]
    dropout.p = 0
    assert repr(dropout) == "Dropout(p=0, inplace=False)"
    assert [float(v) for v in dropout([1.0, 2.0])] == [1.0, 2.0]


@pytest.mark.filterwarnings("error")
def test_an_infinity_is_a_result_of_arrays_too():
    big = nn.Parameter([1e300, 2.0])
    assert (big * 1e300).data.tolist() == [math.inf, 2e300]
    assert (big**9999).data.tolist() == [math.inf, math.inf]
    np.testing.assert_array_equal((big[::-1] - math.inf).data, [-math.inf] * 2)
