"""Files of numbers as pictures: ONNX and safetensors files, one or two with their difference. Nothing of it is trained.

Open `subject` first: what is shown of a file, and what a workbench draws of that.
"""
