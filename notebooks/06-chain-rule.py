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
# A weight in the first layer acts on the loss through products, sums and an activation. Still, `backward()` finds the
# exact slope of the loss with respect to this weight.
#
# **The question of this lesson: how does `backward()` find this slope?**
#
# You need to know: the slope of `w * x` with respect to `w` is `x` (lesson 01). The lesson takes about 35 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene


# %%
def show(x, size=(548, 404), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## A small network
#
# This network has two inputs, two hidden units with `tanh`, and one output. The network has six weights and three
# biases.

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
# In the picture, each coloured cube is a weight or a bias. The inputs are 1 and 0.5. The output should be 1, but it is
# 0.04.
#
# **Predict:** the first layer, on the left, has four weights. Which of them will change most in the next training step?
#
# ## Forward

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
# ## One path to the loss
#
# A chain of four links leads from `w00` to the loss: `w00` to `s0`, `s0` to `h0`, `h0` to `y`, `y` to the loss. Each
# link multiplies a small change of its input by a factor. This factor is the slope of the link:
#
# * the loss with respect to `y`: the slope is `2 * (y - target)`
# * `y` with respect to `h0`: `h0` is multiplied by `v0`, so the slope is `v0`
# * `h0` with respect to `s0`: the slope of `tanh` is `1 - h0 * h0`
# * `s0` with respect to `w00`: `w00` is multiplied by `x0`, so the slope is `x0`

# %%
links = 2 * (y - target[0]), v0, 1 - h0 * h0, x[0]
print(" * ".join(f"({link:.4f})" for link in links), f"= {np.prod(links):.4f}")

# %% [markdown]
# <details>
# <summary>The chain rule, and the same in PyTorch</summary>
#
# The gradient is the product of the four slopes on the path. PyTorch multiplies them, too:
#
# $$\frac{\partial L}{\partial w_{00}} =
# \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial h_0} \cdot
# \frac{\partial h_0}{\partial s_0} \cdot \frac{\partial s_0}{\partial w_{00}} =
# 2\,(y - t) \cdot v_0 \cdot (1 - h_0^2) \cdot x_0$$
#
# ```python
# import torch
#
# W = torch.tensor([[0.5, -1.0], [1.5, 0.5]], requires_grad=True)
# h = torch.tanh(W @ torch.tensor([1.0, 0.5]) + torch.tensor([0.1, -0.2]))
# y = h @ torch.tensor([2.0, -0.5]) + 0.3
# loss = (y - 1) ** 2
# loss.backward()
# print(f"{y.item():.4f} {loss.item():.4f} {W.grad[0, 0].item():.4f}")  # 0.0424 0.9169 -3.7922
# ```
#
# </details>

# %% [markdown]
# Why do we multiply the slopes? Let `w00` grow a tiny bit. Then `s0` grows by the same amount. `h0` grows 0.99 times as
# much as `s0`, and `y` grows 2 times as much as `h0`. The loss changes -1.915 times as much as `y`: the loss falls. So
# the loss changes -3.79 times as much as `w00`.
#
# Test this: *nudge* the weight (change it a little), and compute the loss again.


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
# The chain of `w01` has the same slopes as the chain of `w00`, except one: `x1` instead of `x0`. So backward computes
# the product of the other three slopes **once** and stores it. This product is called **delta**, δ. Each sum (`s0`,
# `s1`, `y`) has a δ: the slope of the loss with respect to this sum.

# %%
delta_y = 2 * (y - target[0])
delta_0 = delta_y * v0 * (1 - h0 * h0)
delta_1 = delta_y * v1 * (1 - h1 * h1)
print(f"delta of y : {delta_y:.4f}")
print(f"delta of s0: {delta_y:.4f} * {v0} * {1 - h0 * h0:.4f} = {delta_0:.4f}")
print(f"delta of s1: {delta_y:.4f} * {v1} * {1 - h1 * h1:.4f} = {delta_1:.4f}")

# %% [markdown]
# Then the gradient of each weight needs only one more product: **δ times the input of the weight**. (The input of a
# bias is 1.)

# %%
rows = [("v0", delta_y, h0), ("v1", delta_y, h1), ("c", delta_y, 1.0)]
rows += [("w00", delta_0, x[0]), ("w01", delta_0, x[1]), ("b0", delta_0, 1.0)]
rows += [("w10", delta_1, x[0]), ("w11", delta_1, x[1]), ("b1", delta_1, 1.0)]
for name, delta, entered in rows:
    print(f"{name:4} {delta:8.4f} * {entered:7.4f} = {delta * entered:8.4f}")

# %% [markdown]
# <details>
# <summary>Backpropagation in matrices, and the same in PyTorch</summary>
#
# $\odot$ multiplies number by number. The gradient of a layer's matrix is its δ times its input:
#
# $$\delta = \delta_y\,v \odot (1 - h^2), \qquad \frac{\partial L}{\partial W} = \delta\,x^{\mathsf T}$$
#
# ```python
# import torch
#
# x, v = torch.tensor([1.0, 0.5]), torch.tensor([2.0, -0.5])
# W, b = torch.tensor([[0.5, -1.0], [1.5, 0.5]]), torch.tensor([0.1, -0.2])
# h = torch.tanh(W @ x + b)
# delta_y = 2 * (h @ v + 0.3 - 1)
# delta = delta_y * v * (1 - h**2)
# print(*(f"{number:.4f}" for number in delta))  # -3.7922 0.1580
# print(*(f"{number:.4f}" for number in torch.outer(delta, x).ravel()))  # -3.7922 -1.8961 0.1580 0.0790
# ```
#
# </details>

# %% [markdown]
# Three deltas give nine gradients. Of the four weights in the first layer, `w00` has the largest gradient in size,
# because its input is larger than the input of `w01`. The gradients of `w10` and `w11` are small, because the next
# weight on their path, `v1`, is small and `tanh` is nearly flat at `s1` (the slope is 0.165).

# %% [markdown]
# ## The same numbers in an opened step
#
# `run.open()` computes the next step without changing the run. It returns all numbers of this step: an *opened step*.

# %%
opened = run.open()
print("deltas of the sums:  ", opened.deltas["0"].ravel().round(4))
print("delta of the output: ", opened.deltas["2"].ravel().round(4))
print("gradient of w00:     ", opened.gradient[opened.index("0.weight[0][0]")].round(4))

# %% [markdown]
# An opened step consists of **micro-steps**: small computations, such as one δ or one gradient. The next cell prints
# the micro-steps of backward. In this list layer 0 is the first layer, layer 1 the `tanh`, and layer 2 the last layer.
# Output 0 of layer 0 is the sum `s0`.

# %%
for number, small in enumerate(opened.micro_steps(), 1):
    if small.phase in ("backward", "gradients"):
        print(f"{number:2}  layer {small.stage}: {small.words:27} {small.numbers}")

# %% [markdown]
# ## The micro-steps in pictures
#
# The next three pictures show micro-steps. The pictures count from 1: layer 0 is called layer 1, and `h0` and `h1` are
# called h1 and h2. The first picture shows the last sum of forward, the output:

# %%
show(scene, inside=12)

# %% [markdown]
# The second picture shows a micro-step of backward. The numbers in orange frames are the δ of the output and the δ of
# the first sum.

# %%
show(scene, inside=15)

# %% [markdown]
# The third picture shows the gradient of `w00`: δ times the input `x0`.

# %%
show(scene, inside=24)

# %% [markdown]
# ## Two paths to one number
#
# A weight of the first layer has one path to the loss. The **input** `x0` has two paths: one through each hidden unit.
# **Add** the products of the two paths to get the slope with respect to `x0`.

# %%
first, second = delta_0 * w00, delta_1 * w10
print(f"through h0: {first:.4f}   through h1: {second:.4f}   together: {first + second:.4f}")
x0, x1 = sv.Value(x[0]), sv.Value(x[1])
((net([x0, x1])[0] - target[0]) ** 2).backward()
print(f"backward(): {x0.grad:.4f}")

# %% [markdown]
# <details>
# <summary>The sum over both paths, and the same in PyTorch</summary>
#
# One path leads through each hidden unit $j$:
#
# $$\frac{\partial L}{\partial x_0} =
# \sum_{j} \frac{\partial L}{\partial s_j} \cdot \frac{\partial s_j}{\partial x_0} =
# \delta_0\,w_{00} + \delta_1\,w_{10}$$
#
# ```python
# import torch
#
# x = torch.tensor([1.0, 0.5], requires_grad=True)
# W, b = torch.tensor([[0.5, -1.0], [1.5, 0.5]]), torch.tensor([0.1, -0.2])
# y = torch.tanh(W @ x + b) @ torch.tensor([2.0, -0.5]) + 0.3
# ((y - 1) ** 2).backward()
# print(f"{x.grad[0].item():.4f}")  # -1.6591
# ```
#
# </details>

# %% [markdown]
# This is the whole chain rule: **multiply the slopes along each path, and add the products of all paths**.
#
# ## Live
#
# The next cell shows the same network. Run the cell, click the picture, and press **`.`** (full stop) again and again.
# You see all 34 micro-steps of one training step, each with its formula. Click a cube to see its numbers.

# %%
sv.lesson("06")

# %% [markdown]
# ## Now you
#
# **1. Another target.** Now the target is 0, not 1. What is the δ of `y`? (`y` is 0.0424.)

# %% tags=["exercise: another-target"]
answer = ...
sv.check.exercise("06.1", answer)


# %% [markdown]
# **A rule with a function of NumPy**, before you write one. The slope of `exp(a / 2)` is `exp(a / 2) / 2`. The rule
# multiplies this slope by `upstream`. By nudging `a`, you get the same number:


# %%
def half_rule(a, upstream):
    return upstream * np.exp(a / 2) / 2


nudged = 3.0 * (np.exp((0.5 + nudge) / 2) - np.exp((0.5 - nudge) / 2)) / (2 * nudge)
print(f"rule: {half_rule(0.5, 3.0):.4f}   nudged: {nudged:.4f}")

# %% [markdown]
# **2. The rule of `tanh`.** Write the backward rule of `tanh(a)`. `upstream` is the slope of the loss with respect to
# the output of `tanh`. Return the slope of the loss with respect to `a`. (Use `np.tanh`.)


# %% tags=["exercise: tanh-rule"]
def rule(a, upstream):
    return ...


sv.check.exercise("06.2", rule)


# %% [markdown]
# **3. A small chain.** Write the slopes of `f = (v * tanh(w) - 1)**2` with respect to `v` and `w`.


# %% tags=["exercise: small-chain"]
def slopes(v, w):
    return ..., ...


sv.check.exercise("06.3", slopes)


# %% [markdown]
# **4. One δ for three slopes.** Write the slopes of `f = (v * (3 * w + b) - 1)**2` with respect to `w`, `b` and `v`.
# Compute **one** δ first: the slope of `f` with respect to the product `v * (3 * w + b)`.


# %% tags=["exercise: one-delta"]
def three_slopes(w, b, v):
    delta = ...
    return delta * ..., delta * ..., delta * ...


sv.check.exercise("06.4", three_slopes)

# %% [markdown]
# **5. A cut path.** Suppose that `v0` is 0. What is the gradient of `w00` then?

# %% tags=["exercise: cut"]
answer = ...
sv.check.exercise("06.5", answer)

# %% [markdown]
# ## To remember
#
# **Multiply the slopes along each path, and add the products of all paths. Backward computes the common part of paths,
# δ, only once.**
