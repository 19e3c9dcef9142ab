# %% after: print("slope of c with respect to a:", a.grad)
assert (c.data, a.grad, b.grad) == (-4.0, -2.0, 2.0)

# %% after: print(f"loss = {loss().data:.4f}")
live = sv.lessons.scenes.own_value().run
assert np.isclose(live.open().loss, loss().data / 4)
assert np.isclose(live.optimizer.lr, 4 * 0.02)

# %% after:     print(bits, f"-> {unit(*bits).data:.3f}   wanted {wanted}")
assert loss().data < 1e-4
assert np.allclose([unit(*bits).data for bits in BITS], WANTED, atol=0.01)
