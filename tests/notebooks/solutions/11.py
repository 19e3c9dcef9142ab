# %% fair-shares: solution
# slip factor: 1 / 4 => 1
# slip small: 1 / 4 => 0
# slip factor: 1 / 4 => 0.5
answer = 1 / 4

# %% half-sure: solution
# slip sign: = -np => = np
# slip small: -np.log(0.5) => 0.5
# slip large: -np.log(0.5) => 1
answer = -np.log(0.5)


# %% loss-slopes: solution
# slip path: share_a - 1 => share_a
# slip swapped: share_a - 1, 1 - share_a => 1 - share_a, share_a - 1
# slip: , 1 - share_a => , share_a
def slopes(a, b):
    share_a = np.exp(a) / (np.exp(a) + np.exp(b))
    return share_a - 1, 1 - share_a


# %% count: solution
# slip small: 4192 => 1264
# slip small: 4192 => 2528
# slip large: 4192 => 5056
answer = 4192
