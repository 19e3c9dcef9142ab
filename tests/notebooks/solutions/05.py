# %% three-times: solution
answer = 18


# %% in-parts: solution
# slip path: return 2 * w => return w
# slip swapped: 2 * w * x + 1, w * w => w * w, 2 * w * x + 1
# slip path: x + 1 => x
# slip value: 2 * w * x + 1 => w * w * x + w
# slip none: return => return None if True else
# slip kind: 2 * w * x + 1, => "2 * w * x + 1",
def slopes(w, x):
    return 2 * w * x + 1, w * w


# %% the-loop: solution
# slip zero_grad: optimizer.zero_grad() => pass
# slip again: loss().backward() => loss().backward(), loss().backward()
# slip nothing: optimizer.step() => pass
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


# %% the-loop: slip nothing
def step(optimizer, loss):
    optimizer.zero_grad()
    loss()
    optimizer.step()


# %% portions: solution
answer = 3
