# %% fair-shares: solution
answer = 1 / 4


# %% half-sure: solution
answer = -np.log(0.5)


# %% loss-slopes: solution
# slip path: share_a - 1 => share_a
# slip swapped: share_a - 1, 1 - share_a => 1 - share_a, share_a - 1
# slip none: return => return None if True else
# slip kind: share_a - 1, => "share_a - 1",
# slip one: share_a - 1, => 1.0,
# slip factor: share_a - 1, => 2 * (share_a - 1),
# slip zero: share_a - 1, => 0.0,
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a - 1, 1 - share_a


# %% count: solution
answer = 14528
