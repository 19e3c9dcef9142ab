# %% after:     print(f"step {step:2}: right {right[step]:.4f}   with the mistake {wrong[step]:.4f}")
assert wrong[-1] < wrong[0] / 2
assert wrong != right

# %% after: print(f"nudged {nudged(curve, 0.7, 1e-4):.8f}   by the rules {exact:.8f}")
assert abs(nudged(curve, 0.7, 1e-4) - exact) < 1e-7

# %% after:     print(f"h = 1e-{power:02}   error {errors[power]:.1e}")
best = min(errors, key=errors.get)
assert 4 <= best <= 7
assert errors[12] > 100 * errors[best]
assert 80 < errors[1] / errors[2] < 120

# %% after: print(f"one side: {one_sided[0]:.1e} to {one_sided[1]:.1e};   both: {errors[2]:.1e} to {errors[3]:.1e}")
assert one_sided[0] / one_sided[1] < 12
assert errors[2] / errors[3] > 80

# %% after: print("largest difference below 1e-9:", abs(by_backward(net) - by_nudging(net)).max() < 1e-9)
assert abs(by_backward(net) - by_nudging(net)).max() < 1e-9

# %% after: show({"0.weight": first, "0.bias": first_bias, "2.weight": last, "2.bias": away[12:].reshape(1, 1)})
assert away[9:].max() == 0
assert away[:9].min() > 1e-3

# %% after: print("without:", bool(sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)))
assert sv.gradcheck(lambda x: sv.tanh(x) ** 3, 0.7)

# %% after: print("by the rule:", check.analytic[0], "  nudged:", round(check.numeric[0], 3), "  agree:", bool(check))
assert check.analytic == (0.0,)
assert round(check.numeric[0], 3) == 0.5
