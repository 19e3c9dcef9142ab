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
# # From a neuron to a GPT
#
# A GPT reads a text and says what comes next. The large ones have more than a hundred thousand million weights. Ours
# has 1,264, reads names letter by letter, and has the same kinds of parts.
#
# **The question of this lesson: what is in a GPT that is not in a neuron?**
#
# You need: layers (lesson 03), the chain rule (lesson 06). It takes about 20 minutes.

# %%
import numpy as np
from scalarviz.scenes import microgpt

import scalarviz as sv
from scalarviz import nn


# %%
def show(x, size=(760, 510), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## All its parts
#
# Each plate is a table of weights. You know most of them already.

# %%
options = microgpt.Options(embd=8, heads=2, context=8, batch=32, steps=1500, dtype="float64")
scene = microgpt.build(options)
run = scene.run
show(scene)

# %%
for tensor in run.tensors:
    print(f"{tensor.name:22} {tensor.shape[0]:3} x {tensor.shape[1]:2} = {tensor.size:4}")
print("weights:", len(run.values))
assert len(run.values) == 1264

# %% [markdown]
# **Predict:** a row of such a plate is one neuron: it multiplies, and adds up. Is there anything in a GPT that is
# **not** multiplying, adding and bending?
#
# ## Part 1: letters become numbers
#
# A letter is no number: *b* is not twice *a*. So each letter gets a row of its own, of 8 numbers: an **embedding**.
# Reading a letter is nothing but taking its row.

# %%
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
table = nn.Embedding(27, 8, seed=1)
row = table(ALPHABET.index("m"))
print("m:", [f"{number.data:.2f}" for number in row])

# %% [markdown]
# **Predict:** we go backward from this row. Which weights of the table get a gradient?

# %%
sum(number * number for number in row).backward()
touched = np.flatnonzero(abs(table.weight.grad).max(axis=1))
print("rows with a gradient:", [ALPHABET[k] for k in touched])
assert list(touched) == [ALPHABET.index("m")]

# %% [markdown]
# Only those that were used. A second table, `position`, does the same for the place: first, second, third letter. The
# two rows are added.
#
# ## Part 2: looking back
#
# What comes after *m* depends on what stood before it. So every letter asks all letters before it, and itself:
# **who is of interest to me?** Three plates make three rows of a letter: `q`, its question; `k`, what it offers to
# questions; `v`, what it hands over.

# %%
question = [1.0, 0.5]
offers = {"e": [0.2, 0.1], "m": [2.0, 0.4], "m again": [0.5, 0.5]}
scores = [sum(a * b for a, b in zip(question, offer, strict=True)) for offer in offers.values()]
shares = [share.data for share in sv.softmax([sv.Value(score) for score in scores])]
for letter, score, share in zip(offers, scores, shares, strict=True):
    print(f"{letter:8} score {score:.2f}   share {share:.2f}")
assert np.isclose(sum(shares), 1)

# %% [markdown]
# The score is a sum of products: a neuron whose weights are another letter's numbers. (A real one is also divided by a
# fixed number, so that scores do not grow with the length of the rows.) `softmax` turns scores into
# shares: each becomes `exp(score)`, divided by the sum of all. They are positive and add up to 1.
#
# What the letter takes is the mean of all `v`, weighted with these shares. That is all that **attention** is.

# %%
values = {"e": [1.0, 0.0], "m": [0.0, 1.0], "m again": [1.0, 1.0]}
taken = sum(share * np.array(value) for share, value in zip(shares, values.values(), strict=True))
print("taken:", taken.round(2))
assert (taken > 0).all()
assert (taken < 1).all()

# %% [markdown]
# ## Part 3: thinking it over
#
# `up` and `down` are a hidden layer, as in lesson 03: 8 numbers become 32, are bent (what is negative becomes 0), and
# become 8 again.
#
# And twice there is a **shortcut**: what a part computes is *added* to what went in. So the gradient has a way back on
# which nothing is multiplied: a sum hands it on as it is. (Before each part a row is divided by the root of its mean
# square, so that its numbers stay about as large as 1: a **norm**. It has no weights.)

# %%
x = sv.Value(0.3)
far = x
for _ in range(20):
    far = (0.5 * far).tanh()
far.backward()
print(f"20 layers without shortcuts: {x.grad:.1e}")
alone, x = x.grad, sv.Value(0.3)
far = x
for _ in range(20):
    far = far + 0.1 * (0.5 * far).tanh()
far.backward()
print(f"20 layers with shortcuts:    {x.grad:.2f}")

# %%
assert alone < 1e-5
assert x.grad > 1

# %% [markdown]
# ## Part 4: what comes next
#
# `letters` turns the 8 numbers into 27 scores, one for each letter and one for "the name ends here". `softmax` again
# makes shares of them: how likely it holds each letter. The **loss** is `-log(share of the right one)`.
#
# **Predict:** someone who knows nothing gives every letter the same share. What is that loss?

# %%
print(f"-log(1 / 27) = {-np.log(1 / 27):.3f}")
run.step()
print(f"our GPT, step 1: {run.loss:.3f}")
assert abs(run.loss - np.log(27)) < 0.1


# %% [markdown]
# It knows nothing yet. Let it invent names, letter by letter: each is drawn by lot and put behind the others. (The
# scores are doubled before they become shares, so that likely letters are drawn even more often. Those who build
# chatbots call that a *temperature* of one half.)


# %%
def invent(seed):
    rng, ids = np.random.default_rng(seed), [26]
    while len(ids) < 8:
        scores = run.predict([ids + [0] * (8 - len(ids))])[0].reshape(8, 27)[len(ids) - 1]
        likely = np.exp(2 * (scores - scores.max()))
        ids.append(int(rng.choice(27, p=likely / likely.sum())))
        if ids[-1] == 26:
            break
    return "".join(ALPHABET[k] for k in ids[1:] if k < 26)


print(*(invent(seed) for seed in range(8)), sep=", ")

# %% [markdown]
# ## Training
#
# The same loop as for one weight: clear, forward, backward, step. (The optimiser is Adam, which gives each weight a
# step size of its own.)

# %%
run.step(1499)
print(f"loss {run.loss:.2f}")
print(*(invent(seed) for seed in range(8)), sep=", ")
assert run.loss < 2.6

# %%
show(scene)

# %% [markdown]
# Some of these names exist, others could: vowels and consonants take turns as they do in names. Nobody told it what a
# vowel is.
#
# ## Is it really the same chain rule?
#
# A smaller one, of objects: every number a `Value`, as in lesson 01. It reads *ema*. One `backward()` goes through all
# parts; then we nudge one weight of each plate.

# %%
tiny = microgpt.GPT(tokens=27, context=4, embd=4, heads=2, layers=1, seed=0)
word, follows = [26, 4, 12, 0], [4, 12, 0, 26, 0.25, 0.25, 0.25, 0.25]


def loss_of_word():
    return microgpt.next_letter(tiny(word), follows)


loss = loss_of_word()
loss.backward()
print(f"loss {loss.data:.3f}")


# %%
def nudged(weight, h=1e-5):
    at, ends = weight.data, []
    for side in (h, -h):
        weight.data = at + side
        ends.append(loss_of_word().data)
    weight.data = at
    return (ends[0] - ends[1]) / (2 * h)


# %%
for parameter in tiny.parameters():
    row, column = np.unravel_index(np.argmax(abs(parameter.grad)), parameter.shape)
    weight = parameter[row][column]
    print(f"{weight.name:26} backward {weight.grad:9.5f}   nudged {nudged(weight):9.5f}")
    assert abs(weight.grad - nudged(weight)) < 1e-7

# %% [markdown]
# Products, sums, and a few bends (`exp`, a root, a rectifier). There is nothing else in it, and the chain rule does not
# care how many there are.
#
# ## Live
#
# The larger one, with 4,192 weights. Run the cell, press **run**, and watch which plates change first.

# %%
sv.lesson("11")

# %% [markdown]
# ## Now you
#
# The next cell is for the checks alone.


# %%
def loss_of_scores(*scores):
    return nn.CrossEntropyLoss()([sv.Value(score) for score in scores], 0).data


def weights_of_the_scene():
    return len(microgpt.build(microgpt.Options()).run.values)


# %% [markdown]
# **1. Fair shares.** Four letters have the same score. Which share does each get?

# %% tags=["exercise: fair-shares"]
answer = ...
sv.check.answer(
    answer,
    lambda: sv.softmax([sv.Value(1.7) for _ in range(4)])[0].data,
    hint="What do the four shares make together? And is any letter preferred?",
)

# %% [markdown]
# **2. Half sure.** The network gives the right letter a share of one half. What is the loss?

# %% tags=["exercise: half-sure"]
answer = ...
sv.check.answer(answer, lambda: loss_of_scores(0.3, 0.3), hint="np.log is there for you.")


# %% [markdown]
# **3. The slope of the loss.** Two letters have the scores `a` and `b`, the right one is the first. The loss is
# `log(exp(a) + exp(b)) - a`. Write both slopes. They become very simple with the shares.


# %% tags=["exercise: loss-slopes"]
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a + ..., ...


sv.check.gradient(slopes, of=lambda a, b: sv.log(sv.exp(a) + sv.exp(b)) - a)

# %% [markdown]
# **4. Count.** The scene `scalarviz microgpt` has 16 numbers a letter in the place of 8, and 16 places; `up` and `down`
# have four times 16 units. How many weights has it? (Go through the plates above.)

# %% tags=["exercise: count"]
answer = ...
sv.check.answer(answer, weights_of_the_scene, hint="q, k, v and o are 16 x 16 each.")

# %% [markdown]
# ## To remember
#
# **A GPT is made of neurons, tables and weighted means, and one backward goes through all of them by the rule of one
# weight.**
