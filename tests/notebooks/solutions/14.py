# %% momentum-by-hand: solution
answer = 5 - 0.1 * (0.9 * 2 - 1)


# %% first-adam: solution
answer = 3 - 0.1 * 1000 / np.sqrt(1000**2)


# %% momentum-code: solution
# slip slip: lr * speed => speed
# slip slip: w - lr => w + lr
# slip slip: lr * speed => lr * gradient
# slip slip: momentum * speed + gradient => speed + gradient
# slip slip: momentum * speed + gradient => momentum * speed + (1 - momentum) * gradient
# slip slip: momentum * speed + gradient => momentum * (speed + gradient)
# slip slip: momentum * speed + gradient => 0.9 * speed + gradient
# slip slip: w - lr * speed, speed => speed, w - lr * speed
# slip edit: lr * speed => lr * (speed + 1)
# slip none: return w - lr * speed, speed => pass
# slip kind: speed, speed => speed
def momentum_step(w, speed, gradient, lr, momentum):
    speed = momentum * speed + gradient
    return w - lr * speed, speed


# %% which-path: solution
answer = "C A B"
