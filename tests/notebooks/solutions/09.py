# %% nudge: solution
# slip slip: (f(x + h) - f(x - h)) / (2 * h) => (f(x + h) - f(x)) / h
# slip slip: f(x - h) => f(x)
# slip slip: f(x + h) - => f(x) -
# slip slip: - f => + f
# slip slip: (2 * h) => h
# slip sign: f(x + h) - f(x - h) => f(x - h) - f(x + h)
# slip kind: return => return "slope" or
# slip none: return => return None and
def slope(x):
    h = 1e-5
    return (f(x + h) - f(x - h)) / (2 * h)


# %% best: solution
answer = "1e-06"


# %% exp-rule: solution
# slip local: np.exp(a) => 1
# slip output: np.exp(a) => a
# slip slip: np.exp(a) => np.exp(-a)
# slip slip: np.exp(a) => 1 / a
# slip upstream: upstream * => 1 *
# slip none: return => return None if True else
# slip slip: upstream * np => upstream * a * np
def rule(a, upstream):
    return upstream * np.exp(a)


# %% detective: solution
answer = "layer 2"
