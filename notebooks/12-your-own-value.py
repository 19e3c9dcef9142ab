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
# # Write your own Value
#
# All lessons use the class `Value`: a number that remembers how it was computed. Now you write this class and train
# with it, in four parts: forward, the backward of + and ·, the order of backward, and a training step. You need about
# 25 lines.
#
# **The question of this lesson: what is the least that a machine needs in order to learn?**
#
# You need to know: the slopes of a product (lesson 01), the order of backward (lesson 04), why gradients are added
# (lesson 05). The lesson takes about 25 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import optim


# %%
def show(x, size=(680, 300), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## The class of the library
#
# A `Value` of the library holds a number. It also remembers its parents (the Values that it was computed from), its
# operation and its gradient.

# %%
a, b = sv.Value(2.0), sv.Value(-3.0)
c = a * b + a
print("number: ", c.data)
print("made by:", c.op, "of", [parent.data for parent in c.parents])
c.backward()
print("slope of c with respect to a:", a.grad)
sv.draw(c)

# %% [markdown]
# <details>
# <summary>The slopes of the formula, and the same in PyTorch</summary>
#
# In $c = a\,b + a$, two paths lead to $a$, one through each use:
#
# $$\frac{\partial c}{\partial a} = b + 1, \qquad \frac{\partial c}{\partial b} = a$$
#
# ```python
# import torch
#
# a = torch.tensor(2.0, requires_grad=True)
# b = torch.tensor(-3.0, requires_grad=True)
# c = a * b + a
# c.backward()
# print(c.item())  # -4.0
# print(a.grad.item())  # -2.0
# ```
#
# </details>

# %% [markdown]
# **Predict:** your class will only know + and ·. Can one unit made of such Values learn exclusive or? In lesson 03 one
# unit could not.
#
# ## Part 1: forward
#
# `a + b` calls `a.__add__(b)`, and `a * b` calls `a.__mul__(b)`. Each of these methods returns a new `Value`, which
# stores its number, its two parents and the name of the operation. Replace each `...` by the number of the new `Value`.


# %% tags=["exercise: forward"]
class Value:
    def __init__(self, data, parents=(), op=""):
        self.data, self.parents, self.op = data, parents, op
        self.grad = 0.0

    def __add__(self, other):
        return Value(..., (self, other), "add")

    def __mul__(self, other):
        return Value(..., (self, other), "mul")


sv.check.exercise("12.1", Value)

# %% [markdown]
# The check computes 50 formulas with your class and with the library's class, and compares the numbers.
#
# ## Part 2: backward of + and ·
#
# A *node* is one Value of a formula. `push` passes the gradient of a node on to its two parents. Replace each `...`:
# which gradients does a sum pass on, and which does a product? **Add** them to the gradients of the parents, because
# both parents may be the same node, as in `a + a`.


# %% tags=["exercise: push"]
def push(node):
    a, b = node.parents
    if node.op == "add":
        a.grad += ...
        b.grad += ...
    else:
        a.grad += ...
        b.grad += ...


sv.check.exercise("12.2", push)


# %% [markdown]
# ## Part 3: the order
#
# Each node pushes once, and only after all nodes that were computed from it have pushed. Write the list `order`: all
# nodes that have parents, in an order that obeys this rule. (A node without parents has nothing to push.)
#
# One way is to start at `root`: visit the parents of a node first, then append the node to a list (each node once). At
# the end, reverse the list. Such a walk is a function that calls itself. This one counts the longest way to a node
# without parents:


# %%
def longest(node):
    return max((1 + longest(parent) for parent in node.parents), default=0)


a, b = sv.Value(2.0), sv.Value(-3.0)
print("a:", longest(a), "  a * b + a:", longest(a * b + a), "  (a * b + a) * b:", longest((a * b + a) * b))

# %% [markdown]
# Now write the walk of `backward`.


# %% tags=["exercise: order"]
def backward(root):
    order = ...
    root.grad = 1.0
    for node in order:
        push(node)


sv.check.exercise("12.3", backward)

# %% [markdown]
# ## Comparison with the library
#
# Your three parts form a class with its own `backward()`. `sv.check.backward` compares it with the library's class: the
# numbers and the gradients of 50 formulas.

# %%
Value.backward = backward
print(sv.check.backward(Value))


# %% [markdown]
# ## Part 4: training
#
# Write one training step from memory: clear the gradients, compute the loss, call `backward()`, move every weight.
# `weights` is a list of your Values, `loss()` computes the loss and returns it, and `lr` is the learning rate.


# %% tags=["exercise: step"]
def step(weights, loss, lr): ...


sv.check.exercise("12.4", step)

# %% [markdown]
# ## Exclusive or, with + and · alone
#
# Now we train one unit. It adds two weighted inputs and a bias. Its activation is a product: the sum times itself. So
# the unit has three weights: two for the inputs, and the bias. (If your class or your step is not ready yet, the next
# cells use the library's class and optimiser, so that you can still see the result.)

# %%
mine = bool(sv.check.backward(Value)) and bool(sv.check.exercise("12.4", step))
Number = Value if mine else sv.Weight
weights = [Number(0.9), Number(-0.4), Number(0.3)]
BITS, WANTED = [(0, 0), (0, 1), (1, 0), (1, 1)], [0, 1, 1, 0]


def unit(x, y):
    total = weights[0] * Number(x) + weights[1] * Number(y) + weights[2]
    return total * total


# %%
def loss():
    total = Number(0.0)
    for (x, y), wanted in zip(BITS, WANTED, strict=True):
        error = unit(x, y) + Number(-wanted)
        total = total + error * error
    return total


print(f"loss = {loss().data:.4f}")


# %%
def one_step(lr=0.02):
    if mine:
        step(weights, loss, lr)
    else:
        sgd = optim.SGD(weights, lr=lr)
        sgd.zero_grad()
        loss().backward()
        sgd.step()


# %% [markdown]
# ## The weights as cubes
#
# `sv.watch` shows numbers as cubes. The loop passes the new weights to `update` after each step.


# %%
def numbers():
    return {"weights": np.array([[weight.data for weight in weights]])}


watched, path = sv.watch(numbers()), [numbers()["weights"][0]]
for k in range(200):
    one_step()
    watched.update(numbers(), loss=loss().data)
    if k % 25 == 24:
        path.append(numbers()["weights"][0])
show(watched, size=(680, 420))

# %%
print(f"loss = {loss().data:.6f}")
for bits, wanted in zip(BITS, WANTED, strict=True):
    print(bits, f"-> {unit(*bits).data:.3f}   wanted {wanted}")

# %% [markdown]
# <details>
# <summary>The unit as a formula, and the same in PyTorch</summary>
#
# The unit computes $(w_0 x + w_1 y + b)^2$. With $w = (1, -1)$ and $b = 0$, all four answers are right:
#
# $$(x - y)^2 = x^2 - 2xy + y^2 = \begin{cases} 1 & \text{if } x \ne y \\ 0 & \text{if } x = y \end{cases}$$
#
# ```python
# import torch
#
# rows = torch.tensor([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
# wanted = torch.tensor([0.0, 1.0, 1.0, 0.0])
# w = torch.tensor([0.9, -0.4, 0.3], requires_grad=True)
# sgd = torch.optim.SGD([w], lr=0.02)
# for _ in range(200):
#     sgd.zero_grad()
#     (((rows @ w) ** 2 - wanted) ** 2).sum().backward()
#     sgd.step()
# print(*(f"{answer:.3f}" for answer in (rows @ w) ** 2))  # 0.002 1.000 1.000 0.002
# ```
#
# </details>

# %% [markdown]
# So the answer is yes: + and · are enough to learn exclusive or. The weights of the inputs are nearly 1 and -1, and the
# bias is nearly 0. So the unit computes nearly `(x - y)**2`.
#
# In the next picture, each row is one weight: at the start (left), and then after every 25 steps.

# %%
show({"weights after 0, 25, 50, ... 200 steps": np.array(path).T}, size=(680, 420))

# %% [markdown]
# ## Live
#
# This is the same unit. Run the cell, click the picture, and press **Space** to train. (The live picture shows the mean
# of the four errors, the notebook their sum. So its loss is a quarter, and its learning rate is four times as large.)

# %%
sv.lesson("12")

# %% [markdown]
# ## To remember
#
# **A machine that learns needs numbers that remember their parents, a slope for each operation, the right order, and a
# training step of four lines.**
