# %% after: print(len(colours), "colours; white", colours[-1], "should become", wanted[-1])
assert len(colours) == 27

# %% after: print("loss:", "  ".join(f"{x:.4f}" for x in few), f" ...  {losses[-1]:.4f}")
assert losses[-1] < 0.2 * losses[0]
assert path[1] < path[0]

# %% after: print(found.round(2))
assert (np.diag(found) < -3).all()
assert (abs(abs(found[~np.eye(3, dtype=bool)]) - 0.3) < 0.1).all()

# %% after:     print(f"to 2 digits: {away[engine] < 0.01}")
assert max(away.values()) < 1e-12

# %% after: print("wanted", [round(1 - x, 1) for x in orange])
assert abs(run.predict([orange])[0] - (1 - np.array(orange))).max() < 0.1
assert abs(run.model[0].weight.data[~np.eye(3, dtype=bool)]).max() < 0.05
