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
# You wrote your own backward. You train, and the loss falls. Is the gradient right?
#
# **The question of this lesson: how do you know that a gradient is right, if even a wrong one makes the loss fall?**
#
# You need to know: the chain rule (lesson 06). The lesson takes about 15 minutes.

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
# Somebody forgets one factor: the slope of `tanh`, which is between 0 and 1. Everything else is right. Does the loss
# still fall?

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
# The loss falls with the mistake, too: the direction of each step is not quite right, but not quite wrong either. **A
# falling loss proves nothing.** We need a test that does not use the chain rule.
#
# ## Nudge and look
#
# A slope is the change of the result divided by the change of the input. So change the input a little, to both sides,
# and compute the result each time. This uses no rule of calculus, so no rule can be wrong.


# %%
def curve(x):
    return x * x * x / (1 + x * x)


def nudged(function, x, h):
    return (function(x + h) - function(x - h)) / (2 * h)


exact = (3 * 0.7**2 + 0.7**4) / (1 + 0.7**2) ** 2
print(f"nudged {nudged(curve, 0.7, 1e-4):.8f}   by the rules {exact:.8f}")

# %% [markdown]
# ## How little is "a little"?
#
# **Predict:** does a smaller nudge always give a more exact slope?

# %%
errors = {}
for power in range(1, 13):
    errors[power] = abs(nudged(curve, 0.7, float(f"1e-{power}")) - exact)
    print(f"h = 1e-{power:02}   error {errors[power]:.1e}")

# %% [markdown]
# At first the error becomes a hundred times smaller with each line. Then it **rises** again. A computer keeps about 16
# digits. If the nudge is tiny, the results at `x + h` and `x - h` have nearly all digits in common. Then only a few
# digits of their difference are right.
#
# A nudge to one side only, from `x` to `x + h`, is worse: its error becomes only ten times smaller with each line.

# %%
one_sided = [abs((curve(0.7 + h) - curve(0.7)) / h - exact) for h in (1e-2, 1e-3)]
print(f"one side: {one_sided[0]:.1e} to {one_sided[1]:.1e};   both: {errors[2]:.1e} to {errors[3]:.1e}")


# %% [markdown]
# ## A whole network
#
# Do the same for every weight of a network: nudge it to both sides, compute the loss, and put the weight back.


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
# ## Where is the mistake?
#
# Now we make the mistake again. For each weight: how large is the error of backward, in per cent of the gradient?

# %%
truth = by_nudging(net)
with sv.mistakes.missing_factor("tanh"):
    claimed = by_backward(net)
away = abs(claimed - truth) / np.maximum(abs(truth), 1e-3)
for weight, share in zip(net.weights(), away, strict=True):
    print(f"{weight.name:16} {share:7.1%}")

# %% [markdown]
# Here are the errors as cubes. 0 means right. A bluer cube has a larger error.

# %%
away[away < 1e-6] = 0  # nudging is not quite exact
first, first_bias, last = away[:6].reshape(3, 2), away[6:9].reshape(3, 1), away[9:12].reshape(1, 3)
show({"0.weight": first, "0.bias": first_bias, "2.weight": last, "2.bias": away[12:].reshape(1, 1)})

# %% [markdown]
# The picture also says **where** the mistake is. The last layer is right. Everything before the `tanh` is wrong. So the
# mistake lies in the `tanh` between them: a wrong gradient spreads backwards, never forwards.

# %% [markdown]
# `sv.gradcheck` does all this for a function of numbers, with a suitable nudge for each input:

# %%
with sv.mistakes.missing_factor("tanh"):
    print("with the mistake:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))
print("without:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))

# %% [markdown]
# ## When nudging is wrong
#
# `relu(x)` is 0 for negative `x`, and `x` for positive `x`. At 0 its graph has a **kink**: the slope is 0 on the left
# and 1 on the right. Nudging to both sides gives 0.5, the mean of the two.

# %%
check = sv.gradcheck(sv.relu, 0.0)
print("by the rule:", check.analytic[0], "  nudged:", round(check.numeric[0], 3), "  agree:", bool(check))

# %% [markdown]
# The rule is not wrong at the kink. Check the rule at another point.
#
# ## Live
#
# A small network with `relu` and `tanh` learns to multiply. Run the cell, click the picture, press **Right** for one
# step, and click a cube of layer 1. A card shows the terms that add up to its gradient, one for each sample. Some terms
# are exactly 0: what does `relu` have to do with it?

# %%
sv.lesson("09")

# %% [markdown]
# ## Now you
#
# **1. Nudge it yourself.** Write the slope of `f` at any `x` by nudging to **both** sides.


# %%
def f(x):
    return x**3 - 2 * x


# %% tags=["exercise: nudge"]
def slope(x):
    h = 1e-5
    return (... - ...) / (2 * h)


sv.check.exercise("09.1", slope)

# %% [markdown]
# **2. The best nudge.** Look at the table of errors above. Which nudge is the best? Write it as `"1e-01"` to `"1e-12"`.

# %% tags=["exercise: best"]
answer = ...
sv.check.exercise("09.2", answer)


# %% [markdown]
# **3. Repair it.** Somebody wrote the rule of `exp` from memory: `upstream * a * exp(a)`. Nudging shows that this rule
# is wrong. Write the right rule.


# %% tags=["exercise: exp-rule"]
def rule(a, upstream):
    return upstream * ...


sv.check.exercise("09.3", rule)

# %% [markdown]
# **4. Detective work.** A network has five layers. An activation follows every layer but the last. Nudging says:
# the gradients of layers 3, 4 and 5 are right, those of 1 and 2 are wrong. Which layer's activation has the wrong
# backward rule? Write `"layer 1"` to `"layer 4"`.

# %% tags=["exercise: detective"]
answer = ...
sv.check.exercise("09.4", answer)

# %% [markdown]
# ## To remember
#
# **A falling loss proves nothing. Nudge a weight to both sides and compare: the weights that disagree show where the
# mistake is.**
