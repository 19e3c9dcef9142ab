# %% sum: solution
answer = -1.5


# %% slope: solution
answer = 0.16


# %% bias: solution
answer = -0.1


# %% neuron: solution
# slip factor: 2 * (out - 1) => (out - 1)
# slip slip: out * (1 - out) => (1 - out * out)
# slip slip: out * (1 - out) => out
# slip slip: delta * 3, => delta,
# slip swapped: delta * 3, delta * 1 => delta * 1, delta * 3
# slip sign: (out - 1) => (1 - out)
# slip none: return => return None if True else
# slip kind: delta * 3, delta * 1 => "delta", "delta"
def slopes(w, b):
    out = sigmoid(3 * w + b)
    delta = 2 * (out - 1) * out * (1 - out)
    return delta * 3, delta * 1
