"""Networks out of ONNX files: layers of ours where the graph is made of them, else a module over the graph itself.

Open `loading` first: `load_onnx`. What each operator computes stands in ``operators/``, one function each.
"""
