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
# Backward through a chain of operations is easy: it visits one operation after the other. But what if a number is used
# **twice**? Then the number receives two gradients, and more than one order is possible.
#
# **The question of this lesson: does the order of backward matter?**
#
# You need to know: a gradient is a slope, and slopes along a path are multiplied (lesson 01). The lesson takes about 30
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
# Write your number down first.


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
# The numbers `a`, `b` and `c` form a graph. Each number is a *node*. The nodes that it was computed from are its
# *parents*. Backward repeats one small operation, the *push*: a node multiplies its own gradient by its slope with
# respect to a parent, and **adds** the product to the parent's gradient. The node does so for each parent.


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
# We make the graph of `a`, `b` and `c` twice. Each time, `c` gets the gradient 1. In the first graph `c` pushes first,
# then `b`. In the second graph `b` pushes first, then `c`.
#
# **Predict:** which gradient will `a` get in each graph?


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
# <details>
# <summary>The push as a formula, and the same in PyTorch</summary>
#
# The gradient of a node $v$ is a sum over all uses of $v$. So it is complete only when every node $u$ that uses $v$ has
# its own gradient:
#
# $$\frac{\partial L}{\partial v} =
# \sum_{u \text{ uses } v} \frac{\partial L}{\partial u} \cdot \frac{\partial u}{\partial v}$$
#
# ```python
# import torch
#
# a = torch.tensor(3.0, requires_grad=True)
# b = a + a
# c = b + b
# c.backward()
# print(a.grad.item())  # 4.0
# ```
#
# </details>

# %% [markdown]
# In the second graph, `b` pushed before it had a gradient, so `a` got 0. The gradient of `b`, 2, arrived too late.
# Python raised no error: **a wrong order gives a wrong number without a warning.**
#
# ## Passing on at once
#
# The next function pushes the gradient of a node to one parent, and at once calls itself for this parent. Then it
# continues with the next parent.


# %%
def at_once(node):
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope
        print(f"{node.label} gives {parent.label} {node.grad * slope}:  {parent.label}.grad = {parent.grad}")
        at_once(parent)


# %% [markdown]
# **Predict:** the right gradient of `a` is 4. Will this function give 4, less or more?

# %%
a, b, c = graph()
a.label, b.label, c.label = "a", "b", "c"
c.grad = 1.0
at_once(c)

# %% [markdown]
# `a` got 6. Look at the lines that begin with "b gives". At first `b` had only half of its gradient, 1, and passed on
# this half. Then the other half arrived, and `b` passed on its **whole** gradient, 2. So `b` passed on the first half
# twice.
#
# `b` pushed too early. It should have waited until every node that uses `b` had finished its push. Here only `c` uses
# `b`, but `c` uses it twice.
#
# ## The rule
#
# > A node pushes **once**, and only **after** all nodes that use it have pushed.
#
# How many orders obey this rule? In the next graph, `q` and `r` use `p`, and `r` also uses `q`:


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
# **Predict:** there are six orders of `p`, `q` and `r`. How many of them give the right slope of `r` with respect to
# `x`?


# %%
def every_order(make):
    for order in itertools.permutations(make()[1]):
        x, nodes = make()
        nodes[max(nodes)].grad = 1.0  # the result, whose name is last in the alphabet
        for name in order:
            push(nodes[name])
        yield " ".join(order), x.grad


for order, slope in every_order(entangled):
    print(order, " slope at x:", slope)

# %% [markdown]
# Which slope is right? Find out without backward: nudge `x` (change it a little), and see how much `r` changes.


# %%
def r_of(x):
    return x * x * (x * x + x)


nudge = 1e-5
true_slope = (r_of(2 + nudge) - r_of(2 - nudge)) / (2 * nudge)
print(f"by nudging: {true_slope:.4f}")
right = [order for order, slope in every_order(entangled) if np.isclose(slope, true_slope)]
print("right:", right)


# %% [markdown]
# Only one of the six orders is right: `r`, `q`, `p`.
#
# Two nodes may push in either order if neither was computed from the other. In the next graph, `p` and `q` use only
# `x`:


# %%
def apart():
    x = sv.Value(2.0)
    p = x * x
    q = x + x
    return x, {"p": p, "q": q, "r": p * q}


true_slope = 3 * 2 * 2.0**2  # the slope of r = 2 * x**3
right = [order for order, slope in every_order(apart) if np.isclose(slope, true_slope)]
print("right:", right)

# %% [markdown]
# ## Where the order comes from
#
# You do not have to find the order by hand. A node can only be made from nodes that **exist already**. So every node is
# older than the nodes that use it. If the nodes push from the newest to the oldest, the order is right.
#
# The `backward()` of this library uses this order. The library micrograd sorts the graph (a *topological sort*).
# For every node, PyTorch counts the nodes that use it and still have to push. All three obey the same rule.

# %%
x, nodes = entangled()
nodes["r"].backward()
print("backward():", x.grad)

# %% [markdown]
# <details>
# <summary>The right order in numbers, and the same in PyTorch</summary>
#
# Write $\bar v$ for the gradient of $v$. At $x = 2$, with $p = x^2 = 4$, $q = p + x = 6$ and $r = p\,q$:
#
# $$\bar r = 1, \qquad \bar q = p\,\bar r = 4, \qquad \bar p = q\,\bar r + \bar q = 10, \qquad \bar x =
# 2x\,\bar p + \bar q = 44$$
#
# ```python
# import torch
#
# x = torch.tensor(2.0, requires_grad=True)
# p = x * x
# q = p + x
# r = p * q
# r.backward()
# print(x.grad.item())  # 44.0
# ```
#
# </details>

# %% [markdown]
# ## Why backward does not follow every path
#
# You can also find the slope without an order: multiply the slopes along each **path** from `c` back to `a`, and add up
# the products. This graph has 4 paths, each with the product 1, so the slope is 4. This is right, but there can be far
# too many paths. Continue the doubling and count them:


# %%
def paths(node):
    return sum(paths(parent) for parent in node.parents) if node.parents else 1


for doublings in (1, 2, 3, 10, 15):
    top = sv.Value(1.0)
    for _ in range(doublings):
        top = top + top
    print(f"{doublings:2} doublings: {doublings:2} nodes, 1 weight, {paths(top):6,} paths")

# %% [markdown]
# <details>
# <summary>The sum over paths, and the same in PyTorch</summary>
#
# The slope is the sum over all paths, and each path contributes the product of its slopes. After $n$ doublings there
# are $2^n$ paths with the product 1:
#
# $$\frac{\partial v_n}{\partial v_0} = \sum_{\text{paths}} \; \prod_{\text{edges}} 1 = 2^n$$
#
# ```python
# import torch
#
# bottom = torch.tensor(1.0, requires_grad=True)
# top = bottom
# for _ in range(15):
#     top = top + top
# top.backward()
# print(f"{bottom.grad.item():,.0f}")  # 32,768
# ```
#
# </details>

# %% [markdown]
# The number of **paths** doubles with every node, although there is only one weight. In the right order every node
# pushes only once, however many paths lead through it. So the time of backward grows like the time of forward: it is
# about twice as long, for 15 nodes and for a million.
#
# ## A hidden mistake
#
# With `sv.mistakes.wrong_order("found")`, `backward()` makes a mistake on purpose: each node pushes as soon as it is
# *found*, that is, as soon as one node that uses it has pushed. In a plain chain of layers the result is still right.
# Then somebody adds a **shortcut** around a layer:


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
# <details>
# <summary>The shortcut as a formula, and the same in PyTorch</summary>
#
# With the shortcut, $h$ has two uses: in $k = \tanh(w h)$ and in the sum $s = k + h$. Its gradient has two terms:
#
# $$\bar h = \bar k \cdot w\,(1 - k^2) + \bar s$$
#
# ```python
# import torch
#
# def slope_of_w(shortcut):
#     w = torch.tensor(1.5, requires_grad=True)
#     h = torch.tanh(w * 0.5)
#     k = torch.tanh(w * h)
#     torch.tanh(w * (k + h) if shortcut else w * k).backward()
#     return w.grad.item()
#
# print(f"{slope_of_w(False):.4f} {slope_of_w(True):.4f}")  # 0.5195 0.1595
# ```
#
# </details>

# %% [markdown]
# Tests of a plain network never find this mistake. A gradient check (lesson 01b) of the network with the shortcut finds
# it.
#
# ## Live
#
# The next cell shows the graph from the beginning. Here `a` is a weight, and `c` should become 6. Run the cell and
# click the picture. Press **`.`** (full stop) to open a training step. Each further press shows one part of this step.
# (The line below the cubes names a node by its formula: `b` is `a + a`, and `c` is `a + a + a + a`.)
#
# **Predict** the order of backward before you go on. Then watch `b`: its gradient becomes twice the gradient of `c`.
# Only then does `b` push to `a`.

# %%
sv.lesson("04")

# %% [markdown]
# ## Now you
#
# Use paper for the first three exercises.

# %% [markdown]
# **1. By hand.** `a = 3`, `b = a * a`, `c = b + a`. Backward starts with the gradient 1 at `c` and obeys the rule.
# Which gradient does `a` get?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.exercise("04.1", answer)

# %% [markdown]
# **2. Too early.** Take the same graph, but now `b` pushes first and `c` second. Which gradient does `a` get?

# %% tags=["exercise: too-early"]
answer = ...
sv.check.exercise("04.2", answer)

# %% [markdown]
# **3. The right order.** `p = x * y`, `q = p + x`, `s = p * q`, `t = s + q`. Only one order of these four nodes is
# right for backward. Write this order as a string, such as `"p q s t"`.

# %% tags=["exercise: in-order"]
answer = ...
sv.check.exercise("04.3", answer)


# %% [markdown]
# **A walk through a graph**, before you write one. A function may call itself: `reached` takes a node, and then the
# same for each of its parents. `x` has no parents, so the walk ends there. A node that is used twice is found twice.


# %%
def reached(node):
    found = [node.op or "x"]
    for parent in node.parents:
        found += reached(parent)
    return found


x = sv.Value(2.0)
print(reached(x * x + x))

# %% [markdown]
# **4. A whole `backward`.** Write `backward` for any graph. At the start all gradients are 0. The list `order` must
# contain `root` and all nodes that it was computed from, directly or indirectly, in an order that obeys the rule.
# (`node.parents` lists the parents.) Add the lines that you need. Do not call the library's own `root.backward()`.


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
