# %% after: print(f"loss {loss.data}, gradient of w0: {w[0].grad}, gradient of w1: {w[1].grad}")
samples, targets = np.array([[1.0, 0.0], [0.0, 10.0]]), np.zeros(2)
for place in np.random.default_rng(1).normal(size=(20, 2)):
    assert np.isclose(loss_of(*place), ((samples @ place - targets) ** 2).mean())
assert abs(w[0].data) > 5 * abs(w[1].data)
assert abs(w[1].grad) > 10 * abs(w[0].grad)

# %% after: print(f"curvature along w0: {along_w0:.1f}, along w1: {along_w1:.1f}")
assert (gradient_of(-4, 0.5) == [w[0].grad, w[1].grad]).all()
assert np.isclose(along_w1 / along_w0, 100)
samples = np.array([[1.0, 0.0], [0.0, 10.0]])
hessian = 2 * samples.T @ samples / 2
assert np.allclose(np.linalg.eigvalsh(hessian), [along_w0, along_w1])
assert np.isclose(np.linalg.cond(hessian), 100)

# %% after: print(f"step {step}: w0 = {down[step, 0]:.4f}, w1 = {down[step, 1]:.4f}")
t = np.arange(101)
assert np.allclose(down, np.stack([-4 * 0.981**t, 0.5 * (-0.9) ** t], axis=1), atol=1e-12)
assert abs(down[1, 1] - down[0, 1]) > abs(down[1, 0] - down[0, 0])
assert (down[:-1, 1] * down[1:, 1] < 0).all()
assert (np.diff(abs(down[:, 1])) < 0).all()
assert down[-1, 0] < -0.5

# %% after: end = walk(optim.SGD, steps=50, lr=rate)[-1]
flat = walk(optim.SGD, steps=51, lr=0.02)
assert np.allclose(abs(flat[:, 1]), 0.5)
assert np.allclose(flat[1:, 1], -flat[:-1, 1])
assert round(1 - 0.02, 2) == 0.98
assert 0.08 < 0.021 / 0.019 - 1 < 0.12
for rate in (0.0199, 0.0201):
    ends = abs(walk(optim.SGD, steps=200, lr=rate)[[0, -1], 1])
    assert (ends[1] < ends[0]) == (rate < 2 / 100)

# %% after: print(f"plain, rate {rate:.3f}: {steps_needed(walk(optim.SGD, steps=1000, lr=rate))}")
assert steps_needed(walk(optim.SGD, steps=1000, lr=0.019)) == "235 steps"
path = walk(optim.SGD, steps=1000, lr=0.019)
assert loss_of(*path[235]) < 0.001 <= loss_of(*path[234])
assert (loss_of(*path[235:].T) < 0.001).all()
largest = [max(abs(1 - rate), abs(1 - 100 * rate)) for rate in (1.99 / 101, 2 / 101, 2.01 / 101)]
assert min(largest) == largest[1]
assert np.isclose(largest[1], 99 / 101)

# %% after: print(f"{name}:", *(f"{speed:.2f}" for speed in found[:5]), "... after 100 steps", f"{found[-1]:.2f}")
assert abs(speeds([1] * 100)[-1] - 1 / (1 - 0.9)) < 1e-3
assert abs(abs(speeds([1, -1] * 50)[-1]) - 1 / (1 + 0.9)) < 1e-3
assert np.isclose(speeds([1, 2, 3])[-1], 3 + 0.9 * 2 + 0.81 * 1)

# %% after: draw({"plain gradient descent": down, "momentum": rolling})
assert np.allclose(place, rolling[-1], rtol=0, atol=1e-12)
turn = np.array([[1.9 - 0.005, -0.9], [1, 0]])  # w after a step, of w and of w before
for column, curvature in ((0, 1), (1, 100)):
    turn[0, 0] = 1.9 - 0.005 * curvature
    first = rolling[0, column]
    far = np.linalg.matrix_power(turn, 99) @ [first * (1 - 0.005 * curvature), first]
    assert np.isclose(rolling[-1, column], far[0])
assert np.allclose(rolling[1], walk(optim.SGD, steps=1, lr=0.005)[1])
lengths = np.diff(rolling[:, 0])
assert (np.diff(lengths[:10]) > 0).all()
assert np.allclose(abs(np.linalg.eigvals(turn)), np.sqrt(0.9))  # a swing across the valley, from step to step
assert abs(np.sqrt(0.9) - 0.95) < 0.005
assert np.allclose(walk(optim.SGD, steps=20, lr=0.005)[:, 1], 0.5 ** np.arange(1, 22))
bends = [abs(rolling[k, 1]) for k in range(1, 60) if abs(rolling[k, 1]) > max(abs(rolling[[k - 1, k + 1], 1]))]
assert sum(np.diff(np.sign(rolling[:60, 1])) != 0) >= 10
assert max(bends[-3:]) < 0.3 * max(bends[:3])

# %% after: print(f"largest w0 on the way: {rolling[:, 0].max():.4f}")
assert rolling[:, 0].max() > 0
assert abs(rolling[-1, 0]) < rolling[:, 0].max()
counts = [
    int(steps_needed(walk(optim.SGD, steps=1000, lr=rate, momentum=0.9)).split()[0])
    for rate in (0.002, 0.005, 0.018, 0.037)
]
assert counts[1] == 94
assert max(counts) < 235
assert 0.037 / 0.002 > 18
for rate in (0.0375, 0.0385):
    ends = abs(walk(optim.SGD, steps=500, lr=rate, momentum=0.9)[[0, -1], 1])
    assert (ends[1] < ends[0]) == (rate < 0.038)

# %% after: mean = 0.9 * 0 + 0.1 * 50
assert mean / np.sqrt(square) > 3
assert np.isclose(mean, 50 / 10)
assert np.isclose(square, 50**2 / 1000)

# %% after: print(f"corrected: mean {corrected:.1f}, square {spread:.1f}, ratio {corrected / np.sqrt(spread):.2f}")
assert np.isclose(corrected / np.sqrt(spread), 1)
m, v = 0.0, 0.0
for t in range(1, 40):
    m, v = 0.9 * m + 0.1 * 7, 0.999 * v + 0.001 * 49
    assert np.allclose([m, v], [(1 - 0.9**t) * 7, (1 - 0.999**t) * 49])
assert 1 - 0.9**12 < 0.9 < 0.99 < 1 - 0.9**60
assert 1 - 0.999**1000 < 0.9 < 0.99 < 1 - 0.999**5000

# %% after: print(f"library, step {step}: w0 = {even[step, 0]:.6f}, w1 = {even[step, 1]:.6f}")
assert np.allclose(place, even[-1], rtol=0, atol=1e-9)
assert np.allclose(even[1] - even[0], [0.1, -0.1], atol=1e-8)
assert 50 / 4 == 12.5

# %% after: found = run.why("weight[0][1]")
assert np.isclose(found.update.after, even[3, 1], atol=1e-9)
assert np.isclose(found.gradient, 100 * even[2, 1])

# %% after: print(f"plain: w1 after 3 steps is {walk(optim.SGD, steps=3, loss=large, lr=0.019)[-1, 1]:.0f}")
assert abs(walk(optim.Adam, loss=large, lr=0.1) - even).max() < 1e-6
assert abs(walk(optim.SGD, steps=3, loss=large, lr=0.019)[-1, 1]) > 1e9
assert np.allclose(walk(optim.SGD, loss=large, lr=0.019 / 1000), down)

# %% after: draw({"plain gradient descent": down, "momentum": rolling, "Adam": even})
assert (abs(np.diff(even, axis=0)[:5]) > 0.07).all()
assert (abs(np.diff(even, axis=0)[:5]) < 0.101).all()
swings = [np.sum(np.diff(np.sign(path[:, 1])) != 0) for path in (rolling, even)]
assert swings[1] < swings[0]
for rate in (0.01, 0.03, 0.1, 0.3):
    assert abs(np.diff(walk(optim.Adam, steps=1000, lr=rate), axis=0)).max() < 1.3 * rate
assert 0 <= late[0] < 1e-20
assert 0.2 < late.max() < 0.3
assert late[-1] < 1e-6
assert late.argmax() > 100
place, mean, square = np.array([-4.0, 0.5]), np.zeros(2), np.zeros(2)
for t in range(1, 5300):
    gradient = place * [1, 100]
    mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
    place = place - 0.1 * mean / (1 - 0.9**t) / (np.sqrt(square / (1 - 0.999**t)) + 1e-8)
assert 0.1 / np.sqrt(square[1]) > 0.38 > 0.1 / np.sqrt(2.5)  # the limit of a mean: 2 * 1.9 / (0.1 * 100)
assert abs(place[1]) < 1e-3
slow = walk(optim.Adam, steps=1000, lr=0.01)
assert steps_needed(slow) == "925 steps"
assert (slow[:390, 0] < 0).all()
counts = [
    int(steps_needed(walk(optimiser, 1000, lr=rate, **more)).split()[0]) for optimiser, rate, more in three.values()
]
assert counts == [235, 94, 94]
weights = [sv.Weight(1.0)]
assert [len(optimiser(weights, lr=rate, **more).state) for optimiser, rate, more in three.values()] == [0, 1, 2]
bowl = walk(optim.SGD, 1, lambda w0, w1: (w0 * w0 + w1 * w1) / 2, (-4.0, 5.0), lr=1.0)
assert (bowl[1] == 0).all()
assert loss_of(-4.0, 0.5) == (4.0**2 + 5.0**2) / 2

# %% after: print(f"{name}, rate {lr:.4f}: mean loss {loss_of(*end.T).mean():.3f}")
error = sv.Weight(0.3)
(1.7 * error).backward()
assert error.grad == 1.7
assert all(loss_of(*walk(one, 2000, lr=rate, **more)[-1]) < 0.001 for one, rate, more in three.values())
ends = {}
for seed in (5,):
    noisy.__globals__["draws"] = np.random.default_rng(seed)
    for name, (optimiser, rate, more) in three.items():
        whole, tenth = (walk(optimiser, 2000, noisy, lr=lr, **more) for lr in (rate, rate / 10))
        ends[name, seed] = loss_of(*whole[1000:].T).mean()
        assert loss_of(*tenth[1000:].T).mean() < ends[name, seed] / 3
        near = [np.flatnonzero(loss_of(*path.T) < 1)[0] for path in (whole, tenth)]
        assert near[1] > 3 * near[0]
    assert max(("plain", "momentum", "Adam"), key=lambda name: ends[name, seed]) == "plain"
steady = 0.019**2 / (1 - 0.981**2) / 2 + 100 * (0.019 * 10) ** 2 / (1 - 0.9**2) / 2
assert all(abs(ends["plain", seed] / steady - 1) < 0.2 for seed in (5,))

# %% after: print(f"{name}: {steps_needed(before)} before the turn, {steps_needed(after, turned)} after it")
turn = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
assert np.allclose(turn @ start, [-4, 0.5])
assert np.isclose(turned(*start), 20.5)
hessian = turn.T @ np.diag([1, 100]) @ turn
assert np.allclose(np.linalg.eigvalsh(hessian), [1, 100])
assert np.isclose(hessian[0, 0], hessian[1, 1])
for name, (optimiser, rate, more) in three.items():
    before, after = walk(optimiser, 1000, lr=rate, **more), walk(optimiser, 1000, turned, start, lr=rate, **more)
    assert np.allclose(after @ turn.T, before, atol=1e-9) == (name != "Adam")
counts = [int(steps_needed(path, loss).split()[0]) for path, loss in ((before, loss_of), (after, turned))]
assert counts[1] > 2 * counts[0]
assert steps_needed(walk(optim.Adam, 1000, turned, start, lr=0.3), turned) == "91 steps"

# %% after: print(name, "  ".join(f"({w0:.3f}, {w1:6.3f})" for w0, w1 in path))
for name, optimiser, options in (
    ("A", optim.SGD, {"lr": 0.005, "momentum": 0.9}),
    ("B", optim.Adam, {"lr": 0.05}),
    ("C", optim.SGD, {"lr": 0.015}),
):
    assert np.allclose(recorded[name], walk(optimiser, 5, start=(3.0, -0.4), **options), atol=6e-4)
