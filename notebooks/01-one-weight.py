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
# You need to know: the *slope* of a line. The lesson takes about 25 minutes. Run the cells from top to bottom. A small
# triangle hides a formula, and the same lines in PyTorch. Click it if you want to see them. You can also do without.

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
# <details>
# <summary>The slope of a product, and the same in PyTorch</summary>
#
# A slope is the limit of such quotients. For the product $y = w x$, all terms without $h$ cancel:
#
# $$\frac{\partial y}{\partial w} = \lim_{h \to 0} \frac{(w + h)\,x - w\,x}{h} = x,
# \qquad \frac{\partial y}{\partial x} = w$$
#
# ```python
# import torch
#
# w = torch.tensor(-3.0, requires_grad=True)
# x = torch.tensor(2.0, requires_grad=True)
# y = w * x
# y.backward()
# print(y.item())  # -6.0
# print(f"{w.grad.item():.4f} {x.grad.item():.4f}")  # 2.0000 -3.0000
# ```
#
# </details>

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
print(f"loss = {loss}, its slope with respect to y = {upstream}")
print(f"by a nudge: {(nudged - loss) / nudge:.2f}")

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
# <details>
# <summary>The chain rule, and the same in PyTorch</summary>
#
# The loss $L = (y - 4)^2$ depends on $w$ and $x$ only through $y = w x$:
#
# $$\frac{\partial L}{\partial w} = \frac{\partial L}{\partial y} \cdot \frac{\partial y}{\partial w} =
# 2\,(y - 4) \cdot x, \qquad \frac{\partial L}{\partial x} = 2\,(y - 4) \cdot w$$
#
# ```python
# import torch
#
# w = torch.tensor(-3.0, requires_grad=True)
# x = torch.tensor(2.0, requires_grad=True)
# loss = (w * x - 4) ** 2
# loss.backward()
# print(loss.item())  # 100.0
# print(w.grad.item(), x.grad.item())  # -40.0 60.0
# ```
#
# </details>

# %% [markdown]
# ## 4. Step: against the gradient
#
# **Gradient descent** subtracts a small part of the gradient from the weight: `w = w - lr * grad`. The factor `lr` is
# called the **learning rate**.
#
# **Predict:** will `w` rise or fall in this step? Look at the sign of `w.grad`.

# %%
w.step(lr=0.05)
y = w.forward(x)
print(f"w = {w.data}, y = {y}, loss = {(y - target) ** 2}")

# %% [markdown]
# <details>
# <summary>The step, and the same in PyTorch</summary>
#
# The learning rate is often written $\eta$ (eta). For a small $\eta$ the loss falls, because its change is about
# $-\eta$ times a square:
#
# $$w \leftarrow w - \eta\,\frac{\partial L}{\partial w},
# \qquad \Delta L \approx -\eta \left(\frac{\partial L}{\partial w}\right)^2$$
#
# ```python
# import torch
#
# w = torch.tensor(-3.0, requires_grad=True)
# sgd = torch.optim.SGD([w], lr=0.05)
# ((w * 2 - 4) ** 2).backward()
# sgd.step()
# print(w.item(), w.item() * 2)  # -1.0 -2.0
# print((w.item() * 2 - 4) ** 2)  # 36.0
# ```
#
# </details>

# %% [markdown]
# `w` rose from -3 to -1, and the loss fell. The gradient was negative, so the loss falls when `w` rises. A step of
# gradient descent goes against the gradient: a negative gradient makes the weight rise, a positive one makes it fall.
#
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
# <details>
# <summary>The mathematics of overshooting, and the same in PyTorch</summary>
#
# The gradient is $2\,(2w - 4) \cdot 2 = 8\,(w - 2)$. So each step multiplies the distance to 2 by the same factor:
#
# $$w_{k+1} - 2 = (1 - 8\,\eta)\,(w_k - 2)$$
#
# The factor is 0.6 for $\eta = 0.05$ and $-1.4$ for $\eta = 0.3$. The distance shrinks only if $0 < \eta < 0.25$.
#
# ```python
# import torch
#
# w = torch.tensor(-3.0, dtype=torch.float64, requires_grad=True)
# sgd = torch.optim.SGD([w], lr=0.3)
# path = []
# for _ in range(5):
#     sgd.zero_grad()
#     ((w * 2 - 4) ** 2).backward()
#     sgd.step()
#     path.append(w.item())
# print(*(f"{value:.3f}" for value in path))  # 9.000 -7.800 15.720 -17.208 28.891
# ```
#
# </details>

# %% [markdown]
# Each step jumps over 2 and lands farther away than before. The steps **overshoot**: the learning rate is too large.
#
# ## Live
#
# The next cell shows the same weight as a cube, and above it the curve of the loss with a dot where the weight is. Run
# the cell. Click the picture, so that it receives your keys. Press **Right** a few times: each press trains one step.
# The straight line shows the slope where the weight was before the step: orange if it falls, violet if it rises.
#
# The picture calls the slope of the loss with respect to `y` **δ** (delta).
#
# **Predict:** press **R** to restart, then **Shift+P**. The picture opens the next training step and asks: will this
# weight rise or fall? Press **Up** or **Down** to answer: the number appears with its reason. Press **`.`** (full
# stop) for the second question. At the end, press **Shift+P** again, and **Right** to finish the step.
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
