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
# # The order of backward
#
# Going back through a chain is easy: one link after the other. But what if a number is used **twice**? Then
# two gradients come back to it, and one node has to go first.
#
# **The question of this lesson: does the order matter?**
#
# You need: a gradient is a slope, and slopes along a path are multiplied (lesson 01). It takes about 15 minutes.

# %%
import itertools

import numpy as np
from IPython.display import HTML

import scalarviz as sv

# %% [markdown]
# ## Predict first
#
# `b = a + a`, and `c = b + b`. If `a` grows by 1, by how much does `c` grow?
#
# Write your number down before you run the next cell.


# %%
def doubled_twice(a):
    b = a + a
    c = b + b
    return c


print("a = 3:", doubled_twice(3))
print("a = 4:", doubled_twice(4))

# %% [markdown]
# The slope of `c` with respect to `a` is 4, wherever `a` is. So 4 has to arrive at `a` when we go back.

# %% [markdown]
# ## What one node does
#
# Backward repeats one small move. A node takes its own gradient, multiplies it by the slope with respect to each of its
# parents, and **adds** the product to the gradient of that parent.


# %%
def push(node):
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope


# %% [markdown]
# For a sum both slopes are 1. For a product, the slope with respect to one factor is the other factor.

# %%
x, y = sv.Value(2.0), sv.Value(5.0)
print("sum:    ", (x + y).local_gradients)
print("product:", (x * y).local_gradients)


# %% [markdown]
# ## Two orders
#
# Here is the same graph twice. Backward begins at `c`, with the gradient 1. Then `c` and `b` push: the first time `c`
# goes first, the second time `b` does.
#
# **Predict:** which gradient will `a` have each time?


# %%
def graph():
    a = sv.Value(3.0)
    b = a + a
    c = b + b
    return a, b, c


def side_by_side(**drawings):
    figure = '<figure style="margin:0 24px 0 0"><figcaption><b>{}</b></figcaption>{}</figure>'
    shown = "".join(figure.format(name.replace("_", " "), each.svg) for name, each in drawings.items())
    return HTML(f'<div style="display:flex;flex-wrap:wrap">{shown}</div>')


# %%
a, b, c = graph()
c.grad = 1.0
push(c)
push(b)
c_first, found = sv.draw(c), a.grad

a, b, c = graph()
c.grad = 1.0
push(b)
push(c)

# %%
print("c first:", found, "  b first:", a.grad)
side_by_side(c_first=c_first, b_first=sv.draw(c))

# %% [markdown]
# The second time `b` pushed before it had a gradient. It passed 0 on, and got its 2 too late. There was no error:
# **a wrong order gives a wrong number without a warning.**
#
# ## "I just pass it on at once"
#
# The most natural function pushes, and then calls itself for each parent at once. It looks right.


# %%
def at_once(node):
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope
        print(f"{node.label} gives {parent.label} {node.grad * slope}:  {parent.label}.grad = {parent.grad}")
        at_once(parent)


# %% [markdown]
# **Predict:** 4 is right. Will this give 4, too little or too much?

# %%
a, b, c = graph()
a.label, b.label, c.label = "a", "b", "c"
c.grad = 1.0
at_once(c)

# %% [markdown]
# 6 arrived. Look at the lines that begin with "b gives": `b` passed a 1 on when it had half of its gradient. Then
# the other half came, and `b` passed on **all** of its 2: the first half a second time.
#
# `b` was too quick. It should have waited until every node that uses it has pushed. Here this is `c`, which uses it
# twice.
#
# ## The rule
#
# > A node pushes **once**, and only **after** all nodes that use it have pushed.
#
# How many orders follow the rule? Here `q` and `r` use `p`, and `r` uses `q`:


# %%
def entangled():
    x = sv.Value(2.0)
    p = x * x
    q = p + x
    r = p * q
    return x, {"p": p, "q": q, "r": r}


x, nodes = entangled()
p, q, r = nodes.values()
sv.draw(r)

# %% [markdown]
# **Predict:** three nodes have six orders. How many of them give the right slope?


# %%
def every_order(make):
    for order in itertools.permutations(make()[1]):
        x, nodes = make()
        nodes[max(nodes)].grad = 1.0  # the last one, by the alphabet
        for name in order:
            push(nodes[name])
        yield " ".join(order), x.grad


for order, slope in every_order(entangled):
    print(order, " slope at x:", slope)

# %% [markdown]
# Which slope is right? Find out without backward: nudge `x`, and see how much `r` changes.


# %%
def r_of(x):
    return x * x * (x * x + x)


nudge = 1e-5
true_slope = (r_of(2 + nudge) - r_of(2 - nudge)) / (2 * nudge)
print(f"by nudging: {true_slope:.4f}")
right = [order for order, slope in every_order(entangled) if np.isclose(slope, true_slope)]
print("right:", right)


# %% [markdown]
# Only one of six is right. `r` has to go first, then `q`, and `p` waits for both.
#
# Two nodes that do not use each other may go in either order. Here `p` and `q` both come from `x` alone:


# %%
def apart():
    x = sv.Value(2.0)
    p = x * x
    q = x + x
    return x, {"p": p, "q": q, "r": p * q}


true_slope = 3 * 2 * 2.0**2  # r = 2 * x**3
right = [order for order, slope in every_order(apart) if np.isclose(slope, true_slope)]
print("right:", right)

# %% [markdown]
# ## Where the order comes from
#
# You do not have to find it by hand. A node can only be made from nodes that **exist already**. So go from the node
# that was made last to the node that was made first: this follows the rule, because every user of a node is younger
# than the node.
#
# This library does so in `backward()`. micrograd sorts the graph (a *topological sort*). PyTorch counts for every node
# how many of its users are still to come. These are three methods with one rule.

# %%
x, nodes = entangled()
nodes["r"].backward()
print("backward():", x.grad)

# %% [markdown]
# ## Why not simply follow every path?
#
# The slope is also the sum over all **paths** from `c` down to `a`, each with its slopes multiplied. `b = a + a`,
# `c = b + b` has 4 paths of 1 each: 4. This is true, and nobody computes it so. Count the paths when the doubling goes
# on:


# %%
def paths(node):
    return sum(paths(parent) for parent in node.parents) if node.parents else 1


for doublings in (1, 2, 3, 10, 15):
    top = sv.Value(1.0)
    for _ in range(doublings):
        top = top + top
    print(f"{doublings:2} doublings: {doublings:2} nodes, 1 weight, {paths(top):6,} paths")

# %% [markdown]
# What grows is the number of **paths**: it doubles with every node, while the weights stay one. In the right order
# every node pushes once, however many paths go through it. So backward costs about twice as much as forward, in a graph
# of 15 nodes and in one of a million.
#
# ## A mistake that hides
#
# Inside `sv.mistakes.wrong_order("found")`, `backward()` pushes each node as soon as it finds it. In a network of plain
# layers all paths are equally long, and the result is right. Then somebody adds a **shortcut** around a layer:


# %%
def layers(w, shortcut):
    x = sv.Value(0.5)
    h = (w * x).tanh()
    k = (w * h).tanh()
    return (w * (k + h) if shortcut else w * k).tanh()


def slope_of_w(shortcut):
    w = sv.Weight(1.5, name="w")
    layers(w, shortcut).backward()
    return w.grad


# %%
right = [slope_of_w(shortcut) for shortcut in (False, True)]
with sv.mistakes.wrong_order("found"):
    wrong = [slope_of_w(shortcut) for shortcut in (False, True)]
print(f"plain layers:    right {right[0]:.4f}   as soon as found {wrong[0]:.4f}")
print(f"with a shortcut: right {right[1]:.4f}   as soon as found {wrong[1]:.4f}")

# %% [markdown]
# Tests of a plain network never find this mistake. A gradient check of the new network does.
#
# ## Live
#
# The graph of the beginning, with a weight as `a`: `c`, four times the weight, should become 6. Run the cell and press
# **into a step**, then **next micro-step** again and again. Forward makes `b`, then `c`, node by node. (The lines call
# a node by its formula: `b` is `a + a`, and `c` is `a + a + a + a`.) **Predict** the order of the way back before you
# go on. Then watch `b`: its gradient is complete, twice that of `c`, before `b` passes it on to `a`.

# %%
sv.lesson("04")

# %% [markdown]
# ## Now you
#
# Use paper for the first three.

# %% [markdown]
# **1. By hand.** `a = 3`, `b = a * a`, `c = b + a`. Which gradient does `a` have after the right order?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.exercise("04.1", answer)

# %% [markdown]
# **2. Too early.** The same graph, but `b` pushes first and `c` second. Which gradient does `a` have now?

# %% tags=["exercise: too-early"]
answer = ...
sv.check.exercise("04.2", answer)

# %% [markdown]
# **3. Put them in order.** `p = x * y`, `q = p + x`, `s = p * q`, `t = s + q`. Only one order of the four is right for
# backward. Write it as a text, such as `"p q s t"`.

# %% tags=["exercise: in-order"]
answer = ...
sv.check.exercise("04.3", answer)


# %% [markdown]
# **4. The whole walk.** Write `backward` for any graph. All gradients are 0 before. Find all nodes below `root`
# (`node.parents` are the numbers that a node was made of) and put them in an order that follows the rule. You need more
# lines than these. The library's own `root.backward()` does not count.


# %% tags=["exercise: whole-walk"]
def backward(root):
    root.grad = 1.0
    order = ...
    for node in order:
        push(node)


sv.check.exercise("04.4", backward)

# %% [markdown]
# ## To remember
#
# **A node passes its gradient on once, and only after every node that uses it has done so.**
