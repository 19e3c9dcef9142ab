"""A page of what another library trained plays in a browser as that of a Run does."""

from __future__ import annotations

import numpy as np

import scalarviz as sv

from .players import opened, said


def test_it_plays_from_step_to_step(page, tmp_path):
    params = {"first": {"kernel": np.ones((3, 4), np.float32)}, "last": [np.ones((4, 2), np.float32)]}
    watched = sv.watch(params)
    with sv.Recording(watched, gradients=True, updates=True) as recording:
        for step in range(1, 6):
            grads = {"first": params["first"], "last": params["last"]}
            params = {"first": {"kernel": params["first"]["kernel"] * np.float32(0.9)},
                      "last": [params["last"][0] * np.float32(0.8)]}  # fmt: skip
            watched.update(params, grads, loss=1 / step)
        file = recording.save_html(tmp_path / "loop.html")
    opened(page, file, "#step=3&quantity=gradient")
    assert (said(page, "step"), said(page, "shows")) == ("3", "gradient")
    tables = page.evaluate(
        "Object.fromEntries(Object.entries(scalarviz.run.tables).map(([k, t]) => [k, [...t.numbers]]))"
    )
    values = np.array(tables["weight"], np.float32).reshape(6, -1)
    with_loss = page.evaluate("scalarviz.run.loss.slice(1)")
    assert np.array_equal(
        values[5][:20], np.concatenate([params["first"]["kernel"].ravel(), params["last"][0].ravel()])
    )
    assert with_loss == [1 / step for step in range(1, 6)]
    page.get_by_role("button", name="numbers").click()
    assert "first.kernel[0][0]" in said(page, "table")


def test_updates_are_seen_where_no_gradients_are_and_not_where_nobody_looked_before(page, tmp_path):
    w = np.zeros((2, 2))
    watched = sv.watch({"w": w})
    with sv.Recording(watched, every=4, gradients=True, updates=True) as recording:
        for step in range(1, 11):
            w += step
            watched.update(loss=1 / step)
    file = recording.save_html(tmp_path / "loop.html")
    opened(page, file, "#step=8&quantity=update")
    assert page.evaluate("[...scalarviz.player.shown.flags].map(flag => flag & (32 | 64))") == [0] * 4
    assert page.evaluate("[...scalarviz.player.shown.numbers]") == [8] * 4
    page.get_by_role("button", name="numbers").click()
    assert "not computed yet" in said(page, "table")  # the gradient
    history = page.evaluate("[...scalarviz.run.history('update', 0)].map(x => Number.isNaN(x) ? null : x)")
    assert history == [None, 4, 8, None]  # steps 0, 4, 8 and 10
    assert page.evaluate("[...scalarviz.run.history('gradient', 0)].every(Number.isNaN)")
