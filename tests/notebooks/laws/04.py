# %% after: print("a = 4:", doubled_twice(4))
assert all(doubled_twice(a + 1) - doubled_twice(a) == 4 for a in (-2, 0, 3, 10))

# %% after: print("product:", (x * y).local_gradients)
assert (x + y).local_gradients == (1, 1)
assert (x * y).local_gradients == (5, 2)

# %% after: side_by_side(c_first=c_first, b_first=sv.draw(c))
assert found == 4
assert a.grad == 0

# %% after: at_once(c)
assert a.grad == 6

# %% after: print("right:", right)
assert right == ["r q p"]
assert abs(true_slope - 44) < 1e-6

# %% after: print("right:", right)
assert right == ["r p q", "r q p"]

# %% after: print("backward():", x.grad)
assert x.grad == 44

# %% after:     print(f"{doublings:2} doublings: {doublings:2} nodes, 1 weight, {paths(top):6,} paths")
assert paths(top) == 2**15

# %% after: print(f"with a shortcut: right {right[1]:.4f}   as soon as found {wrong[1]:.4f}")
assert right[0] == wrong[0]
assert right[1] != wrong[1]
