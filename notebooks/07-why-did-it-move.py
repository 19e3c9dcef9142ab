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
# # Why did this cube move?
#
# In our pictures, each cube is one weight. A training step changes this weight: the step uses eight samples, and the
# optimiser turns their gradients into one update.
#
# **The question of this lesson: what moved the weight, and by how much?**
#
# You need to know: a gradient is δ times the input (lesson 06). The lesson takes about 30 minutes.

# %%
import numpy as np
from PIL import Image, ImageDraw

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene


# %%
def show(x, size=(680, 420), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## Eight pupils
#
# For each pupil we know how much they practised and slept (from 0 to 1), and how many points they got in a test. A
# network should predict the points. It has one weight for practice, one weight for sleep, and a bias.

# %%
pupils = [(0.1, 0.9), (0.3, 0.5), (0.5, 0.7), (0.7, 0.2), (0.9, 0.6), (0.2, 0.3), (0.6, 0.9), (0.8, 0.4)]
points = [1.1, 1.1, 1.7, 1.6, 24, 0.7, 2.1, 2.0]


def make_run(points, **options):
    net = nn.Linear(2, 1)
    net.weight.data, net.bias.data = [[0.5, 0.5]], [0.0]
    data = pupils, [[number] for number in points]
    return sv.Run(net, nn.MSELoss(), optim.SGD(net.parameters(), **options), data=data, engine="numpy", dtype="float64")


# %%
run = make_run(points, lr=0.1)
scene = Scene("points", run, pupils[0], points[:1], ("practice", "sleep"), ("points",), panels=())
run.step()
show(scene)

# %% [markdown]
# In one step, the weight of practice jumped from 0.5 to more than 1.1.
#
# **Predict:** the gradient of each pupil *pulls* at this weight. Did all eight pupils pull hard, or a few, or only one?
# (Look at `pupils` and `points`.)
#
# ## The gradient as a sum
#
# `run.why` shows how the step computed the new weight:

# %%
found = run.why("weight[0][0]")

# %% [markdown]
# Each line of the table is one pupil. `delta` is δ, the slope of this pupil's loss with respect to the output. `x` is
# the pupil's practice. The last column is δ times `x`. The sum of the eight products, divided by 8, is the gradient.
# The last lines of the output compute the new weight.
#
# All pupils pull in the same direction, but pupil 4 alone gives 85 % of the sum.

# %%
share = found.rows[0].product / found.total
print(f"pupil {found.rows[0].sample}: {share:.0%} of the sum")
print("the points of pupil 4:", points[4])

# %% [markdown]
# Pupil 4 has 24 points, but all other pupils have between 0.7 and 2.1. Somebody forgot a decimal point. Such a table
# finds **one bad sample among good ones**. A loss curve cannot show which sample is bad.
#
# The next cell corrects the number:

# %%
points[4] = 2.4
run = make_run(points, lr=0.1)
run.step()
found = run.why("weight[0][0]")

# %% [markdown]
# <details>
# <summary>The mean over the samples, and the same in PyTorch</summary>
#
# The loss is a mean over $N = 8$ pupils, so the gradient is a mean, too:
#
# $$\frac{\partial L}{\partial w} = \frac{1}{N} \sum_{n=1}^{N} \delta_n\,x_n, \qquad \delta_n = 2\,(y_n - t_n)$$
#
# ```python
# import torch
#
# x = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.6, 0.8], dtype=torch.float64)
# sleep = torch.tensor([0.9, 0.5, 0.7, 0.2, 0.6, 0.3, 0.9, 0.4], dtype=torch.float64)
# t = torch.tensor([1.1, 1.1, 1.7, 1.6, 2.4, 0.7, 2.1, 2.0], dtype=torch.float64)
# w = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
# loss = ((w * x + 0.5 * sleep - t) ** 2).mean()
# loss.backward()
# print(round(w.grad.item(), 4), round(w.item() - 0.1 * w.grad.item(), 5))  # -1.2825 0.62825
# ```
#
# </details>

# %% [markdown]
# ## The effect of the optimiser
#
# In plain gradient descent, the update is the gradient times the learning rate. Most other optimisers also use earlier
# gradients. **Momentum** stores a speed `v` for each weight. Each step multiplies this speed by 0.9 and adds the
# gradient. Then it subtracts `v` times the learning rate from the weight.
#
# The next cell trains with momentum. It prints three steps, and the gradient of step 4:

# %%
run = make_run(points, lr=0.1, momentum=0.9)
places = [run.model.weight.data[0, 0]]
for _ in range(12):
    run.step()
    places.append(run.model.weight.data[0, 0])
for step in range(1, 4):
    slope = run.open(step=step).gradient[0]
    print(f"step {step}: gradient {slope:7.4f}   moved by {places[step] - places[step - 1]:7.4f}")
print(f"step 4: gradient {run.open(step=4).gradient[0]:7.4f}")

# %% [markdown]
# **Predict:** will the weight rise or fall in step 4? Look at the sign of the gradient, and at the steps before.

# %%
for step in range(4, 8):
    slope = run.open(step=step).gradient[0]
    print(f"step {step}: gradient {slope:7.4f}   moved by {places[step] - places[step - 1]:7.4f}")

# %% [markdown]
# <details>
# <summary>Momentum as a formula, and the same in PyTorch</summary>
#
# $g_k$ is the gradient in step $k$, $\mu = 0.9$ the momentum:
#
# $$v_{k+1} = \mu\,v_k + g_k, \qquad w_{k+1} = w_k - \eta\,v_{k+1} = w_k - \eta \sum_{j \le k} \mu^{k-j} g_j$$
#
# ```python
# import torch
#
# practice = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.6, 0.8], dtype=torch.float64)
# sleep = torch.tensor([0.9, 0.5, 0.7, 0.2, 0.6, 0.3, 0.9, 0.4], dtype=torch.float64)
# t = torch.tensor([1.1, 1.1, 1.7, 1.6, 2.4, 0.7, 2.1, 2.0], dtype=torch.float64)
# w = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64, requires_grad=True)
# sgd, places = torch.optim.SGD([w], lr=0.1, momentum=0.9), [0.5]
# for _ in range(6):
#     sgd.zero_grad()
#     ((w[0] * practice + w[1] * sleep + w[2] - t) ** 2).mean().backward()
#     sgd.step()
#     places.append(w[0].item())
# print(*(f"{new - old:.4f}" for old, new in zip(places, places[1:])))  # 0.1282 0.2070 0.2197 0.1724 0.0889 0.0019
# ```
#
# </details>

# %% [markdown]
# In steps 4, 5 and 6 the weight **rises**, although the gradient is positive. `run.why` explains step 4:

# %%
found = run.why("weight[0][0]", step=4)

# %% [markdown]
# The line of `v'` computes the new speed. The gradient is a small positive number, but the old speed is large and
# negative. So the new speed is negative, too. The step subtracts it, and the weight rises. The next cell finds all such
# steps:

# %%
against = [step for step in range(1, 13) if (places[step] - places[step - 1]) * run.open(step=step).gradient[0] > 0]
print("steps against their own gradient:", against)

# %% [markdown]
# ## Other values of the weight
#
# A gradient says how much the loss changes *if a weight becomes a little larger*. How much is "a little"? `loss_along`
# gives the weight of practice 41 different values and computes the loss for each. All other weights stay the same.

# %%
along = run.open(step=8).loss_along("weight[0][0]", points=41)
print(f"the weight is {along.value:.3f}; slope of the loss there: {along.slope:.3f}")
for at in (-0.3, -0.1, 0.1, 0.3):
    real = np.interp(along.value + at, along.weights, along.losses)
    print(f"{at:+.1f}: the slope says {along.loss + along.slope * at:.3f}, in truth {real:.3f}")


# %%
def picture(along, size=(1120, 560)):
    drawn = Image.new("RGB", size, "#fafaf8")
    pen, middle = ImageDraw.Draw(drawn), len(along.weights) // 2
    x = np.linspace(40, size[0] - 40, len(along.weights))
    for losses, colour in ((along.losses, "#0a509b"), (along.tangent, "#8a63c9")):
        pen.line([*zip(x, 500 - 440 * losses / along.losses.max(), strict=True)], fill=colour, width=5)
    here = x[middle], 500 - 440 * along.loss / along.losses.max()
    pen.circle(here, 12, fill="#222222")
    pen.text((here[0] + 20, here[1] + 12), f"w = {along.value:.2f}, loss {along.loss:.2f}", "#222222", font_size=30)
    return sv.view.Picture(np.asarray(drawn.reduce(2)), "the loss over one weight: a valley, and its slope as a line")


picture(along)

# %% [markdown]
# <details>
# <summary>Taylor's formula, and the same in PyTorch</summary>
#
# For another value $w + h$, the slope gives the first two terms. The next term grows with $h^2$, so it is small only
# for small $h$:
#
# $$L(w + h) = L(w) + L'(w)\,h + \tfrac{1}{2}\,L''(w)\,h^2 + \dots, \qquad L''(w) = \frac{2}{N} \sum_{n=1}^{N} x_n^2$$
#
# Here $L$ is a parabola, so there are no further terms. With the third term, the tangent gives the true losses:
#
# ```python
# import torch
#
# x = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9, 0.2, 0.6, 0.8])
# loss, slope = (0.117 + 0.160) / 2, 0.217  # at the dot
# half = (x**2).mean()
# print(*(f"{loss + slope * h + half * h**2:.3f}" for h in (-0.3, -0.1, 0.1, 0.3)))  # 0.104 0.120 0.164 0.234
# ```
#
# </details>

# %% [markdown]
# The blue curve shows the loss (upwards) for each value of this weight (to the right). The dot marks the weight before
# step 8. The violet line touches the curve at the dot and has the slope of the curve there. Near the dot, curve and
# line are nearly the same. Farther away, on both sides, the loss is higher than the line: **a slope is right for small
# steps only.** This is why the learning rate is small.

# %% [markdown]
# ## Live
#
# This network has twelve weights and biases. Its six samples are colours. Run the cell, click the picture, press
# **Right** a few times to train, and click a cube. A card shows how much each sample pulled at this weight, and how the
# optimiser turned the gradient into an update.
#
# **Predict:** press **R** to restart, **Right** twice, **B** for the whole batch, and **Shift+P**. The picture opens
# step 3. It asks about each weight whether it must rise or fall to lower the loss, and later whether it will. Press
# **Up** or **Down** to answer, and **`.`** (full stop) for the next question. Momentum moves one weight against its
# gradient. Which?

# %%
sv.lesson("07")

# %% [markdown]
# ## Now you


# %%
def pulls(step):
    """Return the pulls of pupils 0 to 7 at the weight of sleep: δ times x, divided by 8."""
    terms = run.open(step=step).terms("weight[0][1]").array
    return [float(term["delta"] * term["x"]) for term in terms]


# %% [markdown]
# **1. The hardest pull.** Take the other weight, the weight of sleep. `pulls(1)` returns the pulls of all eight pupils
# in step 1. Which pupil pulls hardest? Write `"pupil 0"` to `"pupil 7"`.

# %% tags=["exercise: hardest"]
answer = ...
sv.check.exercise("07.1", answer)

# %% [markdown]
# **2. All pulls together.** What is the gradient of the weight of sleep in step 1?

# %% tags=["exercise: whole-pull"]
answer = ...
sv.check.exercise("07.2", answer)

# %% [markdown]
# **3. A falling speed.** The momentum is 0.9 and the speed is `v = -2`. From now on every gradient is 0. After how many
# steps is less than half of this speed left?

# %% tags=["exercise: half-speed"]
answer = ...
sv.check.exercise("07.3", answer)


# %% [markdown]
# **4. A gradient of two samples.** Two samples have the inputs `x = 1` and `x = 3`. Their loss is
# `f = ((w + b - 2)**2 + (3 * w + b - 4)**2) / 2`. Write the slopes of `f` with respect to `w` and `b`. `first` and
# `second` are the δ of the two samples. Replace each `...` by the right factor.


# %% tags=["exercise: two-pupils"]
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first * ... + second * ...) / 2, (first * ... + second * ...) / 2


sv.check.exercise("07.4", slopes)

# %% [markdown]
# ## To remember
#
# **A gradient is a sum over samples. An optimiser that remembers earlier steps can raise a weight although its gradient
# is positive. A slope is right for small steps only.**
