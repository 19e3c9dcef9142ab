"""Stacks of dense layers in float16: tensor cores take them through whole training steps, many in one launch.

`stack` says which problems are computed so and how; `text` writes their kernel, and `steps` launches it. What they ask
of the hardware stands in ``cuda/tensor``.
"""
