"""A condition is typed in a window; where it becomes true the run pauses, and it is said which and why."""

from __future__ import annotations

import pytest

from kit.windows import live_hand, make_colour_run, make_colour_scene
from scalarviz.view.watch.playback import RATE

pytestmark = pytest.mark.gl


@pytest.fixture
def hand():
    with live_hand(make_colour_scene(make_colour_run(lr=0.1), ())) as made:
        yield made


def noticed(hand, *texts):
    return all(text in hand.view.notice() for text in texts)


def entered(hand, text):
    """Type a condition over whatever is offered, and press Enter."""
    hand.view.send("break_on")
    hand.type(text)
    hand.view.key("Return", "\r")


def played(hand):
    hand.view.toggle_run()
    hand.settled(40, 1 / RATE)
    return hand.run.steps


def test_a_condition_is_typed_and_pauses_the_run_where_it_becomes_true(hand):
    told = []
    hand.view.tell = told.append
    assert hand.view.key("F9")
    assert noticed(hand, "pause when: |", "grad > 10")  # an example
    hand.type("loss < 0.5x")
    hand.view.key("Backspace", "\x08")
    hand.type(" and step > 7")
    assert noticed(hand, "pause when: loss < 0.5 and step > 7|")
    hand.view.key("Return", "\r")
    assert hand.view.notice() == "breakpoint 1: pauses when loss < 0.5 and step > 7"
    assert played(hand) == 8
    assert hand.view.notice().startswith("breakpoint 1 at step 8: loss < 0.5 and step > 7 (loss ")
    assert (len(told), hand.view.bench.selected) == (1, None)
    assert "paused at a breakpoint" in hand.view.pace_text()
    hand.run.break_on("grad > 99")
    hand.view.toggle_run()
    for on in (True, False):
        for said in (hand.view.pace_text(), hand.run.engine.why):
            assert ("checks breakpoint 2 after every step" in said) == on
        hand.run.breakpoints.disable(2)


def test_the_weight_in_question_is_selected_and_is_offered_until_letters_are_typed(hand):
    hand.run.break_on("0.weight[2][1] > -9 and step / 4 == 1", once=True)
    hand.run.break_on("0.weight[0][0] > -9 and step == 8")
    for step in (4, 8):
        assert played(hand) == step
        assert hand.view.bench.selected == 2 * 3 + 1
    offered = "0.weight[2][1] crosses 0"
    for key, text, left in (("", "loss < 0.5", "loss < 0.5"), ("End", ".5", f"{offered}.5")):
        hand.view.send("break_on")
        assert noticed(hand, f"pause when: {offered}|", "typing replaces it")
        if key:
            hand.view.key(key)
        hand.type(text)
        assert noticed(hand, f"pause when: {left}|")
        hand.view.key("Escape")
    entered(hand, "")
    assert hand.run.breakpoints[-1].text == offered
    assert noticed(hand, "training checks after every step")


def test_keys_are_letters_while_it_is_typed_a_mistake_can_be_mended_and_escape_leaves_it(hand):
    stood = hand.run.steps, hand.view.bench.theme, hand.view.bench.interaction.help
    entered(hand, "los < 1")
    assert noticed(hand, "at character 1, the name 'los' is unknown; did you mean 'loss'?")
    for key in (*["Backspace"] * 4, "Right", "Tab"):
        hand.view.key(key)
    hand.type("s < rLg?[] .,")
    assert noticed(hand, "pause when: loss < rLg?[] .,|")
    hand.settled()
    assert (hand.run.steps, hand.view.bench.theme, hand.view.bench.interaction.help) == stood
    for leave in (lambda: hand.view.key("Escape"), lambda: hand.view.send("fit"), lambda: entered(hand, "")):
        hand.view.key("Delete")
        leave()
        assert (hand.view.prompt, len(hand.run.breakpoints)) == (None, 0)
        hand.view.send("break_on")


def test_numbers_switch_and_take_away_and_one_that_is_true_already_says_so(hand):
    for text in ("loss < 1", "nan", "step == 9", "grad > 4", "grad > " + "0" * 60 + "5"):
        hand.run.break_on(text)
    hand.view.send("break_on")
    assert noticed(hand, "2 more; 3 step == 9; 4 grad > 4; 5 grad > 000")
    for text, said in (("2", "breakpoint 2 is off"), ("2", "breakpoint 2 is on"), ("-2", "breakpoint 2 removed"),
                       ("77", "pause when: 77|  ·  there is no breakpoint 77")):  # fmt: skip
        entered(hand, text)
        assert hand.view.notice().startswith(said)
    assert [point.number for point in hand.run.breakpoints] == [1, 3, 4, 5]
    hand.view.key("Escape")
    hand.view.worker.train_to(3)
    hand.settled()
    for text, true in (("loss > 0", True), ("loss > 9", False), ("0.weight > -9", True), ("loss changes", False)):
        entered(hand, text)
        hand.settled(1, 0.01)
        assert noticed(hand, f"pauses when {text}")
        assert noticed(hand, "That is true now; the run pauses when it becomes true again") is true
