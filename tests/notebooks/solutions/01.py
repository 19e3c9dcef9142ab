# %% by-hand: solution
answer = 18


# %% product-rule: solution
# slip swapped: x, upstream * w => w, upstream * x
# slip upstream: upstream * x, upstream * => x,
# slip added: * x, upstream * => + x, upstream +
# slip count: , upstream * w => + 0.0
# slip local: upstream * x, upstream * w => upstream, upstream
# slip twice: return upstream * x => return upstream * upstream * x
# slip kind: return upstream * x => return "x times upstream"
# slip none: return => return None if True else
def rule(w, x, upstream):
    return upstream * x, upstream * w


# %% one-step: solution
answer = 0.125
