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
# # Is my gradient right?
#
# Suppose that you wrote a backward rule yourself. You train with it, and the loss falls. Is the gradient right?
#
# **The question of this lesson: how do you know that a gradient is right, if even a wrong one makes the loss fall?**
#
# You need to know: the chain rule (lesson 06). The lesson takes about 30 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import nn, optim


# %%
def show(x, size=(680, 400), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## Predict first
#
# Somebody writes the backward rule of `tanh` and forgets one factor: the slope of `tanh`, a number between 0 and 1.
# Everything else is right. Does the loss still fall?

# %%
samples = [([0.5, -1.0], 0.3), ([1.0, 0.5], -0.6), ([-0.5, 0.8], 0.4), ([0.9, 0.9], 0.1)]


def network():
    return nn.Sequential(nn.Linear(2, 3, seed=4), nn.Tanh(), nn.Linear(3, 1, seed=5))


def loss_of(net):
    return sum((net(x)[0] - target) ** 2 for x, target in samples) / len(samples)


# %%
def train(steps=60):
    net = network()
    sgd = optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        sgd.zero_grad()
        loss = loss_of(net)
        loss.backward()
        sgd.step()
        losses.append(loss.data)
    return losses


# %%
right = train()
with sv.mistakes.missing_factor("tanh") as mistake:
    wrong = train()
print(mistake)
for step in (0, 20, 40, 59):
    print(f"step {step:2}: right {right[step]:.4f}   with the mistake {wrong[step]:.4f}")

# %% [markdown]
# The loss falls with the mistake, too: each step still goes roughly in the right direction. **A falling loss proves
# nothing.** We need a test that does not use the chain rule.
#
# ## Nudging
#
# To *nudge* a number means to change it a little. Nudge the input up and down, and compute the result each time. The
# change of the result, divided by the change of the input, is the slope. This method uses no rule of calculus, so no
# rule can be wrong.


# %%
def curve(x):
    return x * x * x / (1 + x * x)


def nudged(function, x, h):
    return (function(x + h) - function(x - h)) / (2 * h)


exact = (3 * 0.7**2 + 0.7**4) / (1 + 0.7**2) ** 2
print(f"nudged {nudged(curve, 0.7, 1e-4):.8f}   by the rules {exact:.8f}")

# %% [markdown]
# <details>
# <summary>The central difference, and the same in PyTorch</summary>
#
# The error of the central difference shrinks with $h^2$. The quotient rule gives the exact slope of $x^3 / (1 + x^2)$:
#
# $$f'(x) = \frac{f(x + h) - f(x - h)}{2h} + O(h^2), \qquad f'(x) = \frac{3x^2 + x^4}{(1 + x^2)^2}$$
#
# ```python
# import torch
#
# x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
# y = x**3 / (1 + x**2)
# y.backward()
# print(f"{x.grad.item():.8f}")  # 0.77028062
# ```
#
# </details>

# %% [markdown]
# ## The size of a nudge
#
# **Predict:** does a smaller nudge always give a more exact slope?

# %%
errors = {}
for power in range(1, 13):
    errors[power] = abs(nudged(curve, 0.7, float(f"1e-{power}")) - exact)
    print(f"h = 1e-{power:02}   error {errors[power]:.1e}")

# %% [markdown]
# At first, the error becomes a hundred times smaller with each line. Later the error **rises** again. A computer stores
# about 16 digits of a number. If the nudge `h` is tiny, the results at `x + h` and `x - h` have nearly all digits in
# common. Then only a few digits of their difference are right.
#
# A nudge to one side only, from `x` to `x + h`, is worse. If this nudge is ten times smaller, its error becomes only
# ten times smaller, not a hundred times:

# %%
one_sided = [abs((curve(0.7 + h) - curve(0.7)) / h - exact) for h in (1e-2, 1e-3)]
print(f"one side: {one_sided[0]:.1e} to {one_sided[1]:.1e};   both: {errors[2]:.1e} to {errors[3]:.1e}")

# %% [markdown]
# <details>
# <summary>The errors as formulas, and the same in PyTorch</summary>
#
# Taylor's formula gives the errors. To both sides, the terms with $f''$ cancel:
#
# $$\frac{f(x + h) - f(x)}{h} - f'(x) \approx \frac{h}{2}\,f''(x),
# \qquad \frac{f(x + h) - f(x - h)}{2h} - f'(x) \approx \frac{h^2}{6}\,f^{(3)}(x)$$
#
# ```python
# import torch
# from torch.func import grad
#
# x = torch.tensor(0.7, dtype=torch.float64)
# second = grad(grad(lambda x: x**3 / (1 + x**2)))
# third = grad(second)
# print(*(f"{abs(h / 2 * second(x)):.1e}" for h in (1e-2, 1e-3)))  # 5.3e-03 5.3e-04
# print(*(f"{abs(h**2 / 6 * third(x)):.1e}" for h in (1e-2, 1e-3)))  # 3.4e-05 3.4e-07
# ```
#
# </details>

# %% [markdown]
# ## A whole network
#
# `by_nudging` finds the slope for every weight of a network: it nudges the weight to both sides, computes the loss each
# time, and restores the weight.


# %%
def by_nudging(net, h=1e-5):
    found = []
    for weight in net.weights():
        at, ends = weight.data, []
        for side in (h, -h):
            weight.data = at + side
            ends.append(loss_of(net).data)
        weight.data = at
        found.append((ends[0] - ends[1]) / (2 * h))
    return np.array(found)


# %%
def by_backward(net):
    net.zero_grad()
    loss_of(net).backward()
    return np.array([weight.grad for weight in net.weights()])


# %%
net = network()
print("weights:", len(list(net.weights())))
print("largest difference below 1e-9:", abs(by_backward(net) - by_nudging(net)).max() < 1e-9)

# %% [markdown]
# ## The place of the mistake
#
# Now we make the mistake again. The next cell prints the error of backward for each weight, in per cent of the true
# gradient.

# %%
truth = by_nudging(net)
with sv.mistakes.missing_factor("tanh"):
    claimed = by_backward(net)
away = abs(claimed - truth) / np.maximum(abs(truth), 1e-3)
for weight, share in zip(net.weights(), away, strict=True):
    print(f"{weight.name:16} {share:7.1%}")

# %% [markdown]
# The picture shows these errors as cubes. 0 means right. A bluer cube has a larger error.

# %%
away[away < 1e-6] = 0  # such small differences are errors of nudging
first, first_bias, last = away[:6].reshape(3, 2), away[6:9].reshape(3, 1), away[9:12].reshape(1, 3)
show({"0.weight": first, "0.bias": first_bias, "2.weight": last, "2.bias": away[12:].reshape(1, 1)})

# %% [markdown]
# The picture also shows **where** the mistake is. The gradients of the last layer are right. The gradients of the first
# layer, before the `tanh`, are wrong. An error spreads only towards the inputs. So the mistake is in the `tanh` between
# the two layers.

# %% [markdown]
# `sv.gradcheck` compares backward with nudging for any function of numbers. It chooses a suitable nudge for each input:

# %%
with sv.mistakes.missing_factor("tanh"):
    print("with the mistake:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))
print("without:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))

# %% [markdown]
# <details>
# <summary>The comparison as a formula, and the same in PyTorch</summary>
#
# A check allows small differences. Here $\hat g$ is the nudged slope, $g$ the gradient of backward, and $a$ and $r$ are
# small numbers:
#
# $$|\hat g - g| \le a + r\,|\hat g|$$
#
# ```python
# import torch
#
# x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
# print(torch.autograd.gradcheck(lambda x: torch.tanh(x) ** 3, x))  # True
# ```
#
# </details>

# %% [markdown]
# ## When nudging is wrong
#
# `relu(x)` is 0 for negative `x`, and `x` for positive `x`. At 0 its graph has a **kink**: the slope is 0 on the left
# and 1 on the right. Nudging to both sides gives 0.5, the mean of the two slopes.

# %%
check = sv.gradcheck(sv.relu, 0.0)
print("by the rule:", check.analytic[0], "  nudged:", round(check.numeric[0], 3), "  agree:", bool(check))

# %% [markdown]
# <details>
# <summary>The kink as a formula, and the same in PyTorch</summary>
#
# At the kink, the slopes from the left and from the right differ, so there is no derivative. Every number from 0 to 1
# is a *subgradient*; PyTorch uses 0, too. Nudging gives the mean:
#
# $$\frac{\operatorname{relu}(h) - \operatorname{relu}(-h)}{2h} = \frac{h - 0}{2h} = \frac{1}{2}$$
#
# ```python
# import torch
#
# x = torch.tensor(0.0, requires_grad=True)
# torch.relu(x).backward()
# print(x.grad.item())  # 0.0
# h = torch.tensor(0.5)
# print(((torch.relu(h) - torch.relu(-h)) / (2 * h)).item())  # 0.5
# ```
#
# </details>

# %% [markdown]
# Still, the rule of `relu` is not wrong: at a kink there is no single slope. Check the rule at another point.
#
# ## Live
#
# A small network with `relu` and `tanh` learns to multiply its two inputs. Run the cell, click the picture, press
# **Right** for one step, and click a cube of layer 1. A card shows the terms of this weight's gradient, one term for
# each sample. Some terms are exactly 0. How does `relu` cause this?

# %%
sv.lesson("09")

# %% [markdown]
# ## Now you
#
# **1. A slope by nudging.** Compute the slope of `f` at `x`: nudge `x` to **both** sides.


# %%
def f(x):
    return x**3 - 2 * x


# %% tags=["exercise: nudge"]
def slope(x):
    h = 1e-5
    return (... - ...) / (2 * h)


sv.check.exercise("09.1", slope)

# %% [markdown]
# **2. The best nudge.** Which nudge has the smallest error in the list above? Answer with one of the texts `"1e-01"`,
# `"1e-02"`, ..., `"1e-12"`.

# %% tags=["exercise: best"]
answer = ...
sv.check.exercise("09.2", answer)


# %% [markdown]
# **3. A wrong rule.** Somebody wrote the backward rule of `exp(a)` from memory: `upstream * a * exp(a)`. This rule is
# wrong. Write the right rule.


# %% tags=["exercise: exp-rule"]
def rule(a, upstream):
    return upstream * ...


sv.check.exercise("09.3", rule)

# %% [markdown]
# **4. A wrong layer.** A network has five layers. An activation follows each of the layers 1 to 4. Nudging shows that
# the gradients of layers 3, 4 and 5 are right, and those of layers 1 and 2 are wrong. Which layer's activation has the
# wrong backward rule? Answer with one of `"layer 1"`, `"layer 2"`, `"layer 3"` and `"layer 4"`.

# %% tags=["exercise: detective"]
answer = ...
sv.check.exercise("09.4", answer)

# %% [markdown]
# ## To remember
#
# **A falling loss proves nothing. Nudge each weight to both sides, and compare the slope with backward. The weights
# that disagree show where the mistake is.**
