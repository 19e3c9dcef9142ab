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
# Going back through a chain is easy: one link after the other. But what if a number is used **twice**? Then two
# gradients come back to it, and backward needs an order.
#
# **The question of this lesson: does the order matter?**
#
# You need to know: a gradient is a slope, and slopes along a path are multiplied (lesson 01). The lesson takes about 15
# minutes.

# %%
import itertools

import numpy as np
from IPython.display import HTML

import scalarviz as sv

# %% [markdown]
# ## Predict first
#
# Let `b = a + a`, and `c = b + b`. If `a` grows by 1, by how much does `c` grow?
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
# The slope of `c` with respect to `a` is 4 for every value of `a`. So backward must give `a` the gradient 4.

# %% [markdown]
# ## What one node does
#
# Each number of the graph is a *node*. The nodes that it was computed from are its *parents*. Backward repeats one
# small operation, a *push*. A node multiplies its own gradient by its slope with respect to each parent. It **adds**
# each product to the gradient of that parent.


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
# Here we make the same graph twice. Backward begins at `c`, with the gradient 1. Then `c` and `b` push. The first time
# `c` pushes first, the second time `b` does.
#
# **Predict:** which gradient will `a` get each time?


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
# The second time `b` pushed before it had a gradient. It passed on 0, and got its own gradient, 2, too late. There was
# no error: **a wrong order gives a wrong number without a warning.**
#
# ## "I just pass it on at once"
#
# A natural idea is a function that pushes to a parent, and then at once calls itself for that parent. It looks right.


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
# `a` got 6. Look at the lines that begin with "b gives". When `b` had half of its gradient, 1, it passed on this half.
# Then the other half came, and `b` passed on its **whole** gradient, 2. So it passed on the first half a second time.
#
# `b` pushed too early. It should have waited until every node that uses `b` had pushed. Here only `c` uses `b`, and it
# does so twice.
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
# **Predict:** there are six orders of three nodes. How many of them give the right slope?


# %%
def every_order(make):
    for order in itertools.permutations(make()[1]):
        x, nodes = make()
        nodes[max(nodes)].grad = 1.0  # the result, last in the alphabet
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
# Only one of six is right. `r` has to push first, then `q`, and `p` waits for both.
#
# Two nodes that do not use each other may push in either order. Here `p` and `q` both use only `x`:


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
# You do not have to find the order by hand. A node can only be made from nodes that **exist already**. So every node is
# older than the nodes that use it. Go from the newest node to the oldest, and you follow the rule.
#
# This library does so in `backward()`. micrograd sorts the graph (a *topological sort*). PyTorch counts, for every
# node, how many nodes that use it have not pushed yet. All three follow the same rule.

# %%
x, nodes = entangled()
nodes["r"].backward()
print("backward():", x.grad)

# %% [markdown]
# ## Why not simply follow every path?
#
# There is another way to find the slope. Multiply the slopes along each **path** from `c` down to `a`, and add up these
# products. Our graph has 4 paths, each with the product 1, so the slope is 4. This is right, but nobody computes slopes
# in this way. Continue the doubling, and count the paths:


# %%
def paths(node):
    return sum(paths(parent) for parent in node.parents) if node.parents else 1


for doublings in (1, 2, 3, 10, 15):
    top = sv.Value(1.0)
    for _ in range(doublings):
        top = top + top
    print(f"{doublings:2} doublings: {doublings:2} nodes, 1 weight, {paths(top):6,} paths")

# %% [markdown]
# The number of **paths** doubles with every node, although there is only one weight. In the right order every node
# pushes once, however many paths go through it. So backward costs about twice as much as forward, in a graph of 15
# nodes as in a graph of a million.
#
# ## A mistake that hides
#
# Inside `sv.mistakes.wrong_order("found")`, `backward()` makes each node push as soon as it is found. In a network of
# plain layers all paths are equally long, and the result is right. Then somebody adds a **shortcut** around a layer:


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
# Tests of a plain network never find this mistake. A gradient check of the network with the shortcut does.
#
# ## Live
#
# This is the graph from the beginning. Here `a` is a weight, and `c`, four times the weight, should become 6. Run the
# cell and click the picture. Press **`.`** (full stop) to look inside a step, and again for each next micro-step.
# Forward makes `b`, then `c`. (The line below the cubes calls a node by its formula: `b` is `a + a`, and `c` is
# `a + a + a + a`.)
#
# **Predict** the order of backward before you go on. Then watch `b`: its gradient is complete, twice that of `c`,
# before `b` passes it on to `a`.

# %%
sv.lesson("04")

# %% [markdown]
# ## Now you
#
# Use paper for the first three exercises.

# %% [markdown]
# **1. By hand.** `a = 3`, `b = a * a`, `c = b + a`. Which gradient does `a` get if backward follows the rule?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.exercise("04.1", answer)

# %% [markdown]
# **2. Too early.** Take the same graph, but now `b` pushes first and `c` second. Which gradient does `a` get?

# %% tags=["exercise: too-early"]
answer = ...
sv.check.exercise("04.2", answer)

# %% [markdown]
# **3. Put them in order.** `p = x * y`, `q = p + x`, `s = p * q`, `t = s + q`. Only one order of these four nodes is
# right for backward. Write it as a text, such as `"p q s t"`.

# %% tags=["exercise: in-order"]
answer = ...
sv.check.exercise("04.3", answer)


# %% [markdown]
# **4. The whole of backward.** Write `backward` for any graph. At the start all gradients are 0. Find `root` and all
# nodes that it was computed from (`node.parents` lists the parents of a node). Put them in an order that follows the
# rule. You need more lines than the cell has. Do not call the library's own `root.backward()`.


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
