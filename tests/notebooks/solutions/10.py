# %% cube: solution
slope = "3 * a * a"
# %% cube: slip factor
slope = "a * a"
# %% cube: slip missing
slope = "3 * a"
# %% cube: slip value
slope = "y"

# %% soft-step: solution
slope = "1 / (1 + abs(a)) ** 2"
# %% soft-step: slip
slope = "1 / (1 + abs(a))"
# %% soft-step: slip sign
slope = "-1 / (1 + abs(a)) ** 2"
# %% soft-step: slip region
slope = "1 / (1 + a) ** 2"

# %% two-slopes: solution
by_a, by_b = "2 * a", "-2 * b"
# %% two-slopes: slip sign
by_a, by_b = "2 * a", "2 * b"
# %% two-slopes: slip swapped
by_a, by_b = "-2 * b", "2 * a"
# %% two-slopes: slip factor
by_a, by_b = "a", "-b"


# %% bump-unit: solution
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


# %% bump-unit: slip detached
class BumpUnit(nn.Module):
    def __init__(self):
        self.weight = nn.Parameter([0.3, -0.2, 0.5])

    def forward(self, x):
        return [bump(sum(w.data * number for w, number in zip(self.weight, x, strict=True)))]
