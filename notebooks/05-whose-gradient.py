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
# Every training loop in the world has a line that seems to do nothing: `zero_grad()`. Leave it out, and no error is
# raised. The loss even falls, for a while.
#
# **The question of this lesson: why does a gradient have to be cleared, and by whom?**
#
# You need: forward, backward, step (lesson 01). It takes about 15 minutes.

# %%
import numpy as np

import scalarviz as sv
from scalarviz import optim

# %% [markdown]
# ## Predict first
#
# One weight `w = 1.5`, one sample: the input is 2, the answer should be 4. We call `backward()` **twice** and
# change nothing in between. What is `w.grad` after the first call, and after the second?

# %%
w = sv.Weight(1.5, name="w")
loss = (w * 2.0 - 4.0) ** 2
loss.backward()
print("after the first call: ", w.grad)
loss.backward()
print("after the second call:", w.grad)

# %% [markdown]
# The slope is `2 * (3 - 4) * 2 = -4`. It has not changed, nothing has. But `w.grad` says -8.
#
# So `w.grad` is not "the slope". It is a **box that belongs to the weight**, and `backward()` puts something *into*
# it. It does not ask what is in it already.

# %%
slope = 2 * (1.5 * 2 - 4) * 2
assert slope == -4
assert w.grad == 2 * slope

# %% [markdown]
# ## Why add at all?
#
# Because a weight is often used more than once. Here `y = w * 2 + w * 3`, so `y` is `5 * w`, and its slope is 5.
# It arrives in two parts.

# %%
w = sv.Weight(1.5, name="w")
y = w * 2.0 + w * 3.0
y.backward()
print("slope:", w.grad)
assert w.grad == 2 + 3
sv.draw(y)

# %% [markdown]
# **Predict:** what would be in the box if every part *replaced* what was there, instead of adding to it?

# %%
with sv.mistakes.overwrite():
    w = sv.Weight(1.5, name="w")
    (w * 2.0 + w * 3.0).backward()
    print("replaced:", w.grad)
    assert w.grad in (2, 3)

# %% [markdown]
# One of the two parts is lost. (Which one depends on who comes last.) A gradient check finds it at once:


# %%
def five_times(w):
    return w * 2.0 + w * 3.0


with sv.mistakes.overwrite():
    print("replacing:", bool(sv.gradcheck(five_times, 1.5)))
    assert not sv.gradcheck(five_times, 1.5)
print("adding:   ", bool(sv.gradcheck(five_times, 1.5)))
assert sv.gradcheck(five_times, 1.5)


# %% [markdown]
# ## Two samples share a weight
#
# The same happens with samples. The loss of two samples is the sum of their losses, so its slope is the sum of
# their slopes. Whether `backward()` is called once for the sum or once for each: the box holds the same.


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

# %%
assert together == w.grad == 2 * (1.5 * 2 - 4) * 2 + 2 * (1.5 * 1 - 3) * 1

# %% [markdown]
# So adding is right, as long as everything in the box is about **this** step. After the step the weight is another
# number. The old slopes were the slopes of another place: they have to go.
#
# ## What happens without it
#
# The loss is `(w - 2)**2`: the best `w` is 2. We begin at 0. Once we clear the box before every step, once never.
#
# **Predict:** what will the second one do? Stop early? Fly away? Something else?


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
# Back row: cleared, front row: never. With `zero_grad` the weight comes to 2 and stays. Without, it rushes past 2, up
# to 4, and comes all the way back to 0: it **swings**, and will do so for ever. The old slopes still pull at it when
# it is long past the place where they were true. A ball in a bowl without friction does the same.

# %%
assert abs(cleared[-1] - 2) < 0.01
assert 3.9 < never.max() < 4.1
assert abs(never[14]) < 0.1
swing = path(clear=False, steps=2000)
print(f"lowest and highest in the last 100 of 2000 steps: {swing[-100:].min():.2f} and {swing[-100:].max():.2f}")
assert swing[-100:].min() < 0.1
assert swing[-100:].max() > 3.9

# %% [markdown]
# This is why the mistake is hard to see: at first the loss falls **faster** than it should. Only later it rises
# again.

# %%
losses = {"cleared": (cleared - 2) ** 2, "never": (never - 2) ** 2}
for k in (0, 3, 7, 14):
    print(f"loss after {k:2} steps:", *(f"  {name} {loss[k]:.3f}" for name, loss in losses.items()))
assert losses["never"][3] < losses["cleared"][3]
assert losses["never"][7] > losses["cleared"][7]


# %% [markdown]
# ## Where does the line belong?
#
# Four lines: clear, forward, backward, step. There are several places for "clear". **Predict** which of these learn:
#
# * A: clear, backward, step
# * B: backward, step, clear
# * C: backward, clear, step


# %%
def end_of(order, steps=50):
    w = sv.Weight(0.0)
    for _ in range(steps):
        for deed in order.split():
            if deed == "clear":
                w.zero_grad()
            elif deed == "backward":
                ((w - 2.0) ** 2).backward()
            else:
                w.step(0.1)
    return w.data


# %%
for order in ("clear backward step", "backward step clear", "backward clear step"):
    print(f"{order:20} w = {end_of(order):.3f}")
assert abs(end_of("clear backward step") - 2) < 1e-3
assert end_of("backward step clear") == end_of("clear backward step")
assert end_of("backward clear step") == 0

# %% [markdown]
# A and B are the same. C throws the gradient away before anyone has used it: the weight never moves.
#
# ## By whom?
#
# In a network the optimiser clears: `optimizer.zero_grad()`. But it knows only the weights that it was **given**.
# Here it was not given the bias:

# %%
w, b = sv.Weight(0.0, name="w"), sv.Weight(0.0, name="b")
sgd = optim.SGD([w], lr=0.1)
for k in range(3):
    sgd.zero_grad()
    ((w * 1.0 + b - 2.0) ** 2).backward()
    print(f"step {k + 1}: w.grad = {w.grad:.3f}   b.grad = {b.grad:.3f}")
    sgd.step()

# %% [markdown]
# The gradient of `w` gets smaller as the answer gets better. That of `b` is the sum of all three: nobody clears it.
# If somebody gives `b` to an optimiser later, its first step is far too long.

# %%
assert b.data == 0
assert np.isclose(b.grad, -4 - 3.2 - 2.56)

# %% [markdown]
# ## And when adding is what you want
#
# A batch of many samples may be too large for the memory. Then it is cut into portions: `backward()` for each of
# them, and **one** step at the end. The box adds up what the whole batch would have given.

# %%
X, Y = [0.5, 1.0, 2.0, 3.0], [1.0, 2.0, 4.0, 6.0]
w = sv.Weight(0.0)
for portion in ([0, 1], [2, 3]):
    sum(loss_of(w, X[k], Y[k]) for k in portion).backward()
in_portions = w.grad
w.zero_grad()
sum(loss_of(w, x, y) for x, y in zip(X, Y, strict=True)).backward()
print("in two portions:", in_portions, "  at once:", w.grad)
assert np.isclose(in_portions, w.grad)

# %% [markdown]
# ## Live
#
# A line through three points; its two weights share three gradients. Run the cell and press **into a step**. What is
# the very first thing that happens?

# %%
sv.lesson("05")

# %% [markdown]
# ## Now you
#
# **1. Three times.** `w = 3` and `loss = w * w`. Someone calls `loss.backward()` three times and clears nothing.
# What is `w.grad`?


# %%
def in_the_box(calls):
    w = sv.Weight(3.0)
    loss = w * w
    for _ in range(calls):
        loss.backward()
    return w.grad


# %% tags=["exercise: three-times"]
answer = ...
sv.check.answer(
    answer,
    lambda: in_the_box(calls=3),
    hint="Every call finds the same gradient. What becomes of the one that is there already?",
)


# %% [markdown]
# **2. In parts.** Write the slopes of `f = w * w * x + w` by `w` and by `x`, as you would on paper. In how many
# places does `w` stand?


# %% tags=["exercise: in-parts"]
def slopes(w, x):
    return ..., ...


sv.check.gradient(slopes, of=lambda w, x: w * w * x + w)


# %% [markdown]
# **3. The loop.** One step of training. `loss()` computes the loss anew, as a Value. What else has to be called, and
# in which order?


# %% tags=["exercise: the-loop"]
def step(optimizer, loss):
    ...
    loss().backward()
    ...


sv.check.training(step)

# %% [markdown]
# **4. Portions of a mean.** A batch of 12 samples is cut into 3 portions of 4. The loss of a portion is the **mean**
# over its 4 samples. By which number does each portion's loss have to be divided, so that the box holds the slope of
# the mean over all 12?


# %%
def too_large():
    slopes = np.linspace(1, 2, 12)
    return sum(portion.mean() for portion in slopes.reshape(3, 4)) / slopes.mean()


# %% tags=["exercise: portions"]
answer = ...
sv.check.answer(answer, too_large, hint="By what is each portion divided already?")

# %% [markdown]
# ## To remember
#
# **A gradient is a box of the weight into which everyone adds; whoever makes the step has to empty it for the next.**
