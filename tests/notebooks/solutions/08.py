# %% patient-a: solution
# slip: rate => dead
# slip: rate => saturated
# slip: rate => symmetric
answer = "rate"

# %% patient-b: solution
# slip: bias => symmetric
# slip: bias => rate
# slip: bias => dead
answer = "bias"

# %% patient-c: solution
# slip: dead => saturated
# slip: dead => symmetric
# slip: dead => rate
answer = "dead"

# %% patient-d: solution
# slip: saturated => dead
# slip: saturated => bias
# slip: saturated => symmetric
answer = "saturated"

# %% patient-e: solution
# slip: symmetric => bias
# slip: symmetric => rate
# slip: symmetric => saturated
answer = "symmetric"
