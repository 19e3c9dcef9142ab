# %% after: equal = small(0.5)
slopes_of_equal = equal.open().gradient[:6].reshape(3, 2)
assert (slopes_of_equal == slopes_of_equal[0]).all()
hidden = np.tanh(0.5 * np.sum(BITS, axis=1) + 0.5)
by_hand = np.mean(2 * (1.5 * hidden + 0.5 - np.ravel(XOR)) * 0.5 * (1 - hidden**2) * np.array(BITS)[:, 0])
assert np.isclose(slopes_of_equal[0, 0], by_hand)
of_zeros = small(0.0).open().gradient
assert len(of_zeros) == 13
assert (of_zeros[:12] == 0).all()
assert of_zeros[12] != 0

# %% after: different = small(0.5, [[0.5, -0.4], [-0.3, 0.6], [0.2, 0.1]])
rows_of_equal, rows_of_different = (run.model[0].weight.data for run in (equal, different))
assert np.ptp(rows_of_equal, axis=0).max() < 1e-9
assert abs(rows_of_equal - 0.5).min() > 1
assert np.ptp(rows_of_different, axis=0).min() > 1
assert np.allclose(different.predict(BITS), XOR, atol=0.01)
assert equal.loss > 0.1
assert (different.model[0].bias.data != different.model[0].bias.data[0]).any()

# %% after: for n in (1, 4, 9, 16):
for n in (1, 4, 9, 16):
    signs_of_coins = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    assert np.isclose(np.mean(signs_of_coins.sum(axis=1) ** 2), n)

# %% after:     print(f"             weights with std {std:.2f}: RMS of the sums {rms(sums_of(n, std)):5.2f}")
assert 0 < abs(rms(sums_of(100, 1)) / 10 - 1) < 0.05
assert abs(rms(sums_of(2500, 1)) / 50 - 1) < 0.05
assert all(abs(rms(sums_of(n, 1 / np.sqrt(n))) - 1) < 0.05 for n in (100, 400, 2500))
assert np.isclose(rms(sums_of(400, 1 / 20)), rms(sums_of(400, 1)) / 20)
assert np.tanh(50) == 1
few = nn.Linear(3, 2, bias=False, seed=5)
assert np.allclose([value.data for value in few([1.0, 2.0, 3.0])], few.weight.data @ [1.0, 2.0, 3.0])
assert np.mean(abs(np.random.default_rng(7).normal(size=10**5)) < 1) > 0.6

# %% after:     print(f"{name:12} RMS of the outputs: {sizes}   farther than 0.99 from 0: {saturated:.0%}")
sizes_of = {name: np.array([rms(layer) for layer in layers]) for name, layers in outputs.items()}
assert (abs(sizes_of["too small"][1:] / sizes_of["too small"][:-1] - 0.5) < 0.05).all()
assert sizes_of["too small"][-1] < 0.001 * rms(samples)
assert abs(runs["too small"].predict(samples)).max() < 0.01
assert (abs(sizes_of["too large"] - 0.91) < 0.01).all()
assert np.mean(abs(np.array(outputs["too large"])) > 0.99) > 0.5
assert np.mean(abs(np.array(outputs["too large"])) > 0.8) > 0.7
assert np.mean(abs(np.array(outputs["by the rule"])) > 0.99) < 0.005
shown = np.array([layer[:30, 0] for layer in outputs["by the rule"]])
assert (abs(shown).min(axis=1) < 0.1).all()
assert abs(shown[-1]).max() > 0.3
assert rms(shown[-1]) < rms(shown[0])
assert abs(sizes_of["by the rule"][-1] / sizes_of["by the rule"][0] - 1 / 3) < 0.04
assert rms(outputs["too small"][4][:30, 0]) < 0.05

# %% after:     last, first = rms(step.deltas["18"]), rms(step.deltas["0"])
ratios = {name: rms(step.deltas["0"]) / rms(step.deltas["18"]) for name, step in opened.items()}
assert 0.0008 < ratios["too small"] < 0.002
assert 100 < ratios["too large"] < 200
assert abs(ratios["by the rule"] - 0.25) < 0.02
of_rule = opened["by the rule"]
weights_of_10 = runs["by the rule"].model[18].weight.data
passed = (weights_of_10.T @ of_rule.deltas["18"]) * (1 - of_rule.rows["17"] ** 2)
assert np.allclose(passed, of_rule.deltas["16"])
slopes_of_tanh = 1 - opened["too large"].rows["1"] ** 2
assert np.mean(slopes_of_tanh < 0.05) > 0.5
assert slopes_of_tanh.max() > 0.9

# %% after:     print(f"{name:12} loss before {run.open().loss:.2f}   after training: {trained(run)}")
assert runs["too small"].loss > 0.99
assert abs(runs["too small"].predict(samples)).max() < 0.05
assert runs["by the rule"].loss < 0.01
assert runs["too large"].loss > 1000
assert float(trained(deep(0.5, lr=0.01))) < 0.01
assert float(trained(deep(0.05, lr=0.01))) > 0.99
assert float(trained(deep(0.05), 200)) > 0.9
assert float(trained(deep(0.05), 400)) < 0.01

# %% after: print(f"standard deviation: wanted {np.sqrt(2 / (100 + 100)):.4f}, found {layer.weight.data.std():.4f}")
assert np.isclose((np.arange(-1, 1, 1e-5) + 5e-6).std(), 1 / np.sqrt(3))
assert abs(layer.weight.data.std() - 0.1) < 0.002
oblong = nn.Linear(300, 100)
oblong.initialize(nn.init.xavier_uniform(), seed=0)
assert abs(oblong.weight.data.var() * 200 - 1) < 0.02
plain = nn.Linear(100, 100, seed=0).weight.data
assert 0.099 < abs(plain).max() < 0.1
assert abs(plain.std() * 10 - 0.58) < 0.005
assert np.isclose(1 / np.sqrt(3), 0.58, atol=0.003)
assert 0.004 < 0.58**10 < 0.005

# %% after: he = nn.init.calculate_gain("relu") / np.sqrt(100)
assert np.isclose(he, np.sqrt(2 / 100))
assert np.mean(np.maximum(sums, 0) ** 2) == np.mean(sums**2) / 2
of_rectifiers = {std: deep(std, bend=nn.ReLU).open() for std in (0.1, he)}
squares_of = {std: [np.mean(step.rows[str(2 * k)] ** 2) for k in range(10)] for std, step in of_rectifiers.items()}
assert squares_of[0.1][9] / squares_of[0.1][0] < 1 / 300
assert all(0.35 < b / a < 0.65 for a, b in zip(squares_of[0.1][:-1], squares_of[0.1][1:], strict=True))
assert max(squares_of[he]) < 1.5 * min(squares_of[he])
assert abs(np.mean(of_rectifiers[he].rows["0"] < 0) - 0.5) < 0.05
wide = nn.Linear(50, 1000)
wide.initialize(nn.init.kaiming_uniform(), seed=0)
assert abs(wide.weight.data.std() - 0.2) < 0.001

# %% after:     print(norm(SUMS).data.round(3) + 0.0)
table_of_sums = np.array(SUMS)
of_batch, of_layer = nn.BatchNorm1d(3)(SUMS).data, nn.LayerNorm(3)(SUMS).data
assert np.allclose(of_batch, (table_of_sums - table_of_sums.mean(0)) / table_of_sums.std(0), rtol=1e-5)
across = table_of_sums.mean(axis=1, keepdims=True), table_of_sums.std(axis=1, keepdims=True)
assert np.allclose(of_layer, (table_of_sums - across[0]) / across[1], rtol=1e-4, atol=1e-5)
assert (of_batch[:, 0].round(3) == ((column - column.mean()) / column.std()).round(3)).all()
assert of_batch[2, 0] == 0
assert np.allclose(of_batch.std(axis=0), 1, atol=1e-4)
assert np.allclose(of_layer.std(axis=1), 1, atol=1e-4)
assert (of_layer.argmax(axis=1) == 1).all()

# %% after: table[[2, 5]] *= 2
in_columns, in_rows = (np.asarray(norm(table).data) for norm in (nn.BatchNorm1d(8), nn.LayerNorm(8)))
assert ((table[:, 1] > 0).all(), (table[:, 4] < 0).all()) == (True, True)
assert (in_columns.min(axis=0) < 0).all()
assert (in_columns.max(axis=0) > 0).all()
assert (in_rows[:, 4] < 0).all()
assert np.allclose(in_rows.std(axis=1), 1, atol=1e-3)

# %% after: print(f"unit 0: mean {first.mean():.3f}, standard deviation {first.std():.3f}")
assert abs(first.mean() - 5) < 1e-9
assert abs(first.std() - 2) < 1e-4
assert np.allclose(nn.LayerNorm(3)(10 * np.array(SUMS)).data, nn.LayerNorm(3)(SUMS).data, atol=1e-4)
assert nn.BatchNorm1d(3).weight.data.tolist() == nn.LayerNorm(3).weight.data.tolist() == [1, 1, 1]
assert nn.BatchNorm1d(3).bias.data.tolist() == nn.LayerNorm(3).bias.data.tolist() == [0, 0, 0]

# %% after:     print("1, 10, 3 becomes", norm(batch).data[0].round(3) + 0.0)
assert not np.allclose(nn.BatchNorm1d(3)(SUMS).data[0], nn.BatchNorm1d(3)(other).data[0], atol=0.1)
assert np.allclose(nn.LayerNorm(3)(SUMS).data[0], nn.LayerNorm(3)(other).data[0])
fresh = nn.BatchNorm1d(3)
assert fresh.running_mean.tolist() == [0, 0, 0]
assert fresh.running_var.tolist() == [1, 1, 1]

# %% after: print("evaluation: alone", norm(SUMS[0]).data.round(3), "  in another batch", norm(other).data[0].round(3))
table_of_sums = np.array(SUMS)
of_batch = nn.BatchNorm1d(3)(SUMS).data
assert np.allclose(norm.running_mean, (1 - 0.9**100) * table_of_sums.mean(axis=0))
assert np.allclose(norm.running_mean, table_of_sums.mean(axis=0), atol=0.005)
assert np.allclose(norm.running_var, table_of_sums.var(axis=0, ddof=1), atol=0.005)
assert (norm(SUMS[0]).data == norm(other).data[0]).all()
assert abs(norm(SUMS[0]).data[0] - of_batch[0, 0]) > 0.1
once = nn.BatchNorm1d(3)
once(SUMS)
assert np.allclose(once.running_mean, table_of_sums.mean(axis=0) / 10)

# %% after:     loss, slopes_of_layer = gradient(factor)
assert np.isclose(gradient(1)[0], gradient(10)[0])
assert np.allclose(gradient(10)[1], gradient(1)[1] / 10)
assert np.allclose(gradient(0.1)[1], gradient(1)[1] * 10)

# %% after: too_small, he = nn.init.normal(0, 0.1), nn.init.kaiming_uniform()
assert int((inside == 0).sum()) == 53
assert [score(too_small, 0, rate) for rate in (0.1, 1.0, 3.0)] == [53, 53, 53]
assert min(score(start, 1, rate) for start in (too_small, he) for rate in (0.1, 1.0, 3.0)) > 90
assert score(he, 0, 0.1) > 80
for rate in (1.0, 3.0):
    dead = circle(he, 0, rate)
    dead.step(300)
    step = dead.open()
    assert min(step.rows[str(2 * k + 1)].max() for k in range(6)) == 0
    assert np.ptp(dead.predict(points)) == 0
biases = [layer.bias.data for layer in circle(he, 0, 1.0).model if isinstance(layer, nn.Linear)]
assert len(biases) == 7
assert not np.concatenate(biases).any()
silent = deep(1.0).open()
assert all(abs(rms(silent.rows[str(2 * k + 1)]) - 0.96) < 0.006 for k in range(10))
assert abs(rms(silent.deltas["18"]) - 0.09) < 0.005
assert abs(rms(silent.deltas["0"]) - 140) < 5
