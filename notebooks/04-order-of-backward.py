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
# two gradients come back to it, and somebody has to go first.
#
# **The question of this lesson: does it matter who?**
#
# You need: a gradient is a slope, and slopes along the way are multiplied (lesson 01). It takes about 15 minutes.

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
# The slope of `c` by `a` is 4, wherever `a` is. So 4 is what has to arrive at `a` when we go back.

# %%
assert all(doubled_twice(a + 1) - doubled_twice(a) == 4 for a in (-2, 0, 3, 10))

# %% [markdown]
# ## What one node does
#
# All of backward is made of one small move. A node takes the gradient that it has, and **adds** to each of its
# parents: its gradient times the slope on the way there.


# %%
def push(node):
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope


# %% [markdown]
# For a sum both slopes are 1. For a product, the slope by one factor is the other factor.

# %%
x, y = sv.Value(2.0), sv.Value(5.0)
print("sum:    ", (x + y).local_gradients)
print("product:", (x * y).local_gradients)
assert (x + y).local_gradients == (1, 1)
assert (x * y).local_gradients == (5, 2)


# %% [markdown]
# ## Two orders
#
# The same graph twice. The gradient of `c` by itself is 1, that is where it begins. Then `c` and `b` push: on the
# first time `c` goes first, the second time `b` does.
#
# **Predict:** which gradients will stand at `a`?


# %%
def graph():
    a = sv.Value(3.0)
    b = a + a
    c = b + b
    return a, b, c


def beside(**drawings):
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
beside(c_first=c_first, b_first=sv.draw(c))

# %%
assert found == 4
assert a.grad == 0

# %% [markdown]
# The second time `b` pushed when it had nothing yet. It handed 0 on, and got its 2 too late. Nothing failed, no error
# was raised: **a wrong order gives a wrong number without a word.**
#
# ## "I just hand it on at once"
#
# The most natural way to write it is a function that pushes, and goes on into each parent at once. It looks right.


# %%
def at_once(node):
    for parent, slope in zip(node.parents, node.local_gradients, strict=True):
        parent.grad += node.grad * slope
        print(f"{node.label} gives {parent.label} {node.grad * slope}:  {parent.label}.grad = {parent.grad}")
        at_once(parent)


# %% [markdown]
# **Predict:** 4 is right. Will this be right, too small or too large?

# %%
a, b, c = graph()
a.label, b.label, c.label = "a", "b", "c"
c.grad = 1.0
at_once(c)
assert a.grad == 6

# %% [markdown]
# 6 arrived. Look at the lines that begin with "b gives": `b` handed on a 1 when it had half of its gradient. Then
# the other half came, and it handed on **all** of its 2, the first half a second time.
#
# `b` was too quick. It should have waited until everybody who uses it has pushed. Here that is `c`, twice.
#
# ## The rule
#
# > A node pushes **once**, and only **after** all nodes that use it have pushed.
#
# How many orders keep it? Here `p` is used by `q` and by `r`, and `q` by `r`:


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
# **Predict:** three nodes can be put into six orders. How many of them give the right slope?


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
# Which one is right? Ask without any backward: nudge `x`, and look at what `r` does.


# %%
def r_of(x):
    return x * x * (x * x + x)


nudge = 1e-5
true_slope = (r_of(2 + nudge) - r_of(2 - nudge)) / (2 * nudge)
print(f"by nudging: {true_slope:.4f}")
right = [order for order, slope in every_order(entangled) if np.isclose(slope, true_slope)]
print("right:", right)
assert right == ["r q p"]
assert abs(true_slope - 44) < 1e-6


# %% [markdown]
# Only one of six. `r` has to go first, then `q`, and `p` waits for both.
#
# If two nodes have nothing to do with each other, they may go in either order. Here `p` and `q` both come from `x`
# alone:


# %%
def apart():
    x = sv.Value(2.0)
    p = x * x
    q = x + x
    return x, {"p": p, "q": q, "r": p * q}


true_slope = 3 * 2 * 2.0**2  # r = 2 * x**3
right = [order for order, slope in every_order(apart) if np.isclose(slope, true_slope)]
print("right:", right)
assert right == ["r p q", "r q p"]

# %% [markdown]
# ## Where the order comes from
#
# Nobody has to find it by hand. A node can only be made from nodes that are **there already**. So going from the
# node that was made last to the one that was made first keeps the rule by itself: everybody who uses a node is
# younger than it.
#
# That is what `backward()` does here. micrograd sorts the graph (a *topological sort*), PyTorch counts for every node
# how many of its users are still to come. Three ways, one rule.

# %%
x, nodes = entangled()
nodes["r"].backward()
print("backward():", x.grad)
assert x.grad == 44

# %% [markdown]
# ## Why not simply follow every way?
#
# The slope is also the sum over all **ways** from `c` down to `a`, each with its slopes multiplied. `b = a + a`,
# `c = b + b` has 4 ways of 1 each: 4. That is true, and nobody does it. Count the ways when the doubling goes on:


# %%
def ways(node):
    return sum(ways(parent) for parent in node.parents) if node.parents else 1


for doublings in (1, 2, 3, 10, 15):
    top = sv.Value(1.0)
    for _ in range(doublings):
        top = top + top
    print(f"{doublings:2} doublings: {ways(top):6,} ways, {doublings:2} nodes that push")

# %%
assert ways(top) == 2**15

# %% [markdown]
# In the right order every node pushes once, however many ways go through it. That is why backward through a network
# with a million weights takes about twice as long as forward, and not a million times.
#
# ## A mistake that hides
#
# `sv.mistakes.wrong_order("found")` lets `backward()` push each node as soon as it is found. In a network of plain
# layers all ways are equally long, and nothing goes wrong. Then somebody adds a **shortcut** around a layer:


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
for shortcut in (False, True):
    right = slope_of_w(shortcut)
    with sv.mistakes.wrong_order("found"):
        wrong = slope_of_w(shortcut)
    print(f"shortcut {shortcut!s:5}  right {right:.4f}   as soon as found {wrong:.4f}")
    assert (wrong != right) == shortcut

# %% [markdown]
# The tests of a plain network would never have told. A gradient check of the new one does.
#
# ## Live
#
# The graph of the beginning, with a weight in the place of `a`: four times the weight should become 6. Run the cell,
# press **step**, and watch which gradients stand in the graph.

# %%
sv.lesson("04")

# %% [markdown]
# ## Now you
#
# On paper, please. The next cell is for the checks alone.


# %%
def arrived(order):
    a = sv.Value(3.0)
    b = a * a
    c = b + a
    c.grad = 1.0
    for name in order.split():
        push({"b": b, "c": c}[name])
    return a.grad


# %% [markdown]
# **1. By hand.** `a = 3`, `b = a * a`, `c = b + a`. Which gradient stands at `a` after the right order?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.answer(answer, lambda: arrived("c b"), hint="a is used by b and by c: add up what each of them hands to it.")

# %% [markdown]
# **2. Too early.** The same graph, but `b` pushes first and `c` second. Which gradient stands at `a` now?

# %% tags=["exercise: too-early"]
answer = ...
sv.check.answer(answer, lambda: arrived("b c"), hint="When b pushes first, which gradient stands at b already?")

# %% [markdown]
# **3. Put them in order.** `p = x * y`, `q = p + x`, `s = p * q`, `t = s + q`. Only one order of the four is right.
# Write it as a text, as `"p q s t"`.


# %%
def four():
    x, y = sv.Value(2.0), sv.Value(5.0)
    p = x * y
    q = p + x
    s = p * q
    return x, {"p": p, "q": q, "s": s, "t": s + q}


def found_by_trying():
    x, nodes = four()
    nodes["t"].backward()
    return next(order for order, slope in every_order(four) if slope == x.grad)


# %% tags=["exercise: in-order"]
answer = ...
sv.check.answer(answer, found_by_trying, hint="Who uses q? All of them have to be before it.")


# %% [markdown]
# **4. The whole walk.** Write `backward` for any graph. The gradients are all 0 before. Find all nodes below `root`
# (`node.parents` says who made a node) and put them in an order that keeps the rule. You may need more lines.


# %% tags=["exercise: whole-walk"]
def backward(root):
    root.grad = 1.0
    order = ...
    for node in order:
        push(node)


sv.check.backward(backward)

# %% [markdown]
# ## To remember
#
# **A node hands its gradient on once, and only after everybody who used it has handed theirs to it.**
