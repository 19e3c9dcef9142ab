# %% and: solution
# slip slip: 1, 1, -1.5 => "1", "1", "-1.5"
# slip slip: 1, 1, -1.5 => [1], 1, -1.5
w0, w1, bias = 1, 1, -1.5


# %% not-and: solution
# slip slip: -1, -1, 1.5 => "1", "1", "-1.5"
# slip slip: -1, -1, 1.5 => [1], 1, -1.5
w0, w1, bias = -1, -1, 1.5


# %% one-layer: solution
answer = 6


# %% two-pulls: solution
answer = by_question[1, 0] + by_question[2, 0]


# %% sigmoid-rule: solution
# slip upstream: return upstream * y => return y
# slip slip: y * (1 - y) => y
# slip slip: y * (1 - y) => (1 - y)
# slip slip: y * (1 - y) => (1 - y * y)
def rule(a, upstream):
    y = sigmoid(a)
    return upstream * y * (1 - y)


# %% sigmoid-rule: slip output
def rule(a, upstream):
    return upstream * a * (1 - a)
