# %% after: print("y =", y)
assert y == -3.0 * 2.0

# %% after: print(f"slope of y with respect to w = {by_w:.4f}, with respect to x = {by_x:.4f}")
assert np.isclose(by_w, x)
assert np.isclose(by_x, w.data)

# %% after: print(f"by a nudge: {(nudged - loss) / nudge:.2f}")
assert abs((nudged - loss) / nudge - upstream) < 0.01

# %% after: print(f"w.grad = {w.grad}, passed on to the input: {to_input}")
assert w.grad == upstream * x == -40.0
assert to_input == upstream * w.data

# %% after: print(f"w = {w.data}, y = {y}, loss = {(y - target) ** 2}")
assert w.data == -3.0 - 0.05 * -40.0
assert (y - target) ** 2 < loss

# %% after: print("added up:", w.grad)
assert w.grad == -40.0 + 2 * (y - target) * x

# %% after: print("after zero_grad:", w.grad)
assert w.grad == 0.0

# %% after: print("w:", " ".join(f"{value:.3f}" for value in path[:8]), "...", f"{path[-1]:.6f}")
assert abs(w.data * x - target) < 1e-5
assert np.allclose(np.array(path) - 2, -5 * 0.6 ** np.arange(31))

# %% after:     print(f"w = {w.data:7.3f}   distance to 2 = {abs(w.data - 2):.3f}")
assert abs(w.data - 2) > 5
