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
# You need to know: a gradient is δ times the input (lesson 06). The lesson takes about 25 minutes.

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
# ## The effect of the optimiser
#
# In plain gradient descent, the update is the gradient times the learning rate. Most other optimisers also use earlier
# gradients. **Momentum** stores a speed `v` for each weight. Each step multiplies this speed by 0.9 and adds the
# gradient. Then it subtracts `v` times the learning rate from the weight.
#
# **Predict:** without momentum, a weight with a positive gradient falls. Can it *rise* with momentum?

# %%
run = make_run(points, lr=0.1, momentum=0.9)
places = [run.model.weight.data[0, 0]]
for _ in range(12):
    run.step()
    places.append(run.model.weight.data[0, 0])
for step in range(1, 8):
    slope = run.open(step=step).gradient[0]
    print(f"step {step}: gradient {slope:7.4f}   moved by {places[step] - places[step - 1]:7.4f}")

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
