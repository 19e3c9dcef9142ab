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
# A neural network contains numbers called **weights**. Training changes the weights, a little at a time, until the
# network gives good answers. In this notebook you train a single weight by hand.
#
# **The question of this lesson: how do you know whether a weight should rise or fall?**
#
# You need to know: the *slope* of a line. The lesson takes about 25 minutes. Run the cells from top to bottom.

# %%
import scalarviz as sv


# %%
def show(x, size=(680, 510), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## 1. Forward: the weight multiplies
#
# A weight `w` multiplies an input `x`. The result is the product `y = w * x`. This multiplication is called
# **forward**.

# %%
w = sv.Weight(-3.0, name="w")
x = 2.0
y = w.forward(x)
print("y =", y)

# %% [markdown]
# A picture shows a weight as a cube. The colour of the cube shows this weight's value. The bar below the cube explains
# the colours: orange is negative, white is zero, blue is positive.

# %%
show(w, size=(240, 360))

# %% [markdown]
# ## 2. The question: what if the weight were a little larger?
#
# Change `w` by a tiny amount (a *nudge*), and see how much `y` changes. The change of `y` divided by the change of `w`
# is the slope of `y` with respect to `w`. Then do the same for `x`.

# %%
nudge = 0.001
by_w = ((w.data + nudge) * x - w.data * x) / nudge
by_x = (w.data * (x + nudge) - w.data * x) / nudge
print(f"slope of y with respect to w = {by_w:.4f}, with respect to x = {by_x:.4f}")

# %% [markdown]
# Every product has this rule: **the slope of `w * x` with respect to `w` is `x`**, and the slope with respect to `x` is
# `w`. Another word for such a slope is **derivative**.
#
# **Predict:** `y` is -6 and should be 4. Does `w` have to rise or fall? Write your guess down. Section 4 has the
# answer.
#
# ## 3. Backward: the gradient of the weight
#
# We want `y` to be 4. The **loss** is a number that says how wrong `y` is. Our loss is the squared error `(y - 4)**2`.
# The slope of this loss with respect to `y` is `2 * (y - 4)`.

# %%
target = 4.0
loss = (y - target) ** 2
upstream = 2 * (y - target)
nudged = ((y + nudge) - target) ** 2
print(f"loss = {loss}, its slope with respect to y = {upstream}; by a nudge: {(nudged - loss) / nudge:.2f}")

# %% [markdown]
# The variable `upstream` is the slope of the loss with respect to `y`. `w.backward(upstream)` gives this slope to the
# weight. The weight stored its input `x` during `forward`. Now the weight multiplies the two numbers:
#
# slope of the loss with respect to `w` = `upstream * x`
#
# This is the **chain rule**: multiply the slopes along the path from the loss to the weight. The result is the
# **gradient** of the weight, `w.grad`. `backward` also returns the slope of the loss with respect to the input `x`. In
# a network, the layer that computed `x` needs this slope.

# %%
to_input = w.backward(upstream)
print(f"w.grad = {w.grad}, passed on to the input: {to_input}")

# %% [markdown]
# ## 4. Step: against the gradient
#
# The gradient is negative, so the loss falls when `w` rises. Therefore `w` must rise. **Gradient descent** subtracts a
# small part of the gradient from the weight: `w = w - lr * grad`. The factor `lr` is called the **learning rate**.

# %%
w.step(lr=0.05)
y = w.forward(x)
print(f"w = {w.data}, y = {y}, loss = {(y - target) ** 2}")

# %% [markdown]
# ## 5. Zero the gradient
#
# `backward` *adds* the new gradient to `w.grad`. With several *samples* (pairs of an input and a target), `w.grad`
# becomes the sum of their gradients. Before the next step, `zero_grad` sets `w.grad` back to 0.

# %%
w.backward(2 * (y - target))
print("added up:", w.grad)

# %%
w.zero_grad()
print("after zero_grad:", w.grad)

# %% [markdown]
# ## 6. Gradient descent
#
# Training repeats four calls: `zero_grad`, `forward`, `backward`, `step`.

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
# `w` approaches 2, because with `w = 2` the product `w * x` is 4, the target. Each step multiplies the distance to 2 by
# 0.6.
#
# The cubes show the weight before the first step and after each of the first five steps.

# %%
show({"w after 0 to 5 steps": path[:6]}, size=(560, 300))

# %% [markdown]
# **Predict:** a learning rate of 0.3 is six times as large as 0.05. Does the weight approach 2 six times faster?

# %%
w = sv.Weight(-3.0, name="w")
for _ in range(5):
    w.zero_grad()
    y = w.forward(x)
    w.backward(2 * (y - target))
    w.step(lr=0.3)
    print(f"w = {w.data:7.3f}   distance to 2 = {abs(w.data - 2):.3f}")

# %% [markdown]
# Each step jumps over 2 and lands farther away than before. The steps **overshoot**: the learning rate is too large.
#
# ## Live
#
# The next cell shows the same weight as a cube on the curve of the loss. Run the cell. Click the picture, so that it
# receives your keys. Press **Right** a few times: each press trains one step. The violet line shows the slope where the
# weight was before the step.
#
# Then press **R** to restart, and **P** to open the controls. Double-click the learning rate, type 0.3 and press
# **Enter**. Press **P** again to close the controls. Then press **Right** a few times.

# %%
sv.lesson("01")

# %% [markdown]
# ## Now you
#
# In each exercise, replace every `...` by your answer and run the cell. The last line of the cell checks your answer.
# If the answer is wrong, the check says why.

# %% [markdown]
# **1. By hand.** `w = 1`, `x = 3`, and `y` should be 0. The loss is `(y - 0)**2`. What is the gradient of `w`?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.exercise("01.1", answer)


# %% [markdown]
# **2. The rule.** `upstream` is the slope of the loss with respect to the product `w * x`. Return the slopes of the
# loss with respect to `w` and to `x`.


# %% tags=["exercise: product-rule"]
def rule(w, x, upstream):
    return ..., ...


sv.check.exercise("01.2", rule)

# %% [markdown]
# **3. In one step.** At `w = -3` (with `x = 2` and the target 4) the gradient is -40. With which learning rate does a
# single step move `w` to 2?

# %% tags=["exercise: one-step"]
answer = ...
sv.check.exercise("01.3", answer)

# %% [markdown]
# ## To remember
#
# **A weight multiplies its input. Its gradient is the upstream slope times this input. A step moves the weight against
# its gradient.**
