# %% patient-a: solution
answer = "rate"
# %% patient-a: slip
answer = "dead"
# %% patient-a: slip
answer = "saturated"
# %% patient-a: slip
answer = "symmetric"
# %% patient-b: solution
answer = "bias"
# %% patient-b: slip
answer = "symmetric"
# %% patient-b: slip
answer = "rate"
# %% patient-b: slip
answer = "dead"
# %% patient-c: solution
answer = "dead"
# %% patient-c: slip
answer = "saturated"
# %% patient-c: slip
answer = "symmetric"
# %% patient-c: slip
answer = "rate"
# %% patient-d: solution
answer = "saturated"
# %% patient-d: slip
answer = "dead"
# %% patient-d: slip
answer = "bias"
# %% patient-d: slip
answer = "symmetric"
# %% patient-e: solution
answer = "symmetric"
# %% patient-e: slip
answer = "bias"
# %% patient-e: slip
answer = "rate"
# %% patient-e: slip
answer = "saturated"
