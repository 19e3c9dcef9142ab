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
# # Your own operation
#
# An *engine* is a way to compute a training run: `objects` is slow and simple, `numba` is fast. All engines share one
# table of operations, such as plus, times and tanh. You can add your own operation to this table. Then the chain rule,
# the pictures and all engines work with your operation.
#
# **The question of this lesson: how much does an engine have to know about an operation?**
#
# You need to know: a backward rule and its check (lesson 09), and why one unit cannot learn exclusive or, XOR (lesson
# 03). The lesson takes about 25 minutes.

# %%
import timeit

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import Axis, PlaneMap, Points

# %% [markdown]
# ## A bump
#
# `tanh` and the sigmoid rise from left to right. We want a function that is large in the **middle** and small on both
# sides: `exp(-a * a)`.

# %%
a = np.linspace(-2, 2, 9)
for at, value in zip(a, np.exp(-a * a), strict=True):
    print(f"{at:5.1f}  {'#' * round(30 * value)} {value:.2f}")

# %% [markdown]
# **Predict:** where is the slope of this function 0? Where is it positive, and where negative?
#
# The chain rule gives the slope of `y = exp(-a * a)`. The slope of `exp` is its own result, `y`. The slope of `-a * a`
# is `-2 * a`. So the slope of the whole function is `-2 * a * y`.
#
# ## One new line in the table
#
# `sv.register` adds an operation. You pass its name, the names of its inputs, the formula of its value, and one slope
# for each input, all as strings. In the formula of a slope, `y` stands for the value.

# %%
bump = sv.register("bump", "a", "exp(-a * a)", ("-2 * a * y",))

# %% [markdown]
# An engine needs only **the value and its slopes**. `backward()` does the rest. (The name `bump` is taken now. To try
# another formula, use another name.)

# %%
a = sv.Value(0.5)
z = 3 * bump(a) + a
z.backward()
print(f"slope of z with respect to a: {a.grad:.4f}")
sv.draw(z)

# %% [markdown]
# <details>
# <summary>The slope of the bump, and the same in PyTorch</summary>
#
# The chain rule gives the slope of $y = e^{-a^2}$. Then $z = 3y + a$ has two paths to $a$:
#
# $$\frac{dy}{da} = e^{-a^2} \cdot (-2a) = -2a\,y, \qquad \frac{dz}{da} = 3 \cdot (-2a\,y) + 1$$
#
# ```python
# import torch
#
# a = torch.tensor(0.5, requires_grad=True)
# z = 3 * torch.exp(-a * a) + a
# z.backward()
# print(f"{a.grad.item():.4f}")  # -1.3364
# ```
#
# </details>

# %% [markdown]
# ## A check of the slope
#
# `sv.register` accepts a wrong slope, too. But a gradient check finds the mistake:

# %%
print("bump:", bool(sv.gradcheck(bump, 0.5)))
careless = sv.register("careless", "a", "exp(-a * a)", ("-2 * a",))
print("with a slope that forgets y:", bool(sv.gradcheck(careless, 0.5)))

# %% [markdown]
# <details>
# <summary>An operation with its own backward rule, and the same in PyTorch</summary>
#
# `backward` gets the gradient of the value, $\partial L / \partial y$, and returns the gradient of the input:
#
# $$\frac{\partial L}{\partial a} = \frac{\partial L}{\partial y} \cdot (-2a\,y)$$
#
# ```python
# import torch
# class Bump(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, a):
#         ctx.save_for_backward(a)
#         return torch.exp(-a * a)
#     @staticmethod
#     def backward(ctx, upstream):
#         (a,) = ctx.saved_tensors
#         return upstream * -2 * a * torch.exp(-a * a)
# a = torch.tensor(0.5, requires_grad=True)
# print(f"{torch.autograd.grad(3 * Bump.apply(a) + a, a)[0].item():.4f}")  # -1.3364
# ```
#
# </details>

# %% [markdown]
# ## A unit with a bump
#
# In lesson 03 one unit could not learn XOR: its output is large on one side of a line and small on the other. With a
# bump, the output is large in the **middle** and small on both sides.
#
# **Predict:** take one unit with two weights, a bias, and our bump as its activation. Can this unit learn XOR?


# %%
class Bump(nn.Module):
    def forward(self, x):
        return bump(x)


BITS, WANTED = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([[0.0], [1], [1], [0]])


def make_run(bend, engine="numba"):
    net = nn.Sequential(nn.Linear(2, 1), bend)
    net[0].weight.data, net[0].bias.data = [[1.0, 0.5]], [0.0]
    sgd = optim.SGD(net.parameters(), lr=0.5)
    return sv.Run(net, nn.MSELoss(), sgd, data=(BITS, WANTED), engine=engine, dtype="float64")


# %%
for name, bend in (("sigmoid", nn.Sigmoid()), ("tanh", nn.Tanh()), ("bump", Bump())):
    with make_run(bend) as run:
        run.step(3000)
        print(f"{name:8} {run.predict(BITS).ravel().round(2)}")

# %% [markdown]
# The unit with the bump learns XOR with only three numbers. The network in lesson 03 had twelve. The unit puts the
# middle of its bump on the line through `0 1` and `1 0`:

# %%
run = make_run(Bump())
run.step(3000)
corners = Axis("x", -0.2, 1.2), Axis("y", -0.2, 1.2)
plane = PlaneMap(
    "output", *corners, span=(0, 1), says=("0", "1"), cells=24, points=lambda _: Points(BITS, WANTED[:, 0])
)
scene = Scene("bump", run, BITS[1], WANTED[1], ("x", "y"), ("out",), panels=(plane,))
sv.view.picture(scene, (960, 420))

# %%
w0, w1, bias = run.values
print(f"the middle of the bump: {w0:.2f} * x + {w1:.2f} * y = {-bias:.2f}")

# %% [markdown]
# <details>
# <summary>The unit with a bump, and the same in PyTorch</summary>
#
# The output is 1 where the sum is 0. These points form a straight line, the middle of the bump:
#
# $$\text{output} = e^{-(w_0 x + w_1 y + b)^2} = 1 \quad\Leftrightarrow\quad w_0 x + w_1 y = -b$$
#
# ```python
# import torch
#
# bits = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
# total = bits @ torch.tensor([2.21, 2.21]) - 2.18
# print(torch.exp(-total * total).numpy().round(2))  # [0.01 1.   1.   0.01]
# ```
#
# </details>

# %% [markdown]
# (With other first weights, the unit may not learn XOR. To see this, change the bias in `make_run` to `[0.5]`.)
#
# ## The speed of your operation
#
# Each engine translates your formula into its own code: `objects` into Python, `numba` into machine code. So you write
# the formula once, and all engines compute the same numbers. (The next cell measures the time five times and uses the
# shortest time, because other programs can slow the computer down.)

# %%
weights, seconds = {}, {}
for engine in ("objects", "numba"):
    with make_run(Bump(), engine) as run:
        run.step(10)
        seconds[engine] = min(timeit.repeat("run.step(100)", globals={"run": run}, number=1, repeat=5))
        weights[engine] = run.values.copy()

# %%
print("the same weights to 12 digits:", np.allclose(weights["objects"], weights["numba"], atol=1e-12))
print("numba is more than 20 times faster:", seconds["objects"] > 20 * seconds["numba"])

# %% [markdown]
# ## Two inputs
#
# An operation with two inputs has two slopes. The next one computes the length of an arrow that goes `a` to the right
# and `b` up:

# %%
length = sv.register("length", "a b", "sqrt(a * a + b * b)", ("a / y", "b / y"))
a, b = sv.Value(3.0), sv.Value(4.0)
length(a, b).backward()
print(length(a, b).data, a.grad, b.grad)

# %% [markdown]
# <details>
# <summary>The slopes of a length, and the same in PyTorch</summary>
#
# The chain rule for the root and the squares gives both slopes:
#
# $$y = \sqrt{a^2 + b^2}, \qquad \frac{\partial y}{\partial a} = \frac{2a}{2\sqrt{a^2 + b^2}} = \frac{a}{y},
# \qquad \frac{\partial y}{\partial b} = \frac{b}{y}$$
#
# ```python
# import torch
#
# a = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
# b = torch.tensor(4.0, dtype=torch.float64, requires_grad=True)
# y = torch.hypot(a, b)
# y.backward()
# print(y.item(), a.grad.item(), b.grad.item())  # 5.0 0.6 0.8
# ```
#
# </details>

# %% [markdown]
# ## Live
#
# Here a network with six bumps learns a curve with two hills. The bump is registered as above. Run the cell, click the
# picture, and press **Space** to train.

# %%
sv.lesson("10")

# %% [markdown]
# ## Now you
#
# In the first three exercises, write each slope as a string.
#
# **1. A third power.** Write the slope of `a * a * a`.

# %% tags=["exercise: cube"]
slope = ...
sv.check.exercise("10.1", slope)

# %% [markdown]
# **2. A soft step.** The activation `a / (1 + abs(a))` is quick to compute. Its slope is 1 at 0 and gets smaller on
# both sides. Write the slope (you may use `abs(a)`).

# %% tags=["exercise: soft-step"]
slope = ...
sv.check.exercise("10.2", slope)

# %% [markdown]
# **3. Two inputs.** The operation is the difference of two squares, `a * a - b * b`. Write both slopes.

# %% tags=["exercise: two-slopes"]
by_a, by_b = ..., ...
sv.check.exercise("10.3", (by_a, by_b))

# %% [markdown]
# **4. A module.** Write a module that adds up three weighted inputs, without a bias, and returns the bump of this sum.


# %% tags=["exercise: bump-unit"]
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return ...


sv.check.exercise("10.4", BumpUnit)

# %% [markdown]
# ## To remember
#
# **An engine needs only the value and the slopes of an operation. The chain rule does everything else.**
