# %% after: print("right answers of the best:", max(counts))
assert max(counts) == 3

# %% after: print("answers after 5000 steps:", said_by_one.round(2))
assert np.allclose(said_by_one, 0.5, atol=0.01)

# %% after:     print(*bits, " ", "  ".join(f"{unit:.2f}" for unit in units))
assert (exactly_one.round() == WANTED).all()

# %% after:     print(bits, "hidden", *(f"{number:6.2f}" for number in row), f"  sum {row @ last:6.2f}")
sums = hidden @ last
assert sums[WANTED == 1].min() > 2
assert abs(sums[WANTED == 0]).max() < 0.1
assert np.allclose(np.tanh(sums), scene.run.predict(xor.with_one(BITS)).ravel(), atol=1e-4)

# %% after: print("without a bend:", said_without.round(2))
assert np.allclose(said_without, 0.5, atol=0.01)

# %% after: print("the same with one layer:", one_layer.ravel().round(2))
assert np.allclose(one_layer, 0.5, atol=0.01)

# %% after: print("sum  ", *(f"{pull:8.4f}" for pull in by_question.sum(axis=0)))
assert abs(by_question).min() > 0.05
assert abs(by_question.sum(axis=0)).max() < 0.003

# %% after:     print(f"{steps:6} steps:", stuck.run.predict(xor.with_one(BITS)).ravel().round(2))
assert (stuck.run.predict(xor.with_one(BITS)).ravel().round() == WANTED).all()
