# %% another-target: solution
# slip factor: = 2 * 0 => = 0
# slip sign: = 2 => = -2
# slip small: 2 * 0.0424432 => -1.9151
answer = 2 * 0.0424432


# %% tanh-rule: solution
# slip output: np.tanh(a) ** 2 => a * a
# slip upstream: upstream * (1 - np.tanh(a) ** 2) => 1 - np.tanh(a) ** 2
# slip local: upstream * (1 - np.tanh(a) ** 2) => upstream
def rule(a, upstream):
    return upstream * (1 - np.tanh(a) ** 2)


# %% small-chain: solution
# slip inner: v * (1 - np.tanh(w) ** 2) => v
# slip factor: 2 * (v * np.tanh(w) - 1) => v * np.tanh(w) - 1
# slip swapped: np.tanh(w), outer * v * (1 - np.tanh(w) ** 2 => v * (1 - np.tanh(w) ** 2), outer * np.tanh(w
def slopes(v, w):
    outer = 2 * (v * np.tanh(w) - 1)
    return outer * np.tanh(w), outer * v * (1 - np.tanh(w) ** 2)


# %% one-delta: solution
# slip missing: v * 3, delta * v => 3, delta
# slip factor: 2 * (v * (3 * w + b) - 1) => v * (3 * w + b) - 1
# slip sign: v * (3 * w + b) - 1 => 1 - v * (3 * w + b)
def three_slopes(w, b, v):
    delta = 2 * (v * (3 * w + b) - 1)
    return delta * v * 3, delta * v, delta * (3 * w + b)


# %% cut: solution
# slip small: 0 => -3.7922
# slip large: 0 => 1
# slip small: 0 => -1.9151
answer = 0
