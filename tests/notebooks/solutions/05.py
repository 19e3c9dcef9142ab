# %% three-times: solution
answer = 18
# %% three-times: slip small
answer = 6
# %% three-times: slip factor
answer = 9
# %% three-times: slip sign
answer = -18


# %% in-parts: solution
def slopes(w, x):
    return 2 * w * x + 1, w * w


# %% in-parts: slip path
def slopes(w, x):
    return w * x + 1, w * w


# %% in-parts: slip swapped
def slopes(w, x):
    return w * w, 2 * w * x + 1


# %% in-parts: slip path
def slopes(w, x):
    return 2 * w * x, w * w


# %% in-parts: slip value
def slopes(w, x):
    return w * w * x + w, w * w


# %% the-loop: solution
def step(optimizer, loss):
    optimizer.zero_grad()
    loss().backward()
    optimizer.step()


# %% the-loop: slip zero_grad
def step(optimizer, loss):
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
answer = 3
# %% portions: slip large
answer = 4
# %% portions: slip factor
answer = 12
# %% portions: slip sign
answer = -3
