"""Many runs: what is tried, who computes it, and the file of their results. Nothing is drawn here.

Open `sweep` first. `grid` says which runs there are, `results` is the file, `pool` the processes of this machine.
"""
