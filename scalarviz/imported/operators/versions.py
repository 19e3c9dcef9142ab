"""The operators that are known, by name: the oldest and the newest version of each, and all between.

A version is the opset in which the standard last changed the operator: opset 17 has Softmax of version 13. An opset
that is older than a version here takes the one before it.
"""

from __future__ import annotations

VERSIONS: dict[str, tuple[int, int]] = {
    # arithmetic
    "Abs": (6, 13), "Add": (7, 14), "Ceil": (6, 13), "Clip": (6, 13), "Cos": (7, 22), "Div": (7, 14), "Erf": (9, 13),
    "Exp": (6, 13), "Floor": (6, 13), "Log": (6, 13), "Max": (8, 13), "Mean": (8, 13), "Min": (8, 13), "Mod": (10, 28),
    "Mul": (7, 14), "Neg": (6, 13), "Pow": (7, 15), "Reciprocal": (6, 13), "Round": (11, 22), "Sign": (9, 13),
    "Sin": (7, 22), "Sqrt": (6, 13), "Sub": (7, 14), "Sum": (8, 13), "Tan": (7, 22), "Tanh": (6, 13),
    # logic
    "And": (7, 7), "Equal": (7, 19), "Greater": (7, 13), "GreaterOrEqual": (12, 16), "IsInf": (10, 20),
    "IsNaN": (9, 20), "Less": (7, 13), "LessOrEqual": (12, 16), "Not": (1, 1), "Or": (7, 7), "Where": (9, 16),
    "Xor": (7, 7),
    # activations
    "Celu": (12, 28), "Elu": (6, 22), "Gelu": (20, 20), "HardSigmoid": (6, 22), "HardSwish": (14, 22),
    "LeakyRelu": (6, 16), "Mish": (18, 22), "PRelu": (7, 16), "Relu": (6, 14), "Selu": (6, 22), "Shrink": (9, 9),
    "Sigmoid": (6, 13), "Softplus": (1, 22), "Softsign": (1, 22), "Swish": (24, 24), "ThresholdedRelu": (10, 22),
    # softmax
    "Hardmax": (1, 13), "LogSoftmax": (1, 13), "Softmax": (1, 13),
    # products
    "Einsum": (12, 28), "Gemm": (7, 13), "MatMul": (1, 13),
    # shapes
    "Expand": (8, 13), "Flatten": (1, 25), "Identity": (1, 25), "Reshape": (5, 25), "Shape": (1, 25), "Size": (1, 25),
    "Squeeze": (1, 25), "Tile": (6, 13), "Transpose": (1, 25), "Unsqueeze": (1, 25),
    # parts and joins
    "Concat": (4, 13), "DepthToSpace": (1, 28), "Gather": (1, 13), "GatherElements": (11, 13), "GatherND": (11, 13),
    "Pad": (2, 25), "ScatterElements": (11, 18), "ScatterND": (11, 18), "Slice": (1, 13), "SpaceToDepth": (1, 28),
    "Split": (2, 18), "Trilu": (14, 14),
    # reductions
    "ArgMax": (1, 13), "ArgMin": (1, 13), "CumSum": (11, 14), "ReduceL1": (1, 18), "ReduceL2": (1, 18),
    "ReduceLogSum": (1, 28), "ReduceLogSumExp": (1, 28), "ReduceMax": (1, 20), "ReduceMean": (1, 18),
    "ReduceMin": (1, 20), "ReduceProd": (1, 18), "ReduceSum": (1, 13), "ReduceSumSquare": (1, 18),
    # convolutions and pools
    "AveragePool": (7, 22), "Conv": (1, 22), "ConvTranspose": (1, 22), "GlobalAveragePool": (1, 22),
    "GlobalLpPool": (2, 22), "GlobalMaxPool": (1, 22), "LpPool": (2, 22), "MaxPool": (1, 22),
    "Resize": (10, 19), "Upsample": (9, 10),
    # normalisations, dropout
    "BatchNormalization": (7, 15), "Dropout": (7, 22), "GroupNormalization": (18, 21),
    "InstanceNormalization": (6, 22), "LRN": (1, 13), "LayerNormalization": (17, 17), "LpNormalization": (1, 22),
    "MeanVarianceNormalization": (9, 13), "RMSNormalization": (23, 23),
    # numbers of the graph's own
    "Cast": (6, 28), "CastLike": (15, 25), "Constant": (1, 25), "ConstantOfShape": (9, 25), "EyeLike": (9, 22),
    "NonZero": (9, 13), "OneHot": (9, 28), "Range": (11, 27),
}  # fmt: skip
SETTINGS: dict[str, tuple[int, ...]] = {
    "BatchNormalization": (3, 4), "Clip": (1, 2), "Dropout": (1,), "OneHot": (1,), "Pad": (2,), "Range": (0, 1, 2),
    "Resize": (1, 2), "Upsample": (1,),
}  # fmt: skip
"""Floating inputs that say what an operator does: bounds, a ratio, scales, statistics. They are nothing to train."""
