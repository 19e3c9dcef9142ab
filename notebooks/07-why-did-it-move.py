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
# After a step a weight has another value. Eight samples were in the batch, and an optimiser stood between the gradient
# and the weight. Which of them moved it?
#
# **The question of this lesson: what moved the weight, and by how much?**
#
# You need: δ times the input is a gradient (lesson 06). It takes about 15 minutes.

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
# One step, and the weight of practice has jumped from 0.5 to more than 1.1.
#
# **Predict:** did all eight pupils pull at it, or a few, or one? (Look at the data.)
#
# ## The gradient is a sum

# %%
found = run.why("weight[0][0]")

# %% [markdown]
# Each line is a pupil: δ, the slope of this pupil's loss with respect to the output, times `x`, the practice. The sum
# of the eight products, divided by 8, is the gradient. The gradient times the learning rate is how far the cube moves.
#
# All pull in the same direction, but not equally. Pupil 4 alone gives 85 % of the sum.

# %%
share = found.rows[0].product / found.total
print(f"pupil {found.rows[0].sample}: {share:.0%} of the sum")
print("the points of pupil 4:", points[4])

# %% [markdown]
# 24 points, where all others have between 0.7 and 2.1: somebody forgot a decimal point. A table of terms finds **one
# bad sample among good ones**. A loss curve never shows it.

# %%
points[4] = 2.4
run = make_run(points, lr=0.1)
run.step()
found = run.why("weight[0][0]")

# %% [markdown]
# ## The optimiser has its share
#
# With plain gradient descent the gradient alone decides. Most optimisers remember more. **Momentum** has a speed `v`:
# each step keeps 0.9 of the old speed and adds the gradient.
#
# **Predict:** the gradient is positive, so the weight should fall. Can the weight *rise* in that step?

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
# In steps 4, 5 and 6 it moves **up** although the gradient says *down*. Ask why:

# %%
found = run.why("weight[0][0]", step=4)

# %% [markdown]
# Look at the line of `v'`. The gradient is a small positive number; the rest of the earlier steps is large and
# negative. The weight still moves up, like a ball that rolls past the lowest point. Half of the reason lies in the
# past.

# %%
against = [step for step in range(1, 13) if (places[step] - places[step - 1]) * run.open(step=step).gradient[0] > 0]
print("steps against their own gradient:", against)

# %% [markdown]
# ## What if?
#
# A gradient says how much the loss changes *if this weight is a little larger*. How far is "a little"? The opened step
# can try: all other weights stay, and this one takes many values.

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
# Blue is the loss (upwards) over this one weight (to the right). Violet is the straight line of the slope. Near the
# middle, where the weight is, they are the same. Farther away the loss is higher on both sides: **a slope is a promise
# for small steps only.** This is why the learning rate is small.

# %% [markdown]
# ## Live
#
# Six colours, twelve weights. Run the cell, take a few steps and click on a cube. It shows how much each sample pulled,
# how the optimiser changed the gradient, and what the loss would be at other values of this weight.

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
# **1. Who pulls hardest?** Take the other weight, the one of sleep, in step 1. `pulls(1)` gives the pull of each pupil.
# Which pupil pulls hardest? Write `"pupil 0"` to `"pupil 7"`.

# %% tags=["exercise: hardest"]
answer = ...
sv.check.exercise("07.1", answer)

# %% [markdown]
# **2. The whole pull.** What is the gradient of the weight of sleep in step 1?

# %% tags=["exercise: whole-pull"]
answer = ...
sv.check.exercise("07.2", answer)

# %% [markdown]
# **3. Out of breath.** With momentum 0.9 the speed is `v = -2`, and from now on every gradient is 0. After how many
# steps is the speed less than half of that?

# %% tags=["exercise: half-speed"]
answer = ...
sv.check.exercise("07.3", answer)


# %% [markdown]
# **4. A gradient of two pupils.** `f = ((w + b - 2)**2 + (3 * w + b - 4)**2) / 2`: two samples, `x = 1` and `x = 3`.
# Write its slopes with respect to `w` and `b` as δ times x, summed and divided.


# %% tags=["exercise: two-pupils"]
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first * ... + second * ...) / 2, (first * ... + second * ...) / 2


sv.check.exercise("07.4", slopes)

# %% [markdown]
# ## To remember
#
# **A step is a sum over samples, changed by an optimiser with a memory, and right as far as the slope is straight.**
