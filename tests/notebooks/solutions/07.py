# %% hardest: solution
# slip: f"pupil {max(range(8), key=lambda pupil: abs(pulls(1)[pupil]))} => "pupil 4
# slip: abs(pulls(1)[pupil]) => pulls(1)[pupil]
# slip: f"pupil {max(range(8), key=lambda pupil: abs(pulls(1)[pupil]))} => "pupil 0
answer = f"pupil {max(range(8), key=lambda pupil: abs(pulls(1)[pupil]))}"

# %% whole-pull: solution
# slip large: )) => )) / 8
# slip sign: = sum => = -sum
# slip large: sum(pulls(1) => max(pulls(1), key=abs
answer = sum(pulls(1))

# %% half-speed: solution
# slip small: 7 => 6
# slip small: 7 => 5
# slip large: 7 => 10
answer = 7


# %% two-pupils: solution
# slip slope: (first + 3 * second) / 2, (first + second) / 2 => first + 3 * second, first + second
# slip other: + 3 * second => + second
# slip swapped: 3 * second) / 2, (first + => second) / 2, (first + 3 *
def slopes(w, b):
    first, second = 2 * (w + b - 2), 2 * (3 * w + b - 4)
    return (first + 3 * second) / 2, (first + second) / 2
