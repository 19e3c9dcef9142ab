# %% unit: solution
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return (sum(w * number for w, number in zip(self.weight, x, strict=True)) + self.bias[0]).sigmoid()


# %% unit: slip bias
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return sum(w * number for w, number in zip(self.weight, x, strict=True)).sigmoid()


# %% unit: slip activation
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return sum(w * number for w, number in zip(self.weight, x, strict=True)) + self.bias[0]


# %% unit: slip parameters
class Unit(nn.Module):
    def __init__(self):
        self.weight = [0.1, 0.2, 0.3]
        self.bias = 0.0

    def forward(self, x):
        return (sum(w * number for w, number in zip(self.weight, x, strict=True)) + self.bias).sigmoid()


# %% unit: slip detached
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return (sum(w.data * number for w, number in zip(self.weight, x, strict=True)) + self.bias[0]).sigmoid()


# %% unit: slip inputs
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        return (sum(w * number for w, number in zip(self.weight, x[::-1], strict=True)) + self.bias[0]).sigmoid()


# %% unit: slip none
class Unit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.1, 0.2, 0.3])
        self.bias = nn.Parameter([0.0])

    def forward(self, x):
        (sum(w * number for w, number in zip(self.weight, x, strict=True)) + self.bias[0]).sigmoid()


# %% error-slopes: solution
# slip swapped: return 2 * (out - target), -2 => return -2 * (out - target), 2
# slip factor: 2 * (out - target), -2 * (out - target) => out - target, target - out
# slip sign: , -2 => , 2
# slip value: 2 * (out - target), -2 * (out - target) => (out - target) ** 2, (out - target) ** 2
# slip none: return => return None if True else
# slip kind: 2 * (out - target), -2 => "2 * (out - target)", -2
def slopes(out, target):
    return 2 * (out - target), -2 * (out - target)


# %% bare-step: solution
# slip sign: - => +
# slip lr: - lr * weight => - weight
# slip zero_grad: weight.grad = 0.0 => pass
# slip replaced: weight.data - lr => -lr
# slip nothing: weight.data = weight.data - => -
# slip again: loss().backward() => loss().backward(), loss().backward()
# slip constant: lr * weight => 0.01 * weight
# slip nothing: loss().backward() => loss()
# slip raises: weight.grad = 0.0 => weight.grad = weight.zero_grad()
# slip raises: weight.data = weight.data - lr * weight.grad => weight.step(lr)
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
    loss().backward()
    for weight in weights:
        weight.data = weight.data - lr * weight.grad


# %% products: solution
answer = 243
