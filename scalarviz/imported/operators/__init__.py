"""What each ONNX operator computes, of arrays of numbers and of arrays of Values alike.

Open `table` first: the names that are known, with the versions of each. The other files are families of operators.
"""
