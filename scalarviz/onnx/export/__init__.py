"""From a module to an ONNX file: what it computes of one sample is recorded and written down for N of them.

Open `module` first: it records, finds the layers that write their own nodes (``write_onnx``), and says which
numbers are computed together; `operations` and `sums` write what stands between the layers, many numbers at once.
`sheet` is what all of them write on. The batch is axis 0, "N".
"""
