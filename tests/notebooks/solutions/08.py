# %% patient-a: solution
answer = "rate"


# %% patient-b: solution
answer = "bias"


# %% patient-c: solution
answer = "dead"


# %% patient-d: solution
answer = "saturated"


# %% patient-e: solution
answer = "symmetric"
