# %% after: sv.draw(z)
assert np.isclose(a.grad, 3 * -2 * 0.5 * np.exp(-0.25) + 1)

# %% after: print("with a slope that forgets y:", bool(sv.gradcheck(careless, 0.5)))
assert sv.gradcheck(bump, 0.5)
assert not sv.gradcheck(careless, 0.5)

# %% after: print(f"the middle of the bump: {w0:.2f} * x + {w1:.2f} * y = {-bias:.2f}")
assert np.allclose(run.predict(BITS), WANTED, atol=0.05)
assert abs(w0 + bias) < 0.1
assert abs(w1 + bias) < 0.1

# %% after: print("numba is more than 20 times faster:", seconds["objects"] > 20 * seconds["numba"])
assert np.allclose(weights["objects"], weights["numba"], atol=1e-12)

# %% after: print(length(a, b).data, a.grad, b.grad)
assert (a.grad, b.grad) == (0.6, 0.8)
assert sv.gradcheck(length, 3.0, 4.0)
