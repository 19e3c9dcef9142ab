# %% after: found = run.why("weight[0][0]")
assert np.isclose(found.update.after, run.model.weight.data[0, 0])

# %% after: print("the points of pupil 4:", points[4])
assert found.rows[0].sample == 4
assert round(share, 2) == 0.85

# %% after: found = run.why("weight[0][0]")
assert abs(found.rows[0].product / found.total) < 0.3

# %% after: print(f"step 4: gradient {run.open(step=4).gradient[0]:7.4f}")
assert run.open(step=4).gradient[0] > 0
assert places[4] > places[3]

# %% after: found = run.why("weight[0][0]", step=4)
assert found.gradient > 0
assert found.update.after > found.update.before

# %% after: print("steps against their own gradient:", against)
assert against[:3] == [4, 5, 6]

# %% after: picture(along)
middle = len(along.weights) // 2
near = np.abs(along.losses - along.tangent)
assert near[middle] < 1e-12
assert (along.losses >= along.tangent - 1e-12).all()
assert near[middle + 1] < 0.01 < near[-1]
