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
# # A neuron, and twelve weights
#
# A single weight only multiplies one input. A neuron has several inputs, each with its own weight, and adds up the
# products. Here three neurons learn to turn every colour into its opposite.
#
# **The question of this lesson: does the rule for the gradient of one weight also work for twelve weights?**
#
# You need to know: forward, backward, step (lesson 01). The lesson takes about 30 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene


# %%
def show(x, size=(680, 510), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## 1. A perceptron
#
# A **perceptron** is a neuron with several weights and one more number, the **bias**. The sum of the products and the
# bias is `z`. An **activation** function computes the output from `z`. Our activation function is the **sigmoid**:
# `1 / (1 + e**-z)`, with the number e = 2.718... The output of a sigmoid is always between 0 and 1.

# %%
inputs, wanted = [0.9, 0.5, 0.1], 0.1
w = [sv.Weight(0.8, name="w0"), sv.Weight(-0.4, name="w1"), sv.Weight(0.3, name="w2")]
b = sv.Weight(0.2, name="bias")
z = w[0] * inputs[0] + w[1] * inputs[1] + w[2] * inputs[2] + b
out = z.sigmoid()
loss = (out - wanted) ** 2
print(f"z = {z.data:.4f}, output = {out.data:.4f}, loss = {loss.data:.4f}")

# %% [markdown]
# **Predict:** the output is 0.68, but it should be 0.1. Which of `w0`, `w1` and `w2` will have the largest gradient?
#
# In lesson 01 you called `forward` and `backward` of the weight yourself. Here you do not need to, because `z`, `out`
# and `loss` store how they were computed. One call of `loss.backward()` computes all gradients with the chain rule.

# %%
loss.backward()
for weight in [*w, b]:
    print(f"{weight.name}: value {weight.data:+.4f}, gradient {weight.grad:+.4f}")

# %% [markdown]
# ### The chain rule with the numbers filled in
#
# The path from the loss to `w0` leads through the square, the sigmoid and the product `w0 * 0.9`. To get the gradient
# of `w0`, multiply their three slopes. The slope of the sigmoid is `out * (1 - out)`. Only the last slope differs from
# weight to weight: it is the input, and `w0` has the largest. For the bias it is 1, so its gradient is larger still.

# %%
by_output = 2 * (out.data - wanted)
by_sum = out.data * (1 - out.data)
by_weight = inputs[0]
product = by_output * by_sum * by_weight
print(f"{by_output:.4f} * {by_sum:.4f} * {by_weight} = {product:.4f}")

# %% [markdown]
# <details>
# <summary>The chain rule of a neuron, and the same in PyTorch</summary>
#
# With $z = \sum_i w_i x_i + b$ and the sigmoid $\sigma(z) = 1 / (1 + e^{-z})$:
#
# $$\frac{\partial L}{\partial w_i} = 2\,(\sigma(z) - t) \cdot \sigma(z)\,(1 - \sigma(z)) \cdot x_i$$
#
# ```python
# import torch
#
# x = torch.tensor([0.9, 0.5, 0.1])
# w = torch.tensor([0.8, -0.4, 0.3], requires_grad=True)
# b = torch.tensor(0.2, requires_grad=True)
# z = w @ x + b
# loss = (torch.sigmoid(z) - 0.1) ** 2
# loss.backward()
# print(f"{z.item():.4f} {loss.item():.4f}")  # 0.7500 0.3354
# print(*(f"{g:.4f}" for g in [*w.grad, b.grad]))  # 0.2272 0.1262 0.0252 0.2524
# ```
#
# </details>

# %% [markdown]
# For `w1` and `w2` only the last factor is different: 0.5 and 0.1. For the bias the last factor is 1. A step against
# these gradients makes the loss smaller:

# %%
for weight in [*w, b]:
    weight.step(lr=1.0)
z = w[0] * inputs[0] + w[1] * inputs[1] + w[2] * inputs[2] + b
print(f"loss before {loss.data:.4f}, after {(z.sigmoid().data - wanted) ** 2:.4f}")

# %% [markdown]
# The library has a ready-made perceptron, `nn.Perceptron`. With our new weights and bias, its output is 0.5566. This
# fits the loss above: `(0.5566 - 0.1)**2` is 0.2085.

# %%
unit = nn.Perceptron(3, activation=nn.Sigmoid())
unit.weight.data = [weight.data for weight in w]
unit.bias.data = b.data
print(f"output = {unit(inputs).data:.4f}")

# %% [markdown]
# ## 2. A gradient check
#
# Is a gradient right? You can test it as in lesson 01: change a number a little (a *nudge*), and see how much the
# result changes. The test is more exact if you nudge the number once up and once down. A slope found in this way is
# called a **finite difference**.


# %%
def loss_of(w0, w1, w2, bias):
    z = w0 * inputs[0] + w1 * inputs[1] + w2 * inputs[2] + bias
    return (z.sigmoid() - wanted) ** 2


nudge = 0.001
high = loss_of(sv.Value(0.8 + nudge), -0.4, 0.3, 0.2).data
low = loss_of(sv.Value(0.8 - nudge), -0.4, 0.3, 0.2).data
print(f"nudged: {(high - low) / (2 * nudge):.6f}   chain rule: {product:.6f}")

# %% [markdown]
# `sv.gradcheck` does this test for every argument of a function. The test finds mistakes: a gradient without the slope
# of the sigmoid is far from the finite difference.

# %%
check = sv.gradcheck(loss_of, 0.8, -0.4, 0.3, 0.2)
print("gradients agree:", bool(check))
print("largest error below 1e-9:", check.error < 1e-9)
forgotten = by_output * by_weight
print(f"without the sigmoid's slope: {forgotten:.4f}", end=" ")
print(f"in place of {check.numeric[0]:.4f}")

# %% [markdown]
# ## 3. Twelve weights: a network
#
# Three perceptrons with the same three inputs form a **layer**. The layer has 9 weights and 3 biases, twelve numbers.
# Its task is to invert a colour. The inputs are red, green and blue, each from 0 to 1. For each input `x`, one output
# should be `1 - x`.

# %%
net = nn.Network(3, 3, activation=nn.Sigmoid(), loss=nn.MSELoss())
net.initialize(nn.init.uniform(0, 1), seed=0)
levels = np.linspace(0, 1, 6)
colours = np.array([[r, g, b] for r in levels for g in levels for b in levels])
print(net)
print(len(colours), "colours to learn from")

# %% [markdown]
# A `Run` trains all weights together. A `Scene` describes the picture. This scene shows the network's numbers for the
# colour orange.

# %%
sgd = optim.SGD(net.parameters(), lr=0.5)
data = (colours, 1 - colours)
run = sv.Run(net, nn.MSELoss(), sgd, data=data, engine="numpy", dtype="float64")
orange, names = np.array([0.9, 0.5, 0.1]), ("r", "g", "b")
scene = Scene("invert", run, orange, 1 - orange, names, names, panels=())
show(scene)

# %% [markdown]
# The picture shows the network before training. Each row is one perceptron: its three weights, its bias, its sum, its
# output and its target. The weights start as random numbers between 0 and 1. The biases start at 0. Orange should
# become blue, but now it becomes grey.
#
# The next cell takes one step. Then the same cubes show the **gradients** of that step. The colour bar is logarithmic
# here, because gradients can have very different sizes.

# %%
start = net[0].weight.data.copy()
run.step()
show(scene, quantity="gradient")

# %% [markdown]
# All gradients are positive: if any of the weights rises, the loss rises. So the step lowered all weights. The next
# cell continues the training up to step 3000:

# %%
first = run.loss
run.step(2999)
print(f"loss before step 1: {first:.4f}, before step 3000: {run.loss:.4f}")
show(scene)

# %% [markdown]
# <details>
# <summary>The layer as a matrix, and the same in PyTorch</summary>
#
# Each row of the matrix $W$ is one neuron, and each row of $X$ one of the $N = 216$ colours. The loss before step 1 is:
#
# $$Y = \sigma(X W^{\mathsf T} + b), \qquad L = \frac{1}{3N} \sum_{n,j} \big(Y_{nj} - (1 - X_{nj})\big)^2$$
#
# ```python
# import torch
#
# W = torch.tensor([[0.4172, 0.4517, 0.4282], [0.9846, 0.0947, 0.3153], [0.6276, 0.0800, 0.7029]])
# levels = torch.linspace(0, 1, 6)
# X = torch.cartesian_prod(levels, levels, levels)
# Y = torch.sigmoid(X @ W.T + torch.zeros(3))
# loss = torch.nn.functional.mse_loss(Y, 1 - X)
# print(len(X), f"{loss.item():.4f}")  # 216 0.1682
# ```
#
# </details>

# %% [markdown]
# The network has learnt to invert. The weight from the input red to the output red is strongly negative: more red in
# the input means less red in the output. The same is true for green and for blue. The other six weights are almost
# zero, so each output depends mainly on one input. Now orange becomes blue:

# %%
weights, biases = net[0].weight.data, net[0].bias.data
print(weights.round(2))
print("biases", biases.round(2))
print("orange", orange, "->", run.predict([orange])[0].round(2))

# %% [markdown]
# ## 4. Limits of this network
#
# **It is not exact.** The graph of `1 - x` is a straight line, but the graph of a sigmoid is an S. So one sigmoid layer
# can only come near this line. The network did not "understand" colours. Training only made the loss small.

# %%
worst = abs(run.predict(colours) - (1 - colours)).max()
print(f"largest error of an output: {worst:.2f}")

# %% [markdown]
# **One layer is not enough for every task.** Lesson 03 shows a task that one layer can never learn.
#
# **A large network is not trained with one object per number.** Such objects are easy to understand, but slow. The
# `Run` computed all 216 colours together, in arrays. Lesson 02 shows that objects and arrays give the same numbers.
#
# ## Live
#
# The next cell shows the perceptron of section 1. Run the cell and click the picture. Press **`.`** (full stop) to open
# a training step. Each further press shows one part of this step, a *micro-step*: one product, sum, slope or update.
# The line below the cubes shows the numbers of the micro-step.

# %%
sv.lesson("01b")

# %% [markdown]
# ## Now you

# %% [markdown]
# **1. The sum.** A neuron has the weights 2 and -1 and the bias 0.5. Its inputs are 1 and 4. What is its sum `z`?

# %% tags=["exercise: sum"]
answer = ...
sv.check.exercise("01b.1", answer)

# %% [markdown]
# **2. A slope.** The output of a sigmoid is 0.8. What is the slope of the sigmoid at this output?

# %% tags=["exercise: slope"]
answer = ...
sv.check.exercise("01b.2", answer)

# %% [markdown]
# **3. The bias.** A neuron has one input, 3, and a sigmoid. Its output is 0.5. The slope of the loss with respect to
# this output is -0.4. What is the gradient of the **bias**?

# %% tags=["exercise: bias"]
answer = ...
sv.check.exercise("01b.3", answer)


# %% [markdown]
# **4. A whole neuron.** The input is 3 and the target is 1, so the loss is `f = (sigmoid(3 * w + b) - 1)**2`. Return
# the slopes of `f` with respect to `w` and to `b`.


# %%
def sigmoid(z):
    return 1 / (1 + np.exp(-z))


# %% tags=["exercise: neuron"]
def slopes(w, b):
    out = sigmoid(3 * w + b)
    delta = 2 * (out - 1) * ...  # the slope of f with respect to the sum
    return delta * ..., delta * ...


sv.check.exercise("01b.4", slopes)

# %% [markdown]
# ## To remember
#
# **The same rule gives the gradient of every weight: multiply the slopes along the path from the loss to the weight.**
