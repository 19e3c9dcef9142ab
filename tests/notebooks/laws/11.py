# %% after: print("weights:", len(run.values))
assert len(run.values) == 1264
assert microgpt.build(microgpt.Options(embd=32)).run.n_weights == 14528

# %% after: print("rows with a gradient:", [ALPHABET[k] for k in touched])
assert list(touched) == [ALPHABET.index("m")]

# %% after:     print(f"{letter:8} score {score:.2f}   share {share:.2f}")
assert np.isclose(sum(shares), 1)

# %% after: print("taken:", taken.round(2))
assert (taken > 0).all()
assert (taken < 1).all()

# %% after: print(f"20 layers without shortcuts: {slope_through(20, shortcut=False):.1e}")
assert slope_through(20, shortcut=False) < 1e-5
assert abs(slope_through(20, shortcut=True) - 8.25) < 0.005

# %% after: print(f"our GPT, step 1: {run.loss:.3f}")
assert abs(run.loss - np.log(27)) < 0.1

# %% after: print(f"loss {run.loss:.2f}")
assert run.loss < 2.6

# %% after: maps = microgpt.read(Moment(run.frame(), run), ids, heads=2, layers=1).attention
assert np.allclose(maps.sum(axis=2), 1)
assert (maps[:, ~np.tri(5, dtype=bool)] == 0).all()
assert maps[:, -1].argmax(axis=1).tolist() == [1, 3]
assert np.allclose(maps[:, -1].max(axis=1), [0.40, 0.51], rtol=0, atol=0.006)

# %% after: for parameter in tiny.parameters():
for parameter in tiny.parameters():
    weight = parameter[0][0]
    assert abs(weight.grad - nudged(weight)) < 1e-7
