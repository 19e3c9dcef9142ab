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
# # Why a hidden layer
#
# "One or the other, but not both": a child understands this rule at once. A single layer of weights never learns this
# rule, however long it is trained. A network with one more layer, a **hidden layer**, learns it quickly.
#
# **The question of this lesson: what can a network with a hidden layer do that one layer cannot?**
#
# You need to know: a unit adds up weighted inputs and applies an activation function to the sum (lessons 01b and 02).
# The lesson takes about 35 minutes.

# %%
import numpy as np
from scalarviz.scenes import xor

import scalarviz as sv
from scalarviz import nn, optim


# %%
def show(x, size=(680, 510), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## The task
#
# The inputs are two bits. The answer should be 1 if exactly one of the bits is 1, and otherwise 0. This rule is called
# **exclusive or**, XOR.

# %%
BITS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
WANTED = np.array([0, 1, 1, 0])
for bits, wanted in zip(BITS, WANTED, strict=True):
    print(bits, "->", wanted)


# %% [markdown]
# A unit gets the bits `x` and `y`. It answers 1 if `w0 * x + w1 * y + bias` is positive, and otherwise 0. We try
# 100,000 units with random weights and biases. **Predict:** how many of the four answers does the best unit get right?


# %%
def right_answers(w0, w1, bias):
    said = w0 * BITS[:, 0] + w1 * BITS[:, 1] + bias > 0
    return (said == WANTED).sum()


rng = np.random.default_rng(0)
counts = [right_answers(*numbers) for numbers in rng.uniform(-1, 1, (100_000, 3))]
print("right answers of the best:", max(counts))

# %% [markdown]
# <details>
# <summary>The proof, and the same in PyTorch</summary>
#
# Four right answers would need $b \le 0$, $w_1 + b > 0$, $w_0 + b > 0$ and $w_0 + w_1 + b \le 0$. But the second and
# the third give a contradiction to the last:
#
# $$w_0 + w_1 + b = (w_0 + b) + (w_1 + b) - b > -b \ge 0$$
#
# ```python
# import numpy as np
# import torch
#
# bits = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
# wanted = torch.tensor([False, True, True, False])
# units = torch.tensor(np.random.default_rng(0).uniform(-1, 1, (100_000, 3)))
# said = units[:, :2] @ bits.T + units[:, 2:] > 0
# print((said == wanted).sum(dim=1).max().item())  # 3
# ```
#
# </details>

# %% [markdown]
# The best unit gets three answers right. The reason: the points where `w0 * x + w1 * y + bias` is 0 form a straight
# line. The unit answers 1 on one side of this line and 0 on the other. The four questions (pairs of bits) are the
# corners of a square. The two corners with the answer 1 lie **diagonally across** from each other, so no straight line
# separates them from the other two.
#
# ## Training does not help
#
# For one unit, even the best weights and bias give wrong answers, so training cannot help.

# %%
unit = nn.Perceptron(2, activation=nn.Sigmoid(), seed=0)
sgd = optim.SGD([unit.weight, unit.bias], lr=0.5)
with sv.Run(unit, nn.MSELoss(), sgd, data=(BITS, WANTED), engine="numpy", dtype="float64") as run:
    run.step(5000)
    said_by_one = run.predict(BITS).ravel()
print("answers after 5000 steps:", said_by_one.round(2))

# %% [markdown]
# The unit answers 0.5 to every question.
#
# ## Two lines are enough
#
# Two units have two lines. One unit answers **or**: is at least one bit 1? The other unit answers **and**: are both
# bits 1? "Exactly one" means: *or*, but not *and*. A third unit computes "exactly one" from the answers of the first
# two.


# %%
def sigmoid(z):
    return 1 / (1 + np.exp(-z))


at_least_one = sigmoid(20 * (BITS[:, 0] + BITS[:, 1] - 0.5))
both = sigmoid(20 * (BITS[:, 0] + BITS[:, 1] - 1.5))
exactly_one = sigmoid(20 * (at_least_one - both - 0.5))

# %%
print("x y   or    and   exactly one")
for bits, *units in zip(BITS, at_least_one, both, exactly_one, strict=True):
    print(*bits, " ", "  ".join(f"{unit:.2f}" for unit in units))

# %% [markdown]
# <details>
# <summary>Two layers as formulas, and the same in PyTorch</summary>
#
# The rows of $W$ are the hidden units *or* and *and*. The output unit reads their answers $h$:
#
# $$h = \sigma(W x + b), \qquad y = \sigma(v \cdot h + c)$$
#
# ```python
# import torch
#
# bits = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
# W, b = torch.tensor([[20.0, 20.0], [20.0, 20.0]]), torch.tensor([-10.0, -30.0])
# v, c = torch.tensor([20.0, -20.0]), -10.0
# h = torch.sigmoid(bits @ W.T + b)
# y = torch.sigmoid(h @ v + c)
# print(*(f"{number:.2f}" for number in y))  # 0.00 1.00 1.00 0.00
# ```
#
# </details>

# %% [markdown]
# The first two units, `or` and `and`, are the **hidden layer**. This layer turns each question into **another pair of
# numbers**: `0 0`, `1 0`, `1 0`, `1 1`. The two questions with the answer 1 are now the same point. One straight line
# can separate this point from the other two.
#
# So a hidden layer moves the points, and then the next layer can separate them with a straight line.
#
# ## Training finds a hidden layer, too
#
# The scene `xor` of the library has a network with a hidden layer. Its inputs are two bits and a constant 1, whose
# weights work as biases. The network has three hidden units and one output. The first weights are random. We train for
# 20,000 steps. Each step uses one of the four questions.

# %%
scene = xor.build(xor.Options(seed=0, cells=20))
scene.run.step(20_000)
show(scene)

# %% [markdown]
# In the square on the right, each point is a pair of inputs. The colour of the point is the network's answer: blue is
# 1, orange is 0. On the two black curves the answer is one half. Each curve cuts off a corner that should be 0.
#
# The next cell prints the outputs of the three hidden units for each question, and the weighted sum in the last unit:

# %%
weights, last = scene.run.model[0].weight.data, scene.run.model[2].weight.data[0]
hidden = np.tanh(xor.with_one(BITS) @ weights.T)
for bits, row in zip(BITS, hidden, strict=True):
    print(bits, "hidden", *(f"{number:6.2f}" for number in row), f"  sum {row @ last:6.2f}")

# %% [markdown]
# The hidden layer turns each question into three numbers. The weighted sum of **these numbers** is large for the two
# questions with the answer 1, and about 0 for the other two. The trained hidden units do not compute *or* and *and*.

# %% [markdown]
# ## A network without a bend
#
# The activation function *bends* the sum: its graph is a curve. The next network has three hidden units without an
# activation function. **Predict:** does this network learn exclusive or?

# %%
net = nn.Sequential(nn.Linear(2, 3, seed=1), nn.Linear(3, 1, seed=2))
sgd = optim.SGD(net.parameters(), lr=0.1)
with sv.Run(net, nn.MSELoss(), sgd, data=(BITS, WANTED), engine="numpy", dtype="float64") as run:
    run.step(5000)
    said_without = run.predict(BITS).ravel()
print("without a bend:", said_without.round(2))

# %% [markdown]
# The answers are 0.5 again. A weighted sum of weighted sums is itself a weighted sum. So two layers without a bend can
# do no more than **one** layer. Multiply the two weight matrices to get one layer with the same answers:

# %%
first, second = net[0], net[1]
weight = second.weight.data @ first.weight.data
bias = second.weight.data @ first.bias.data + second.bias.data
one_layer = BITS @ weight.T + bias
print("the same with one layer:", one_layer.ravel().round(2))

# %% [markdown]
# <details>
# <summary>Two layers without a bend, and the same in PyTorch</summary>
#
# Two weighted sums after each other are one weighted sum:
#
# $$W_2\,(W_1 x + b_1) + b_2 = (W_2 W_1)\,x + (W_2 b_1 + b_2)$$
#
# So the best answers are those of the best single weighted sum. Least squares finds it without training:
#
# ```python
# import torch
#
# rows = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
# wanted = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
# best = torch.linalg.lstsq(rows, wanted).solution
# print((rows @ best).ravel().numpy().round(2))  # [0.5 0.5 0.5 0.5]
# ```
#
# </details>

# %% [markdown]
# ## When training gets stuck
#
# The activation function can be `tanh` (outputs from -1 to 1) or `sigmoid` (outputs from 0 to 1). We train twenty
# networks with each function, from different first weights.


# %%
def right_after(seed, activation, steps=20_000):
    scene = xor.build(xor.Options(seed=seed, activation=activation))
    with scene.run as run:
        run.step(steps)
        return xor.report(scene)["right"]


for activation in ("tanh", "sigmoid"):
    solved = sum(right_after(seed, activation) == 4 for seed in range(20))
    print(f"{activation:8} all four right: {solved} of 20")

# %% [markdown]
# With `sigmoid`, eight networks still give wrong answers. Here is one of them (seed 3):

# %%
stuck = xor.build(xor.Options(seed=3, activation="sigmoid", cells=20))
stuck.run.step(20_000)
print("answers:", stuck.run.predict(xor.with_one(BITS)).ravel().round(2))
show(stuck)

# %% [markdown]
# After 20,000 steps, this network still answers about 0.5 to every question. Are its gradients zero? The next cells
# compute the gradients of the three weights of layer 2 (on the right in the picture), for each question alone:


# %%
def pulls(model):
    for bits, wanted in zip(xor.with_one(BITS), WANTED, strict=True):
        model.zero_grad()
        nn.MSELoss("sum", factor=0.5)(model(list(bits)), [float(wanted)]).backward()
        yield model[2].weight.grad[0].copy()


twin = xor.network("sigmoid")
twin.load_state_dict(stuck.run.model.state_dict())
by_question = np.array(list(pulls(twin)))

# %%
for bits, row in zip(BITS, by_question, strict=True):
    print(bits, *(f"{pull:8.4f}" for pull in row))
print("sum  ", *(f"{pull:8.4f}" for pull in by_question.sum(axis=0)))

# %% [markdown]
# The gradients are not zero: each question *pulls* at each weight. But the two questions with the answer 1 pull in one
# direction, and the two questions with the answer 0 pull in the other. The outputs of the hidden units are nearly the
# same for all four questions, so the pulls **cancel**: four steps, one for each question, almost undo each other.
#
# The network learns slowly, but it does not stop: after four steps, a small change remains. More steps help:

# %%
for steps in (20_000, 40_000, 60_000, 80_000):
    stuck.run.to(steps) if steps <= stuck.run.history.step[-1] else stuck.run.step(steps - stuck.run.steps)
    print(f"{steps:6} steps:", stuck.run.predict(xor.with_one(BITS)).ravel().round(2))

# %% [markdown]
# ## Live
#
# The next cell shows the network with `tanh` before training. Run the cell, click the picture, press **Space** and
# watch the square. Then try other first weights with `sv.lesson("03", seed=4)`. Do the black curves cut off the same
# corners?

# %%
sv.lesson("03")

# %% [markdown]
# ## Now you
#
# The function `said` returns the answers of one unit to `0 0`, `0 1`, `1 0` and `1 1`.


# %%
def said(w0, w1, bias):
    if ... in (w0, w1, bias):  # nothing to fill in here
        return ...
    try:
        return " ".join(str(int(w0 * x + w1 * y + bias > 0)) for x, y in BITS)
    except TypeError:  # no numbers
        return f"{w0!r}, {w1!r}, {bias!r}"


# %% [markdown]
# **1. And.** Choose three numbers so that one unit answers 1 only to `1 1`.

# %% tags=["exercise: and"]
w0, w1, bias = ..., ..., ...
sv.check.exercise("03.1", said(w0, w1, bias))

# %% [markdown]
# **2. Not and.** Choose three numbers so that one unit answers 0 **only** to `1 1`.

# %% tags=["exercise: not-and"]
w0, w1, bias = ..., ..., ...
sv.check.exercise("03.2", said(w0, w1, bias))

# %% [markdown]
# **3. Without a bend.** A hidden unit computes `h = 2 * x + 1`. The output unit computes `3 * h - 4`. Together they
# compute the same as one unit, `weight * x + bias`. What is the weight of this one unit?

# %% tags=["exercise: one-layer"]
answer = ...
sv.check.exercise("03.3", answer)

# %% [markdown]
# **4. Which pulls cancel?** The table `by_question` has the pulls of the four questions. In its first column, add the
# numbers of the two questions whose answer is 1.

# %% tags=["exercise: two-pulls"]
answer = ...
sv.check.exercise("03.4", answer)


# %% [markdown]
# **A backward rule**, before you write one. The slope of `y = sin(a)` is `cos(a)`. The rule multiplies this slope by
# `upstream`, the slope of the loss with respect to `y`. The library gets the same number:


# %%
def sine_rule(a, upstream):
    return upstream * np.cos(a)


a = sv.Value(0.5)
sv.sin(a).backward(3.0)
print(f"rule: {sine_rule(0.5, 3.0):.4f}   library: {a.grad:.4f}")

# %% [markdown]
# <details>
# <summary>A backward rule as a formula, and the same in PyTorch</summary>
#
# `upstream` is $\partial L / \partial y$. In PyTorch it is the argument of `backward`:
#
# $$\frac{\partial L}{\partial a} = \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial a} =
# \frac{\partial L}{\partial y} \cdot \cos a$$
#
# ```python
# import torch
#
# a = torch.tensor(0.5, requires_grad=True)
# torch.sin(a).backward(torch.tensor(3.0))
# print(f"{a.grad.item():.4f}")  # 2.6327
# ```
#
# </details>

# %% [markdown]
# **5. The backward rule of a sigmoid.** The slope of `y = sigmoid(a)` is `y * (1 - y)`. The argument `upstream` is the
# slope of the loss with respect to `y`. Return the slope of the loss with respect to `a`.


# %% tags=["exercise: sigmoid-rule"]
def rule(a, upstream):
    return ...


sv.check.exercise("03.5", rule)

# %% [markdown]
# ## To remember
#
# **A hidden layer bends sums. In this way it moves the points, and the next layer can separate them with one straight
# line.**
