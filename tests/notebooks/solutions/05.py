# %% three-times: solution
# slip small: 18 => 6
# slip factor: 18 => 9
# slip sign: = 18 => = -18
answer = 18


# %% in-parts: solution
# slip path: return 2 * w => return w
# slip swapped: 2 * w * x + 1, w * w => w * w, 2 * w * x + 1
# slip path: x + 1 => x
# slip value: 2 * w * x + 1 => w * w * x + w
def slopes(w, x):
    return 2 * w * x + 1, w * w


# %% the-loop: solution
# slip zero_grad: optimizer.zero_grad() => pass
def step(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


# %% the-loop: slip nothing
def step(optimizer, loss):
    loss().backward()
    optimizer.zero_grad()
    optimizer.step()


# %% the-loop: slip early
def step(optimizer, loss):
    optimizer.step()
    optimizer.zero_grad()
    loss().backward()


# %% portions: solution
# slip large: 3 => 4
# slip factor: 3 => 12
# slip sign: = 3 => = -3
answer = 3
