# %% and: solution
# slip: -1 => -0
# slip: -1.5 => 0
# slip: 1, -1 => 0, -0
w0, w1, bias = 1, 1, -1.5

# %% not-and: solution
# slip: = -1, -1, 1 => = 1, 1, -1
# slip: , 1. => , 0.
# slip: , 1. => , 2.
w0, w1, bias = -1, -1, 1.5

# %% one-layer: solution
# slip small: 6 => 5
# slip small: 6 => -1
# slip sign: = 6 => = -6
answer = 6

# %% two-pulls: solution
# slip large: 1, 0] + by_question[2 => 0, 0] + by_question[3
# slip large: ] + by_question[2, 0] => ]
# slip sign: by_question[1, 0] + by_question[2, 0] => -(by_question[1, 0] + by_question[2, 0])
answer = by_question[1, 0] + by_question[2, 0]


# %% sigmoid-rule: solution
# slip upstream: return upstream * y => return y
# slip value: y * (1 - y) => y
def rule(a, upstream):
    y = sigmoid(a)
    return upstream * y * (1 - y)


# %% sigmoid-rule: slip output
def rule(a, upstream):
    return upstream * a * (1 - a)
