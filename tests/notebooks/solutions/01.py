# %% by-hand: solution
answer = 18
# %% by-hand: slip sign
answer = -18
# %% by-hand: slip factor
answer = 9
# %% by-hand: slip small
answer = 6


# %% product-rule: solution
def rule(w, x, upstream):
    return upstream * x, upstream * w


# %% product-rule: slip swapped
def rule(w, x, upstream):
    return upstream * w, upstream * x


# %% product-rule: slip upstream
def rule(w, x, upstream):
    return x, w


# %% product-rule: slip added
def rule(w, x, upstream):
    return upstream + x, upstream + w


# %% one-step: solution
answer = 0.125
# %% one-step: slip factor
answer = 0.25
# %% one-step: slip large
answer = 8
# %% one-step: slip small
answer = 0.05
