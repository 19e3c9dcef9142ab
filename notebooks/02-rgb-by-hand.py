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
# # RGB by hand
#
# A network of twelve weights learns to turn every colour into its opposite. First you write the network and its
# training yourself, in plain Python, number by number. Then one of the library's **engines** does the same, much
# faster.
#
# **The question of this lesson: does the fast engine compute the same numbers?**
#
# You need to know: forward, backward, step (lessons 01 and 01b). The lesson takes about 20 minutes.

# %%
import time

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene
from scalarviz.run.panels import ColourCube, LossCurve


# %%
def show(x, size=(680, 420), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## The task
#
# A colour is three numbers between 0 and 1: how much red, green and blue it has. Its opposite is `1 - colour`. With
# three levels of red, green and blue there are 27 colours.

# %%
levels = 0.0, 0.5, 1.0
colours = [[r, g, b] for r in levels for g in levels for b in levels]
wanted = [[1 - r, 1 - g, 1 - b] for r, g, b in colours]
print(len(colours), "colours; white", colours[-1], "should become", wanted[-1])

# %% [markdown]
# **Predict:** one of the weights leads from the input red to the output red. Will it be positive, negative or about
# zero after training? And the weight from red to green?
#
# ## The network
#
# There are three units, one for each output colour. A unit has three weights, one for each input, and a bias. These
# twelve numbers start at random.

# %%
rng = np.random.default_rng(3)
start = rng.uniform(0, 1, (3, 3))
weights = [[sv.Weight(number) for number in row] for row in start]
biases = [sv.Weight(0.0) for _ in range(3)]
every = [*weights[0], *weights[1], *weights[2], *biases]
print(len(every), "weights")

# %%
show({"weights": start, "bias": [[0.0]] * 3}, size=(560, 300))


# %% [markdown]
# A unit multiplies each input by its weight, and adds up the products and the bias. Then a **sigmoid** bends the sum
# into the range from 0 to 1.


# %%
def unit(row, bias, colour):
    total = bias
    for weight, number in zip(row, colour, strict=True):
        total = total + weight * number
    return total.sigmoid()


def network(colour):
    return [unit(row, bias, colour) for row, bias in zip(weights, biases, strict=True)]


# %%
orange = [0.9, 0.5, 0.1]
print("orange comes out as", [f"{value.data:.2f}" for value in network(orange)])
print("it should be       ", [f"{1 - number:.2f}" for number in orange])


# %% [markdown]
# ## How wrong is it?
#
# One number answers this for all 27 colours: the **loss**, the mean of the squared errors.


# %%
def loss_of_all():
    total = 0.0
    for colour, target in zip(colours, wanted, strict=True):
        for out, number in zip(network(colour), target, strict=True):
            total = total + (out - number) ** 2
    return total / (3 * len(colours))


loss = loss_of_all()
print(f"loss = {loss.data:.4f}")

# %% [markdown]
# The loss remembers every number that it was computed from, as a graph. There are more than a thousand:


# %%
def count(node, seen):
    if node not in seen:
        seen.add(node)
        for parent in node.parents:
            count(parent, seen)
    return len(seen)


print("numbers in the graph of the loss:", count(loss, set()))

# %% [markdown]
# ## The loop
#
# The loop repeats four parts, sixty times: clear the gradients, forward, backward, step.

# %%
losses = []
began = time.perf_counter()
for _ in range(60):
    for weight in every:
        weight.zero_grad()
    loss = loss_of_all()
    loss.backward()
    for weight in every:
        weight.step(lr=5.0)
    losses.append(loss.data)
by_hand = time.perf_counter() - began

# %%
print("loss:", "  ".join(f"{number:.4f}" for number in losses[::10]), f" ...  {losses[-1]:.4f}")

# %% [markdown]
# This loop is all of training. Everything else (optimisers, batches, graphics cards) makes this loop better or faster.

# %%
found = np.array([[weight.data for weight in row] for row in weights])
show({"weights": found, "bias": [[bias.data] for bias in biases]}, size=(560, 300))

# %% [markdown]
# Was your prediction right? The weight from red to red is negative: more red in the input means less red in the output.
# The weight from red to green is about ten times smaller, and still falls towards zero: the green output should not
# depend on the red input.

# %%
print(found.round(2))

# %% [markdown]
# ## The same, as a Run
#
# `nn.Network` has the same twelve weights, `optim.SGD` takes the same step, and `sv.Run` runs the loop. You can choose
# the engine of a `Run`. `objects` works like your loop, number by number. `numpy` and `numba` compute all colours
# together. `numba` first compiles to machine code; the first time, this takes some seconds.


# %%
def make_run(engine):
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    net[0].weight.data, net[0].bias.data = start, np.zeros(3)
    sgd = optim.SGD(net.parameters(), lr=5.0)
    return sv.Run(net, nn.MSELoss(), sgd, data=(colours, wanted), engine=engine, dtype="float64")


# %% [markdown]
# **Predict:** each engine takes sixty steps from the same start. Will its weights agree with yours to 2 digits, to 6,
# or to all 16 digits that the computer keeps?

# %%
away = {}
for engine in ("objects", "numpy", "numba"):
    with make_run(engine) as run:
        run.step(60)
        away[engine] = abs(run.model[0].weight.data - found).max()
    print(f"{engine:8} equal to 12 digits: {away[engine] < 1e-12}   to 2 digits: {away[engine] < 0.01}")

# %% [markdown]
# They are the same numbers: the fast engines do not approximate. (The last digits may differ, because a computer rounds
# after every addition. If it adds in another order, it rounds in another way.)

# %%
print("0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1:", 0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1)

# %% [markdown]
# How fast is the fast engine?

# %%
with make_run("numba") as run:
    run.step(60)
    began = time.perf_counter()
    run.step(6000)
    seconds = time.perf_counter() - began
print("100 times as many steps in less time:", seconds < by_hand)

# %% [markdown]
# So you can afford more steps. A `Scene` says what to show: the weights, the colour orange on its way through the
# network, and a panel in which all colours form a cube.

# %%
run = make_run("numba")
names, panels = ("r", "g", "b"), (ColourCube(np.array(colours), np.array(wanted)), LossCurve())
scene = Scene("invert", run, np.array(orange), 1 - np.array(orange), names, names, panels)
run.step(1000)
show(scene, size=(960, 560))

# %% [markdown]
# After a thousand steps orange becomes almost the right blue. All six weights that lead from one colour to another are
# about zero.

# %%
print("orange ->", run.predict([orange])[0].round(2), "  wanted", [round(1 - x, 1) for x in orange])

# %% [markdown]
# ## Live
#
# This is the same network with other first weights and 216 colours. Run the cell, click the picture, and press
# **Space** to train. When the network has learnt, press **Space** to pause and **R** to restart. Press **P** to open
# the controls, double-click the learning rate, and type 50 (a hundred times as much). Press **P** again to close them.
# **Predict:** what will the loss do? Then press **Space**.

# %%
sv.lesson("02")

# %% [markdown]
# At 50 the loss jumps up and down at first, but a hundred steps are enough. Now try 500: pause, restart, type 500, run.
# The first steps push all sums so far from 0 that the sigmoids are flat there. Where a sigmoid is flat, its slope is
# almost 0, so the network stops learning. Lesson 08 has a network with this fault.

# %% [markdown]
# ## Now you
#
# **1. A unit of your own.** Write a unit with a sigmoid as a class, as in PyTorch. `__init__` makes the numbers to
# train, as `nn.Parameter`. `forward` computes the output. What does it return?


# %% tags=["exercise: unit"]
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return ...


sv.check.exercise("02.1", Unit)


# %% [markdown]
# **2. The slope of the error.** `f = (out - target)**2`. What are its slopes with respect to `out` and to `target`?


# %% tags=["exercise: error-slopes"]
def slopes(out, target):
    return ..., ...


sv.check.exercise("02.2", slopes)


# %% [markdown]
# **3. The loop without helpers.** Write one step for a list of weights. Use only `weight.data` and `weight.grad`,
# without `zero_grad()` and `step()`.


# %% tags=["exercise: bare-step"]
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = ...
    loss().backward()
    for weight in weights:
        weight.data = ...


sv.check.exercise("02.3", step)

# %% [markdown]
# **4. Count.** Look only at the forward part of our loop. How many products `weight * number` does it compute in one
# step?

# %% tags=["exercise: products"]
answer = ...
sv.check.exercise("02.4", answer)

# %% [markdown]
# ## To remember
#
# **Training is one short loop (clear, forward, backward, step), and a fast engine runs the same loop with the same
# numbers.**
