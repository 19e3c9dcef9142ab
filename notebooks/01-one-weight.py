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
# A neural network is made of numbers that are called **weights**. Training changes them, a little at a time,
# until the network's answers fit. This notebook does it by hand: first with one weight, then with a perceptron,
# then with a small network, and looks at the weights while they change.
#
# **The question of this lesson: how does a weight find out which way to go?**
#
# You need to know what the *slope* of a line is. Run the cells from top to bottom. Sections 1 to 6 and the exercises
# take about 20 minutes; sections 7 to 10, from one weight to twelve, are a second lesson of 20 minutes.

# %%
import timeit

import numpy as np

import scalarviz as sv
from scalarviz import nn, optim
from scalarviz.run import Scene

# %% [markdown]
# Pictures are drawn by `sv.view.picture`.


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
assert y == -3.0 * 2.0

# %% [markdown]
# In a picture a weight is a cube. Its colour is its value, and the bar below says which colour is which number:
# orange is negative, white is zero, blue is positive.

# %%
show(w, size=(240, 360))

# %% [markdown]
# ## 2. The question: what if the weight were a little larger?
#
# Change `w` by a tiny amount, and see by how much `y` changes. Change of `y` divided by change of `w` is a slope.
# The same for `x`.

# %%
nudge = 0.001
by_w = ((w.data + nudge) * x - w.data * x) / nudge
by_x = (w.data * (x + nudge) - w.data * x) / nudge
print(f"slope of y by w = {by_w:.4f}, by x = {by_x:.4f}")
assert np.isclose(by_w, x)
assert np.isclose(by_x, w.data)

# %% [markdown]
# That is the rule for every product: **the slope of `w * x` by `w` is `x`**, and its slope by `x` is `w`.
# Such a slope is called a **derivative**.
#
# **Predict:** `y` is -6 and should be 4. Does `w` have to rise or to fall? Write it down; section 4 tells.
#
# ## 3. Backward: the weight is told the slope
#
# We want `y` to be 4. How wrong it is, is one number, the **loss**: here the squared error `(y - 4)**2`.
# Its slope by `y` is `2 * (y - 4)`.

# %%
target = 4.0
loss = (y - target) ** 2
upstream = 2 * (y - target)
nudged = ((y + nudge) - target) ** 2
print(f"loss = {loss}, slope of the loss by y = {upstream}")
assert abs((nudged - loss) / nudge - upstream) < 0.01

# %% [markdown]
# `w.backward(upstream)` hands this slope to the weight. The weight remembered its input `x`, and multiplies:
#
# slope of the loss by `w` = (slope of the loss by `y`) × (slope of `y` by `w`) = `upstream * x`
#
# Multiplying the slopes along the way is the **chain rule**. The result is the **gradient**, `w.grad`.
# What `backward` returns is the slope of the loss by the input `x`, for whatever came before this weight.

# %%
to_input = w.backward(upstream)
print(f"w.grad = {w.grad}, handed on to the input: {to_input}")
assert w.grad == upstream * x == -40.0
assert to_input == upstream * w.data

# %% [markdown]
# ## 4. Step: against the slope
#
# The gradient is negative: the loss falls when `w` rises. So `w` must rise. **Gradient descent** takes a small
# step against the slope: `w = w - lr * grad`. The factor `lr` is called the **learning rate**.

# %%
w.step(lr=0.05)
y = w.forward(x)
print(f"w = {w.data}, y = {y}, loss = {(y - target) ** 2}")
assert w.data == -3.0 - 0.05 * -40.0
assert (y - target) ** 2 < loss

# %% [markdown]
# ## 5. Zero the gradient
#
# `backward` *adds* to `w.grad`. That is useful when many samples share a weight: their gradients are summed.
# Before the next step, the old sum has to go: `zero_grad`.

# %%
w.backward(2 * (y - target))
print("added up:", w.grad)
assert w.grad == -40.0 + 2 * (y - target) * x
w.zero_grad()
print("after zero_grad:", w.grad)
assert w.grad == 0.0

# %% [markdown]
# ## 6. Gradient descent
#
# The four calls, repeated, are the whole training.

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
# `w` comes to 2, because `2 * 2 = 4`. Each step leaves 0.6 of the distance to go.

# %%
assert abs(w.data * x - target) < 1e-5
for k, value in enumerate(path):
    assert np.isclose(value - 2, -5 * 0.6**k)
print(f"w * x = {w.data * x:.5f}")

# %% [markdown]
# The same weight before the first step and after each of the next five, as cubes:

# %%
show({"w after 0 to 5 steps": path[:6]}, size=(560, 300))

# %% [markdown]
# The learning rate matters. **Predict:** with a rate of 0.3, which is six times as large, is it there six times sooner?

# %%
w = sv.Weight(-3.0, name="w")
for _ in range(5):
    w.zero_grad()
    y = w.forward(x)
    w.backward(2 * (y - target))
    w.step(lr=0.3)
    print(f"w = {w.data:7.3f}   distance to 2 = {abs(w.data - 2):.3f}")
assert abs(w.data - 2) > 5

# %% [markdown]
# Each step jumps over the goal, and lands farther away than before.
#
# ## Live
#
# The same weight, with its loss drawn over it. Run the cell and press **step** a few times: the ball is the weight, the
# violet line the slope that moved it. Then press **restart**, type 0.3 as the learning rate, and step again.

# %%
sv.lesson("01")

# %% [markdown]
# ## Now you
#
# Where a cell has a `...`, put your answer there and run the cell: it says whether it is right, and what is wrong. The
# next cell is for the checks alone.


# %%
def gradient_of(w, x, target):
    weight = sv.Weight(w)
    weight.backward(2 * (weight.forward(x) - target))
    return weight.grad


def rate_for_one_step():
    return (-3 - 2) / gradient_of(-3.0, 2.0, 4.0)


# %% [markdown]
# **1. By hand.** `w = 1`, `x = 3`, and `y` should be 0. The loss is `(y - 0)**2`. What is the gradient of `w`?

# %% tags=["exercise: by-hand"]
answer = ...
sv.check.answer(answer, lambda: gradient_of(1.0, 3.0, 0.0), hint="First the slope of the loss by y, then times what?")


# %% [markdown]
# **2. The rule.** Write what `w * x` hands on to `w` and to `x`, if `upstream` is the slope of the loss by the product.


# %% tags=["exercise: product-rule"]
def rule(w, x, upstream):
    return ..., ...


sv.check.backward(rule, of="mul")

# %% [markdown]
# **3. In one step.** At `w = -3` (with `x = 2` and the target 4) the gradient is -40. With which learning rate does a
# single step lead to 2?

# %% tags=["exercise: one-step"]
answer = ...
sv.check.answer(answer, rate_for_one_step, hint="How far is it? And how far is 1 times 40?")

# %% [markdown]
# ## To remember
#
# **A weight multiplies; its gradient is what comes from above times what went in, and a step goes against it.**
#
# Here the first lesson ends.

# %% [markdown]
# ## The second lesson: twelve weights
#
# ## 7. A perceptron
#
# A **perceptron** has several weights and one more number, the **bias**. It adds up the products and the bias to
# a sum `z`, and sends `z` through an **activation** function. Ours is the **sigmoid**, `1 / (1 + e**-z)`, which is
# always between 0 and 1.

# %%
inputs, wanted = [0.9, 0.5, 0.1], 0.1
w = [sv.Weight(0.8, name="w0"), sv.Weight(-0.4, name="w1"), sv.Weight(0.3, name="w2")]
b = sv.Weight(0.2, name="bias")
z = w[0] * inputs[0] + w[1] * inputs[1] + w[2] * inputs[2] + b
out = z.sigmoid()
loss = (out - wanted) ** 2
print(f"z = {z.data:.4f}, output = {out.data:.4f}, loss = {loss.data:.4f}")
assert np.isclose(out.data, 1 / (1 + np.exp(-(0.8 * 0.9 - 0.4 * 0.5 + 0.3 * 0.1 + 0.2))))
assert all(0 < sv.Value(v).sigmoid().data < 1 for v in (-30, 0, 30))

# %% [markdown]
# This time nothing was called by hand: `z`, `out` and `loss` are values that remember how they were computed. One call
# of `loss.backward()` applies the chain rule all the way back to the weights.

# %%
loss.backward()
for weight in [*w, b]:
    print(f"{weight.name}: value {weight.data:+.4f}, gradient {weight.grad:+.4f}")

# %% [markdown]
# ### The chain rule with the numbers filled in
#
# Three slopes lie on the way from the loss to `w0`. The slope of the sigmoid is `out * (1 - out)`.

# %%
by_output = 2 * (out.data - wanted)
by_sum = out.data * (1 - out.data)
by_weight = inputs[0]
product = by_output * by_sum * by_weight
print(f"{by_output:.4f} * {by_sum:.4f} * {by_weight} = {product:.4f}")
assert np.isclose(product, w[0].grad)

# %% [markdown]
# For `w1` and `w2` only the last factor differs, and for the bias it is 1. A step against these gradients makes the
# loss smaller:

# %%
for weight, last in zip([*w, b], [*inputs, 1.0], strict=True):
    assert np.isclose(weight.grad, by_output * by_sum * last)
    weight.step(lr=1.0)
z = w[0] * inputs[0] + w[1] * inputs[1] + w[2] * inputs[2] + b
print(f"loss before {loss.data:.4f}, after {(z.sigmoid().data - wanted) ** 2:.4f}")
assert (z.sigmoid().data - wanted) ** 2 < loss.data

# %% [markdown]
# `nn.Perceptron` is the same thing ready-made:

# %%
unit = nn.Perceptron(3, activation=nn.Sigmoid())
unit.weight.data = [weight.data for weight in w]
unit.bias.data = b.data
print(f"output = {unit(inputs).data:.4f}")
assert np.isclose(unit(inputs).data, z.sigmoid().data)

# %% [markdown]
# ## 8. A gradient check
#
# Is a gradient right? Section 2 had a test for it: nudge, and look. Nudging to both sides makes it more exact.
# This is called a **finite difference**.


# %%
def loss_of(w0, w1, w2, bias):
    z = w0 * inputs[0] + w1 * inputs[1] + w2 * inputs[2] + bias
    return (z.sigmoid() - wanted) ** 2


high = loss_of(sv.Value(0.8 + nudge), -0.4, 0.3, 0.2).data
low = loss_of(sv.Value(0.8 - nudge), -0.4, 0.3, 0.2).data
print(f"nudged: {(high - low) / (2 * nudge):.6f}   chain rule: {product:.6f}")
assert abs((high - low) / (2 * nudge) - product) < 1e-6

# %% [markdown]
# `sv.gradcheck` does this for every argument of a function. It finds mistakes: a chain rule that forgets the slope of
# the sigmoid gives a number that is far off.

# %%
check = sv.gradcheck(loss_of, 0.8, -0.4, 0.3, 0.2)
print("gradients agree:", bool(check))
print("largest error below 1e-9:", check.error < 1e-9)
assert check
forgotten = by_output * by_weight
print(f"without the sigmoid's slope: {forgotten:.4f} instead of {check.numeric[0]:.4f}")
assert abs(forgotten - check.numeric[0]) > 0.1

# %% [markdown]
# ## 9. Twelve weights: a network
#
# Three perceptrons side by side that look at the same three inputs are a **layer**: 9 weights and 3 biases.
# Its task: invert a colour. Red, green and blue go in as numbers from 0 to 1, and `1 - x` should come out of each.

# %%
net = nn.Network(3, 3, activation=nn.Sigmoid(), loss=nn.MSELoss())
net.initialize(nn.init.uniform(0, 1), seed=0)
levels = np.linspace(0, 1, 6)
colours = np.array([[r, g, b] for r in levels for g in levels for b in levels])
print(net)
print(len(colours), "colours to learn from")
assert ((net[0].weight.data >= 0) & (net[0].weight.data <= 1)).all()

# %% [markdown]
# The gradient of one weight, as in section 7: every colour adds its share, and the sum is divided by the number of
# colours. `MSELoss` is the **mean squared error** over the three outputs.

# %%
for colour in colours:
    loss = nn.MSELoss()(net(list(colour)), list(1 - colour))
    loss.backward(1 / len(colours))
by_hand = net[0].weight[0][0].grad
print(f"gradient of {net[0].weight[0][0].name} = {by_hand:.6f}")

# %% [markdown]
# A `Run` does the same steps for all weights at once. A `Scene` says what to show beside the cubes: here one
# orange colour on its way through the network, and its target.

# %%
sgd = optim.SGD(net.parameters(), lr=0.5)
data = (colours, 1 - colours)
run = sv.Run(net, nn.MSELoss(), sgd, data=data, engine="numpy", dtype="float64")
orange, names = np.array([0.9, 0.5, 0.1]), ("r", "g", "b")
scene = Scene("invert", run, orange, 1 - orange, names, names, panels=())
show(scene)

# %% [markdown]
# Before training. A row of cubes is one perceptron: its three weights, its bias, its sum and its output. The weights
# start as random numbers between 0 and 1, the biases at 0; orange should become blue, and becomes grey.
#
# One step, and then the same cubes coloured by the **gradient** of that step. The bar is logarithmic here, because
# gradients can be of very different size.

# %%
start = net[0].weight.data.copy()
run.step()
assert np.isclose(net[0].weight[0][0].grad, by_hand)
assert np.allclose(net[0].weight.data, start - 0.5 * net[0].weight.grad)
print(f"gradient of {net[0].weight[0][0].name} = {net[0].weight[0][0].grad:.6f}, as by hand")
show(scene, quantity="gradient")

# %% [markdown]
# All gradients are positive, that is, the loss would rise with every weight. So the step has lowered them all. Now the
# remaining steps, up to 3000:

# %%
assert (net[0].weight.grad > 0).all()
assert (net[0].weight.data < start).all()
first = run.loss
run.step(2999)
print(f"loss after step 1: {first:.4f}, after step {run.steps}: {run.loss:.4f}")
assert run.loss < 0.04 * first
show(scene)

# %% [markdown]
# The network found what inverting is. The weight from red to red is strongly negative: more red in, less red out. So
# are green to green and blue to blue; the other six weights are almost zero (a colour does not depend on the others).
# Positive biases make black almost white. And orange becomes blue:

# %%
weights, biases = net[0].weight.data, net[0].bias.data
print(weights.round(2))
print("biases", biases.round(2))
print("orange", orange, "->", run.predict([orange])[0].round(2))
assert (np.diag(weights) < -4).all()
assert (abs(weights[~np.eye(3, dtype=bool)]) < 0.3).all()
assert (run.predict([[0, 0, 0]]) > 0.8).all()

# %% [markdown]
# ## 10. What it is not
#
# **It is not exact.** Inverting is a straight line, a sigmoid is an S: one layer comes near, and no nearer than its
# shape allows. It did not "understand" colours; it made one number, the loss, small.

# %%
worst = abs(run.predict(colours) - (1 - colours)).max()
print(f"largest error of an output: {worst:.2f}")
assert 0.05 < worst < 0.25

# %% [markdown]
# **It is not enough for everything.** Take the task "one or the other, but not both" (XOR), with the answers
# 0, 1, 1, 0.

# %%
X, Y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]


def answers(model, parameters):
    sgd = optim.SGD(parameters, lr=0.5)
    with sv.Run(model, nn.MSELoss(), sgd, data=(X, Y), engine="numpy", dtype="float64") as run:
        run.step(5000)
        return run.predict(X).ravel().round(1)


# %% [markdown]
# A single perceptron ends at 0.5, the answer of someone who does not know.

# %%
one = nn.Perceptron(2, activation=nn.Sigmoid(), seed=0)
found = answers(one, [one.weight, one.bias])
print("one perceptron:", found)
assert (found == 0.5).all()

# %% [markdown]
# A second layer, with an activation between the two, solves it:

# %%
two = nn.Sequential(nn.Linear(2, 4, seed=1), nn.Tanh(), nn.Linear(4, 1, seed=2), nn.Sigmoid())
found = answers(two, two.parameters())
print("two layers:", found)
assert (found == Y).all()

# %% [markdown]
# **Objects are not how a large network is trained.** One object for every number is easy to understand, and slow. The
# `Run` computed all 216 colours together: the same numbers in less time.


# %%
def by_objects():
    return np.array([[value.data for value in net(list(colour))] for colour in colours])


def seconds(function):
    return min(timeit.repeat(function, number=1, repeat=5))


print("the same:", np.allclose(by_objects(), run.predict(colours)))
print("faster:", seconds(lambda: run.predict(colours)) < seconds(by_objects))

# %% [markdown]
# **These pictures stand still.** `scalarviz rgb`, typed into a terminal, opens a window in which a network like this
# one trains (without a display it makes a film); lesson 02 has it live.
