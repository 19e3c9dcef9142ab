# %% after: print(f"z = {z.data:.4f}, output = {out.data:.4f}, loss = {loss.data:.4f}")
assert np.isclose(out.data, 1 / (1 + np.exp(-(0.8 * 0.9 - 0.4 * 0.5 + 0.3 * 0.1 + 0.2))))
assert all(0 < sv.Value(v).sigmoid().data < 1 for v in (-30, 0, 30))

# %% after: print(f"{by_output:.4f} * {by_sum:.4f} * {by_weight} = {product:.4f}")
assert np.isclose(product, w[0].grad)
assert np.allclose([weight.grad for weight in [*w, b]], [by_output * by_sum * last for last in [*inputs, 1.0]])

# %% after: print(f"loss before {loss.data:.4f}, after {(z.sigmoid().data - wanted) ** 2:.4f}")
assert (z.sigmoid().data - wanted) ** 2 < loss.data

# %% after: print(f"output = {unit(inputs).data:.4f}")
assert np.isclose(unit(inputs).data, z.sigmoid().data)

# %% after: print(f"nudged: {(high - low) / (2 * nudge):.6f}   chain rule: {product:.6f}")
assert abs((high - low) / (2 * nudge) - product) < 1e-6

# %% after: print(f"in place of {check.numeric[0]:.4f}")
assert check
assert abs(forgotten - check.numeric[0]) > 0.1

# %% after: print(len(colours), "colours to learn from")
assert ((net[0].weight.data >= 0) & (net[0].weight.data <= 1)).all()

# %% after: show(scene, quantity="gradient")
assert np.allclose(net[0].weight.data, start - 0.5 * net[0].weight.grad)
assert (net[0].weight.grad > 0).all()
assert (net[0].weight.data < start).all()

# %% after: show(scene)
assert run.loss < 0.04 * first

# %% after: print("orange", orange, "->", run.predict([orange])[0].round(2))
assert (np.diag(weights) < -4).all()
assert (abs(weights[~np.eye(3, dtype=bool)]) < 0.3).all()
assert (run.predict([[0, 0, 0]]) > 0.8).all()

# %% after: print(f"largest error of an output: {worst:.2f}")
assert 0.05 < worst < 0.25
