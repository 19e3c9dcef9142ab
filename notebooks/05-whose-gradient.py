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
# # Whose gradient is it?
#
# Every training loop has a line that seems to do nothing: `zero_grad()`. If you leave out this line, Python raises no
# error. For some steps the loss even falls.
#
# **The question of this lesson: why must gradients be cleared, and who clears them?**
#
# You need to know: forward, backward, step (lesson 01). The lesson takes about 30 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import optim

# %% [markdown]
# ## Predict first
#
# There is one weight, `w = 1.5`, and one sample: the input is 2, and the answer should be 4. We call `backward()`
# **twice** and change nothing in between. What is `w.grad` after the first call, and after the second?

# %%
w = sv.Weight(1.5, name="w")
loss = (w * 2.0 - 4.0) ** 2
loss.backward()
print("after the first call: ", w.grad)
loss.backward()
print("after the second call:", w.grad)

# %% [markdown]
# <details>
# <summary>The box as a formula, and the same in PyTorch</summary>
#
# Each call adds the slope to the box $g$. PyTorch does the same. (It frees the graph after a call, so the first call
# needs `retain_graph=True`.)
#
# $$g \leftarrow g + \frac{\partial L}{\partial w}, \qquad \frac{\partial L}{\partial w} = 2\,(2w - 4) \cdot 2$$
#
# ```python
# import torch
#
# w = torch.tensor(1.5, requires_grad=True)
# loss = (w * 2 - 4) ** 2
# loss.backward(retain_graph=True)
# print(w.grad.item())  # -4.0
# loss.backward()
# print(w.grad.item())  # -8.0
# ```
#
# </details>

# %% [markdown]
# The slope of the loss is `2 * (3 - 4) * 2 = -4` both times. But after the second call `w.grad` is -8.
#
# So `w.grad` is not the slope, but a **box that belongs to the weight**. `backward()` *adds* a slope to the number that
# is already in the box.

# %% [markdown]
# ## Why backward adds
#
# A weight is often used more than once. Here `y = w * 2 + w * 3`, so `y` is `5 * w`, and its slope with respect to `w`
# is 5. Backward computes this slope in two parts, 2 and 3:

# %%
w = sv.Weight(1.5, name="w")
y = w * 2.0 + w * 3.0
y.backward()
print("slope:", w.grad)
sv.draw(y)

# %% [markdown]
# <details>
# <summary>The sum over all uses, and the same in PyTorch</summary>
#
# Give each use of $w$ its own name, $w_1$ and $w_2$. The slope with respect to $w$ is the sum of the slopes with
# respect to both:
#
# $$y = 2\,w_1 + 3\,w_2, \qquad \frac{dy}{dw} =
# \frac{\partial y}{\partial w_1} + \frac{\partial y}{\partial w_2} = 2 + 3$$
#
# ```python
# import torch
#
# w = torch.tensor(1.5, requires_grad=True)
# y = w * 2 + w * 3
# y.backward()
# print(w.grad.item())  # 5.0
# ```
#
# </details>

# %% [markdown]
# **Predict:** what would be in the box if each part *replaced* the number in the box, instead of being added to it?

# %%
with sv.mistakes.overwrite():
    w = sv.Weight(1.5, name="w")
    (w * 2.0 + w * 3.0).backward()
    print("replaced:", w.grad)

# %% [markdown]
# One of the two parts is lost: the part that arrived later has replaced it. A gradient check (lesson 01b) finds this
# mistake at once:


# %%
def five_times(w):
    return w * 2.0 + w * 3.0


with sv.mistakes.overwrite():
    print("replacing:", bool(sv.gradcheck(five_times, 1.5)))
print("adding:   ", bool(sv.gradcheck(five_times, 1.5)))


# %% [markdown]
# ## Two samples share a weight
#
# Two samples also use the same weight. Their total loss is the sum of two losses, so its slope is the sum of two
# slopes. You may call `backward()` once for the sum, or once for each sample: the number in the box is the same.


# %%
def loss_of(w, x, wanted):
    return (w * x - wanted) ** 2


w = sv.Weight(1.5)
(loss_of(w, 2.0, 4.0) + loss_of(w, 1.0, 3.0)).backward()
together = w.grad
w.zero_grad()
loss_of(w, 2.0, 4.0).backward()
loss_of(w, 1.0, 3.0).backward()
print("together:", together, "  one after the other:", w.grad)

# %% [markdown]
# So adding is right if all slopes in the box belong to the **same** step. After the step the weight has a new value, so
# you clear the old slopes.
#
# ## Training without `zero_grad`
#
# The loss is `(w - 2)**2`, so the best `w` is 2. Two runs begin with `w = 0`. The first run clears the box before every
# step, the second run never clears it.
#
# **Predict:** what will `w` do in the second run: stop before 2, grow without limit, or something else?


# %%
def path(clear, steps=28, lr=0.1):
    w = sv.Weight(0.0, name="w")
    places = [w.data]
    for _ in range(steps):
        if clear:
            w.zero_grad()
        ((w - 2.0) ** 2).backward()
        w.step(lr)
        places.append(w.data)
    return np.array(places)


# %% [markdown]
# The next cell takes the first three steps of the second run, and calls `backward()` for the fourth:

# %%
w = sv.Weight(0.0, name="w")
for _ in range(3):
    ((w - 2.0) ** 2).backward()
    w.step(0.1)
old = w.grad
((w - 2.0) ** 2).backward()
print(f"w = {w.data:.2f}   slope: {w.grad - old:+.2f}   in the box: {w.grad:+.2f}")

# %% [markdown]
# `w` is now a little above 2. **Predict:** will `w` rise or fall in the fourth step? Look at the sign of the slope, and
# at the sign of the number in the box.

# %%
cleared, never = path(clear=True), path(clear=False)
print("cleared:", *cleared[:15].round(2))
print("never:  ", *never[:15].round(2))

# %% [markdown]
# <details>
# <summary>The mathematics of the oscillation, and the same in PyTorch</summary>
#
# Without clearing, a step subtracts the sum of all slopes so far. Subtract the equations of two steps in a row:
#
# $$w_{k+1} = w_k - \eta \sum_{j \le k} 2\,(w_j - 2) \quad\Rightarrow\quad w_{k+1} - 2\,w_k + w_{k-1} =
# -2\,\eta\,(w_k - 2)$$
#
# On the left is an acceleration, on the right a force towards 2: a spring without friction.
#
# ```python
# import torch
#
# w = torch.tensor(0.0, dtype=torch.float64, requires_grad=True)
# sgd = torch.optim.SGD([w], lr=0.1)
# path = []
# for _ in range(7):
#     ((w - 2) ** 2).backward()
#     sgd.step()
#     path.append(w.item())
# print(*(f"{value:.2f}" for value in path[1:]))  # 1.12 2.02 2.91 3.62 4.01 3.99
# ```
#
# </details>

# %% [markdown]
# In the fourth step `w` rises from 2.02 to 2.91, away from 2. The slope at 2.02 is positive, but the number in the box
# is negative, and the step uses the box.


# %%
def show(x, size=(680, 300), **options):
    return sv.view.picture(x, size, **options)


show({"w after 0, 2, 4, ... 14 steps": np.array([cleared[:15:2], never[:15:2]])})

# %% [markdown]
# The back row of cubes is the run that clears the box, the front row is the other run. With `zero_grad` the weight
# approaches 2 and stays there. Without `zero_grad` the weight moves past 2 up to 4, and then back to 0: it
# **oscillates** for ever. The box still contains slopes of earlier steps, and these slopes move the weight past 2. A
# ball in a bowl without friction oscillates in the same way.

# %%
swing = path(clear=False, steps=2000)
last = swing[-100:]
print(f"lowest and highest in the last 100 of 2000 steps: {last.min():.2f} and {last.max():.2f}")

# %% [markdown]
# The mistake is hard to see, because at first the loss falls **faster** than with `zero_grad`. The loss rises only
# later.

# %%
losses = {"cleared": (cleared - 2) ** 2, "never": (never - 2) ** 2}
for k in (0, 3, 7, 14):
    print(f"loss after {k:2} steps:", *(f"  {name} {loss[k]:.3f}" for name, loss in losses.items()))


# %% [markdown]
# ## Where does `zero_grad` belong?
#
# The training loop repeats three parts: clear the gradient, backward (with forward), and step. **Predict:** with which
# of these orders does `w` approach 2?
#
# * A: clear, backward, step
# * B: backward, step, clear
# * C: backward, clear, step


# %%
def end_of(order, steps=50):
    w = sv.Weight(0.0)
    for _ in range(steps):
        for part in order.split():
            if part == "clear":
                w.zero_grad()
            elif part == "backward":
                ((w - 2.0) ** 2).backward()
            else:
                w.step(0.1)
    return w.data


# %%
for order in ("clear backward step", "backward step clear", "backward clear step"):
    print(f"{order:20} w = {end_of(order):.3f}")

# %% [markdown]
# A and B give the same result. C clears the gradient before the step uses it, so the weight never moves.
#
# ## Who clears?
#
# In a network the optimiser clears the gradients: you call `optimizer.zero_grad()`. But the optimiser knows only the
# weights that you **give** to it. Here the optimiser does not get the bias `b`:

# %%
w, b = sv.Weight(0.0, name="w"), sv.Weight(0.0, name="b")
sgd = optim.SGD([w], lr=0.1)
for k in range(3):
    sgd.zero_grad()
    ((w * 1.0 + b - 2.0) ** 2).backward()
    print(f"step {k + 1}: w.grad = {w.grad:.3f}   b.grad = {b.grad:.3f}")
    sgd.step()

# %% [markdown]
# The gradient of `w` gets closer to 0 as the answer gets better. Nobody clears the box of `b`, so it contains the sum
# of all three gradients. If an optimiser gets `b` later and takes a step before it clears the box, this step of `b` is
# far too large.

# %% [markdown]
# ## A batch in portions
#
# A batch of many samples may be too large for the memory. Then split the batch into portions. Call `backward()` for
# each portion, and take **one** step at the end. Before this step, the box contains the gradient of the whole batch:

# %%
X, Y = [0.5, 1.0, 2.0, 3.0], [1.0, 2.0, 4.0, 6.0]
w = sv.Weight(0.0)
for portion in ([0, 1], [2, 3]):
    sum(loss_of(w, X[k], Y[k]) for k in portion).backward()
in_portions = w.grad
w.zero_grad()
sum(loss_of(w, x, y) for x, y in zip(X, Y, strict=True)).backward()
print("in two portions:", in_portions, "  at once:", w.grad)

# %% [markdown]
# <details>
# <summary>The batch as a sum, and the same in PyTorch</summary>
#
# The slope of a sum is the sum of the slopes, however the sum is split into portions $P$:
#
# $$\frac{\partial}{\partial w} \sum_{n} L_n = \sum_{P} \; \sum_{n \in P} \frac{\partial L_n}{\partial w}$$
#
# ```python
# import torch
#
# x = torch.tensor([0.5, 1.0, 2.0, 3.0])
# t = torch.tensor([1.0, 2.0, 4.0, 6.0])
# w = torch.tensor(0.0, requires_grad=True)
# for portion in ([0, 1], [2, 3]):
#     ((w * x[portion] - t[portion]) ** 2).sum().backward()
# print(w.grad.item())  # -57.0
# ```
#
# </details>

# %% [markdown]
# ## Live
#
# In the next cell, a line should go through three points. The weight and the bias of the line each get three gradients,
# one for each point. Run the cell, click the picture, and press **`.`** (full stop) several times. Each press shows one
# part of a training step. What happens first?
#
# **Predict:** press **Right** to finish the step, **B** for the whole batch, and **Shift+P**. The picture opens the
# next step and asks about the bias and the weight: will it rise or fall? Press **Up** or **Down** to answer. The line
# below the reason shows the gradients of the three points and their mean. Press **`.`** for the next question.

# %%
sv.lesson("05")

# %% [markdown]
# ## Now you
#
# **1. Three times.** `w = 3` and `loss = w * w`. Someone calls `loss.backward()` three times and clears nothing.
# What is `w.grad`?

# %% tags=["exercise: three-times"]
answer = ...
sv.check.exercise("05.1", answer)


# %% [markdown]
# **2. In parts.** Write the slopes of `f = w * w * x + w` with respect to `w` and to `x`. How often does `f` use `w`?


# %% tags=["exercise: in-parts"]
def slopes(w, x):
    return ..., ...


sv.check.exercise("05.2", slopes)


# %% [markdown]
# **3. The loop.** Complete one step of training. `loss()` computes the loss from the present weights. Which two other
# calls does the step need?


# %% tags=["exercise: the-loop"]
def step(optimizer, loss):
    ...
    loss().backward()
    ...


sv.check.exercise("05.3", step)

# %% [markdown]
# **4. Portions of a mean.** A batch of 12 samples is split into 3 portions of 4. The loss of a portion is the **mean**
# over its 4 samples. By which number do you divide the loss of each portion, so that the box contains the slope of the
# mean over all 12 samples?

# %% tags=["exercise: portions"]
answer = ...
sv.check.exercise("05.4", answer)

# %% [markdown]
# ## To remember
#
# **Each weight has a box for its gradient. Every use of the weight adds a slope to the box. Clear the box before the
# next step.**
