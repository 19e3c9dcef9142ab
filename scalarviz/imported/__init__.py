"""Networks from ONNX files: a Module of this package's layers, or a module over the graph itself.

Read `loading` first: `load_onnx`. ``operators/`` computes the operators, one function each.
`weights_file` reads the arrays of a file alone, for a picture of them.
"""
