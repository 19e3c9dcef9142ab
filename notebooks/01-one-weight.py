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
# # One weight
#
# A neural network is made of numbers called **weights**. Training changes them, a little at a time, until the
# network's answers fit. In this notebook you train a single weight by hand, and look at it while it changes.
#
# **The question of this lesson: how does a weight find out which way to go?**
#
# You need to know: the *slope* of a line. The lesson takes about 20 minutes. Run the cells from top to bottom.

# %%
import scalarviz as sv


# %%
def show(x, size=(680, 510), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## 1. Forward: the weight multiplies
#
# A weight `w` takes an input `x` and gives the product `y = w * x`. This is the **forward** step.

# %%
w = sv.Weight(-3.0, name="w")
x = 2.0
y = w.forward(x)
print("y =", y)

# %% [markdown]
# In a picture a weight is a cube. Its colour shows its value. The bar below it shows which number each colour stands
# for: orange is negative, white is zero, blue is positive.

# %%
show(w, size=(240, 360))

# %% [markdown]
# ## 2. The question: what if the weight were a little larger?
#
# Change `w` by a tiny amount, and see how much `y` changes. The change of `y` divided by the change of `w` is a slope.
# Do the same for `x`.

# %%
nudge = 0.001
by_w = ((w.data + nudge) * x - w.data * x) / nudge
by_x = (w.data * (x + nudge) - w.data * x) / nudge
print(f"slope of y with respect to w = {by_w:.4f}, with respect to x = {by_x:.4f}")

# %% [markdown]
# This is the rule for every product: **the slope of `w * x` with respect to `w` is `x`**, and with respect to `x` it is
# `w`. Such a slope is called a **derivative**.
#
# **Predict:** `y` is -6 and should be 4. Does `w` have to rise or to fall? Write your guess down; section 4 has the
# answer.
#
# ## 3. Backward: the weight receives the slope
#
# We want `y` to be 4. One number, the **loss**, says how wrong `y` is. Here it is the squared error `(y - 4)**2`. Its
# slope with respect to `y` is `2 * (y - 4)`.

# %%
target = 4.0
loss = (y - target) ** 2
upstream = 2 * (y - target)
nudged = ((y + nudge) - target) ** 2
print(f"loss = {loss}, its slope with respect to y = {upstream}; by a nudge: {(nudged - loss) / nudge:.2f}")

# %% [markdown]
# The variable `upstream` holds this slope, and `w.backward(upstream)` hands it to the weight. The weight has remembered
# its input `x`, and multiplies the two:
#
# slope of the loss with respect to `w` = `upstream * x`
#
# Multiplying the slopes along the path from the loss to the weight is the **chain rule**. The result is the
# **gradient**, `w.grad`. `backward` returns the slope of the loss with respect to the input `x`. In a network, the part
# before this weight needs this slope.

# %%
to_input = w.backward(upstream)
print(f"w.grad = {w.grad}, passed on to the input: {to_input}")

# %% [markdown]
# ## 4. Step: against the slope
#
# The gradient is negative: the loss falls when `w` rises. So `w` must rise. **Gradient descent** takes a small
# step against the slope: `w = w - lr * grad`. The factor `lr` is called the **learning rate**.

# %%
w.step(lr=0.05)
y = w.forward(x)
print(f"w = {w.data}, y = {y}, loss = {(y - target) ** 2}")

# %% [markdown]
# ## 5. Zero the gradient
#
# `backward` *adds* to `w.grad`. This is useful when many samples share a weight: their gradients are summed.
# Before the next step you clear the old sum with `zero_grad`.

# %%
w.backward(2 * (y - target))
print("added up:", w.grad)

# %%
w.zero_grad()
print("after zero_grad:", w.grad)

# %% [markdown]
# ## 6. Gradient descent
#
# Training repeats four calls: zero the gradient, forward, backward, step.

# %%
w = sv.Weight(-3.0, name="w")
path = [w.data]
for _ in range(30):
    w.zero_grad()
    y = w.forward(x)
    w.backward(2 * (y - target))
    w.step(lr=0.05)
    path.append(w.data)
print("w:", " ".join(f"{value:.3f}" for value in path[:8]), "...", f"{path[-1]:.6f}")

# %% [markdown]
# `w` approaches 2, because `2 * 2 = 4`. After each step, 0.6 of the distance to 2 is left.
#
# Here are six cubes: the weight before the first step, and after each of the first five steps.

# %%
show({"w after 0 to 5 steps": path[:6]}, size=(560, 300))

# %% [markdown]
# The learning rate matters. **Predict:** a rate of 0.3 is six times as large. Does the weight reach 2 six times sooner?

# %%
w = sv.Weight(-3.0, name="w")
for _ in range(5):
    w.zero_grad()
    y = w.forward(x)
    w.backward(2 * (y - target))
    w.step(lr=0.3)
    print(f"w = {w.data:7.3f}   distance to 2 = {abs(w.data - 2):.3f}")

# %% [markdown]
# Each step jumps over 2, and lands farther away than before. The step **overshoots**: the rate is too large.
#
# ## Live
#
# This is the same weight. It lies on the curve of the loss. Run the cell and click the picture, so that it gets your
# keys. Press **Right** a few times: each press is one step. The violet line is the slope that moved the weight.
#
# Then press **R** to restart, and **P** to open the controls. Double-click the learning rate and type 0.3. Press **P**
# again to close the controls, and **Right** for each step.

# %%
sv.lesson("01")

# %% [markdown]
# ## Now you
#
# Each exercise is a cell with a `...`. Put your answer in its place and run the cell. The check says whether your
# answer is right. If it is wrong, the check says why.

# %% [markdown]
# **1. By hand.** `w = 1`, `x = 3`, and `y` should be 0. The loss is `(y - 0)**2`. What is the gradient of `w`?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.exercise("01.1", answer)


# %% [markdown]
# **2. The rule.** `upstream` is the slope of the loss with respect to the product `w * x`. Which slope does the product
# pass on to `w`, and which to `x`?


# %% tags=["exercise: product-rule"]
def rule(w, x, upstream):
    return ..., ...


sv.check.exercise("01.2", rule)

# %% [markdown]
# **3. In one step.** At `w = -3` (with `x = 2` and the target 4) the gradient is -40. With which learning rate does a
# single step lead to 2?

# %% tags=["exercise: one-step"]
answer = ...
sv.check.exercise("01.3", answer)

# %% [markdown]
# ## To remember
#
# **A weight multiplies its input. Its gradient is the upstream slope times this input. A step moves the weight against
# its gradient.**
