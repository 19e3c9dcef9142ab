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
# # Three ways down
#
# An **optimiser** turns gradients into updates. This lesson compares three optimisers: plain gradient descent (often
# called **SGD**, *stochastic gradient descent*), **momentum** and **Adam**. All three start at the same place of the
# same loss, and all three read its gradient. But they take different paths.
#
# **The question of this lesson: what does each optimiser do with a gradient, and when does this help?**
#
# You need to know: gradient descent (lesson 01), and the speed of a weight (lesson 07). The lesson takes about 45
# minutes.

# %%
import numpy as np
from PIL import Image, ImageDraw

import scalarviz as sv
from scalarviz import nn, optim

# %% [markdown]
# ## A long valley
#
# Our network has two weights and no bias. It has two samples. The inputs of the first sample are 1 and 0, so the output
# is `w0`. The inputs of the second sample are 0 and 10, so the output is `10 * w1`. Both targets are 0. The loss is the
# mean of the two squared errors.
#
# Many real data are like this: the numbers of one input are small, and the numbers of another input are large. Perhaps
# somebody measured the second input in another unit.
#
# The loss is smallest at `w0 = 0` and `w1 = 0`. We know this, but an optimiser does not. It only gets the gradient at
# the place where it stands. All three start at `w0 = -4` and `w1 = 0.5`.


# %%
def loss_of(w0, w1):
    return (w0 * w0 + 100 * w1 * w1) / 2


w = [sv.Weight(-4.0, name="w0"), sv.Weight(0.5, name="w1")]
loss = loss_of(*w)
loss.backward()
print(f"loss {loss.data}, gradient of w0: {w[0].grad}, gradient of w1: {w[1].grad}")

# %% [markdown]
# Compare the two weights. `w0` is 4 away from the minimum, but its gradient is small. `w1` is only 0.5 away, but its
# gradient is large. **The steepest way down is not the way to the minimum.**
#
# The reason is the **curvature**. The curvature is the slope of the slope: it says how fast the gradient changes when
# the weight changes. The next cell nudges each weight (changes it a little) and looks at its gradient.


# %%
def gradient_of(w0, w1):
    return np.array([w0, 100 * w1])


nudge = 0.001
along_w0 = (gradient_of(-4 + nudge, 0.5) - gradient_of(-4, 0.5))[0] / nudge
along_w1 = (gradient_of(-4, 0.5 + nudge) - gradient_of(-4, 0.5))[1] / nudge
print(f"curvature along w0: {along_w0:.1f}, along w1: {along_w1:.1f}")

# %% [markdown]
# The curvature along `w1` is 100 times the curvature along `w0`. Such a loss is a long valley: its floor hardly slopes,
# and its two sides are steep. The ratio of the largest to the smallest curvature is the **condition number**. Ours is
# 100. It is 100 and not 10, because the loss squares the input 10.
#
# The next two cells draw the valley from above: `w0` to the right, `w1` upwards. Dark grey is low, light grey is high.
# Along the edge of a band, the loss is the same everywhere. (On a hiking map, lines of equal height show a valley in
# the same way.) You do not need to understand these two cells.

# %%
ACROSS, UP, WIDE, HIGH = (-4.6, 1.6), (-0.62, 0.62), 1360, 700
COLOURS, INK = ("#d95f02", "#111111", "#0a62d0"), "#1a1a1a"


def surface():
    x, y = np.linspace(*ACROSS, WIDE), np.linspace(*UP, HIGH)[::-1, None]
    light = 170 + 7 * np.floor(2 * np.sqrt(loss_of(x, y)))
    sheet = Image.new("RGB", (WIDE, HIGH + 80), "#ffffff")
    sheet.paste(Image.fromarray(light.astype(np.uint8)))
    pen = ImageDraw.Draw(sheet)
    pen.text((WIDE - 30, HIGH - 30), "w0 to the right, w1 upwards", INK, font_size=30, anchor="rs")
    return sheet, pen


# %%
def draw(paths):
    sheet, pen = surface()
    for (name, path), colour, x in zip(paths.items(), COLOURS, (40, 620, 1040), strict=False):
        places = [*zip(np.interp(path[:, 0], ACROSS, (0, WIDE)), np.interp(-path[:, 1], UP, (0, HIGH)), strict=True)]
        pen.line(places, fill=colour, width=5)
        for place in places:
            pen.circle(place, 7, fill=colour)
        pen.line((x, HIGH + 40, x + 50, HIGH + 40), fill=colour, width=10)
        pen.text((x + 66, HIGH + 40), name, INK, font_size=32, anchor="lm")
    pen.text((130, 48), "start", INK, font_size=32, anchor="ms")
    pen.circle((1009, 350), 12, outline=INK, width=3)
    pen.text((1009, 430), "minimum", INK, font_size=32, anchor="ms")
    return sv.view.Picture(np.asarray(sheet.reduce(2)), f"a long valley from above, and on it: {', '.join(paths)}")


# %% [markdown]
# ## Plain gradient descent
#
# Plain gradient descent subtracts the gradient times the learning rate: `w = w - lr * gradient`. The function `walk`
# takes steps with any optimiser, and returns the path: the two weights at the start and after each step.


# %%
def walk(optimiser, steps=100, loss=loss_of, start=(-4.0, 0.5), **options):
    weights = [sv.Weight(number) for number in start]
    chosen, path = optimiser(weights, **options), [start]
    for _ in range(steps):
        chosen.zero_grad()
        loss(*weights).backward()
        chosen.step()
        path.append(tuple(weight.data for weight in weights))
    return np.array(path)


# %% [markdown]
# **Predict:** the learning rate is 0.019. In the first step, which weight moves farther? Does this weight arrive at 0,
# stop before 0, or jump over 0?

# %%
down = walk(optim.SGD, lr=0.019)
for step in range(6):
    print(f"step {step}: w0 = {down[step, 0]:.4f}, w1 = {down[step, 1]:.4f}")
draw({"plain gradient descent": down})

# %% [markdown]
# The path has 100 steps. In every step, `w1` jumps over 0 to the other side of the valley. So the path is a zigzag. Its
# jumps become smaller, because each jump lands a little nearer to the floor. `w0` crawls along the floor, and after 100
# steps it has not arrived.
#
# One calculation explains both. The gradient of `w0` is `1 * w0`, so a step computes `w0 - lr * w0`. This is
# `(1 - lr) * w0`. The gradient of `w1` is `100 * w1`, so a step computes `(1 - 100 * lr) * w1`. **Each step multiplies
# the distance to the minimum by 1 - lr · curvature.** With the rate 0.019 the factors are 0.981 and -0.9. A negative
# factor means that the weight jumps over the minimum.
#
# `w0` would arrive sooner with a larger rate. Why do we not take one?
#
# **Predict:** the rate 0.021 is about 10 % larger than 0.019. Where is `w1` after 50 steps?

# %%
for rate in (0.019, 0.02, 0.021):
    end = walk(optim.SGD, steps=50, lr=rate)[-1]
    print(f"rate {rate:.3f}: factor of w1 {1 - 100 * rate:5.2f}, w1 after 50 steps {end[1]:8.4f}")

# %% [markdown]
# With the rate 0.02 the factor is -1: `w1` jumps between 0.5 and -0.5 for ever. With a larger rate the factor is below
# -1. Then every jump lands farther away: the steps overshoot, and training diverges. The factor is -1 if
# `lr * curvature` is 2. So **the learning rate must be below 2 divided by the largest curvature.** Here this limit is
# 2 / 100 = 0.02.
#
# All weights share one learning rate. The largest curvature sets its limit, and the weight with the smallest curvature
# moves slowly: at this limit, the factor of `w0` is 0.98. This is why a long valley is slow.
#
# The next cell walks 1000 steps. It counts the steps after which the loss stays below 0.001.


# %%
def steps_needed(path, loss=loss_of):
    high = np.flatnonzero(~(loss(path[:, 0], path[:, 1]) < 0.001))
    return f"{high[-1] + 1} steps" if high[-1] + 1 < len(path) else f"more than {len(path) - 1} steps"


for rate in (0.005, 0.01, 0.019, 0.021):
    print(f"plain, rate {rate:.3f}: {steps_needed(walk(optim.SGD, steps=1000, lr=rate))}")

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# Let $c$ be the curvature along one weight $w$, and let the minimum be at 0. Then the gradient is $c\,w$. With the
# learning rate $\eta$, step $t$ computes
#
# $$w_t = w_{t-1} - \eta\,c\,w_{t-1} = (1 - \eta c)\,w_{t-1}, \qquad \text{so} \quad w_t = (1 - \eta c)^t\,w_0 .$$
#
# For $w_0 \neq 0$ this goes to 0 if and only if $|1 - \eta c| < 1$, that is $0 < \eta < 2 / c$. If the curvatures are
# between $c_{\min}$ and $c_{\max}$, all weights together need $\eta < 2 / c_{\max}$. The rate
# $2 / (c_{\min} + c_{\max})$ makes the largest factor as small as possible. This factor is
# $(\kappa - 1) / (\kappa + 1)$ with the condition number $\kappa = c_{\max} / c_{\min}$.
#
# ```python
# import torch
#
# w = torch.tensor([-4.0, 0.5], dtype=torch.float64, requires_grad=True)
# optimizer = torch.optim.SGD([w], lr=0.019)
# for _ in range(5):
#     optimizer.zero_grad()
#     loss = (w[0] ** 2 + 100 * w[1] ** 2) / 2
#     loss.backward()
#     optimizer.step()
# print(f"{w[0].item():.4f} {w[1].item():.4f}")  # -3.6342 -0.2952
# ```
#
# </details>

# %% [markdown]
# ## Momentum
#
# Momentum stores a **speed** for each weight. A step does two things:
#
# * `speed = 0.9 * speed + gradient`: it keeps 0.9 of the old speed, and adds the new gradient.
# * `w = w - lr * speed`: it moves the weight by the speed, not by the gradient.
#
# So the speed is a sum of all gradients up to now. The newest gradient counts fully, the gradient before it counts 0.9,
# the one before that 0.9 · 0.9 = 0.81, and so on.
#
# Look at two cases. In the first case, the gradient is 1 in every step. In the second case, it is 1, -1, 1, -1 and so
# on.
#
# **Predict:** how large does the speed become in each case?


# %%
def speeds(gradients):
    speed, found = 0.0, []
    for gradient in gradients:
        speed = 0.9 * speed + gradient
        found.append(speed)
    return found


for name, gradients in (("same sign", [1, 1] * 50), ("changing sign", [1, -1] * 50)):
    found = speeds(gradients)
    print(f"{name}:", *(f"{speed:.2f}" for speed in found[:5]), "... after 100 steps", f"{found[-1]:.2f}")

# %% [markdown]
# If the sign stays the same, the speed grows to 10 gradients. If the sign changes in every step, the gradients cancel
# each other, and about half a gradient is left. A long valley needs exactly this. Along the floor, the gradient keeps
# its sign for many steps. There, momentum becomes up to ten times as fast as plain gradient descent with the same rate.
# Across the valley, the sign changes again and again, so the speed does not build up.
#
# The next cell computes momentum by hand, with the rate 0.005. Then it does the same with the library: `optim.SGD` has
# the argument `momentum`. **Predict:** before the first step, the speed is 0. Is the first step of momentum shorter
# than, as long as or longer than a step of plain gradient descent with this rate?

# %%
place, speed = np.array([-4.0, 0.5]), np.zeros(2)
for step in range(1, 101):
    speed = 0.9 * speed + gradient_of(*place)
    place = place - 0.005 * speed
    if step in (1, 2, 3, 100):
        print(f"by hand, step {step}: w0 = {place[0]:.6f}, w1 = {place[1]:.6f}, speed {speed.round(4)}")
rolling = walk(optim.SGD, lr=0.005, momentum=0.9)
for step in (1, 2, 3, 100):
    print(f"library, step {step}: w0 = {rolling[step, 0]:.6f}, w1 = {rolling[step, 1]:.6f}")
draw({"plain gradient descent": down, "momentum": rolling})

# %% [markdown]
# The digits are equal. The first step of momentum is as long as a plain step, because there is no old speed yet.
#
# Momentum moves like a heavy ball. Along the floor it starts slowly, and then becomes faster. Across the valley, it
# swings from side to side in a wave. The swings fade slowly, by a factor of about 0.95 in each step, but they do fade.
# (With the same rate 0.005, plain gradient descent does not swing at all: its factor of `w1` is 0.5.)
#
# A heavy ball does not stop at once. **Predict:** does `w0` stay below 0 on its way from -4 to 0?

# %%
print(f"largest w0 on the way: {rolling[:, 0].max():.4f}")
for rate in (0.002, 0.005, 0.018, 0.037):
    print(f"momentum, rate {rate:.3f}: {steps_needed(walk(optim.SGD, steps=1000, lr=rate, momentum=0.9))}")

# %% [markdown]
# Momentum runs past the minimum, and comes back. With the rate 0.005 it needs 94 steps. Plain gradient descent needs
# 235 steps with the best rate of our table.
#
# Momentum is also less sensitive to the rate. The largest rate of the last table is more than 18 times the smallest,
# and every one of the four needs fewer steps than plain gradient descent. Momentum has a limit, too, but this limit is
# nearly twice as large: 0.038 in our valley.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# With the momentum $\beta$, the speed $v_t$ is a sum of the gradients $g_1, \dots, g_t$:
#
# $$v_t = \beta v_{t-1} + g_t = \sum_{k=0}^{t-1} \beta^k g_{t-k}, \qquad w_t = w_{t-1} - \eta v_t .$$
#
# For a constant gradient $g$ this is a geometric series, and $v_t \to g / (1 - \beta)$. For $\beta = 0.9$ this is
# $10\,g$. For gradients $\pm g$ with changing signs, $|v_t| \to |g| / (1 + \beta)$. In a valley with the largest
# curvature $c_{\max}$, momentum converges if $0 < \eta < 2 (1 + \beta) / c_{\max}$.
#
# ```python
# import torch
#
# w = torch.tensor([-4.0, 0.5], dtype=torch.float64, requires_grad=True)
# optimizer = torch.optim.SGD([w], lr=0.005, momentum=0.9)
# for _ in range(100):
#     optimizer.zero_grad()
#     loss = (w[0] ** 2 + 100 * w[1] ** 2) / 2
#     loss.backward()
#     optimizer.step()
# print(f"{w[0].item():.6f} {w[1].item():.6f}")  # 0.014100 0.001445
# ```
#
# </details>

# %% [markdown]
# ## Adam
#
# Momentum still has one rate for all weights. Adam gives each weight a step size of its own. It stores two numbers for
# each weight:
#
# * `mean`, a running mean of the gradients: `mean = 0.9 * mean + 0.1 * gradient`;
# * `square`, a running mean of their squares: `square = 0.999 * square + 0.001 * gradient**2`.
#
# The root of `square` says how large the gradients of this weight usually are. Adam divides `mean` by this root, and
# multiplies the result by the learning rate. So a weight with large gradients and a weight with small gradients make
# steps of about the same size.
#
# The next cell computes the first step of `w1`. Its gradient is 50, and both means start at 0. The ratio of `mean` and
# the root of `square` should be 1, so that the first step is as long as the learning rate.

# %%
mean = 0.9 * 0 + 0.1 * 50
square = 0.999 * 0 + 0.001 * 50**2
print(f"mean {mean:.1f}, square {square:.1f}, mean divided by the root of square: {mean / np.sqrt(square):.2f}")

# %% [markdown]
# The ratio is not 1 but more than 3. The cause is the start at 0. After one step, `mean` is only one tenth of the
# gradient, and `square` is only one thousandth of its square. Both means are too small, but not by the same factor.
#
# Adam corrects this. Suppose that all gradients are equal. Then, after step `t`, `mean` is `1 - 0.9**t` times the
# gradient, and `square` is `1 - 0.999**t` times its square. So Adam divides the two means by these two numbers. This is
# the **bias correction**.

# %%
corrected, spread = mean / (1 - 0.9**1), square / (1 - 0.999**1)
print(f"corrected: mean {corrected:.1f}, square {spread:.1f}, ratio {corrected / np.sqrt(spread):.2f}")
for t in (1, 10, 100, 1000, 5000):
    print(f"step {t}: divide mean by {1 - 0.9**t:.4f}, square by {1 - 0.999**t:.4f}")

# %% [markdown]
# Now the ratio is 1. The correction is large at the start only, because later both divisors are nearly 1. For `mean`
# this takes some dozens of steps, for `square` some thousands.
#
# The next cell computes 100 steps of Adam by hand, and then with the library. (The `1e-8` prevents a division by 0.)
#
# **Predict:** at the start, the gradients of `w0` and `w1` are -4 and 50. The learning rate is 0.1. How far does each
# weight move in the first step, and in which direction?

# %%
place, mean, square = np.array([-4.0, 0.5]), np.zeros(2), np.zeros(2)
for t in range(1, 101):
    gradient = gradient_of(*place)
    mean = 0.9 * mean + 0.1 * gradient
    square = 0.999 * square + 0.001 * gradient**2
    corrected, spread = mean / (1 - 0.9**t), square / (1 - 0.999**t)
    place = place - 0.1 * corrected / (np.sqrt(spread) + 1e-8)
    if t in (1, 2, 3, 100):
        print(f"by hand, step {t}: w0 = {place[0]:.6f}, w1 = {place[1]:.6f}")
even = walk(optim.Adam, lr=0.1)
for step in (1, 2, 3, 100):
    print(f"library, step {step}: w0 = {even[step, 0]:.6f}, w1 = {even[step, 1]:.6f}")

# %% [markdown]
# The digits are equal again. In the first step, both weights moved by 0.1, each against its gradient, although one
# gradient was 12.5 times as large as the other.
#
# `run.why` explains a step of Adam, too. The next cell trains the real network with its two samples, and asks about the
# third step of `w1`. In its answer, `m` is our `mean`, `v` is our `square` and `g` is the gradient.

# %%
net = nn.Linear(2, 1, bias=False)
net.weight.data = [[-4.0, 0.5]]
data, tuned = ([[1, 0], [0, 10]], [[0], [0]]), optim.Adam(net.parameters(), lr=0.1)
run = sv.Run(net, nn.MSELoss(), tuned, data=data, engine="numpy", dtype="float64")
run.step(3)
found = run.why("weight[0][1]")

# %% [markdown]
# The last line arrives at the same `w1` as step 3 of our table.
#
# Adam does not depend on the unit of the loss. The next cell multiplies the loss by 1000, so all gradients are 1000
# times as large.
#
# **Predict:** does this change the path of Adam? What happens to plain gradient descent with its rate 0.019?


# %%
def large(w0, w1):
    return 1000 * loss_of(w0, w1)


print(f"Adam: the two paths differ by at most {abs(walk(optim.Adam, loss=large, lr=0.1) - even).max():.6f}")
print(f"plain: w1 after 3 steps is {walk(optim.SGD, steps=3, loss=large, lr=0.019)[-1, 1]:.0f}")

# %% [markdown]
# `mean` becomes 1000 times as large, and the root of `square`, too. So the division removes the factor. Plain gradient
# descent would need a rate that is 1000 times smaller.

# %% [markdown]
# <details>
# <summary>The mathematics, and the same in PyTorch</summary>
#
# With the gradient $g_t$ of one weight, $\beta_1 = 0.9$, $\beta_2 = 0.999$ and $m_0 = v_0 = 0$:
#
# $$m_t = \beta_1 m_{t-1} + (1 - \beta_1)\,g_t, \qquad v_t = \beta_2 v_{t-1} + (1 - \beta_2)\,g_t^2,$$
#
# $$\hat m_t = \frac{m_t}{1 - \beta_1^t}, \qquad \hat v_t = \frac{v_t}{1 - \beta_2^t}, \qquad
# w_t = w_{t-1} - \eta\,\frac{\hat m_t}{\sqrt{\hat v_t} + \varepsilon} .$$
#
# In $m_t$, the gradient of $k$ steps ago has the share $(1 - \beta_1)\,\beta_1^k$. The sum of these shares for
# $k = 0, \dots, t - 1$ is $1 - \beta_1^t$: this is the divisor. For $t = 1$ we get $\hat m_1 = g_1$ and
# $\hat v_1 = g_1^2$, so the first step is $\eta\,g_1 / (|g_1| + \varepsilon)$: nearly $\eta$, with the sign of $g_1$.
#
# ```python
# import torch
#
# w = torch.tensor([-4.0, 0.5], dtype=torch.float64, requires_grad=True)
# optimizer = torch.optim.Adam([w], lr=0.1)
# for _ in range(100):
#     optimizer.zero_grad()
#     loss = (w[0] ** 2 + 100 * w[1] ** 2) / 2
#     loss.backward()
#     optimizer.step()
# print(f"{w[0].item():.6f} {w[1].item():.6f}")  # 0.021430 -0.002246
# ```
#
# </details>

# %% [markdown]
# ## Three paths on one surface
#
# The next cell draws all three paths on one surface, each with 100 steps. A fair comparison tries more than one rate.
# So the cell also counts the steps of Adam with other rates. Its last line looks at the loss of Adam much later.
#
# **Predict:** after 5000 steps the loss of Adam is almost 0. Does it stay there?

# %%
three = {
    "plain": (optim.SGD, 0.019, {}),
    "momentum": (optim.SGD, 0.005, {"momentum": 0.9}),
    "Adam": (optim.Adam, 0.1, {}),
}
for rate in (0.01, 0.03, 0.1, 0.3):
    print(f"Adam, rate {rate:.2f}: {steps_needed(walk(optim.Adam, steps=1000, lr=rate))}")
late = loss_of(*walk(optim.Adam, steps=6000, lr=0.1)[5000:].T)
print(f"Adam, rate 0.10: loss {late[0]:.6f} after 5000 steps, at most {late.max():.2f} in the next 1000 steps")
draw({"plain gradient descent": down, "momentum": rolling, "Adam": even})

# %% [markdown]
# Plain gradient descent jumps from side to side, and then it crawls. Momentum swings in a wide wave. Adam starts
# diagonally, because both weights move by about 0.1 in each of the first steps. It swings less often than momentum.
#
# Now compare the three tables. With good rates, momentum and Adam need about 90 steps, and plain gradient descent needs
# 235. But Adam with the rate 0.01 needs 925 steps. In our valley, no step of Adam moves a weight much farther than the
# rate. So with the rate 0.01, the way of `w0` from -4 to 0 takes about 400 steps or more. **A better optimiser does not
# replace the search for a learning rate.**
#
# The last line shows a weak point of Adam: with a fixed rate, it does not come to rest. All recent gradients were
# nearly 0, so `square` has become small. The division by its root now gives steps that are too long for the steep
# sides, and `w1` overshoots. The loss rises to 0.26. Then `square` grows, and the loss falls again.
#
# Momentum and Adam also need memory. Plain gradient descent stores nothing for a weight, momentum stores one number,
# and Adam stores two. For a network with a billion weights, Adam stores two billion numbers.
#
# You can also repair the valley instead of the optimiser. If we divide the second input by 10, both curvatures are 1,
# and the valley becomes a round bowl. Then plain gradient descent with the rate 1 arrives in a single step. Therefore
# one often scales all inputs to a similar size before training.
#
# ## Noise
#
# Training with mini-batches uses only some of the samples in each step. So the gradient has a random error: it is too
# large in one step, and too small in another. (*Stochastic* means random. This explains the name SGD.) We imitate this
# error. The function `noisy` adds a random number times each weight to the loss. The slope of this product is the
# random number, so the random number is added to the gradient of the weight.
#
# Each optimiser takes 2000 noisy steps, once with its rate, and once with a tenth of its rate. The cell prints the mean
# of the true loss (without the error) over the last 1000 steps.
#
# **Predict:** without noise, the loss of each optimiser falls below 0.001 with its full rate. And with noise? What does
# a smaller rate change?

# %%
draws = np.random.default_rng(0)


def noisy(w0, w1):
    error0, error1 = draws.normal(0, (1, 10))
    return loss_of(w0, w1) + error0 * w0 + error1 * w1


for name, (optimiser, rate, more) in three.items():
    for lr in (rate, rate / 10):
        end = walk(optimiser, 2000, noisy, lr=lr, **more)[1000:]
        print(f"{name}, rate {lr:.4f}: mean loss {loss_of(*end.T).mean():.3f}")

# %% [markdown]
# No optimiser comes to rest. Each moves about the minimum, because the random error never ends. A smaller rate keeps
# all three nearer to the minimum. But with a smaller rate, the way to the minimum is longer. Therefore one often starts
# with a large rate and lowers it during training. Such a plan is called a **learning rate schedule**.
#
# Plain gradient descent has the largest mean loss of the three here, because 0.019 is so near to its limit 0.02. The
# factor of `w1` is -0.9, so an error in `w1` fades slowly, and the errors of many steps add up.
#
# ## A diagonal valley
#
# Adam has another weak point: it scales each weight alone. In our valley this is exactly right, because the floor runs
# along `w0`. The next cell turns the valley by 45°, so that its floor runs diagonally. The starting place turns, too.
# The valley has the same shape as before, and the loss at the start is the same.
#
# **Predict:** which optimisers need more steps in the turned valley: plain gradient descent, momentum or Adam?


# %%
def turned(w0, w1):
    return loss_of((w0 + w1) / 2**0.5, (w1 - w0) / 2**0.5)


start = (-4.5 / 2**0.5, -3.5 / 2**0.5)
print(f"loss at the start: {turned(*start):.4f}")
for name, (optimiser, rate, more) in three.items():
    before = walk(optimiser, 1000, lr=rate, **more)
    after = walk(optimiser, 1000, turned, start, lr=rate, **more)
    print(f"{name}: {steps_needed(before)} before the turn, {steps_needed(after, turned)} after it")

# %% [markdown]
# Plain gradient descent and momentum do not notice the turn. They only add up gradients and multiply them by numbers
# that are the same for all weights. Adam needs more than twice as many steps. After the turn, both weights have the
# same curvature, so it does not help to give each weight its own step size. With the rate 0.3, Adam needs 91 steps in
# the turned valley. But somebody has to find this rate.
#
# So no optimiser is always the best. In a real network, the curvature is different at each place, and nobody knows it.
# Adam is a good first choice, because one rate often suits weights with very different gradients. Momentum is often as
# good, if you look for its rate.
#
# ## Live
#
# The next cell shows the loss over the two weights. The ball marks the weights, the small dots mark earlier steps, and
# the optimiser is momentum. Run the cell, click the picture, and press **Right** some twenty times: the ball swings
# from side to side.
#
# Then press **R** to restart, and **P** to open the controls. First choose another optimiser: Adam sets the learning
# rate to 0.01. Then double-click the number to the right of *learning rate*, type a rate from this lesson (0.019 for
# SGD, 0.1 for Adam) and press **Enter**. Press **P** again to close the controls. Then press **Right** a few times.

# %%
sv.lesson("14")

# %% [markdown]
# ## Now you
#
# **1. One step of momentum.** A weight is 5, its speed is 2, and its gradient is now -1. The momentum is 0.9 and the
# learning rate is 0.1. What is the weight after this step? (Give only the weight, not the speed.)

# %% tags=["exercise: momentum-by-hand"]
answer = ...
sv.check.exercise("14.1", answer)

# %% [markdown]
# **2. The first step of Adam.** A weight is 3. In the very first step of Adam, its gradient is 1000. The learning rate
# is 0.1. What is the weight after this step?

# %% tags=["exercise: first-adam"]
answer = ...
sv.check.exercise("14.2", answer)


# %% [markdown]
# **3. Momentum as code.** Write one step of momentum. The function gets a weight, its old speed, its gradient, the
# learning rate `lr`, and `momentum` (a number such as 0.9). It returns the new weight and the new speed.


# %% tags=["exercise: momentum-code"]
def momentum_step(w, speed, gradient, lr, momentum):
    speed = ...
    return w - ..., speed


sv.check.exercise("14.3", momentum_step)

# %% [markdown]
# **4. Who was it?** Somebody recorded three paths in our valley, from another start. Some rates are different, too. One
# path is plain gradient descent, one is momentum, and one is Adam. Each row has `w0` and `w1` after 0 to 5 steps.
#
# Which path is which? Write three letters: first the path of plain gradient descent, then the path of momentum, then
# the path of Adam. For example, write `"A B C"`.

# %%
recorded = {
    "A": [(3.0, -0.4), (2.985, -0.2), (2.957, 0.08), (2.916, 0.292), (2.865, 0.337), (2.805, 0.209)],
    "B": [(3.0, -0.4), (2.95, -0.35), (2.9, -0.3), (2.85, -0.251), (2.8, -0.203), (2.75, -0.156)],
    "C": [(3.0, -0.4), (2.955, 0.2), (2.911, -0.1), (2.867, 0.05), (2.824, -0.025), (2.782, 0.012)],
}
for name, path in recorded.items():
    print(name, "  ".join(f"({w0:.3f}, {w1:6.3f})" for w0, w1 in path))

# %% tags=["exercise: which-path"]
answer = ...
sv.check.exercise("14.4", answer)

# %% [markdown]
# ## To remember
#
# **The largest curvature limits the learning rate of plain gradient descent, and the smallest curvature makes it slow.
# Momentum adds up gradients: equal signs grow, changing signs cancel. Adam divides the mean gradient of each weight by
# its usual size, so that each weight first moves by about the learning rate. With noise and a fixed rate, none of them
# comes to rest.**
