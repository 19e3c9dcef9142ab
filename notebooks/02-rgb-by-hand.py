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
# A network of twelve weights learns to turn every colour into its opposite. First we write the network and its training
# in plain Python. Then an **engine**, the part of the library that computes, does the same much faster.
#
# **The question of this lesson: does a fast engine compute the same numbers as plain Python?**
#
# You need to know: forward, backward, step (lessons 01 and 01b). The lesson takes about 30 minutes.

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
# A colour is three numbers from 0 to 1: red, green and blue. For the opposite colour, subtract each number from 1. With
# three levels of red, green and blue there are 27 colours.

# %%
levels = 0.0, 0.5, 1.0
colours = [[r, g, b] for r in levels for g in levels for b in levels]
wanted = [[1 - r, 1 - g, 1 - b] for r, g, b in colours]
print(len(colours), "colours; white", colours[-1], "should become", wanted[-1])

# %% [markdown]
# **Predict:** one weight leads from the input red to the output red. Will this weight be positive, negative or about
# zero after training? And the weight from red to green?
#
# ## The network
#
# The network has three *units* (neurons): one each for the outputs red, green and blue. A unit has three weights, one
# for each input, and a bias. The weights start as random numbers from 0 to 1. The biases start at 0.

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
# A unit multiplies each input by a weight, and adds up the products and the bias. Then a **sigmoid** turns the sum into
# a number between 0 and 1.


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
# <details>
# <summary>The network as a formula, and the same in PyTorch</summary>
#
# Unit $j$ has the weights $w_{ji}$ and the bias $b_j$. With the sigmoid $\sigma(z) = 1 / (1 + e^{-z})$:
#
# $$y_j = \sigma\Big(\sum_i w_{ji}\,x_i + b_j\Big)$$
#
# ```python
# import numpy as np
# import torch
#
# W = torch.tensor(np.random.default_rng(3).uniform(0, 1, (3, 3)))
# b = torch.zeros(3, dtype=torch.float64)
# orange = torch.tensor([0.9, 0.5, 0.1], dtype=torch.float64)
# y = torch.sigmoid(W @ orange + b)
# print([f"{number:.2f}" for number in y])  # ['0.57', '0.65', '0.64']
# ```
#
# </details>

# %% [markdown]
# ## The loss
#
# The **loss** says how wrong the network is. Our loss is the mean of the squared errors over all 27 colours.


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
# <details>
# <summary>The loss as a formula, and the same in PyTorch</summary>
#
# The mean goes over $N = 27$ colours and three outputs. $t$ is the target:
#
# $$L = \frac{1}{3N} \sum_{n=1}^{N} \sum_{j=1}^{3} \big(y_j^{(n)} - t_j^{(n)}\big)^2$$
#
# ```python
# import numpy as np
# import torch
#
# W = torch.tensor(np.random.default_rng(3).uniform(0, 1, (3, 3)))
# levels = torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)
# colours = torch.cartesian_prod(levels, levels, levels)
# y = torch.sigmoid(colours @ W.T)
# loss = torch.nn.functional.mse_loss(y, 1 - colours)
# print(len(colours), f"{loss.item():.4f}")  # 27 0.2152
# ```
#
# </details>

# %% [markdown]
# The loss stores every number that it was computed from. These numbers form a graph. There are more than a thousand:


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
# Backward gives each of the twelve weights its gradient. The next cell prints the gradient of one weight, which leads
# from the input red to the output red:

# %%
loss.backward()
red = weights[0][0]
print(f"from red to red: {red.data:.3f}, gradient {red.grad:+.4f}")

# %% [markdown]
# **Predict:** will this weight rise or fall in the first step? Look at the sign of its gradient.
#
# The loop has sixty rounds. Each round has four parts: clear the gradients, forward, backward, step.

# %%
losses, path = [], [red.data]
began = time.perf_counter()
for _ in range(60):
    for weight in every:
        weight.zero_grad()
    loss = loss_of_all()
    loss.backward()
    for weight in every:
        weight.step(lr=5.0)
    losses.append(loss.data)
    path.append(red.data)
by_hand = time.perf_counter() - began

# %%
few, first = losses[::10], path[:6]
print("loss:", "  ".join(f"{x:.4f}" for x in few), f" ...  {losses[-1]:.4f}")
print("from red to red:", "  ".join(f"{x:.3f}" for x in first), f" ...  {path[-1]:.3f}")

# %% [markdown]
# <details>
# <summary>The loop as a formula, and the same in PyTorch</summary>
#
# A step changes all twelve numbers $\theta$ together. $\nabla L$ is the list of their twelve gradients:
#
# $$\theta_{k+1} = \theta_k - \eta\,\nabla L(\theta_k)$$
#
# ```python
# import numpy as np
# import torch
#
# W = torch.tensor(np.random.default_rng(3).uniform(0, 1, (3, 3)), requires_grad=True)
# b = torch.zeros(3, dtype=torch.float64, requires_grad=True)
# x = torch.cartesian_prod(*[torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64)] * 3)
# sgd = torch.optim.SGD([W, b], lr=5.0)
# for _ in range(60):
#     sgd.zero_grad()
#     loss = ((torch.sigmoid(x @ W.T + b) - (1 - x)) ** 2).mean()
#     loss.backward()
#     sgd.step()
# print(f"{loss.item():.4f} {W[0, 0].item():.3f}")  # 0.0231 -3.129
# ```
#
# </details>

# %% [markdown]
# The gradient was positive, so the weight fell.
#
# Training needs only this loop. Optimisers, batches and graphics cards make the loop better or faster.

# %%
found = np.array([[weight.data for weight in row] for row in weights])
show({"weights": found, "bias": [[bias.data] for bias in biases]}, size=(560, 300))

# %% [markdown]
# Was your first prediction right? The weight from red to red is negative: more red in the input means less red in the
# output. The weight from red to green is much nearer to zero, because the green output should not depend on the red
# input. In the table below, a row is an output, and a column is an input:

# %%
print(found.round(2))

# %% [markdown]
# ## The same training with a Run
#
# `nn.Network` has the same twelve numbers, `optim.SGD` takes the same step, and `sv.Run` runs the loop. You can choose
# the engine of a `Run`. The engine `objects` computes number by number, as our loop does. `numpy` and `numba` compute
# all colours together. `numba` first compiles the computation to machine code, which takes some seconds the first time.


# %%
def make_run(engine):
    net = nn.Network(3, 3, activation=nn.Sigmoid())
    net[0].weight.data, net[0].bias.data = start, np.zeros(3)
    sgd = optim.SGD(net.parameters(), lr=5.0)
    data = (colours, wanted)
    return sv.Run(net, nn.MSELoss(), sgd, data, engine=engine, dtype="float64")


# %% [markdown]
# **Predict:** each engine takes sixty steps from the same first weights. Will its weights agree with those of our loop
# to 2 digits, to 12 digits, or to all 16 digits that the computer stores?

# %%
away = {}
for engine in ("objects", "numpy", "numba"):
    with make_run(engine) as run:
        run.step(60)
        away[engine] = abs(run.model[0].weight.data - found).max()
    print(f"{engine:8} equal to 12 digits: {away[engine] < 1e-12}", end="   ")
    print(f"to 2 digits: {away[engine] < 0.01}")

# %% [markdown]
# So the fast engines do not approximate. (Only the last digits may differ, because a computer rounds after every
# addition. If it adds the same numbers in another order, it may get another result.)

# %%
print("0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1:", 0.1 + 0.2 + 0.3 == 0.3 + 0.2 + 0.1)

# %% [markdown]
# How fast is `numba`?

# %%
with make_run("numba") as run:
    run.step(60)
    began = time.perf_counter()
    run.step(6000)
    seconds = time.perf_counter() - began
print("100 times as many steps in less time:", seconds < by_hand)

# %% [markdown]
# So we can take more steps. The `Scene` below shows the weights, the sums and outputs for orange, and two panels. The
# upper panel shows all 27 colours as the network returns them, and as they should be.

# %%
run = make_run("numba")
names, given = ("r", "g", "b"), np.array(orange)
panels = ColourCube(np.array(colours), np.array(wanted)), LossCurve()
scene = Scene("invert", run, given, 1 - given, names, names, panels)
run.step(1000)
show(scene, size=(960, 560))

# %% [markdown]
# After a thousand steps orange becomes almost the right blue. The six weights between different colours are about zero.

# %%
print("orange ->", run.predict([orange])[0].round(2), end="   ")
print("wanted", [round(1 - x, 1) for x in orange])

# %% [markdown]
# ## Live
#
# The next cell shows the same network with other first weights and 216 colours. Run the cell and click the picture.
#
# **Predict:** press **Shift+P**. The picture opens a trial step with one colour, orange. It asks about each weight:
# will it rise or fall? Is the output of this weight too high or too low? Press **Up** or **Down** to answer, and
# **`.`** (full stop) for the next question. When you have seen enough, press **Shift+P** again, and **Right** to
# finish the step.
#
# Then press **Space** to train. When the loss is small, press **Space** to pause and **R** to restart. Press **P** to
# open the controls. Double-click the learning rate, 0.5, type 50 and press **Enter**. Press **P** again to close the
# controls. **Predict:** what will the loss do? Then press **Space**.

# %%
sv.lesson("02")

# %% [markdown]
# With the learning rate 50, the loss jumps up and down at first, but after a hundred steps it is small. Now try 500:
# pause, go back to step 0, type 500, and train again. The first steps move all sums far from 0. There the sigmoids are
# flat: their slopes are almost 0, so the network stops learning. Lesson 08 shows a network with this fault.

# %% [markdown]
# ## Now you
#
# **First, a class.** A class is a plan for objects. `__init__` runs when an object is created, and stores numbers in
# the object, which is called `self`. A function of the class, such as `after`, reads these numbers.


# %%
class Savings:
    def __init__(self, euros):
        self.euros = euros

    def after(self, years):
        return self.euros * 1.02**years


mine, yours = Savings(100), Savings(50)
print(f"mine: {mine.after(3):.2f} euros   yours: {yours.after(3):.2f} euros")

# %% [markdown]
# **1. A unit of your own.** The class below is a unit with a sigmoid, written as in PyTorch. `__init__` creates the
# numbers to train. Complete `forward`, which returns the output.


# %% tags=["exercise: unit"]
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return ...


sv.check.exercise("02.1", Unit)


# %% [markdown]
# **2. The slope of the error.** `f = (out - target)**2`. What are the slopes of `f` with respect to `out` and to
# `target`?


# %% tags=["exercise: error-slopes"]
def slopes(out, target):
    return ..., ...


sv.check.exercise("02.2", slopes)


# %% [markdown]
# **3. The loop without helpers.** Complete one training step for a list of weights. Use only `weight.data` and
# `weight.grad`, not `zero_grad()` and `step()`.


# %% tags=["exercise: bare-step"]
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = ...
    loss().backward()
    for weight in weights:
        weight.data = ...


sv.check.exercise("02.3", step)

# %% [markdown]
# **4. Count.** How many products `weight * number` does the forward part of our loop compute in one step?

# %% tags=["exercise: products"]
answer = ...
sv.check.exercise("02.4", answer)

# %% [markdown]
# ## To remember
#
# **Training is one short loop: clear, forward, backward, step. A fast engine runs the same loop and computes the same
# numbers.**
