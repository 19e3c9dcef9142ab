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
# Every training loop has a line that seems to do nothing: `zero_grad()`. If you leave it out, there is no error. For a
# while the loss even falls.
#
# **The question of this lesson: why do you clear a gradient, and who does it?**
#
# You need to know: forward, backward, step (lesson 01). The lesson takes about 15 minutes.

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
# The slope is `2 * (3 - 4) * 2 = -4`. Nothing has changed. But `w.grad` says -8.
#
# So `w.grad` is not "the slope". It is a **box that belongs to the weight**. `backward()` *adds* a slope to the number
# that is already in the box.

# %% [markdown]
# ## Why add at all?
#
# A weight is often used more than once. Here `y = w * 2 + w * 3`, so `y` is `5 * w`, and its slope is 5. This slope
# arrives in two parts.

# %%
w = sv.Weight(1.5, name="w")
y = w * 2.0 + w * 3.0
y.backward()
print("slope:", w.grad)
sv.draw(y)

# %% [markdown]
# **Predict:** what would be in the box if each part *replaced* the number there, instead of being added to it?

# %%
with sv.mistakes.overwrite():
    w = sv.Weight(1.5, name="w")
    (w * 2.0 + w * 3.0).backward()
    print("replaced:", w.grad)

# %% [markdown]
# One of the two parts is lost. (Only the part that arrives last stays.) A gradient check finds this at once:


# %%
def five_times(w):
    return w * 2.0 + w * 3.0


with sv.mistakes.overwrite():
    print("replacing:", bool(sv.gradcheck(five_times, 1.5)))
print("adding:   ", bool(sv.gradcheck(five_times, 1.5)))


# %% [markdown]
# ## Two samples share a weight
#
# The same happens when samples share a weight. The loss of two samples is the sum of their losses, so its slope is the
# sum of their slopes. You may call `backward()` once for the sum, or once for each sample: the box holds the same
# number.


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
# So adding is right, as long as everything in the box belongs to **this** step. After the step the weight has another
# value. The slopes in the box belong to the old value, so clear them.
#
# ## Training without `zero_grad`
#
# The loss is `(w - 2)**2`, so the best `w` is 2. Two runs begin at 0. The first run clears the box before every step.
# The second run never clears it.
#
# **Predict:** what will the second run do? Stop early? Diverge? Something else?


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


# %%
cleared, never = path(clear=True), path(clear=False)
print("cleared:", *cleared[:15].round(2))
print("never:  ", *never[:15].round(2))


# %%
def show(x, size=(680, 300), **options):
    return sv.view.picture(x, size, **options)


show({"w after 0, 2, 4, ... 14 steps": np.array([cleared[:15:2], never[:15:2]])})

# %% [markdown]
# The back row is the run that clears, the front row is the run that never does. With `zero_grad` the weight approaches
# 2 and stays there. Without it, the weight goes past 2, up to 4, and all the way back to 0: it **oscillates** for ever.
# The box still holds slopes of earlier steps, and they push the weight past 2. A ball that rolls in a bowl without
# friction does the same.

# %%
swing = path(clear=False, steps=2000)
last = swing[-100:]
print(f"lowest and highest in the last 100 of 2000 steps: {last.min():.2f} and {last.max():.2f}")

# %% [markdown]
# The mistake is hard to see, because at first the loss falls **faster** than it should. It rises only later.

# %%
losses = {"cleared": (cleared - 2) ** 2, "never": (never - 2) ** 2}
for k in (0, 3, 7, 14):
    print(f"loss after {k:2} steps:", *(f"  {name} {loss[k]:.3f}" for name, loss in losses.items()))


# %% [markdown]
# ## Where does `zero_grad` belong?
#
# A training step has three parts: clear the gradient, backward (together with forward), and step. "Clear" can stand at
# several places. **Predict** which of these orders learn:
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
# In a network the optimiser clears the gradients: `optimizer.zero_grad()`. But it knows only the weights that you
# **give** to it. Here it does not get the bias:

# %%
w, b = sv.Weight(0.0, name="w"), sv.Weight(0.0, name="b")
sgd = optim.SGD([w], lr=0.1)
for k in range(3):
    sgd.zero_grad()
    ((w * 1.0 + b - 2.0) ** 2).backward()
    print(f"step {k + 1}: w.grad = {w.grad:.3f}   b.grad = {b.grad:.3f}")
    sgd.step()

# %% [markdown]
# The gradient of `w` gets smaller as the answer gets better. The box of `b` holds the sum of all three gradients,
# because nobody clears it. If an optimiser gets `b` later and steps before it clears, the first step of `b` is far too
# long.

# %% [markdown]
# ## When you want the sum
#
# A batch of many samples may be too large for the memory. Then cut it into portions. Call `backward()` for each
# portion, and take **one** step at the end. The box then holds the gradient of the whole batch.

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
# ## Live
#
# Here a line should go through three points. Each of its two weights adds up three gradients, one for each point. Run
# the cell, click the picture, and press **`.`** (full stop) to look inside a step. What happens first?

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
# **2. In parts.** Write the slopes of `f = w * w * x + w` with respect to `w` and to `x`, as you would on paper. At how
# many places is `w` used?


# %% tags=["exercise: in-parts"]
def slopes(w, x):
    return ..., ...


sv.check.exercise("05.2", slopes)


# %% [markdown]
# **3. The loop.** Write one step of training. `loss()` computes the loss again, as a Value. What else do you call, and
# in which order?


# %% tags=["exercise: the-loop"]
def step(optimizer, loss):
    ...
    loss().backward()
    ...


sv.check.exercise("05.3", step)

# %% [markdown]
# **4. Portions of a mean.** A batch of 12 samples is cut into 3 portions of 4. The loss of a portion is the **mean**
# over its 4 samples. By which number do you divide each portion's loss, so that the box holds the slope of the mean
# over all 12?

# %% tags=["exercise: portions"]
answer = ...
sv.check.exercise("05.4", answer)

# %% [markdown]
# ## To remember
#
# **Each weight has a box for its gradient. Every use adds to it. Clear it before the next step.**
