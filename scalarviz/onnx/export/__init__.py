"""From a module to an ONNX file: what it computes of one sample is recorded and written down for N of them.

Open `module` first. `calls` records, and finds the layers that write their own nodes (``write_onnx``); what stands
between them is written number by number, but many at once: `units` finds which of them have the same operation,
`places` where each number lies, `glue` and `sums` write them, with `operations` and `formulas`. `sheet` is what all of
them write on, `proto` makes a file of it. The batch is axis 0, "N".
"""
