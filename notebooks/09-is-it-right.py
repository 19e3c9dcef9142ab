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
# You wrote a backward of your own. You train, and the loss falls. So it is right?
#
# **The question of this lesson: how do you know that a gradient is right, if even a wrong one makes the loss fall?**
#
# You need: the chain rule (lesson 06). It takes about 15 minutes.

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
# Somebody forgets a factor: the slope of `tanh`, which is between 0 and 1. Everything else is right. Does the loss
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
with sv.mistakes.missing_factor("tanh"):
    wrong = train()
for step in (0, 20, 40, 59):
    print(f"step {step:2}: right {right[step]:.4f}   with the mistake {wrong[step]:.4f}")
assert wrong[-1] < wrong[0] / 2
assert wrong != right

# %% [markdown]
# It falls with the mistake too: the direction is not quite right, but not quite wrong either. **A falling loss proves
# nothing.** We need a test that knows nothing of the chain rule.
#
# ## Nudge and look
#
# A slope is: change of the result divided by change of the input. So change the input a little, to both sides, and
# compute. No rule is needed, and so no rule can be wrong.


# %%
def f(x):
    return x * x * x / (1 + x * x)


def nudged(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


exact = (3 * 0.7**2 + 0.7**4) / (1 + 0.7**2) ** 2
print(f"nudged {nudged(f, 0.7, 1e-4):.8f}   by the rules {exact:.8f}")
assert abs(nudged(f, 0.7, 1e-4) - exact) < 1e-7

# %% [markdown]
# ## How little is "a little"?
#
# **Predict:** the smaller the nudge, the nearer to the truth. Right?

# %%
errors = {}
for power in range(1, 13):
    errors[power] = abs(nudged(f, 0.7, float(f"1e-{power}")) - exact)
    print(f"h = 1e-{power:02}   error {errors[power]:.1e}")

# %% [markdown]
# Down to about 1e-5 the error falls a hundredfold with each line. Then it **rises** again. A computer keeps about 16
# digits. If the nudge is tiny, `f(x + h)` and `f(x - h)` are equal in nearly all of them, and their difference is made
# of the few digits that are left.

# %%
best = min(errors, key=errors.get)
print(f"the best nudge: 1e-{best:02}")
assert 4 <= best <= 7
assert errors[12] > 100 * errors[best]
assert 80 < errors[1] / errors[2] < 120

# %% [markdown]
# One side alone, `(f(x + h) - f(x)) / h`, is worse: its error falls only tenfold with each line.

# %%
one_sided = [abs((f(0.7 + h) - f(0.7)) / h - exact) for h in (1e-2, 1e-3)]
print(f"one side: {one_sided[0]:.1e} to {one_sided[1]:.1e};   both: {errors[2]:.1e} to {errors[3]:.1e}")
assert one_sided[0] / one_sided[1] < 12
assert errors[2] / errors[3] > 80


# %% [markdown]
# ## A whole network
#
# The same for every weight: nudge it, put it back.


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
assert abs(by_backward(net) - by_nudging(net)).max() < 1e-9

# %% [markdown]
# ## Where is the mistake?
#
# Now with the mistake. We look at each weight: how large is the difference, as a share of the gradient?

# %%
truth = by_nudging(net)
with sv.mistakes.missing_factor("tanh"):
    claimed = by_backward(net)
away = abs(claimed - truth) / np.maximum(abs(truth), 1e-3)
for weight, share in zip(net.weights(), away, strict=True):
    print(f"{weight.name:16} {share:7.1%}")

# %% [markdown]
# As cubes: white is right, blue is wrong.

# %%
away[away < 1e-6] = 0  # what nudging leaves over
first, first_bias, last = away[:6].reshape(3, 2), away[6:9].reshape(3, 1), away[9:12].reshape(1, 3)
show({"0.weight": first, "0.bias": first_bias, "2.weight": last, "2.bias": away[12:].reshape(1, 1)})

# %% [markdown]
# The picture does not only say *that* something is wrong, it says **where**. The last layer is right. Everything
# before the `tanh` is wrong. So the mistake lies between: what is wrong spreads backwards, never forwards.

# %%
assert away[9:].max() == 0
assert away[:9].min() > 1e-3

# %% [markdown]
# `sv.gradcheck` does all this for a function of numbers, with a nudge that suits each of them:

# %%
with sv.mistakes.missing_factor("tanh"):
    print("with the mistake:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))
print("without:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))
assert sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)

# %% [markdown]
# ## When nudging is wrong
#
# `relu(x)` is 0 left of 0, and `x` right of it. At 0 it has a **kink**: the slope to the left is 0, to the right 1.
# Nudging to both sides gives the middle, which is neither.

# %%
check = sv.gradcheck(sv.relu, 0.0)
print("by the rule:", check.analytic[0], "  nudged:", round(check.numeric[0], 3), "  agree:", bool(check))
assert check.analytic == (0.0,)
assert round(check.numeric[0], 3) == 0.5

# %% [markdown]
# That is no mistake of the rule. Check at another point.
#
# ## Live
#
# A small network with a kink and a bend; it learns to multiply. Run the cell, make a step, and click on a cube:
# where does its slope touch the curve of the loss?

# %%
sv.lesson("09")

# %% [markdown]
# ## Now you


# %% [markdown]
# **1. Nudge it yourself.** Write the slope of `f(x) = x**3 - 2 * x` at any `x` by nudging to **both** sides.


# %% tags=["exercise: nudge"]
def slope(x):
    h = 1e-5
    return (... - ...) / (2 * h)


sv.check.gradient(slope, of=lambda x: x**3 - 2 * x)

# %% [markdown]
# **2. The best nudge.** In the table above: which nudge was the best for two sides? Write it as `"1e-01"` to `"1e-12"`.

# %% tags=["exercise: best"]
answer = ...
sv.check.answer(answer, lambda: f"1e-{best:02}", hint="The smallest error, not the smallest nudge.")


# %% [markdown]
# **3. Mend it.** Somebody wrote the rule of `exp` from memory: `upstream * a * exp(a)`. Look what nudging says, and
# write it right.


# %% tags=["exercise: exp-rule"]
def rule(a, upstream):
    return upstream * ...


sv.check.backward(rule, of="exp")

# %% [markdown]
# **4. Detective work.** A network has five layers. Nudging says: the gradients of layers 3, 4 and 5 are right, those
# of 1 and 2 are wrong. Behind which layer stands the bend whose rule is wrong? (Every layer but the last has one.)
# Write `"layer 1"` to `"layer 4"`.


# %%
def wrong_layers(behind):
    right = claimed = 1.0
    for layer in (5, 4, 3, 2, 1):
        slope = 1.0 if layer == 5 else 0.7  # of the bend behind it
        right, claimed = right * slope, claimed * (1.0 if layer == behind else slope)
        if claimed != right:
            yield layer


def behind_which(wrong):
    return next(f"layer {k}" for k in (1, 2, 3, 4) if set(wrong_layers(k)) == wrong)


# %% tags=["exercise: detective"]
answer = ...
sv.check.answer(answer, lambda: behind_which({1, 2}), hint="What is wrong spreads backwards, as far as the input.")

# %% [markdown]
# ## To remember
#
# **A loss that falls proves nothing; nudge a weight to both sides and compare, and the weights that disagree say where
# the mistake is.**
