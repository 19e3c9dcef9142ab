# %% after: print(f"loss = ({y:.4f} - {target[0]})**2 = {loss:.4f}")
assert np.isclose(run.predict([x])[0, 0], y)

# %% after: print(f"nudged: {found:.4f}   chain rule: {np.prod(links):.4f}")
assert abs(found - np.prod(links)) < 1e-6

# %% after:     print(f"{name:4} {delta:8.4f} * {entered:7.4f} = {delta * entered:8.4f}")
slopes_by_hand = {name: delta * entered for name, delta, entered in rows}
assert max(("w00", "w01", "w10", "w11"), key=lambda name: abs(slopes_by_hand[name])) == "w00"
assert round(1 - h1 * h1, 3) == 0.165

# %% after: print("gradient of w00:     ", opened.gradient[opened.index("0.weight[0][0]")].round(4))
assert np.allclose(opened.deltas["0"].ravel(), [delta_0, delta_1])
assert np.allclose(sorted(opened.gradient), sorted(delta * entered for name, delta, entered in rows))

# %% after: print(f"backward(): {x0.grad:.4f}")
assert np.isclose(x0.grad, first + second)
