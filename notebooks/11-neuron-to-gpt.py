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
# A GPT reads a text and says what comes next. The large ones have more than a hundred billion weights. Ours has 1,264
# weights and reads names letter by letter. It has the same kinds of parts.
#
# **The question of this lesson: what is in a GPT that is not in a neuron?**
#
# You need to know: layers (lesson 03), the chain rule (lesson 06). The lesson takes about 20 minutes.

# %%
import numpy as np
from scalarviz.scenes import microgpt

import scalarviz as sv
from scalarviz import nn
from scalarviz.run import Moment


# %%
def show(x, size=(640, 430), **options):
    return sv.view.picture(x, size, **options)


# %% [markdown]
# ## All its parts
#
# In the picture, each **plate** is a table of weights. You know most of these parts already.

# %%
options = microgpt.Options(embd=8, heads=2, context=8, batch=32, steps=1500, dtype="float64")
scene = microgpt.build(options)
run = scene.run
show(scene)

# %%
for tensor in run.tensors:
    print(f"{tensor.name:22} {tensor.shape[0]:3} x {tensor.shape[1]:2} = {tensor.size:4}")
print("weights:", len(run.values))

# %% [markdown]
# **Predict:** a row of such a plate is one neuron: it multiplies and adds. Does a GPT do anything **but** multiply, add
# and bend?
#
# ## Part 1: letters become numbers
#
# A letter is not a number: *b* is not twice *a*. So each letter has its own row of 8 numbers, its **embedding**. To
# read a letter, the GPT takes the row of this letter.

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

# %% [markdown]
# Only the row of *m* gets a gradient, because no other row was used. A second table, `position`, has a row for each
# place in the name: first, second, third letter. The GPT adds the row of the letter and the row of its place.
#
# ## Part 2: looking back
#
# What comes after *m* depends on what stood before it. So every letter looks at itself and at all letters before it.
# Three plates make three rows of numbers for each letter: `q`, its **query** (what it looks for); `k`, its **key**
# (what it offers to queries); `v`, its **value** (what others take from it).

# %%
query = [1.0, 0.5]
keys = {"e": [0.2, 0.1], "m": [2.0, 0.4], "m again": [0.5, 0.5]}
scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys.values()]
shares = [share.data for share in sv.softmax([sv.Value(score) for score in scores])]
for letter, score, share in zip(keys, scores, shares, strict=True):
    print(f"{letter:8} score {score:.2f}   share {share:.2f}")

# %% [markdown]
# A score is a sum of products of a query and a key. So it is a neuron whose weights are the numbers of another letter.
# (A real score is also divided by a fixed number, so that it does not grow with the length of the rows.) `softmax`
# turns scores into shares: each share is `exp(score)`, divided by the sum of all `exp(score)`. Shares are positive and
# add up to 1.
#
# The letter takes the mean of all values, weighted with these shares. This is **attention**.

# %%
values = {"e": [1.0, 0.0], "m": [0.0, 1.0], "m again": [1.0, 1.0]}
taken = sum(share * np.array(value) for share, value in zip(shares, values.values(), strict=True))
print("taken:", taken.round(2))

# %% [markdown]
# Our GPT does this twice side by side, in two **heads**. A head uses 4 of the 8 numbers of each query, key and value.
# So the two heads can look for two different things: one for the last vowel, say, and the other for the start of the
# name.
#
# Each head gives 4 numbers, so together they give 8. The plate `o` (**output**) is a plain layer after the heads: each
# of its rows is a neuron that reads all 8. Without `o`, the first four numbers would depend only on head 0. After
# training you will see what the heads look at.
#
# ## Part 3: a hidden layer, and shortcuts
#
# `up` and `down` form a hidden layer, as in lesson 03. `up` turns 8 numbers into 32. The activation sets negative
# numbers to 0. `down` turns the 32 numbers into 8 again.
#
# Both the attention and the hidden layer have a **shortcut**: the result of the part is *added* to its input. A sum
# passes the gradient on unchanged, so there is a path back on which nothing is multiplied. (Before each part, a row is
# divided by the root of its mean square, so that its numbers stay near 1. This **norm** has no weights.)
#
# Here are 20 layers with the same weight and activation, first without shortcuts, then with them. **Predict** the slope
# through all layers in both cases: below 1, about 1, or above 1?


# %%
def slope_through(layers, shortcut):
    x = sv.Value(0.3)
    h = x
    for _ in range(layers):
        branch = (0.5 * h).tanh()
        h = h + branch if shortcut else branch
    h.backward()
    return x.grad


print(f"20 layers without shortcuts: {slope_through(20, shortcut=False):.1e}")
print(f"20 layers with shortcuts:    {slope_through(20, shortcut=True):.2f}")

# %% [markdown]
# Without a shortcut the slope shrinks to a half or less in every layer: the first layers would learn nothing. With a
# shortcut the slope of each layer is 1 **plus** the slope of its branch.

# %% [markdown]
# ## Part 4: what comes next
#
# `letters` turns the 8 numbers into 27 scores, one for each letter and one for "the name ends here". `softmax` turns
# them into shares: how likely each letter is. The **loss** is `-log(share of the right letter)`.
#
# **Predict:** someone who knows nothing gives every letter the same share. What is the loss then?

# %%
print(f"-log(1 / 27) = {-np.log(1 / 27):.3f}")
run.step()
print(f"our GPT, step 1: {run.loss:.3f}")


# %% [markdown]
# Our GPT knows nothing yet. Let it invent names, letter by letter. Each letter is drawn at random, according to the
# shares, and added at the end. (The scores are doubled before they become shares, so that likely letters are drawn even
# more often. This is called a *temperature* of one half.)


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
# The loop is the same as for one weight: clear, forward, backward, step. (The optimiser is Adam, which gives each
# weight its own step size.)

# %%
run.step(1499)
print(f"loss {run.loss:.2f}")
print(*(invent(seed) for seed in range(8)), sep=", ")

# %%
show(scene)

# %% [markdown]
# Some of these names exist, and others could exist: vowels and consonants alternate as in real names. Nobody told the
# GPT what a vowel is.
#
# ## Who looks at whom
#
# Now read *emma* with the trained weights. Each row belongs to the letter that looks. Each column belongs to the letter
# that it looks at. `.` is the start of the name. Each row adds up to 1. A letter cannot look at later letters, so these
# places are 0.

# %%
WORD = ".emma"
ids = [26, *(ALPHABET.index(letter) for letter in WORD[1:])]
maps = microgpt.read(Moment(run.frame(), run), ids, heads=2, layers=1).attention
for head, shares_of in enumerate(maps):
    print(f"head {head}  " + "     ".join(WORD))
    for letter, row in zip(WORD, shares_of, strict=True):
        print(f"    {letter}  ", "  ".join(f"{share:.2f}" for share in row))

# %%
show({f"head {head}: who looks (rows) at whom": each for head, each in enumerate(maps)}, size=(640, 370))

# %% [markdown]
# Look at the last row, the final *a*. Head 0 looks mostly at *e*, and head 1 at the second *m*. So the two heads find
# different things in one word. `o` mixes both.
#
# ## Is it really the same chain rule?
#
# Here is a smaller GPT made of objects: every number is a `Value`, as in lesson 01b. It reads *ema*. One call of
# `backward()` goes through all parts. Then we nudge one weight of each plate.

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

# %% [markdown]
# A GPT has products, sums, and a few bends (`exp`, a root, a rectifier). There is nothing else in it. The chain rule
# works for any number of these operations.
#
# ## Live
#
# This is a larger GPT, with 4,192 weights and four heads. Run the cell, click the picture, press **Space**, and watch
# which plates change first. The small maps show the attention of each head. Press **E** and type another name to see
# who looks at whom.

# %%
sv.lesson("11")

# %% [markdown]
# ## Now you
#
# **1. Fair shares.** Four letters have the same score. Which share does each get?

# %% tags=["exercise: fair-shares"]
answer = ...
sv.check.exercise("11.1", answer)

# %% [markdown]
# **2. Half sure.** The network gives the right letter a share of one half. What is the loss?

# %% tags=["exercise: half-sure"]
answer = ...
sv.check.exercise("11.2", answer)


# %% [markdown]
# **3. The slope of the loss.** Two letters have the scores `a` and `b`; the first is right. The loss is
# `log(exp(a) + exp(b)) - a`. Write both slopes. They are very simple if you write them with the shares.


# %% tags=["exercise: loss-slopes"]
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a + ..., ...


sv.check.exercise("11.3", slopes)

# %% [markdown]
# **4. Count.** The scene `scalarviz microgpt` has 16 numbers for each letter, not 8, and 16 places. `up` makes four
# times 16 numbers. How many weights does this GPT have? (Go through the plates above.)

# %% tags=["exercise: count"]
answer = ...
sv.check.exercise("11.4", answer)

# %% [markdown]
# ## To remember
#
# **A GPT consists of neurons, tables and weighted means, and one call of backward goes through all of them by the rule
# for one weight.**
