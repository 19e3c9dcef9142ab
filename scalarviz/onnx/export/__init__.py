"""From a module to an ONNX file: trace the module for one sample and write its operations for N samples.

Open `module` first: it traces, and groups numbers that one node computes. `layers` is the table of the layers that are
nodes of their own. `operations` and `sums` write the operations between the layers, many numbers at once.
All of them write to a `sheet`. The batch is axis 0, "N".
"""
