# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The chain rule with its numbers
#
# A weight in the first layer is far from the loss. Between them lie a sum, an activation, another product and another
# sum. Still, after `backward()`, the weight knows exactly which way to go.
#
# **The question of this lesson: how does the weight find out? We write down every number.**
#
# You need to know: the slope of `w * x` with respect to `w` is `x` (lesson 01). The lesson takes about 20 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene


# %%
def show(x, size=(580, 427), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## A network that fits on a slide
#
# This network has two inputs, two hidden units with `tanh`, and one output. Together it has nine weights and biases.

# %%
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
net[0].weight.data = [[0.5, -1.0], [1.5, 0.5]]
net[0].bias.data = [0.1, -0.2]
net[2].weight.data = [[2.0, -0.5]]
net[2].bias.data = [0.3]
x, target = np.array([1.0, 0.5]), np.array([1.0])

# %%
sgd = optim.SGD(net.parameters(), lr=0.1)
run = sv.Run(net, nn.MSELoss(), sgd, data=([x], [target]), engine="numpy", dtype="float64")
scene = Scene("chain", run, x, target, ("x0", "x1"), ("out",), panels=())
show(scene)

# %% [markdown]
# The inputs are 1 and 0.5. The output should be 1, but it is 0.04.
#
# **Predict:** there are four weights on the left, in the first layer. Which of them should change most? Write it down
# before you go on.
#
# ## Forward, in five lines

# %%
(w00, w01), (w10, w11) = net[0].weight.data
b0, b1 = net[0].bias.data
(v0, v1), c = net[2].weight.data[0], net[2].bias.data[0]

s0 = w00 * x[0] + w01 * x[1] + b0
s1 = w10 * x[0] + w11 * x[1] + b1
h0, h1 = np.tanh(s0), np.tanh(s1)
y = v0 * h0 + v1 * h1 + c
loss = (y - target[0]) ** 2

# %%
print(f"s0   = {w00} * {x[0]} + {w01} * {x[1]} + {b0} = {s0:.4f}")
print(f"s1   = {w10} * {x[0]} + {w11} * {x[1]} + {b1} = {s1:.4f}")
print(f"h0   = tanh({s0:.4f}) = {h0:.4f},   h1 = tanh({s1:.4f}) = {h1:.4f}")
print(f"y    = {v0} * {h0:.4f} + {v1} * {h1:.4f} + {c} = {y:.4f}")
print(f"loss = ({y:.4f} - {target[0]})**2 = {loss:.4f}")

# %% [markdown]
# ## One way back
#
# Between `w00` and the loss lie four links. Ask each link one question: *by what factor does it multiply a small change
# of its input?* This factor is the slope of the link.
#
# * the loss with respect to `y`: `2 * (y - target)`
# * `y` with respect to `h0`: `h0` is multiplied by `v0`, so the slope is `v0`
# * `h0` with respect to `s0`: `tanh` has the slope `1 - h0 * h0`
# * `s0` with respect to `w00`: `w00` is multiplied by `x0`, so the slope is `x0`

# %%
links = 2 * (y - target[0]), v0, 1 - h0 * h0, x[0]
print(" * ".join(f"({link:.4f})" for link in links), f"= {np.prod(links):.4f}")

# %% [markdown]
# Why multiply? Let `w00` grow a tiny bit. Then `s0` grows by the same amount. `h0` grows 0.99 times as much as `s0`,
# and `y` grows 2 times as much as `h0`. The loss changes -1.915 times as much as `y`: it falls. Gears in a row multiply
# in the same way.
#
# Test it: nudge the weight, and look at the loss.


# %%
def loss_with(w00):
    h = np.tanh(w00 * x[0] + w01 * x[1] + b0)
    return (v0 * h + v1 * h1 + c - target[0]) ** 2


nudge = 1e-5
found = (loss_with(w00 + nudge) - loss_with(w00 - nudge)) / (2 * nudge)
print(f"nudged: {found:.4f}   chain rule: {np.prod(links):.4f}")

# %% [markdown]
# ## Compute the common part once
#
# The paths of `w00` and `w01` differ only in one link, the input. So backward computes the product of the common links
# **once**, and keeps it. This product is called **delta**, δ. It is the slope of the loss with respect to a sum.

# %%
delta_y = 2 * (y - target[0])
delta_0 = delta_y * v0 * (1 - h0 * h0)
delta_1 = delta_y * v1 * (1 - h1 * h1)
print(f"delta of y : {delta_y:.4f}")
print(f"delta of s0: {delta_y:.4f} * {v0} * {1 - h0 * h0:.4f} = {delta_0:.4f}")
print(f"delta of s1: {delta_y:.4f} * {v1} * {1 - h1 * h1:.4f} = {delta_1:.4f}")

# %% [markdown]
# Then each weight needs only one more product: **δ times its input**.

# %%
rows = [("v0", delta_y, h0), ("v1", delta_y, h1), ("c", delta_y, 1.0)]
rows += [("w00", delta_0, x[0]), ("w01", delta_0, x[1]), ("b0", delta_0, 1.0)]
rows += [("w10", delta_1, x[0]), ("w11", delta_1, x[1]), ("b1", delta_1, 1.0)]
for name, delta, entered in rows:
    print(f"{name:4} {delta:8.4f} * {entered:7.4f} = {delta * entered:8.4f}")

# %% [markdown]
# Three deltas give nine gradients. Was your prediction right? `w00` has the largest gradient of the four: its input is
# larger than that of `w01`. The second unit has little effect. The weight after it is small, and its `tanh` is nearly
# flat there (the slope is 0.165).

# %% [markdown]
# ## The same numbers in an opened step
#
# `run.open()` opens the next step of the run. It gives all numbers of this step, before any weight moves.

# %%
opened = run.open()
print("deltas of the sums:  ", opened.deltas["0"].ravel().round(4))
print("delta of the output: ", opened.deltas["2"].ravel().round(4))
print("gradient of w00:     ", opened.gradient[opened.index("0.weight[0][0]")].round(4))

# %% [markdown]
# An opened step is a sequence of **micro-steps**. Each is a line like the ones above. Here are the micro-steps of
# backward. Layer 2 computes the output, and layer 0 computes the two hidden sums:

# %%
for number, small in enumerate(opened.micro_steps(), 1):
    if small.phase in ("backward", "gradients"):
        print(f"{number:2}  layer {small.stage}: {small.words:27} {small.numbers}")

# %% [markdown]
# ## The micro-steps in the picture
#
# The picture shows the same micro-steps on the cubes. It counts from 1: layer 0 is called layer 1 there, and `h0` is
# called h1. Forward comes first. Here is its last sum.

# %%
show(scene, inside=12)

# %% [markdown]
# Then comes backward. Here δ has passed through the `tanh` of the first hidden unit. Orange is negative, violet is
# positive. The frames show the deltas that are computed so far.

# %%
show(scene, inside=15)

# %% [markdown]
# Then come the gradients. Here is that of `w00`, δ times its input:

# %%
show(scene, inside=24)

# %% [markdown]
# ## Two paths to one number
#
# A weight of the first layer has one path to the loss. The **input** `x0` has two: through the first unit and through
# the second. The products of the two paths are **added**.

# %%
first, second = delta_0 * w00, delta_1 * w10
print(f"through h0: {first:.4f}   through h1: {second:.4f}   together: {first + second:.4f}")
x0, x1 = sv.Value(x[0]), sv.Value(x[1])
((net([x0, x1])[0] - target[0]) ** 2).backward()
print(f"backward(): {x0.grad:.4f}")

# %% [markdown]
# This is the whole chain rule: **multiply along a path, add over paths**.
#
# ## Live
#
# This is the network of this lesson. Run the cell, click the picture, and press **`.`** (full stop) again and again.
# You see all 34 micro-steps of one training step, each with its formula. Click a cube to open its card.

# %%
sv.lesson("06")

# %% [markdown]
# ## Now you
#
# **1. Another target.** Everything is as above, but the target is 0, not 1. What is δ of `y` now? (`y` is 0.0424.)

# %% tags=["exercise: another-target"]
answer = ...
sv.check.exercise("06.1", answer)


# %% [markdown]
# **2. A rule.** `tanh` gets `upstream`, the slope of the loss with respect to its output. Which slope does `tanh` pass
# on to its input? (Use `np.tanh`.)


# %% tags=["exercise: tanh-rule"]
def rule(a, upstream):
    return ...


sv.check.exercise("06.2", rule)


# %% [markdown]
# **3. A small chain.** `f = (v * tanh(w) - 1)**2`. Write its slopes with respect to `v` and to `w`, link by link.


# %% tags=["exercise: small-chain"]
def slopes(v, w):
    return ..., ...


sv.check.exercise("06.3", slopes)


# %% [markdown]
# **4. One δ for three.** Write the slopes of `f = (v * (3 * w + b) - 1)**2` with respect to `w`, `b` and `v`. Compute
# **one** δ first: the slope of `f` with respect to the product `v * (3 * w + b)`.


# %% tags=["exercise: one-delta"]
def three_slopes(w, b, v):
    delta = ...
    return delta * ..., delta * ..., delta * ...


sv.check.exercise("06.4", three_slopes)

# %% [markdown]
# **5. A cut path.** Somebody sets `v0 = 0`. What is the gradient of `w00` then?

# %% tags=["exercise: cut"]
answer = ...
sv.check.exercise("06.5", answer)

# %% [markdown]
# ## To remember
#
# **Multiply the slopes along a path, and add over paths. Backward computes the common part of many paths once; it is
# called δ.**
