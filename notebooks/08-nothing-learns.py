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
# # Nothing learns
#
# The code runs without an error, but the network does not learn. This happens to everyone who trains networks. Here you
# are the doctor of five such networks.
#
# **The question of this lesson: how do you find out what is wrong with a network, without guessing?**
#
# You need to know: layers and gradients (lessons 03 and 06). The lesson takes about 30 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.errors import DivergedError

# %% [markdown]
# ## A healthy network
#
# The network reads two bits. Its output should be 1 if the bits are equal, and 0 if they differ. It has six hidden
# units and one output.

# %%
BITS, EQUAL = [[0, 0], [0, 1], [1, 0], [1, 1]], [[1], [0], [0], [1]]


def network(bend=nn.Tanh, bias=True, lr=0.1, first_bias=None, every=None):
    net = nn.Sequential(nn.Linear(2, 6, bias=bias, seed=0), bend(), nn.Linear(6, 1, bias=bias, seed=1))
    if first_bias is not None:
        net[0].bias.data = np.full(6, first_bias)
    if every is not None:
        for parameter in net.parameters():
            parameter.data = np.full(parameter.shape, every)
    sgd = optim.SGD(net.parameters(), lr=lr)
    return sv.Run(net, nn.MSELoss(), sgd, data=(BITS, EQUAL), engine="numpy", dtype="float64")


# %% [markdown]
# A doctor asks every patient the same questions in the same order. We ask each network five questions:
#
# 1. What does the network **answer** for the four inputs?
# 2. How large are the **gradients** of each layer?
# 3. How large are the **weights**?
# 4. What do the **hidden units** output for the four inputs?
# 5. Do the hidden units **differ** from each other?


# %%
def train(run, steps=2000):
    try:
        run.step(steps)
    except DivergedError:
        print("training stopped")
    return run


# %%
def said(number):
    if 0 < number < 1e-9:
        return "below 1e-9"  # its digits are rounding errors
    return f"{number:.3g}"


# %%
def examine(run):
    opened = run.open()
    first, last = (opened.gradient[t.span] for t in run.tensors if t.name in ("0.weight", "2.weight"))
    hidden = opened.rows["1"]
    print(f"loss      {said(opened.loss)}   answers {run.predict(BITS).ravel().round(2)}")
    print(f"gradients first layer {said(abs(first).max())}, last layer {said(abs(last).max())}")
    print(f"weights   largest {abs(run.values).max():.3g}")
    print(f"hidden    from {hidden.min():.3g} to {hidden.max():.3g}")
    print(f"units     {len(np.unique(hidden.round(9), axis=0))} different ones of {len(hidden)}")


healthy = network()
examine(healthy)

# %% [markdown]
# This is the network before the first step. **Predict:** which of these lines will look different after 2000 steps of
# training?

# %%
examine(train(healthy))

# %% [markdown]
# <details>
# <summary>Why the gradient becomes 0, and the same in PyTorch</summary>
#
# Each gradient is a mean of products. The first factor is the error of one answer:
#
# $$\frac{\partial L}{\partial w} = \frac{2}{N} \sum_{n=1}^{N} (y_n - t_n) \cdot \frac{\partial y_n}{\partial w}$$
#
# When all errors are 0, all gradients are 0. The code trains the same network until then, from other first weights and
# with a larger learning rate:
#
# ```python
# import torch
#
# x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
# t = torch.tensor([[1.0], [0.0], [0.0], [1.0]])
# net = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
# for tensor in net.parameters():
#     tensor.data = 0.5 * torch.linspace(-1, 1, tensor.numel()).reshape(tensor.shape)
# sgd = torch.optim.SGD(net.parameters(), lr=0.3)
# for _ in range(400):
#     sgd.zero_grad()
#     ((net(x) - t) ** 2).mean().backward()
#     sgd.step()
# print(net(x).detach().ravel().numpy().round(2))  # [1. 0. 0. 1.]
# ```
#
# </details>

# %% [markdown]
# All four answers are right, and the gradient is nearly 0, because there is nothing left to learn. So **a small
# gradient is a sign of illness only while the answers are wrong.**
#
# ## Five patients
#
# Each patient is a network with one of these illnesses. Each illness occurs once, in random order.
#
# | word | cause |
# |---|---|
# | `symmetric` | all weights of the network start with the same number |
# | `rate` | the learning rate is 100 times too large |
# | `dead` | the hidden units are rectifiers (negative sums become 0), and their biases start far below 0 |
# | `saturated` | the hidden units are sigmoids, and their biases start far above 0 |
# | `bias` | the network has no biases |

# %%
ILLNESSES = {
    "symmetric": {"every": 0.3},
    "rate": {"lr": 10.0},
    "dead": {"bend": nn.ReLU, "first_bias": -5.0},
    "saturated": {"bend": nn.Sigmoid, "first_bias": 30.0},
    "bias": {"bias": False},
}
lot = np.random.default_rng(11).permutation(list(ILLNESSES))
who = dict(zip("ABCDE", map(str, lot), strict=True))

# %% [markdown]
# (Do not print `who`: it contains the solution.)
#
# **Before you examine a patient:** for each illness, write down which of the five questions should reveal it.
#
# The next cell trains all patients. Training stops when the loss becomes infinite.

# %%
patients = {}
for name, illness in who.items():
    patients[name] = train(network(**ILLNESSES[illness]))

# %% [markdown]
# ### Patient A

# %%
examine(patients["A"])

# %% [markdown]
# ### Patient B

# %%
examine(patients["B"])

# %% [markdown]
# ### Patient C

# %%
examine(patients["C"])

# %% [markdown]
# ### Patient D

# %%
examine(patients["D"])

# %% [markdown]
# <details>
# <summary>The best constant answer, and the same in PyTorch</summary>
#
# Suppose that a network gives the same answer $c$ to every input. The best $c$ is the mean of the targets, and the loss
# is their variance:
#
# $$\frac{d}{dc}\,\frac{1}{N} \sum_{n=1}^{N} (c - t_n)^2 = 0 \quad\Rightarrow\quad c = \bar t, \qquad L =
# \frac{1}{N} \sum_{n=1}^{N} (t_n - \bar t)^2$$
#
# ```python
# import torch
#
# t = torch.tensor([1.0, 0.0, 0.0, 1.0])
# print(t.mean().item())  # 0.5
# print(t.var(unbiased=False).item())  # 0.25
# ```
#
# </details>

# %% [markdown]
# ### Patient E

# %%
examine(patients["E"])

# %% [markdown]
# ### An X-ray
#
# The cubes show the weights of each patient's first layer. Each patient's weights are divided by the largest of them,
# so that all patients share one colour scale.


# %%
def xray(size=(680, 420)):
    weights = {name: run.model[0].weight.data for name, run in patients.items()}
    plates = {name: weight / abs(weight).max() for name, weight in weights.items()}
    return sv.view.picture(plates, size)


xray()

# %% [markdown]
# ## Live
#
# Here is one more patient. Run the cell, click the picture, press **Space** to train, and click cubes to see their
# numbers. For another patient, use another seed, such as `sv.lesson("08", seed=1)`. One patient in six is healthy.

# %%
sv.lesson("08")

# %% [markdown]
# ## Now you
#
# Which illness does each patient have? Answer for A in the first cell, for B in the second, and so on. Write
# `"symmetric"`, `"rate"`, `"dead"`, `"saturated"` or `"bias"`.

# %% tags=["exercise: patient-a"]
answer = ...
sv.check.exercise("08.1", answer, who["A"])

# %% tags=["exercise: patient-b"]
answer = ...
sv.check.exercise("08.2", answer, who["B"])

# %% tags=["exercise: patient-c"]
answer = ...
sv.check.exercise("08.3", answer, who["C"])

# %% tags=["exercise: patient-d"]
answer = ...
sv.check.exercise("08.4", answer, who["D"])

# %% tags=["exercise: patient-e"]
answer = ...
sv.check.exercise("08.5", answer, who["E"])

# %% [markdown]
# Then find a cure for each patient: change one argument of `network(...)`. Do more training steps help? For patient B,
# try `examine(train(patients["B"], 20_000))`.

# %% [markdown]
# ## To remember
#
# **Ask the same questions in the same order: answers, gradients, weights, hidden units, and whether the units differ.**
