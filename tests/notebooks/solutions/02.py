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


# %% error-slopes: solution
def slopes(out, target):
    return 2 * (out - target), -2 * (out - target)


# %% error-slopes: slip swapped
def slopes(out, target):
    return -2 * (out - target), 2 * (out - target)


# %% error-slopes: slip factor
def slopes(out, target):
    return out - target, target - out


# %% error-slopes: slip sign
def slopes(out, target):
    return 2 * (out - target), 2 * (out - target)


# %% error-slopes: slip value
def slopes(out, target):
    return (out - target) ** 2, (out - target) ** 2


# %% bare-step: solution
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
    loss().backward()
    for weight in weights:
        weight.data = weight.data - lr * weight.grad


# %% bare-step: slip sign
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
    loss().backward()
    for weight in weights:
        weight.data = weight.data + lr * weight.grad


# %% bare-step: slip lr
def step(weights, loss, lr):
    for weight in weights:
        weight.grad = 0.0
    loss().backward()
    for weight in weights:
        weight.data = weight.data - weight.grad


# %% bare-step: slip zero_grad
def step(weights, loss, lr):
    loss().backward()
    for weight in weights:
        weight.data = weight.data - lr * weight.grad


# %% products: solution
answer = 243
# %% products: slip small
answer = 27
# %% products: slip large
answer = 324
# %% products: slip small
answer = 9
