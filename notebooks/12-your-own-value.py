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
# All lessons stand on one class: a number that remembers how it was made. Now you write it, in four parts: forward,
# the backward of + and ·, the order, and a training loop. It takes about 25 lines.
#
# **The question of this lesson: what is the least that a machine needs in order to learn?**
#
# You need: the rule of a product (lesson 01), the order of backward (lesson 04), why gradients add (lesson 05). It
# takes about 30 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import optim


# %%
def show(x, size=(680, 300), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## The target
#
# This is the library's class. It computes, and it remembers: the parents, the operation, a gradient.

# %%
a, b = sv.Value(2.0), sv.Value(-3.0)
c = a * b + a
print("number: ", c.data)
print("made by:", c.op, "of", [parent.data for parent in c.parents])
c.backward()
print("slope of c with respect to a:", a.grad)
sv.draw(c)

# %% [markdown]
# **Predict:** your class will only know + and ·. Can a network of it learn exclusive or, the task that one unit could
# not learn in lesson 03?
#
# ## Part 1: forward
#
# `a + b` calls `a.__add__(b)`, and `a * b` calls `a.__mul__(b)`. Each makes a new `Value` that keeps its number, its
# two parents, and the name of the operation. What is the number?


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
# The check computes 50 formulas with your class and with the library's, and compares the numbers.
#
# ## Part 2: backward of + and ·
#
# `push` passes the gradient of one node on to its two parents. What does a sum pass on, and what a product? Mind that
# both parents may be the same node, as in `a + a`: **add** to the gradients.


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
# A node pushes once, after every node that uses it. Write the list `order`: every node that has parents, in such an
# order. (The others have nothing to push.) One way: visit the parents of a node first, then put the node into a list.
# At the end turn the list round.


# %% tags=["exercise: order"]
def backward(root):
    order = ...
    root.grad = 1.0
    for node in order:
        push(node)


sv.check.exercise("12.3", backward)

# %% [markdown]
# ## All together, against the library
#
# Your three parts make a class with a `backward()` of its own. `sv.check.backward` compares it with the library: the
# numbers and the gradients of 50 graphs.

# %%
Value.backward = backward
print(sv.check.backward(Value))


# %% [markdown]
# ## Part 4: train with it
#
# One step, from memory: clear, compute the loss, go backward, move every weight. `weights` is a list of your Values,
# `loss()` computes the loss again, `lr` is the learning rate.


# %% tags=["exercise: step"]
def step(weights, loss, lr): ...


sv.check.exercise("12.4", step)

# %% [markdown]
# ## Exclusive or, with + and · alone
#
# One unit adds up two weighted inputs and a bias, and its activation is a product: the sum times itself. There are
# three weights. (Where your class or your step is not ready yet, the library's stands in, so that you can see the end.)

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
# ## As cubes
#
# `sv.watch` shows the numbers of any library as cubes. It gets the weights after each step.


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
# It can. The two weights of the inputs have opposite signs and the bias is gone: the unit computes `(x - y)**2`. Each
# row below is one weight, from the start on the left to the end on the right, 25 steps apart.

# %%
show({"weights after 0, 25, 50, ... 200 steps": np.array(path).T}, size=(680, 420))

# %% [markdown]
# ## Live
#
# The same unit in the window of the library. Run the cell and press **run**.

# %%
sv.lesson("12")

# %% [markdown]
# ## To remember
#
# **A machine that learns needs numbers that remember their parents, a slope for each operation, the right order, and a
# loop of four lines.**
