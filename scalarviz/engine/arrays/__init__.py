"""The NumPy engine, and plans run on arrays: float64 or float32, a row of the program is an array of lanes.

Open `trainer` first (what a Run uses), then `program` (programs and plans over many lanes); `rows` has the
instructions.
"""
