# %% nudge: solution
# slip: (x - h) ** 3 - 2 * (x - h) => x**3 - 2 * x
# slip path: (x + h)) - ((x - h) ** 3 - 2 * (x - h) => x) - ((x - h) ** 3 - 2 * x
def slope(x):
    h = 1e-5
    return (((x + h) ** 3 - 2 * (x + h)) - ((x - h) ** 3 - 2 * (x - h))) / (2 * h)


# %% nudge: slip sign
def slope(x):
    h = 1e-5
    return (((x - h) ** 3 - 2 * (x - h)) - ((x + h) ** 3 - 2 * (x + h))) / (2 * h)


# %% best: solution
# slip: f"1e-{best:02} => "1e-12
# slip: f"1e-{best:02} => "1e-01
# slip: f"1e-{best:02} => "1e-02
answer = f"1e-{best:02}"


# %% exp-rule: solution
# slip input: * np => * a * np
# slip local: np.exp(a) => 1
# slip output: np.exp(a) => a
def rule(a, upstream):
    return upstream * np.exp(a)


# %% detective: solution
# slip: 2 => 3
# slip: 2 => 1
# slip: 2 => 4
answer = "layer 2"
