# %% cube: solution
# slip factor: "3 * a => "a
# slip missing: a * a => a
# slip value: 3 * a * a => y
# slip sign: "3 * a => "-3 * a
# slip one: "3 * a * a" => "1"
# slip input: 3 * a * a => 3 * a * a * a
slope = "3 * a * a"


# %% soft-step: solution
# slip sign: "1 => "-1
# slip region: abs(a) => a
# slip one: "1 / (1 + abs(a)) ** 2" => "1"
# slip input: "1 / (1 => "a / (1
# slip factor: "1 => "2
# slip zero: "1 => "0
slope = "1 / (1 + abs(a)) ** 2"


# %% two-slopes: solution
# slip sign: "- => "
# slip swapped: 2 * a", "-2 * b => -2 * b", "2 * a
# slip factor: "2 * a", "-2 * b => "a", "-b
# slip other: -2 * b => 2 * a
# slip one: 2 * a" => 1"
# slip zero: 2 * a" => 0"
by_a, by_b = "2 * a", "-2 * b"


# %% bump-unit: solution
# slip detached: (w * => (w.data *
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [bump(sum(w * number for w, number in zip(self.weight, x, strict=True)))]


# %% bump-unit: slip slip
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [sum(w * number for w, number in zip(self.weight, x, strict=True))]


# %% bump-unit: slip terms
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [bump(self.weight[0] * x[0] + self.weight[1] * x[1])]


# %% bump-unit: slip parameters
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = [0.3, -0.2, 0.5]

    def forward(self, x):
        return [bump(sum((w * number for w, number in zip(self.weight, x, strict=True)), sv.Value(0.0)))]


# %% bump-unit: slip slip
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return sum(w.data * number for w, number in zip(self.weight, x, strict=True))


# %% bump-unit: slip none
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        bump(sum(w * number for w, number in zip(self.weight, x, strict=True)))
