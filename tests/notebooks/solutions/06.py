# %% another-target: solution
answer = 2 * 0.0424432
# %% another-target: slip factor
answer = 0.0424432
# %% another-target: slip sign
answer = -2 * 0.0424432
# %% another-target: slip small
answer = -1.9151


# %% tanh-rule: solution
def rule(a, upstream):
    return upstream * (1 - np.tanh(a) ** 2)


# %% tanh-rule: slip output
def rule(a, upstream):
    return upstream * (1 - a * a)


# %% tanh-rule: slip upstream
def rule(a, upstream):
    return 1 - np.tanh(a) ** 2


# %% tanh-rule: slip local
def rule(a, upstream):
    return upstream


# %% small-chain: solution
def slopes(v, w):
    outer = 2 * (v * np.tanh(w) - 1)
    return outer * np.tanh(w), outer * v * (1 - np.tanh(w) ** 2)


# %% small-chain: slip inner
def slopes(v, w):
    outer = 2 * (v * np.tanh(w) - 1)
    return outer * np.tanh(w), outer * v


# %% small-chain: slip factor
def slopes(v, w):
    outer = v * np.tanh(w) - 1
    return outer * np.tanh(w), outer * v * (1 - np.tanh(w) ** 2)


# %% small-chain: slip swapped
def slopes(v, w):
    outer = 2 * (v * np.tanh(w) - 1)
    return outer * v * (1 - np.tanh(w) ** 2), outer * np.tanh(w)


# %% one-delta: solution
def three_slopes(w, b, v):
    delta = 2 * (v * (3 * w + b) - 1)
    return delta * v * 3, delta * v, delta * (3 * w + b)


# %% one-delta: slip missing
def three_slopes(w, b, v):
    delta = 2 * (v * (3 * w + b) - 1)
    return delta * 3, delta, delta * (3 * w + b)


# %% one-delta: slip factor
def three_slopes(w, b, v):
    delta = v * (3 * w + b) - 1
    return delta * v * 3, delta * v, delta * (3 * w + b)


# %% one-delta: slip sign
def three_slopes(w, b, v):
    delta = 2 * (1 - v * (3 * w + b))
    return delta * v * 3, delta * v, delta * (3 * w + b)


# %% cut: solution
answer = 0
# %% cut: slip small
answer = -3.7922
# %% cut: slip large
answer = 1
# %% cut: slip small
answer = -1.9151
