# %% by-hand: solution
# slip sign: = 18 => = -18
# slip factor: 18 => 9
# slip small: 18 => 6
answer = 18


# %% product-rule: solution
# slip swapped: x, upstream * w => w, upstream * x
# slip upstream: upstream * x, upstream * => x,
# slip added: * x, upstream * => + x, upstream +
def rule(w, x, upstream):
    return upstream * x, upstream * w


# %% one-step: solution
# slip factor: 125 => 25
# slip large: 0.125 => 8
# slip small: 125 => 05
answer = 0.125
