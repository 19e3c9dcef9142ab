"""The ONNX format: read, check and write files. Functions import the package ``onnx`` (extra `onnx`) when they need it.

Open `graph` first: the content of a file as plain data. `reading` makes that from a file. ``imported/`` turns a graph
into modules; each layer in ``nn/`` writes its own nodes.
"""
