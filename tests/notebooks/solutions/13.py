# %% first-spread: solution
answer = 0.2


# %% patient: solution
answer = "large"


# %% scale-and-shift: solution
# slip none: return => return None if True else
# slip kind: delta * 1.5 => "delta * 1.5"
# slip sign: 2 * (1.5 * g + s - 2) => -2 * (1.5 * g + s - 2)
# slip factor: 2 * (1.5 * g + s - 2) => (1.5 * g + s - 2)
# slip swapped: delta * 1.5, delta => delta, delta * 1.5
# slip slip: delta * 1.5, delta => delta * g, delta
# slip slip: delta * 1.5, delta => delta * 1.5, delta * s
def slopes(g, s):
    delta = 2 * (1.5 * g + s - 2)
    return delta * 1.5, delta


# %% own-norm: solution
# slip slip: sum(x) / len(x) => sum(x)
# slip slip: (number - mean) ** 2 for => number**2 for
# slip slip: for number in x) / len(x) => for number in x)
# slip slip: for number in x) / len(x) => for number in x) / (len(x) - 1)
# slip slip: (number - mean) ** 2 for => abs(number - mean) for
# slip none: return => if False: return
class OwnNorm(nn.Module):
    def forward(self, x):
        mean = sum(x) / len(x)
        variance = sum((number - mean) ** 2 for number in x) / len(x)
        return [(number - mean) / sv.sqrt(variance) for number in x]
