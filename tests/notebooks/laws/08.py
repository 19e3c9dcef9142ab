# %% after: examine(train(healthy))
assert np.allclose(healthy.predict(BITS), EQUAL, atol=0.01)
assert abs(healthy.open().gradient).max() < 1e-6

# %% after:     patients[name] = train(network(**ILLNESSES[illness]))
assert not any(np.allclose(patient.predict(BITS), EQUAL, atol=0.3) for patient in patients.values())
