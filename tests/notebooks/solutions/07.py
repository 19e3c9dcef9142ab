# %% hardest: solution
answer = f"pupil {max(range(8), key=lambda pupil: abs(pulls(1)[pupil]))}"
# %% hardest: slip
answer = "pupil 4"
# %% hardest: slip
answer = f"pupil {max(range(8), key=lambda pupil: pulls(1)[pupil])}"
# %% hardest: slip
answer = "pupil 0"

# %% whole-pull: solution
answer = sum(pulls(1))
# %% whole-pull: slip large
answer = sum(pulls(1)) / 8
# %% whole-pull: slip sign
answer = -sum(pulls(1))
# %% whole-pull: slip large
answer = max(pulls(1), key=abs)

# %% half-speed: solution
answer = 7
# %% half-speed: slip small
answer = 6
# %% half-speed: slip small
answer = 5
# %% half-speed: slip large
answer = 10


# %% two-pupils: solution
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first + 3 * second) / 2, (first + second) / 2


# %% two-pupils: slip slope
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return first + 3 * second, first + second


# %% two-pupils: slip other
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first + second) / 2, (first + second) / 2


# %% two-pupils: slip swapped
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first + second) / 2, (first + 3 * second) / 2
