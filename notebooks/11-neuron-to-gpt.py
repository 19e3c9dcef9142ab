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
# A GPT reads a text and predicts what comes next. Large GPTs have more than a hundred billion weights. Our GPT has
# 1,264 weights and reads names letter by letter. It has the same kinds of parts as a large GPT.
#
# **The question of this lesson: what is in a GPT that is not in a neuron?**
#
# You need to know: layers (lesson 03), the chain rule (lesson 06). The lesson takes about 30 minutes.

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
# ## The parts of a GPT
#
# In the picture, each **plate** is a table of weights.

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
# In most plates, a row is one neuron: it multiplies and adds. An activation bends the result.
#
# **Predict:** does a GPT do anything **but** multiply, add and bend?
#
# ## Part 1: letters become numbers
#
# A letter is not a number: *b* is not twice *a*. So each letter has its own row of 8 numbers, its **embedding**. To
# read a letter, the GPT takes the row of this letter from a table.

# %%
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
table = nn.Embedding(27, 8, seed=1)
row = table(ALPHABET.index("m"))
print("m:", [f"{number.data:.2f}" for number in row])

# %% [markdown]
# **Predict:** we call `backward()` on a result that uses only this row. Which rows of the table get a gradient?

# %%
sum(number * number for number in row).backward()
touched = np.flatnonzero(abs(table.weight.grad).max(axis=1))
print("rows with a gradient:", [ALPHABET[k] for k in touched])

# %% [markdown]
# Only the row of *m* gets a gradient, because no other row was used. A second table, `position`, has a row for each
# place in the name: first, second, third letter. The GPT adds the row of the letter and the row of its place.
#
# ## Part 2: attention
#
# Which letter follows *m*? This depends on the letters before *m*. So every letter *looks at* itself and at all letters
# before it: the GPT mixes their numbers. Three plates compute three rows of numbers for each letter: its **query**
# (plate `q`), its **key** (plate `k`) and its **value** (plate `v`). The query says what this letter looks for, and the
# key says what this letter offers. The value contains the numbers that are mixed.
#
# The next cell compares one query with three keys:

# %%
query = [1.0, 0.5]
keys = {"e": [0.2, 0.1], "m": [2.0, 0.4], "m again": [0.5, 0.5]}
scores = [sum(a * b for a, b in zip(query, key, strict=True)) for key in keys.values()]
shares = sv.softmax(scores).data
for letter, score, share in zip(keys, scores, shares, strict=True):
    print(f"{letter:8} score {score:.2f}   share {share:.2f}")

# %% [markdown]
# A score is a sum of products, as in a neuron. But here the weights are the key of another letter. (Our GPT also
# divides each score by a fixed number, so that long rows do not give large scores.) `softmax` turns scores into shares:
# each share is `exp(score)`, divided by the sum of all `exp(score)`. Shares are positive and add up to 1.
#
# The letter takes the mean of all values, weighted with these shares. This is **attention**.

# %%
values = {"e": [1.0, 0.0], "m": [0.0, 1.0], "m again": [1.0, 1.0]}
taken = sum(share * np.array(value) for share, value in zip(shares, values.values(), strict=True))
print("taken:", taken.round(2))

# %% [markdown]
# <details>
# <summary>Attention as a formula, and the same in PyTorch</summary>
#
# The rows of $Q$, $K$ and $V$ are queries, keys and values, and $d$ is the length of a key. (The cells above leave out
# $\sqrt d$, so here `scale` is 1.)
#
# $$\operatorname{softmax}(s)_i = \frac{e^{s_i}}{\sum_j e^{s_j}}, \qquad \operatorname{attention}(Q, K, V) =
# \operatorname{softmax}\!\left(\frac{Q K^{\mathsf T}}{\sqrt d}\right) V$$
#
# ```python
# import torch
# from torch.nn.functional import scaled_dot_product_attention
#
# query = torch.tensor([[1.0, 0.5]])
# keys = torch.tensor([[0.2, 0.1], [2.0, 0.4], [0.5, 0.5]])
# values = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
# print(*(f"{share:.2f}" for share in (query @ keys.T).softmax(dim=1)[0]))  # 0.10 0.73 0.17
# taken = scaled_dot_product_attention(query[None], keys[None], values[None], scale=1.0)
# print(taken[0, 0].numpy().round(2))  # [0.27 0.9 ]
# ```
#
# </details>

# %% [markdown]
# Our GPT computes attention twice, in two **heads**. Each head uses 4 of the 8 numbers of each query, key and value. So
# the two heads can look for different things: one head for the last vowel, say, and the other for the start of the
# name.
#
# Each head returns 4 numbers, so together they return 8. The plate `o` (**output**) is a plain layer after the heads:
# each of its rows is a neuron that reads all 8 numbers. Without `o`, the first four of the eight numbers would depend
# only on head 0.
#
# ## Part 3: a hidden layer, and shortcuts
#
# `up` and `down` form a hidden layer, as in lesson 03. `up` turns 8 numbers into 32. An activation sets negative
# numbers to 0. `down` turns the 32 numbers into 8 again.
#
# Both the attention and the hidden layer have a **shortcut**: the result of the part is *added* to its input. A sum
# passes the gradient on unchanged, so through the shortcut the gradient reaches the input unchanged. (Before each part,
# the row of a letter is divided by the root of its mean square, so that its numbers stay near 1. This **norm** has no
# weights.)
#
# The next cell stacks 20 equal layers. It computes the slope of the final output with respect to the input, without and
# with shortcuts. **Predict** both slopes: below 1, about 1, or above 1?


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
# <details>
# <summary>The shortcut as a formula, and the same in PyTorch</summary>
#
# $f_l$ is the branch of layer $l$. Without shortcuts the slope is $\prod_l f_l'$. With shortcuts each factor gets a 1:
#
# $$h_{l+1} = h_l + f_l(h_l) \quad\Rightarrow\quad \frac{\partial h_{20}}{\partial h_0} =
# \prod_{l} \big(1 + f_l'(h_l)\big)$$
#
# ```python
# import torch
#
# def slope_through(shortcut):
#     x = h = torch.tensor(0.3, requires_grad=True)
#     for _ in range(20):
#         branch = torch.tanh(0.5 * h)
#         h = h + branch if shortcut else branch
#     h.backward()
#     return x.grad.item()
#
# print(f"{slope_through(False):.1e} {slope_through(True):.2f}")  # 9.3e-07 8.25
# ```
#
# </details>

# %% [markdown]
# Without a shortcut, each layer multiplies the slope by a half or less: the first layers would learn almost nothing.
# With a shortcut, the slope of each layer is 1 **plus** the slope of `branch`.

# %% [markdown]
# ## Part 4: what comes next
#
# `letters` turns the 8 numbers into 27 scores: one for each letter of the alphabet and one for the end of the name.
# `softmax` turns the scores into shares, the probabilities of the letters. The **loss** is
# `-log(share of the right letter)`.
#
# **Predict:** a GPT that knows nothing gives the same share to all 27 possibilities. What is its loss?

# %%
print(f"-log(1 / 27) = {-np.log(1 / 27):.3f}")
run.step()
print(f"our GPT, step 1: {run.loss:.3f}")

# %% [markdown]
# <details>
# <summary>The loss as a formula, and the same in PyTorch</summary>
#
# $t$ is the right letter. This loss is called *cross entropy*. Equal scores give the loss $\log 27$:
#
# $$L = -\log \operatorname{softmax}(s)_t = -\log \frac{e^{s_t}}{\sum_j e^{s_j}}$$
#
# ```python
# import torch
#
# scores = torch.zeros(1, 27)
# loss = torch.nn.functional.cross_entropy(scores, torch.tensor([0]))
# print(f"{loss.item():.3f}")  # 3.296
# ```
#
# </details>

# %% [markdown]
# Our GPT knows nothing yet. The next cell lets it invent names letter by letter. Each letter is drawn at random,
# according to the shares, and is added at the end of the name. (The scores are doubled before they become shares, so
# that likely letters are drawn even more often. This is called a *temperature* of one half.)


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
# A training step is the same as for one weight: clear the gradients, forward, backward, update. (The optimiser is Adam,
# which gives each weight its own step size.)

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
# Now the trained GPT reads *emma*. The next cell prints the shares of each head. Each row belongs to the letter that
# looks, and each column to the letter that it looks at. `.` is the start of the name. Each row adds up to 1. (Later
# letters get no score at all, so their share is 0.)

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
# In the last row, the final *a* looks most at *e* in head 0 (0.40), and most at the second *m* in head 1 (0.51). So the
# two heads find different things in one word. The plate `o` mixes both results.
#
# ## A test of the gradients
#
# Does a GPT really use the same chain rule as a single neuron? Here is a smaller GPT made of objects: every number is a
# `Value`, as in lesson 01b. This GPT reads *ema*. One call of `backward()` computes the gradients of all plates. Then
# we nudge one weight of each plate (change it a little) and compare the slopes.

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
# The slopes agree. A GPT only multiplies, adds and bends. (The bends are `exp`, `log`, a division, a root and a
# rectifier.) The chain rule works for any number of these operations.
#
# ## Live
#
# This is a larger GPT, with four heads. Run the cell, click an empty place of the picture, press **Space** to train,
# and watch which plates change first. The small grey maps show the attention of each head. Press **E** and type another
# name to see its maps. (A click on a plate shows one weight instead of the maps. Then **E** only says that this picture
# shows no word.)

# %%
sv.lesson("11")

# %% [markdown]
# ## Now you
#
# **1. Equal shares.** Four letters have the same score. Which share does each letter get?

# %% tags=["exercise: fair-shares"]
answer = ...
sv.check.exercise("11.1", answer)

# %% [markdown]
# **2. One half.** The network gives the right letter a share of one half. What is the loss?

# %% tags=["exercise: half-sure"]
answer = ...
sv.check.exercise("11.2", answer)


# %% [markdown]
# **3. The slope of the loss.** Two letters have the scores `a` and `b`; the letter with the score `a` is right. The
# loss is `log(exp(a) + exp(b)) - a`. Write its slopes with respect to `a` and `b`. (`share_a` is the share of the right
# letter.)


# %% tags=["exercise: loss-slopes"]
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a + ..., ...


sv.check.exercise("11.3", slopes)

# %% [markdown]
# **4. The number of weights.** The command `scalarviz microgpt --embd 32` shows a GPT with 32 numbers for each letter
# (not 8) and 16 places (not 8). `up` turns 32 numbers into four times 32. How many weights does this GPT have? (Use the
# list of plates above.)

# %% tags=["exercise: count"]
answer = ...
sv.check.exercise("11.4", answer)

# %% [markdown]
# ## To remember
#
# **A GPT consists of neurons, tables and weighted means. One call of `backward()` goes through all of them, with the
# same chain rule as for one weight.**
