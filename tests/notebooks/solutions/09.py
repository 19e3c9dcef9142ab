# %% nudge: solution
def slope(x):
    h = 1e-5
    return (((x + h) ** 3 - 2 * (x + h)) - ((x - h) ** 3 - 2 * (x - h))) / (2 * h)


# %% nudge: slip
def slope(x):
    h = 1e-5
    return (((x + h) ** 3 - 2 * (x + h)) - (x**3 - 2 * x)) / (2 * h)


# %% nudge: slip sign
def slope(x):
    h = 1e-5
    return (((x - h) ** 3 - 2 * (x - h)) - ((x + h) ** 3 - 2 * (x + h))) / (2 * h)


# %% nudge: slip path
def slope(x):
    h = 1e-5
    return (((x + h) ** 3 - 2 * x) - ((x - h) ** 3 - 2 * x)) / (2 * h)


# %% best: solution
answer = f"1e-{best:02}"
# %% best: slip
answer = "1e-12"
# %% best: slip
answer = "1e-01"
# %% best: slip
answer = "1e-02"


# %% exp-rule: solution
def rule(a, upstream):
    return upstream * np.exp(a)


# %% exp-rule: slip input
def rule(a, upstream):
    return upstream * a * np.exp(a)


# %% exp-rule: slip local
def rule(a, upstream):
    return upstream * 1


# %% exp-rule: slip output
def rule(a, upstream):
    return upstream * a


# %% detective: solution
answer = "layer 2"
# %% detective: slip
answer = "layer 3"
# %% detective: slip
answer = "layer 1"
# %% detective: slip
answer = "layer 4"
