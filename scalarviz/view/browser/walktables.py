"""`walk_parts`: the numbers of opened steps as short texts: most follow from others that a page holds.

What a step makes of a weight is its value less rate times gradient, wherever plain gradient descent trains; the
gradient of one sample is the delta of a sum times the number that the weight multiplies. Both are right but for some
last bits, which is what is written. `js/walktables.js` is the way back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .pack import EXACT, packed

Float32 = NDArray[np.float32]


def walk_parts(said: Mapping[str, Any], rows: Float32, document: Mapping[str, Any], weights: Float32) -> dict[str, str]:
    """JSON of packed tables by the names of their parts.

    Parameters
    ----------
    said : mapping
        Of :func:`~scalarviz.view.browser.walks.walks_of`: the walks of single samples come first.
    rows : ndarray of float32, shape (W, N)
        A walk each: gradients and new weights (P each), rows of all stages, their deltas.
    document : mapping
    weights : ndarray of float32, shape (frames, texels)
        The page's own values.

    Returns
    -------
    dict
        ``"steps"`` (rows and deltas), ``"after"``, and as far as there are such walks ``"alone"`` and ``"whole"``: the
        gradients of one sample, and those of batches.
    """
    count, alone = document["parameters"], sum(walk["alone"] for walk in said["walks"])
    gradients, after, rest = np.split(rows, [count, 2 * count], axis=1)
    known = weights.size <= EXACT  # else the page has not these bits
    tables: dict[str, tuple[Float32, Float32 | None]] = {
        "steps": (rest, None),
        "after": (after, led_weights(said, gradients, weights[:, :count]) if known else None),
        "alone": (gradients[:alone], led_slopes(said, rest[:alone], document)),
        "whole": (gradients[alone:], None),
    }
    return {name: _text(table, led) for name, (table, led) in tables.items() if len(table)}


def _text(table: Float32, led: Float32 | None) -> str:
    return json.dumps(packed(np.ascontiguousarray(table), exact=True, led=led, dense=True), separators=(",", ":"))


def led_weights(said: Mapping[str, Any], gradients: Float32, weights: Float32) -> Float32:
    """What plain gradient descent makes of the weights of each walk's frame, (W, P)."""
    frames = [walk["frame"] for walk in said["walks"]]
    rates = np.array([_rate(walk) for walk in said["walks"]])
    with np.errstate(over="ignore", invalid="ignore"):
        wide: NDArray[np.float64] = weights[frames].astype(np.float64) - rates[:, None] * gradients.astype(np.float64)
        return wide.astype(np.float32)


def _rate(walk: Mapping[str, Any]) -> float:
    return float(walk["lr"]) if math.isfinite(float(walk["lr"])) else 0.0


def led_slopes(said: Mapping[str, Any], rest: Float32, document: Mapping[str, Any]) -> Float32:
    """Delta times input of every layer that has one row of inputs, (W, P); 0 of all other parameters."""
    led = np.zeros((len(rest), document["parameters"]), np.float32)
    spans, at = dict[str, slice](), 0
    for name, count in said["rows"]:
        spans[name] = slice(at, at + count)
        at += count
    made, deltas = rest[:, :at], rest[:, at:]
    tensors, before = {tensor["name"]: tensor for tensor in document["tensors"]}, "input"
    for stage in document["stages"]:
        source = (stage["sources"] or [before])[0]
        before = stage["name"]
        if len(stage["sources"]) > 1 or stage["weight"] is None or not stage["whole"]:
            continue
        delta = deltas[:, spans[before]].astype(np.float64)
        if source in spans:
            given = made[:, spans[source]].astype(np.float64)
        else:
            given = np.tile(np.array(said["input"], np.float64), (len(rest), 1))
        weight, bias = tensors[stage["weight"]], tensors.get(stage["bias"])
        if weight["shape"] != [delta.shape[1], given.shape[1]]:
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            slopes = (delta[:, :, None] * given[:, None, :]).astype(np.float32)
        led[:, weight["start"] : weight["start"] + slopes[0].size if len(rest) else 0] = slopes.reshape(len(rest), -1)
        if bias is not None and bias["shape"] == [delta.shape[1]]:
            led[:, bias["start"] : bias["start"] + delta.shape[1]] = delta
    return led
