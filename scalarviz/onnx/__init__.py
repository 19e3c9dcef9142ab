"""ONNX as a format: files opened, checked and written; the package ``onnx`` (extra `onnx`) is imported by functions.

Open `graph` first: what a file says, as plain data; then `reading`, which makes that of a file. What becomes
of a graph that was read stands in ``imported/``; what a layer writes of itself stands with the layer, in
``nn/``.
"""
