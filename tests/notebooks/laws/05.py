# %% after: print("after the second call:", w.grad)
assert w.grad == 2 * -4

# %% after: sv.draw(y)
assert w.grad == 2 + 3

# %% after:     print("replaced:", w.grad)
assert w.grad in (2, 3)

# %% after: print("adding:   ", bool(sv.gradcheck(five_times, 1.5)))
assert sv.gradcheck(five_times, 1.5)
with sv.mistakes.overwrite():
    assert not sv.gradcheck(five_times, 1.5)

# %% after: print("together:", together, "  one after the other:", w.grad)
assert together == w.grad == 2 * (1.5 * 2 - 4) * 2 + 2 * (1.5 * 1 - 3) * 1

# %% after: print(f"w = {w.data:.2f}   slope: {w.grad - old:+.2f}   in the box: {w.grad:+.2f}")
assert w.grad < 0 < w.grad - old

# %% after: print(f"lowest and highest in the last 100 of 2000 steps: {last.min():.2f} and {last.max():.2f}")
assert abs(cleared[-1] - 2) < 0.01
assert 3.9 < never.max() < 4.1
assert 2 < never[3] < never[4]
assert abs(never[14]) < 0.1
assert swing[-100:].min() < 0.1
assert swing[-100:].max() > 3.9

# %% after:     print(f"loss after {k:2} steps:", *(f"  {name} {loss[k]:.3f}" for name, loss in losses.items()))
assert losses["never"][3] < losses["cleared"][3]
assert losses["never"][7] > losses["cleared"][7]

# %% after:     print(f"{order:20} w = {end_of(order):.3f}")
assert abs(end_of("clear backward step") - 2) < 1e-3
assert end_of("backward step clear") == end_of("clear backward step")
assert end_of("backward clear step") == 0

# %% after:     sgd.step()
assert b.data == 0
assert np.isclose(b.grad, -4 - 3.2 - 2.56)

# %% after: print("in two portions:", in_portions, "  at once:", w.grad)
assert np.isclose(in_portions, w.grad)
