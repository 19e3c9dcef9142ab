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
# A training step changes a weight. The batch has eight samples, and the optimiser turns their gradients into an update.
# Which samples moved the weight?
#
# **The question of this lesson: what moved the weight, and by how much?**
#
# You need to know: δ times the input is a gradient (lesson 06). The lesson takes about 15 minutes.

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
# For each pupil we know how much they practised and slept (from 0 to 1), and how many points they got. One weight for
# practice, one for sleep and a bias should predict the points.

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
# After one step, the weight of practice has jumped from 0.5 to more than 1.1.
#
# **Predict:** each pupil *pulls* at the weight through the gradient. Did all eight pull hard, or a few, or one? (Look
# at the data.)
#
# ## The gradient is a sum

# %%
found = run.why("weight[0][0]")

# %% [markdown]
# Each line is one pupil. δ is the slope of this pupil's loss with respect to the output, and `x` is the practice. The
# last column is their product. The sum of the eight products, divided by 8, is the gradient. The weight moves against
# it, by the gradient times the learning rate.
#
# All pupils pull in the same direction, but not equally hard. Pupil 4 alone gives 85 % of the sum.

# %%
share = found.rows[0].product / found.total
print(f"pupil {found.rows[0].sample}: {share:.0%} of the sum")
print("the points of pupil 4:", points[4])

# %% [markdown]
# Pupil 4 has 24 points, but all others have between 0.7 and 2.1: somebody forgot a decimal point. A table like this
# finds **one bad sample among good ones**. A loss curve never shows which one it is.

# %%
points[4] = 2.4
run = make_run(points, lr=0.1)
run.step()
found = run.why("weight[0][0]")

# %% [markdown]
# ## The optimiser has its share
#
# With plain gradient descent only the gradient decides how far a weight moves. Most optimisers also remember earlier
# steps. **Momentum** keeps a speed `v`: each step keeps 0.9 of the old speed and adds the gradient.
#
# **Predict:** if the gradient is positive, the weight should fall. Can it *rise* in such a step?

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
# In steps 4, 5 and 6 the weight moves **up**, although the gradient says *down*. Ask why:

# %%
found = run.why("weight[0][0]", step=4)

# %% [markdown]
# Look at the line of `v'`, the new speed. The gradient is a small positive number, but the speed from earlier steps is
# large and negative. The update subtracts the speed, so the weight still moves up, like a ball that rolls past the
# lowest point.

# %%
against = [step for step in range(1, 13) if (places[step] - places[step - 1]) * run.open(step=step).gradient[0] > 0]
print("steps against their own gradient:", against)

# %% [markdown]
# ## What if?
#
# A gradient says how much the loss changes *if this weight is a little larger*. How far is "a little"? An opened step
# can try it: this weight takes many values, while all other weights stay the same.

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
# The blue curve is the loss (upwards) for each value of this weight (to the right). The dot in the middle is the
# present weight, and the violet line touches the curve there and has its slope. Near the middle, curve and line are
# nearly the same. Farther away the loss is higher than the line on both sides: **a slope is right for small steps
# only.** This is why the learning rate is small.

# %% [markdown]
# ## Live
#
# This network has twelve weights, and its six samples are colours. Run the cell, click the picture, press **Right** a
# few times, and click a cube. A card shows how much each sample pulled at this weight, and how the optimiser changed
# the gradient.

# %%
sv.lesson("07")

# %% [markdown]
# ## Now you


# %%
def pulls(step):
    """The products of all eight pupils in a step, in the order of the pupils, each divided by 8."""
    terms = run.open(step=step).terms("weight[0][1]").array
    return [float(term["delta"] * term["x"]) for term in terms]


# %% [markdown]
# **1. Who pulls hardest?** Look at the other weight, the weight of sleep, in step 1. `pulls(1)` gives the pull of each
# pupil. Which pupil pulls hardest? Write `"pupil 0"` to `"pupil 7"`.

# %% tags=["exercise: hardest"]
answer = ...
sv.check.exercise("07.1", answer)

# %% [markdown]
# **2. The whole pull.** What is the gradient of the weight of sleep in step 1?

# %% tags=["exercise: whole-pull"]
answer = ...
sv.check.exercise("07.2", answer)

# %% [markdown]
# **3. Losing speed.** The momentum is 0.9 and the speed is `v = -2`. From now on every gradient is 0. After how many
# steps is the speed less than half as large?

# %% tags=["exercise: half-speed"]
answer = ...
sv.check.exercise("07.3", answer)


# %% [markdown]
# **4. A gradient of two pupils.** The loss of two samples, `x = 1` and `x = 3`, is
# `f = ((w + b - 2)**2 + (3 * w + b - 4)**2) / 2`. Write its slopes with respect to `w` and `b`. For each
# slope, multiply the δ of both samples by the right factors, add the two products, and divide by 2.


# %% tags=["exercise: two-pupils"]
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first * ... + second * ...) / 2, (first * ... + second * ...) / 2


sv.check.exercise("07.4", slopes)

# %% [markdown]
# ## To remember
#
# **A gradient is a sum over samples. An optimiser with a memory makes a different update from this sum. The slope is
# right for small steps only.**
