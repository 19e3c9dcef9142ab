"""Forwards as texts: the same text gives PyTorch's numbers here, or an error that says what to type instead."""

import pytest

import scalarviz as sv
from kit import hunt
from kit.forwards import BY_HAND, FORWARDS, MIXED, NUMBERS, PAIRS
from kit.forwards_drawn import drawn
from kit.same_text import Text, Twins, alike, built, said
from scalarviz import ScalarvizError

pytestmark = [
    pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel"),
    pytest.mark.filterwarnings("ignore:The use of `x.T` on tensors"),
]


@pytest.fixture(autouse=True)
def one_thread(torch):
    """PyTorch's second thread waits longer for the first, in nets so small, than it computes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cases(texts):
    """A parameter for each text and each of its shapes."""
    rows = [(name, shape) for name, text in texts.items() for shape in getattr(text, "text", text).shapes]
    return pytest.mark.parametrize(("name", "shape"), rows, ids=[f"{name} {shape}" for name, shape in rows])


@cases(FORWARDS)
def test_a_text_gives_pytorchs_numbers(name, shape):
    for check in Twins(FORWARDS[name], shape).ways().values():
        check()


@cases({name: FORWARDS[name] for name in list(FORWARDS)[::12]})
def test_so_it_does_as_machine_code(name, shape):
    Twins(FORWARDS[name], shape).by_a_run("numba")


@cases(PAIRS)
def test_a_text_that_names_the_batch_axis_gives_pytorchs_numbers_or_the_text_that_does(name, shape):
    pair, verdicts = PAIRS[name], {}
    better, twins = Twins(pair.instead, shape), Twins(pair.text, shape)
    for check in better.ways().values():
        check()
    ways = twins.ways() if pair.text.loss == pair.instead.loss else {"a Run": twins.by_a_run}
    for way, check in ways.items():
        try:
            check()
            verdicts[way] = "same"
        except (ScalarvizError, ValueError) as error:  # x, y = h.shape ends in a ValueError with a note
            verdicts[way] = f"refused, with {pair.said}" if pair.said in said(error) else said(error)
    assert set(verdicts.values()) in ({"same"}, {f"refused, with {pair.said}"}), verdicts


@pytest.mark.parametrize("name", PAIRS)
def test_what_is_recommended_means_the_same_in_pytorch(name):
    pair = PAIRS[name]
    for shape in pair.text.shapes:
        one, other = Twins(pair.text, shape), Twins(pair.instead, shape)
        assert one.wanted.tolist() == other.wanted.tolist()


@cases(MIXED)
def test_a_text_that_mixes_samples_is_refused(name, shape):
    twins = Twins(MIXED[name], shape)
    rule = sv.optim.SGD(twins.ours.parameters(), lr=0.1)
    for call in (
        lambda: twins.ours(twins.x[0].tolist()),
        lambda: twins.ours(twins.x),
        lambda: sv.Run(twins.ours, sv.nn.MSELoss(), rule, (twins.x, twins.random.normal(size=(4, 3)))),
    ):
        with pytest.raises((ScalarvizError, ValueError)) as caught:  # x, y = h.shape ends in a ValueError with a note
            call()
        assert "batch" in said(caught.value)


@cases(NUMBERS)
def test_a_text_that_asks_for_numbers_gives_pytorchs_and_is_refused_by_a_run(name, shape):
    twins = Twins(NUMBERS[name], shape)
    twins.gradients()
    twins.by_batches(most=21)
    with pytest.raises(ScalarvizError, match="while its graph is recorded"):
        twins.by_a_run()


@pytest.mark.parametrize("name", BY_HAND)
def test_a_text_has_no_more_nodes_than_its_numbers_written_by_hand(name):
    twins = Twins(FORWARDS[name], (4,))
    hand = built(Text(FORWARDS[name].made, BY_HAND[name], ((4,),)), twins.names)
    hand.load_state_dict(twins.state)
    one, other = (sv.trace(net, 4) for net in (twins.ours, hand))
    assert len(one.nodes) <= len(other.nodes)
    alike("a batch", twins.ours(twins.x), [[v.data for v in hand(sample)] for sample in twins.x.tolist()])


def judged(seeds):
    """What became of the texts that `seeds` draw. A text that is wrong, or ends in an error of Python, is printed."""
    counts = dict.fromkeys(("same", "refused", "wrong", "error", "refused by PyTorch"), 0)
    for seed in seeds:
        text, what = drawn(seed), "same"
        try:
            twins = Twins(text, text.shapes[0], seed)
            twins.their_call(twins.x[:1])
            sensible = twins.trained[0] < 1e3
        except (RuntimeError, ValueError):
            sensible = False
        if not sensible:
            counts["refused by PyTorch"] += 1
            continue
        try:
            for check in twins.ways().values():
                check()
            if seed % 4 == 0:
                twins.by_a_run("numba")
        except ScalarvizError as error:
            what, why = "refused", error
        except AssertionError as error:
            what, why = "wrong", error
        except Exception as error:
            what, why = "error", error
        counts[what] += 1
        if what != "same":
            print(f"HUNT_SEED={seed}: {what}: {type(why).__name__}: {said(why)[:500]}\n{text.source()}")
    print(counts)
    return counts


def test_forwards_drawn_at_random_give_pytorchs_numbers():
    counts = judged(range(40))
    assert counts["same"] + counts["refused by PyTorch"] == 40


@pytest.mark.hunt
def test_many_forwards_drawn_at_random_give_pytorchs_numbers_or_a_refusal():
    counts = judged(hunt.seeds())
    assert counts["wrong"] + counts["error"] == 0
    assert counts["refused"] <= 0.01 * sum(counts.values())
