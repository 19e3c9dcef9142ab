"""Files of numbers as pictures: ONNX and safetensors files, one or two with their difference. Nothing of it is trained.

Open `numbers` first: what is shown of a file. `subject` makes of that what a workbench draws.
"""
