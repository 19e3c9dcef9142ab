# %% and: solution
w0, w1, bias = 1, 1, -1.5
# %% and: slip
w0, w1, bias = 1, 1, -0.5
# %% and: slip
w0, w1, bias = 1, 1, 0
# %% and: slip
w0, w1, bias = 1, 0, -0.5

# %% not-and: solution
w0, w1, bias = -1, -1, 1.5
# %% not-and: slip
w0, w1, bias = 1, 1, -1.5
# %% not-and: slip
w0, w1, bias = -1, -1, 0.5
# %% not-and: slip
w0, w1, bias = -1, -1, 2.5

# %% one-layer: solution
answer = 6
# %% one-layer: slip small
answer = 5
# %% one-layer: slip small
answer = -1
# %% one-layer: slip sign
answer = -6

# %% two-pulls: solution
answer = by_question[1, 0] + by_question[2, 0]
# %% two-pulls: slip large
answer = by_question[0, 0] + by_question[3, 0]
# %% two-pulls: slip large
answer = by_question[1, 0]
# %% two-pulls: slip sign
answer = -(by_question[1, 0] + by_question[2, 0])


# %% sigmoid-rule: solution
def rule(a, upstream):
    y = sigmoid(a)
    return upstream * y * (1 - y)


# %% sigmoid-rule: slip upstream
def rule(a, upstream):
    y = sigmoid(a)
    return y * (1 - y)


# %% sigmoid-rule: slip value
def rule(a, upstream):
    y = sigmoid(a)
    return upstream * y


# %% sigmoid-rule: slip output
def rule(a, upstream):
    return upstream * a * (1 - a)
