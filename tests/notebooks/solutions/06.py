# %% another-target: solution
answer = 2 * 0.0424432


# %% tanh-rule: solution
# slip output: np.tanh(a) ** 2 => a * a
# slip upstream: upstream * (1 - np.tanh(a) ** 2) => 1 - np.tanh(a) ** 2
# slip local: upstream * (1 - np.tanh(a) ** 2) => upstream
# slip slip: 1 - np.tanh(a) ** 2 => np.tanh(a)
# slip slip: 1 - np.tanh(a) ** 2 => 1 - np.tanh(a)
# slip none: return => return None if True else upstream *
def rule(a, upstream):
    return upstream * (1 - np.tanh(a) ** 2)


# %% small-chain: solution
# slip inner: v * (1 - np.tanh(w) ** 2) => v
# slip factor: 2 * (v * np.tanh(w) - 1) => v * np.tanh(w) - 1
# slip swapped: np.tanh(w), outer * v * (1 - np.tanh(w) ** 2 => v * (1 - np.tanh(w) ** 2), outer * np.tanh(w
# slip kind: outer * np.tanh(w), => "outer",
# slip none: return => return None if True else
# slip sign: np.tanh(w) - 1) => np.tanh(w) - 1) * -1
def slopes(v, w):
    outer = 2 * (v * np.tanh(w) - 1)
    return outer * np.tanh(w), outer * v * (1 - np.tanh(w) ** 2)


# %% one-delta: solution
# slip missing: v * 3, delta * v => 3, delta
# slip factor: 2 * (v * (3 * w + b) - 1) => v * (3 * w + b) - 1
# slip sign: v * (3 * w + b) - 1 => 1 - v * (3 * w + b)
# slip kind: delta * v * 3, => "delta",
# slip none: return => return None if True else
# slip count: , delta * (3 * w + b) => ,
def three_slopes(w, b, v):
    delta = 2 * (v * (3 * w + b) - 1)
    return delta * v * 3, delta * v, delta * (3 * w + b)


# %% cut: solution
answer = 0
