# %% cube: solution
# slip factor: "3 * a => "a
# slip missing: a * a => a
# slip value: 3 * a * a => y
slope = "3 * a * a"

# %% soft-step: solution
# slip: ) ** 2 => )
# slip sign: "1 => "-1
# slip region: abs(a) => a
slope = "1 / (1 + abs(a)) ** 2"

# %% two-slopes: solution
# slip sign: "- => "
# slip swapped: 2 * a", "-2 * b => -2 * b", "2 * a
# slip factor: "2 * a", "-2 * b => "a", "-b
by_a, by_b = "2 * a", "-2 * b"


# %% bump-unit: solution
# slip detached: (w * => (w.data *
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [bump(sum(w * number for w, number in zip(self.weight, x, strict=True)))]


# %% bump-unit: slip activation
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [sum(w * number for w, number in zip(self.weight, x, strict=True))]


# %% bump-unit: slip
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [sum(bump(w * number) for w, number in zip(self.weight, x, strict=True))]
