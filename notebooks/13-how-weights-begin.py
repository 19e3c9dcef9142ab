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
# # How weights begin
#
# Before the first step, somebody must give each weight a number. In most programs this is a single line, and nobody
# looks at it. But this line can decide whether a deep network learns at all.
#
# **The question of this lesson: how large should the first weights be, and why?**
#
# You need to know: a hidden layer (lesson 03), δ and the chain rule (lesson 06). It helps to know the patients of
# lesson 08. The lesson takes about 45 minutes.

# %%
from itertools import product

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import InputError


def show(x, size=(680, 400), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## Equal weights
#
# The simplest idea: all weights begin with the same number. A small network with three hidden units should learn
# *exclusive or* (XOR): its output should be 1 if exactly one of two bits is 1. All its weights and biases begin with
# the number `every`. Only the weights of the first layer may begin with other numbers: `first`.
#
# **Predict:** all numbers begin with 0.5. Will the three hidden units get different gradients? And which weights get a
# gradient if all numbers begin with 0?

# %%
BITS, XOR = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [0]]


def small(every, first=None):
    net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    for parameter in net.parameters():
        parameter.data = np.full(parameter.shape, every)
    if first is not None:
        net[0].weight.data = first
    sgd = optim.SGD(net.parameters(), lr=0.3)
    return sv.Run(net, nn.MSELoss(), sgd, data=(BITS, XOR), engine="numpy", dtype="float64")


# %%
equal = small(0.5)
for unit, slopes_of_unit in enumerate(equal.open().gradient[:6].reshape(3, 2)):
    print(f"unit {unit}: gradients of its two weights", *(f"{slope:.4f}" for slope in slopes_of_unit))
print("if all begin with 0:", small(0.0).open().gradient + 0.0)

# %% [markdown]
# The three units get equal gradients. They read the same inputs with the same weights, so they have the same output.
# The same weight leads from each of them to the loss, so they have the same δ. A gradient is δ times the input. So the
# units make the same step, and after the step they are equal again. No later step can separate them.
#
# If all numbers begin with 0, it is even worse. Of the 13 gradients, 12 are exactly 0: δ goes back through weights that
# are 0, and the outputs of the hidden units are 0, too. Only the last bias moves.
#
# The next cell trains the network that began with 0.5, and a second network whose first layer begins with different
# weights.

# %%
different = small(0.5, [[0.5, -0.4], [-0.3, 0.6], [0.2, 0.1]])
for name, run in {"equal": equal, "different": different}.items():
    run.step(2000)
    print(f"{name:9}  answers {run.predict(BITS).ravel().round(2) + 0.0}  loss {run.loss:.3f}")


show({f"began {name}": run.model[0].weight.data for name, run in {"equal": equal, "different": different}.items()})

# %% [markdown]
# A row of a plate is one unit. On the left, training has changed the weights, but the rows are still equal: three units
# do the work of one, and one unit with a `tanh` cannot learn XOR. On the right, each unit has found its own task.
#
# So the first weights must differ. This is called **breaking the symmetry**. It is the reason why the first weights are
# random numbers. The biases may begin equal, because the weights already make the units different.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# Unit $j$ has the output $h_j = \tanh(\sum_i w_{ji} x_i + b_j)$, and the weight $v_j$ leads from it to the output $y$.
# For one sample, the gradient of $w_{ji}$ is
#
# $$\frac{\partial L}{\partial w_{ji}} = \frac{\partial L}{\partial y} \; v_j \; (1 - h_j^2) \; x_i .$$
#
# The index $j$ occurs only in $v_j$ and $h_j$. If these are equal for all units, then the gradients are, too.
#
# ```python
# import torch
# from torch import nn
#
# net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
# for parameter in net.parameters():
#     nn.init.constant_(parameter, 0.5)
# bits = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]).double()
# xor = torch.tensor([[0], [1], [1], [0]]).double()
# nn.functional.mse_loss(net(bits), xor).backward()
# print(round(net[0].weight.grad[0, 0].item(), 4))  # 0.1514
# print(round(net[0].weight.grad[2, 1].item(), 4))  # 0.1514
# ```
#
# </details>

# %% [markdown]
# ## A sum of many products
#
# So we need random numbers. How large should they be? A unit adds up products: each input times its weight. We first
# look at the simplest random numbers: each product is -1 or 1, like the two sides of a coin.
#
# We need a word for the size of many numbers. Their mean does not help: the mean of -1 and 1 is 0. So we square the
# numbers, take the mean of the squares, and then the root. The result is the **root mean square** (RMS). For numbers
# with mean 0, it is the same as the standard deviation.
#
# **Predict:** a unit with 4 products is compared with a unit with 16 products. How many times as large is the RMS of
# the sum: 16 times, 4 times or twice?


# %%
def rms(numbers):
    return np.sqrt(np.mean(np.square(numbers)))


for n in (1, 4, 9, 16):
    sums = [sum(coins) for coins in product((-1, 1), repeat=n)]
    print(f"{n:2} coins: {len(sums):5} cases, mean square {np.mean(np.square(sums)):4.1f}, RMS {rms(sums):.1f}")

# %% [markdown]
# The cell goes through all cases, so these numbers are exact. Four times as many coins make the sum only twice as
# large: some coins are positive and others are negative, and they nearly cancel each other. **The mean square of the
# sum is n. The RMS of the sum is the root of n.**
#
# Now we use a real layer. It has 1000 units, so that we see 1000 different sums. Its weights are drawn from a normal
# distribution: most of them are near 0, and a few are large. In `nn.init.normal(0, 1)`, the mean is 0 and the standard
# deviation (std) is 1. The inputs are drawn in the same way. The cell also tries weights that are smaller by the root
# of n.


# %%
def sums_of(n, std):
    layer = nn.Linear(n, 1000, bias=False)
    layer.initialize(nn.init.normal(0, std), seed=0)
    inputs = np.random.default_rng(0).normal(size=n)
    return layer.weight.data @ inputs


for n in (100, 400, 2500):
    std = 1 / np.sqrt(n)
    print(f"{n:4} inputs: weights with std 1: RMS of the sums {rms(sums_of(n, 1)):5.2f}, root of n {np.sqrt(n):.0f}")
    print(f"             weights with std {std:.2f}: RMS of the sums {rms(sums_of(n, std)):5.2f}")

# %% [markdown]
# The rule of the coins holds for other random numbers, too. (It does not hold exactly, because these are only 1000 sums
# and one sample of inputs.)
#
# A sum of 50 is too large for a `tanh`: the output is 1, and the slope is 0. We want sums whose RMS is about 1, as for
# the inputs. If all weights are divided by a number, then the sum is divided by this number, too. So we divide the
# weights by the root of n: **the standard deviation of the weights should be 1/sqrt(n)**, where n is the number of
# inputs of the layer. The second line of each pair shows that this works for every n.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# Let all $w_i$ and $x_i$ be independent, and let the $w_i$ have the mean 0. The variance of a sum of independent
# numbers is the sum of their variances. The variance of one product is $\operatorname{Var}(w_i x_i) =
# \operatorname{Var}(w) \, \mathrm{E}(x^2)$. So
#
# $$\operatorname{Var}\Big(\sum_{i=1}^{n} w_i x_i\Big) = n \, \operatorname{Var}(w) \, \mathrm{E}(x^2) .$$
#
# The sum is as large as the inputs if $n \operatorname{Var}(w) = 1$. The standard deviation of $w$ is then $1 /
# \sqrt{n}$. For coins, $\operatorname{Var}(w) = 1$ and $x^2 = 1$, so the variance of the sum is $n$:
#
# ```python
# import torch
#
# coin = torch.tensor([-1.0, 1.0])
# four = torch.cartesian_prod(*[coin] * 4).sum(dim=1)
# nine = torch.cartesian_prod(*[coin] * 9).sum(dim=1)
# print(four.square().mean().sqrt().item())  # 2.0
# print(nine.square().mean().sqrt().item())  # 3.0
# ```
#
# </details>

# %% [markdown]
# ## Ten layers
#
# One layer of wrong size is not yet a disaster. But a deep network repeats the mistake in each layer. The next network
# has ten hidden layers with 100 units each. It reads 50 samples of 100 random numbers, and should find out whether the
# first number is positive. The argument `std` is the standard deviation of all weights.
#
# For 100 inputs, our rule says 1/sqrt(100) = 0.1. We compare three networks: one follows the rule, one has weights that
# are half as large, and one has weights that are five times as large.
#
# **Predict:** in the network with half of the size, how large are the outputs of the tenth layer?

# %%
samples = np.random.default_rng(0).normal(size=(50, 100))
signs = np.sign(samples[:, :1])


def deep(std, bend=nn.Tanh, lr=0.1):
    parts = [part for _ in range(10) for part in (nn.Linear(100, 100, bias=False), bend())]
    net = nn.Sequential(*parts, nn.Linear(100, 1, bias=False))
    net.initialize(nn.init.normal(0, std), seed=0)
    sgd = optim.SGD(net.parameters(), lr=lr)
    return sv.Run(net, nn.MSELoss(), sgd, data=(samples, signs), engine="numpy", dtype="float64")


# %%
runs = {"too small": deep(0.05), "by the rule": deep(0.1), "too large": deep(0.5)}
opened = {name: run.open() for name, run in runs.items()}
outputs = {name: [step.rows[str(2 * k + 1)] for k in range(10)] for name, step in opened.items()}
for name, layers in outputs.items():
    sizes = " ".join(f"{rms(layer):7.2g}" for layer in layers[::3])
    saturated = np.mean(abs(np.array(layers)) > 0.99)
    print(f"{name:12} RMS of the outputs: {sizes}   farther than 0.99 from 0: {saturated:.0%}")


# %% [markdown]
# (The cell prints the RMS for every third layer: 1, 4, 7 and 10.) With the small weights, each layer makes the numbers
# about half as large. After ten layers, less than a thousandth of the input is left. Whatever the network reads, its
# output is nearly 0.
#
# With the large weights, all layers have an RMS of 0.9. This looks healthy, but it is not, as the picture shows. A row
# of a plate is a layer, from the first to the tenth. A column is one of the first 30 units. The colours show the
# outputs for one sample.

# %%
show({name: np.array([layer[:30, 0] for layer in layers]) for name, layers in outputs.items()}, size=(680, 430))

# %% [markdown]
# With the small weights, the signal fades after a few layers. By the rule, it becomes weaker, too: from layer 1 to
# layer 10, the RMS falls to about a third. But the signal reaches the last layer. With the large weights, most outputs
# are near one of the two ends, -1 or 1: the units are **saturated**. There, a `tanh` is flat. The last column of the
# numbers counts such outputs: they are more than half of all.
#
# ### The way back
#
# The backward pass goes through the same weights, from the last layer to the first. So δ has the same problem.
# **Predict:** what happens to δ on its way back through the small weights, and through the large weights? And which of
# the three networks will learn? The next cell prints δ, and the cell after it trains all networks for 100 steps.

# %%
for name, step in opened.items():
    last, first = rms(step.deltas["18"]), rms(step.deltas["0"])
    print(f"{name:12} RMS of δ in layer 10: {last:.0e}   in layer 1: {first:.0e}   ratio {first / last:.2g}")


# %%
def trained(run, steps=100):
    for _ in range(steps):
        run.step()
        if run.loss > 1000:
            return "above 1000"
    return f"{run.loss:.3f}"


for name, run in runs.items():
    print(f"{name:12} loss before {run.open().loss:.2f}   after training: {trained(run)}")

# %% [markdown]
# With the small weights, δ shrinks to about a thousandth: the gradient **vanishes**. The loss is still nearly 1: the
# network answers nearly 0 to everything. In 100 steps it has learnt almost nothing. It needs far more steps: after 200
# steps, the loss is still above 0.9.
#
# With the large weights, δ grows to more than a hundred times its size: the gradient **explodes**. The saturated units
# pass on almost nothing, but the few others have large weights, and these win. The first steps throw the weights far
# away. A smaller learning rate saves this network (try `trained(deep(0.5, lr=0.01))`). But it does not help the network
# with the small weights: its steps become even smaller.
#
# By the rule, δ of the first layer is a quarter of δ of the last layer. So all ten layers learn at one learning rate.
#
# ## The rules of Xavier and He
#
# Our rule looked at the way forward: a unit adds up one product for each **input** of its layer. On the way back, δ
# adds up one product for each **output** of the layer. A layer with 300 inputs and 100 outputs would need 1/sqrt(300)
# forward and 1/sqrt(100) backward. Xavier Glorot and Yoshua Bengio proposed a compromise in 2010: take the mean of the
# two numbers, 200. The variance of the weights is then 1/200 or, for any layer, 2 / (inputs + outputs). This is the
# **Xavier** (or Glorot) initialiser.
#
# `nn.init.xavier_uniform` draws numbers that are spread evenly between two bounds. The standard deviation of such
# numbers is the bound divided by the root of 3. So the bound must be larger than the standard deviation that we want.

# %%
layer = nn.Linear(100, 100)
layer.initialize(nn.init.xavier_uniform(), seed=0)
print(f"bound {np.sqrt(3) * 0.1:.4f}: largest weight {abs(layer.weight.data).max():.4f}")
print(f"standard deviation: wanted {np.sqrt(2 / (100 + 100)):.4f}, found {layer.weight.data.std():.4f}")

# %% [markdown]
# The rule needs one change for rectifiers (`ReLU`). A rectifier sets negative sums to 0. Half of all sums are negative.
# **Predict:** which part of the mean square is left?
#
# The next cell tries it with the sums -3, -1, 1 and 3. Then it sends the samples through ten layers of rectifiers:
# first with the rule 1/sqrt(n), and then with weights that are larger by the factor root of 2. The library calls this
# factor the *gain* of the rectifier.

# %%
sums = np.array([-3.0, -1.0, 1.0, 3.0])
print("mean square of four sums:", np.mean(sums**2), "  after the rectifier:", np.mean(np.maximum(sums, 0) ** 2))
he = nn.init.calculate_gain("relu") / np.sqrt(100)
for name, std in {"1/sqrt(n)": 0.1, "He": he}.items():
    step = deep(std, bend=nn.ReLU).open()
    squares = [np.mean(step.rows[str(2 * k)] ** 2) for k in range(10)]
    print(f"{name:9} std {std:.4f}: mean square of the sums in layer 1 {squares[0]:.2f}, in layer 10 {squares[9]:.4f}")

# %% [markdown]
# The rectifier leaves exactly half of the mean square. With the rule 1/sqrt(n), this happens in each layer: from layer
# 1 to layer 10, the mean square is halved nine times, and only a small part of it is left. The larger weights make up
# for it: their variance is 2/n, not 1/n. This is the **He** (or Kaiming) initialiser, named after Kaiming He, who
# proposed it in 2015.
#
# | activation | variance of the weights | name | in scalarviz |
# |---|---|---|---|
# | `Tanh` | 2 / (inputs + outputs) | Xavier, Glorot | `nn.init.xavier_uniform()` |
# | `ReLU` | 2 / inputs | He, Kaiming | `nn.init.kaiming_uniform()` |
#
# A plain `nn.Linear` follows neither rule. Like PyTorch, it draws evenly between -1/sqrt(n) and 1/sqrt(n). So its
# standard deviation is only 0.58 of 1/sqrt(n). After one layer, more than half of the signal is left, but after ten
# layers only 0.58 to the power of 10, less than half a percent. In a deep network, choose an initialiser:
# `net.initialize(nn.init.kaiming_uniform(), seed=0)`.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# Let the sum $s$ be as often positive as negative: $s$ and $-s$ have the same probability. A rectifier returns $\max(s,
# 0)$. Then
#
# $$\mathrm{E}\big(\max(s, 0)^2\big) = \tfrac12 \, \mathrm{E}(s^2) .$$
#
# The next sum has the variance $n \operatorname{Var}(w) \cdot \tfrac12 \mathrm{E}(s^2)$. It stays the same if
# $\operatorname{Var}(w) = 2 / n$.
#
# ```python
# import torch
# from torch import nn
#
# sums = torch.tensor([-3.0, -1.0, 1.0, 3.0])
# print(sums.square().mean().item())  # 5.0
# print(torch.relu(sums).square().mean().item())  # 2.5
# print(round(nn.init.calculate_gain("relu") / 100**0.5, 4))  # 0.1414
# ```
#
# </details>

# %% [markdown]
# ## Normalisation
#
# A good start does not last. Training changes the weights of a layer, and then the sums have another size. There is a
# second idea: do not hope that the sums have the right size, **make** it so, in every step. Subtract the mean of the
# sums, and divide by their standard deviation. Then their mean is 0 and their standard deviation is 1, whatever the
# weights are. This is **normalisation**.
#
# The mean of which sums? The next cell has the sums of three units (columns) for four samples (rows). A **batch norm**
# takes one unit and all samples of the batch: it normalises each column. A **layer norm** takes one sample and all
# units of the layer: it normalises each row.
#
# **Predict:** the first column is 1, 2, 3, 6. Which number becomes 0 in the batch norm?

# %%
SUMS = [[1.0, 10.0, 3.0], [2.0, 30.0, 1.0], [3.0, 20.0, 2.0], [6.0, 20.0, 6.0]]
column = np.array(SUMS)[:, 0]
print(f"column 0: mean {column.mean():.1f}, standard deviation {column.std():.3f}")
print("column 0 by hand:", (column - column.mean()) / column.std())
for norm in (nn.BatchNorm1d(3), nn.LayerNorm(3)):
    print(type(norm).__name__)
    print(norm(SUMS).data.round(3) + 0.0)

# %%
rng = np.random.default_rng(3)
table = rng.normal(np.array([0, 4, 0, 0, -4, 0, 0, 2]), 1, size=(10, 8))
table[[2, 5]] *= 2
norms = {"batch norm": nn.BatchNorm1d(8)(table).data, "layer norm": nn.LayerNorm(8)(table).data}
show({"sums": table, **norms}, size=(680, 430))

# %% [markdown]
# The numbers of the library agree with those by hand to three decimals. (They are not quite equal: the library adds
# 0.00001 to the variance, so that it never divides by 0.) Before, the second unit was far larger than the others. After
# the batch norm, all three units have the same size. After the layer norm, the second unit is still the largest in each
# sample, but all samples have the same size.
#
# The picture shows both norms for a larger table: ten samples (rows) and eight units (columns). In the sums, some
# columns have one colour: these units give almost the same answer to every sample. The batch norm removes this: each of
# its columns has both colours. The layer norm keeps the columns, but it makes all rows equally strong.
#
# ### A learnt scale and a learnt shift
#
# Perhaps a unit should have another mean than 0. So each unit of a norm has two more numbers: a scale γ (gamma), which
# multiplies, and a shift β (beta), which is added. In scalarviz and in PyTorch, they are called `weight` and `bias`.
# They begin with 1 and 0, so they change nothing at first. Training changes them like all other weights.
#
# **Predict:** for the first unit, the scale is 2 and the shift is 5. What are the mean and the standard deviation of
# its outputs?

# %%
norm = nn.BatchNorm1d(3)
norm.weight.data, norm.bias.data = [2.0, 1.0, 1.0], [5.0, 0.0, 0.0]
first = norm(SUMS).data[:, 0]
print(f"unit 0: mean {first.mean():.3f}, standard deviation {first.std():.3f}")

# %% [markdown]
# So a batch norm does not take anything away: the network can choose the mean and the standard deviation of each unit.
# But now they are two numbers that it learns, and not an accident of a hundred weights. (A layer norm does take
# something away: if all sums of a sample are ten times as large, its outputs stay the same.)
#
# ### Training and evaluation
#
# A batch norm has a strange side: the output for one sample depends on the **other** samples of the batch. The next
# cell normalises the sums 1, 10, 3 twice, each time with three other samples.

# %%
norm = nn.BatchNorm1d(3)
other = [SUMS[0], [0.0, 0.0, 0.0], [1.0, 5.0, 3.0], [0.0, 9.0, 5.0]]
for batch in (SUMS, other):
    print("1, 10, 3 becomes", norm(batch).data[0].round(3) + 0.0)
try:
    norm(SUMS[0])
except InputError as error:
    print("alone:", str(error).partition(":")[0])

# %% [markdown]
# Alone, it refuses: one sample has no spread. In training this is no problem, because every step has a whole batch. But
# a trained network should answer a single question, and always in the same way. So a batch norm keeps a **running
# mean** and a **running variance** for each unit. They begin with 0 and 1. Each batch moves them by a tenth of the way
# to its own mean and variance.
#
# The mode decides: after `train()`, the norm uses the numbers of the batch. After `eval()`, it uses the running
# numbers. **Predict:** how far is the running mean after one batch, if the mean of the batch is 20?

# %%
norm = nn.BatchNorm1d(3)
for batches in (1, 10, 100):
    while norm.num_batches_tracked < batches:
        norm(SUMS)
    print(f"after {batches:3} batches: running mean", np.round(norm.running_mean, 2))
norm.eval()
print("evaluation: alone", norm(SUMS[0]).data.round(3), "  in another batch", norm(other).data[0].round(3))

# %% [markdown]
# After one batch, the running mean of the second unit is 2, a tenth of 20. After 100 batches, it is 20. In evaluation
# mode, the sample gets the same output alone and in any batch. (These outputs are not quite those of training, because
# the running variance divides by 3 and not by 4. In large batches, this makes almost no difference.)
#
# If you forget `eval()`, then the answers depend on the batch. In scalarviz, `run.predict` always uses evaluation mode.
# A layer norm has no modes: it never looks at other samples.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# For one unit, let $x_1, \dots, x_m$ be its sums in a batch of $m$ samples. A batch norm computes
#
# $$\mu = \frac1m \sum_k x_k , \qquad \sigma^2 = \frac1m \sum_k (x_k - \mu)^2 , \qquad
# y_k = \gamma \, \frac{x_k - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta .$$
#
# For a layer norm, $x_1, \dots, x_m$ are the sums of all units for one sample.
#
# ```python
# import torch
# from torch import nn
#
# sums = torch.tensor([[1, 10, 3], [2, 30, 1], [3, 20, 2], [6, 20, 6]]).double()
# batch_norm, layer_norm = nn.BatchNorm1d(3).double(), nn.LayerNorm(3).double()
# print(round(batch_norm(sums)[0, 0].item(), 3))  # -1.069
# print(round(layer_norm(sums)[0, 1].item(), 3))  # 1.382
# print(round(batch_norm.running_mean[1].item(), 2))  # 2.0
# ```
#
# </details>

# %% [markdown]
# ### Large learning rates
#
# With a batch norm, deep networks often learn at much larger learning rates. There is a simple reason. Multiply all
# weights of a layer by 10: its sums become 10 times as large, the norm divides this out again, and the loss stays the
# same.
#
# **Predict:** what happens to the gradient of these weights?


# %%
def gradient(factor):
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2, eps=0), nn.Tanh(), nn.Linear(2, 1))
    net.initialize(nn.init.xavier_uniform(), seed=0)
    net[0].weight.data = factor * np.array([[0.4, -0.2], [0.3, 0.5]])
    corners = [[0.5, -1.0], [1.5, 0.3], [-0.7, 0.8], [0.2, 1.1]]
    sgd = optim.SGD(net.parameters(), lr=0.1)
    step = sv.Run(net, nn.MSELoss(), sgd, data=(corners, XOR), engine="numpy", dtype="float64").open()
    return step.loss, step.gradient[:4]


for factor in (1, 10):
    loss, slopes_of_layer = gradient(factor)
    print(f"weights times {factor:2}: loss {loss:.4f}   gradient", *(f"{slope:7.4f}" for slope in slopes_of_layer))

# %% [markdown]
# The gradient is a tenth. This is a brake: if a large step makes the weights large, then the next gradients become
# small. So the layer does not easily run away. And if the weights begin too small, then their gradients are large, and
# the layer gets away from there quickly.
#
# The last experiment needs a deep network and a real task. The network has six hidden layers of eight rectifiers. It
# reads the two coordinates of a point and says whether the point lies inside a circle. There are 96 points. All biases
# begin with 0, so that only the weights make the difference.
#
# The second cell trains twelve networks with 300 steps each. It counts the right answers. **Predict:** which networks
# are better than one that always says "outside"? (This is right for 53 of the 96 points.)

# %%
points = np.random.default_rng(1).uniform(-1.5, 1.5, (96, 2))
inside = np.where((points**2).sum(axis=1) < 1.2, 1.0, 0.0)[:, None]


def circle(start, norm, lr):
    parts = [part for n in (2, 8, 8, 8, 8, 8) for part in (nn.Linear(n, 8), *[nn.BatchNorm1d(8)] * norm, nn.ReLU())]
    net = nn.Sequential(*parts, nn.Linear(8, 1), nn.Sigmoid())
    net.initialize(start, seed=0)
    for layer in net:
        if isinstance(layer, nn.Linear):
            layer.bias.data = np.zeros(layer.bias.shape)
    sgd = optim.SGD(net.parameters(), lr=lr)
    return sv.Run(net, nn.BCELoss(), sgd, data=(points, inside), engine="numpy", dtype="float64")


# %%
def score(start, norm, rate):
    run = circle(start, norm, rate)
    run.step(300)
    return int(((run.predict(points) > 0.5) == inside).sum())


too_small, he = nn.init.normal(0, 0.1), nn.init.kaiming_uniform()
print("learning rates:   0.1  1.0  3.0")
for norm in (0, 1):
    for name, start in {"small": too_small, "He": he}.items():
        scores = [score(start, norm, rate) for rate in (0.1, 1.0, 3.0)]
        print(f"{name:5} {('no', 'with')[norm]:>5} norm", *(f"{count:4}" for count in scores))

# %% [markdown]
# The small weights alone learn nothing at any of these rates. The rule of He helps, but only at the smallest of these
# rates: at the larger ones, all rectifiers of a layer die (lesson 08). With a batch norm, the same small weights learn
# at all three rates. The weights of He do, too: with a norm, the start hardly matters here.
#
# But a norm costs something: more work in each step, two modes, and batches that are not too small. A good start costs
# nothing.
#
# ## Live
#
# This is the network with six hidden layers. Run the cell, click the picture, and press **Space** to train. The map
# shows the answer for each point of the plane. The weights begin by the rule of He. With `sv.lesson("13", seed=1)` they
# begin too small, with `seed=2` too large, and with `seed=3` too small, but with a batch norm in each layer. Which of
# these four networks find the circle? What happens if you raise the learning rate?

# %%
sv.lesson("13")

# %% [markdown]
# ## Now you
#
# **1. The first weights.** A layer reads the outputs of 50 rectifiers, and its own units are rectifiers, too. Which
# standard deviation should its weights have by the rule of He?

# %% tags=["exercise: first-spread"]
answer = ...
sv.check.exercise("13.1", answer)

# %% [markdown]
# **2. A patient.** A network has ten layers of 100 units with `tanh`. In every layer, the RMS of the outputs is 0.96. δ
# is 0.09 in the last layer and 140 in the first layer. How did its weights begin? Write `"equal"`, `"zero"`, `"small"`,
# `"rule"` or `"large"`.

# %% tags=["exercise: patient"]
answer = ...
sv.check.exercise("13.2", answer)


# %% [markdown]
# **3. Scale and shift.** A norm has made 1.5 out of a sum. With the scale `g` and the shift `s`, the output is
# `1.5 * g + s`. The loss is `(1.5 * g + s - 2)**2`. Write its slopes with respect to `g` and `s`.


# %% tags=["exercise: scale-and-shift"]
def slopes(g, s):
    delta = 2 * (1.5 * g + s - 2)
    return delta * ..., delta * ...


sv.check.exercise("13.3", slopes)


# %% [markdown]
# **4. Your own layer norm.** `x` is a list of the sums of all units for one sample. Fill in the mean and the variance
# (the mean of the squared distances from the mean). There is no scale and no shift.


# %% tags=["exercise: own-norm"]
class OwnNorm(nn.Module):
    def forward(self, x):
        mean = ...
        variance = ...
        return [(number - mean) / sv.sqrt(variance) for number in x]


sv.check.exercise("13.4", OwnNorm)

# %% [markdown]
# ## To remember
#
# **First weights must differ, so that units can differ. Their standard deviation is 1/sqrt(n), times the root of 2 for
# rectifiers, so that signals and gradients survive many layers. A norm sets the mean and the standard deviation of the
# sums in every step, whatever the weights are.**
