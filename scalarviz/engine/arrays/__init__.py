"""The NumPy engine, and plans on arrays of float64 or float32: a row of the program is an array of lanes.

Read `trainer` first (a Run uses it), then `program` (programs and plans over many lanes); `rows` has the
instructions.
"""
