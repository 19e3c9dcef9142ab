"""Predictions: each question has the answer that the loss, and the step itself, give; nothing of it is seen before."""

from __future__ import annotations

import re

import numpy as np
import pytest

import scalarviz as sv
from kit.commands import make_scene
from kit.windows import live_hand
from scalarviz.errors import InputError, TypeMismatchError
from scalarviz.view.ink.theme import presenting
from scalarviz.view.micro.step_view import GRADIENTS, UPDATE

pytestmark = pytest.mark.gl


def rises_by_the_loss(hand, index):
    """Whether the shown sample's loss falls when a weight rises: a central difference, with nothing of backward."""
    subject, frame = hand.bench.subject, hand.view.current_frame()
    ends = []
    for way in (1, -1):
        values = np.array(frame.values, np.float64)
        values[index] += way * 1e-4
        ends.append(subject.source.evaluate(subject.probe[None], subject.target[None], values))
    return ends[0] < ends[1]


def asked(hand):
    """The weight and the phase of the open question; None without one."""
    shown, question = hand.bench.step_drawing.micro_step, hand.view.micro.predictions.question
    assert shown is None or shown.asks == (question is not None)
    return None if question is None else (shown.sentence.index, hand.view.micro.walk.phases[question.at - 1])


def play(hand, answers):
    """Go through all questions of one step; `answers` is called with each weight and phase. Yield the replies."""
    hand.do("predict")
    while (what := asked(hand)) is not None:
        shown, (index, phase) = hand.bench.step_drawing.micro_step, what
        assert not (shown.frame.computed if phase == GRADIENTS else shown.moved)[index]
        assert {"arrow"} <= {spot.name for spot in hand.bench.spots}
        answers(index, phase)
        hand.settled()
        yield what, hand.bench.step_drawing.micro_step.sentence.caption.text
        hand.view.send("micro_next")
        hand.settled()


LARGER = [pytest.param(name, marks=pytest.mark.ci) for name in ("rgb", "xor", "playground", "uinn", "digits")]


@pytest.mark.parametrize("name", ["neuron", *LARGER])
def test_each_question_has_the_answer_of_the_loss_and_of_the_step(name):
    with live_hand(make_scene(name)) as hand:
        hand.do("step", 3)

        def answers(index, phase):
            rises = rises_by_the_loss(hand, index) if phase == GRADIENTS else hand.view.micro.walk.change[index] > 0
            hand.view.key("Up" if rises else "Down")

        replies = list(play(hand, answers))
        right = len(replies)
        assert right > 0
        assert all(said.startswith("Right: ") for _, said in replies), replies
        assert hand.view.micro.predictions.score == f"{right} of {right}"
        opened = hand.run.open(sample=(hand.bench.subject.probe, hand.bench.subject.target))
        if len(hand.run.values) <= 64:  # each weight that moves is asked about
            moving = np.flatnonzero(opened.gradient)
            assert sorted(index for (index, phase), _ in replies if phase == GRADIENTS) == moving.tolist()
            assert {index for (index, phase), _ in replies if phase == UPDATE} <= set(range(len(hand.run.values)))


@pytest.mark.parametrize("hall", [False, True])
def test_a_pressed_arrow_answers_and_wrong_answers_are_counted(hall):
    with live_hand(make_scene("neuron"), (1920, 1080) if hall else (1280, 720), theme=presenting("dark", hall)) as hand:
        hand.do("micro_next")
        hand.press(hand.spot("predict", 0))
        hand.until(lambda: asked(hand) is not None)
        hand.settled()
        index, _ = asked(hand)
        rises = rises_by_the_loss(hand, index)
        hand.press(hand.spot("arrow", -1 if rises else 1))
        assert hand.bench.step_drawing.micro_step.sentence.caption.text.startswith("Wrong: ")
        assert {"predicted", "0 of 1"} <= set(hand.words())
        rate = hand.run.lr
        hand.key("Up")  # there is no question now
        assert (hand.run.lr, hand.view.micro.predictions.score) == (rate, "0 of 1")
        assert "press . for the next question" in hand.words()
        hand.key(".")
        assert asked(hand)[1] == UPDATE
        hand.do("toggle_help")  # covers the question
        hand.key("Down")
        assert (hand.run.lr, hand.view.micro.predictions.score) == (rate, "0 of 1")
        hand.do("escape")
        assert asked(hand)[1] == UPDATE
        hand.key(",")  # leaves it without an answer
        assert asked(hand) is None
        hand.do("predict")
        assert not hand.view.micro.predictions.on
        assert "predicted" not in hand.words()


def test_up_and_down_change_the_rate_where_nothing_is_asked():
    with live_hand(make_scene("neuron")) as hand:
        hand.do("micro_next")
        before = hand.run.lr
        hand.key("Up")
        hand.arrived()
        assert hand.run.lr == 2 * before


@pytest.mark.parametrize("wrong", [None, 3, "rgb", [1.0, 2.0]])
def test_predict_refuses_what_has_no_steps(wrong):
    with pytest.raises(TypeMismatchError, match=re.escape("allowed: a Scene or Run")):
        sv.predict(wrong)


def test_predict_refuses_a_size_that_cannot_be_drawn():
    with make_scene("neuron").run as run, pytest.raises(InputError, match="size"):
        sv.predict(run, size=(3, 3))


def test_predict_opens_a_cell_with_a_question():
    with make_scene("neuron").run as run:
        cell = sv.predict(run)
        try:
            assert cell._shown.call(lambda play: play.viewer.bench.step_drawing.micro_step.asks)
        finally:
            cell.close()


def test_inside_a_step_a_clicked_cube_hides_no_panel():
    with live_hand(make_scene("neuron")) as hand:

        def shown():
            return {name for name, drawer in hand.bench.side.drawers.items() if drawer.box is not None}

        hand.do("step")
        hand.bench.select(0)
        at_rest = shown()
        hand.do("micro_next")
        hand.settled()
        inside = shown()
        hand.bench.select(None)
        assert shown() == inside > at_rest
        hand.bench.select(0)
        assert shown() == inside
        hand.do("step")
        hand.settled()
        assert shown() == at_rest


@pytest.mark.parametrize("index", [0, 1])
def test_a_selected_weight_is_asked_about_once_and_each_answer_is_about_a_number_that_is_shown(index):
    with live_hand(make_scene("neuron", weights="2")) as hand:
        hand.do("step", 3)
        hand.bench.select(index)

        def answers(asked_about, phase):
            assert asked_about not in hand.bench.step_drawing.micro_step.cube_texts, "the arrows stand there"
            hand.view.key("Up")
            shown = hand.bench.step_drawing.micro_step
            assert shown.sentence.index == asked_about
            assert (shown.frame.computed if phase == GRADIENTS else shown.moved)[asked_about]

        questions = [what for what, _ in play(hand, answers)]
        assert len(set(questions)) == len(questions) == 4
