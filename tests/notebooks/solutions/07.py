# %% hardest: solution
answer = f"pupil {max(range(8), key=lambda pupil: abs(pulls(1)[pupil]))}"


# %% whole-pull: solution
answer = sum(pulls(1))


# %% half-speed: solution
answer = 7


# %% two-pupils: solution
# slip slope: (first + 3 * second) / 2, (first + second) / 2 => first + 3 * second, first + second
# slip other: + 3 * second => + second
# slip swapped: 3 * second) / 2, (first + => second) / 2, (first + 3 *
# slip none: return => return None if True else
# slip kind: (first + 3 * second) / 2 => "first + 3 * second"
# slip sign: 2 * (w + b - 2), 2 * (3 * w + b - 4) => -2 * (w + b - 2), -2 * (3 * w + b - 4)
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first + 3 * second) / 2, (first + second) / 2
