"""The NumPy engine, and plans run on arrays: float64 or float32, a row of the program is an array of lanes.

Open `trainer` first (what a Run uses), then `program` (one program over many lanes) and `plan` (a whole model's three).
"""
