# %% fair-shares: solution
answer = 1 / 4
# %% fair-shares: slip factor
answer = 1
# %% fair-shares: slip small
answer = 0
# %% fair-shares: slip factor
answer = 0.5

# %% half-sure: solution
answer = -np.log(0.5)
# %% half-sure: slip sign
answer = np.log(0.5)
# %% half-sure: slip small
answer = 0.5
# %% half-sure: slip large
answer = 1


# %% loss-slopes: solution
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a - 1, 1 - share_a


# %% loss-slopes: slip path
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a, 1 - share_a


# %% loss-slopes: slip swapped
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return 1 - share_a, share_a - 1


# %% loss-slopes: slip
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a - 1, share_a


# %% count: solution
answer = 4192
# %% count: slip small
answer = 1264
# %% count: slip small
answer = 2528
# %% count: slip large
answer = 5056
