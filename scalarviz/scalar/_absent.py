"""PyTorch's words for tensors that arrays of Values and outputs lack, each with what to write instead."""

from __future__ import annotations


def each_name(said: dict[str, str]) -> dict[str, str]:
    """Return what is said of each name; a key has several names."""
    return {name: advice for names, advice in said.items() for name in names.split()}


_NUMBERS = "it has no gradient; NumPy computes it from the numbers, x.data"
_ORDER = "a graph cannot depend on an order; NumPy computes it from the numbers, x.data"
_NO_RULE = "there is no such operation; sv.register(name, 'a', value, (derivative,)) adds one"
_WHOLE = "numbers are real, not whole; NumPy has it for the integers in your data"
_ALGEBRA = "linear algebra beyond products has no gradient here; np.linalg has it for the numbers, x.data"
_CPU = "an array is NumPy's, float64 and on the CPU: omit it"
_DENSE = "an array is dense, real and float64: omit it"
_DRAW = "draw with np.random.default_rng(0)"
_SCATTER = "write a sum over F.one_hot(ids, n), or choose with sv.where(condition, a, b)"

FORMULAS = each_name({
    "absolute": "use x.abs()", "negative": "use -x", "positive resolve_conj resolve_neg conj_physical": "omit the call",
    "multiply": "use a * b", "divide true_divide": "use a / b", "subtract": "use a - b", "float_power": "use a ** b",
    "rsqrt": "use x ** -0.5", "reciprocal": "use 1 / x", "log1p": "use (1 + x).log()", "expm1": "use x.exp() - 1",
    "exp2": "use (x * math.log(2)).exp()", "log2": "use x.log() / math.log(2)", "log10": "use x.log() / math.log(10)",
    "logit": "use (x / (1 - x)).log()", "xlogy": "use x * y.log()", "tan": "use x.sin() / x.cos()",
    "sinh": "use (x.exp() - (-x).exp()) / 2", "cosh": "use (x.exp() + (-x).exp()) / 2",
    "atanh arctanh": "use ((1 + x) / (1 - x)).log() / 2", "asinh arcsinh": "use (x + (x * x + 1).sqrt()).log()",
    "acosh arccosh": "use (x + (x * x - 1).sqrt()).log()", "hypot": "use (a * a + b * b).sqrt()",
    "lerp": "use a + weight * (b - a)", "addcmul": "use x + value * a * b", "addcdiv": "use x + value * a / b",
    "clamp_min clamp_max": "use x.clamp(min=low) or x.clamp(max=high)", "fmax": "use sv.maximum(a, b)",
    "fmin": "use sv.minimum(a, b)", "rad2deg": "use x * (180 / math.pi)", "deg2rad": "use x * (math.pi / 180)",
    "greater greater_equal less less_equal not_equal eq ge gt le lt ne": "use >, >=, <, <=, == or !=",
    "logaddexp logaddexp2": "use (a.exp() + b.exp()).log()", "sinc": "use (math.pi * x).sin() / (math.pi * x)",
    "prelu hardshrink": "use sv.where(x > 0, x, slope * x)", "ldexp": "use a * 2 ** n",
    "acos arccos asin arcsin atan arctan atan2 arctan2 digamma erf erfc erfinv i0 igamma igammac lgamma mvlgamma "
    "polygamma": _NO_RULE,
    "ceil fix floor floor_divide fmod frac heaviside remainder round sgn sign signbit trunc copysign nextafter frexp "
    "isclose isfinite isinf isnan isneginf isposinf isreal is_nonzero nan_to_num allclose equal": _NUMBERS,
    "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor gcd lcm": _WHOLE,
    "logical_and logical_or logical_not logical_xor": "comparisons are 0 and 1: use a * b, sv.maximum(a, b) or 1 - a",
})  # fmt: skip
"""Words that act on each number."""

ARRAYS = each_name({
    "float": "omit the call: numbers are float64, and a comparison gives 0 and 1",
    "cuda": "omit the call: the Run chooses the device, engine='cuda'",
    "repeat_interleave": "choose with a list, such as x[..., [0, 0, 1, 1]]",
    "expand_as": "arithmetic broadcasts by itself; or use x.expand(-1, ...)",
    "repeat tile": "arithmetic broadcasts by itself, and sv.cat([x, x]) repeats",
    "topk sort": "a graph cannot depend on an order; use sorted(x.data.tolist())",
    "type_as half double cpu": "omit the call",
    "to": "omit the call: choose device and dtype in sv.Run(..., engine=, dtype=)",
    "long int": "numbers are float64; use .data.astype(int) for whole numbers", "zero_": "assign: x[...] = 0.0",
    "retain_grad retains_grad": "every Value keeps its gradient; omit the call",
    "requires_grad requires_grad_": "Weights and Parameters are trained; Values are computed from them",
    "mm bmm mv inner vdot": "use a @ b", "outer ger": "use a[:, None] * b[None, :]", "chain_matmul": "use a @ b @ c",
    "addmm addmv addbmm baddbmm addr smm sspaddmm": "use c + a @ b", "dist": "use (a - b).norm()",
    "einsum": "use a @ b, or (a * b).sum(-1)", "linalg_norm linalg_vector_norm": "use x.norm(dim=-1)",
    "hstack column_stack": "use sv.cat([a, b], -1)", "vstack dstack row_stack": "use sv.stack([a, b], dim)",
    "zeros_like empty_like ones_like full_like": "use np.zeros(x.shape) or np.full(x.shape, 1.0)",
    "rand_like randn_like randint_like": "give noise as further columns of the input: net(np.hstack([X, noise]))",
    "trace": "use x.diagonal().sum()", "diff": "use x[..., 1:] - x[..., :-1]", "fliplr": "use x.flip(1)",
    "flipud": "use x.flip(0)", "rot90": "use x.transpose(0, 1).flip(0)", "moveaxis movedim": "use x.permute(...)",
    "swapdims": "use x.transpose(a, b)", "adjoint mH mT H": "use x.transpose(-2, -1)", "take": "use x.flatten()[ids]",
    "take_along_dim": "use x.gather(dim, ids)", "view_as reshape_as": "use x.view(other.shape)", "clip_": "use clip",
    "broadcast_to": "use x.expand(shape)", "masked_select": "use x[mask]",
    "split_with_sizes unsafe_split unsafe_split_with_sizes": "use x.split(sizes, dim)", "unsafe_chunk": "use chunk",
    "tensor_split hsplit vsplit dsplit": "use x.chunk(n, dim)", "unfold": "choose with lists: x[..., [[0, 1], [1, 2]]]",
    "diag diag_embed diagflat": "use x.diagonal(), or x[..., None] * np.eye(n)", "where": "use sv.where(mask, a, b)",
    "aminmax": "use x.amin(dim) and x.amax(dim)", "sum_to_size": "use x.sum(dim)", "kron": "use a products of slices",
    "nansum nanmean": "use sv.where(mask, x, 0.0).sum()", "renorm": "use x / x.norm(dim=-1, keepdim=True)",
    "cov corrcoef": "use (x - x.mean(0)).T @ (x - x.mean(0))", "cross": "use sv.stack([...]) of products",
    "count_nonzero": "use (x != 0).sum()", "logcumsumexp": "use x.exp().cumsum(dim).log()",
    "bincount histc histogram mode unique unique_consecutive argwhere nonzero nonzero_static all any": _NUMBERS,
    "median nanmedian quantile nanquantile kthvalue msort argsort cummax cummin": _ORDER,
    "scatter scatter_add scatter_reduce index_add index_copy index_fill index_put index_reduce masked_scatter put "
    "select_scatter slice_scatter diagonal_scatter as_strided_scatter slice_inverse index": _SCATTER,
    "cholesky cholesky_inverse cholesky_solve det eig geqrf inverse logdet lstsq lu lu_solve matrix_exp matrix_power "
    "orgqr ormqr pinverse qr slogdet solve svd symeig triangular_solve istft stft": _ALGEBRA,
    "as_strided as_subclass const_data_ptr data_ptr dim_order element_size get_device hash_tensor is_contiguous is_cpu "
    "is_cuda is_distributed is_inference is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_pinned is_set_to is_shared "
    "is_vulkan is_xla is_xpu ipu mtia xpu module_load narrow_copy new pin_memory record_stream resize resize_as "
    "resize_as_sparse set share_memory storage storage_offset storage_type stride untyped_storage layout itemsize "
    "nbytes reinforce to_mkldnn device": _CPU,
    "angle bfloat16 bool byte ccol_indices cdouble cfloat chalf char coalesce col_indices conj crow_indices dense_dim "
    "dequantize dtype imag indices int_repr is_coalesced is_complex is_conj is_floating_point is_neg is_nested "
    "is_quantized is_same_size is_signed is_sparse is_sparse_csr q_per_channel_axis q_per_channel_scales "
    "q_per_channel_zero_points q_scale q_zero_point qscheme real row_indices short sparse_dim sparse_mask "
    "sparse_resize sparse_resize_and_clear to_dense to_padded_tensor to_sparse to_sparse_bsc to_sparse_bsr "
    "to_sparse_coo to_sparse_csc to_sparse_csr type values": _DENSE,
    "bernoulli cauchy exponential geometric log_normal multinomial normal random uniform": _DRAW,
    "new_empty new_empty_strided new_full new_ones new_tensor new_zeros": "use np.zeros(shape) or np.full(shape, x)",
    "apply map map2 put copy fill fill_diagonal": "write operations of whole arrays, or assign: x[...] = array",
    "register_hook register_post_accumulate_grad_hook": "use run.open() of a Run to see every gradient",
    "grad_fn is_leaf output_nr grad_dtype volatile": "value.parents has the operands; run.open() shows the graph",
    "name": "dimensions have no names", "grad": "only weights keep a gradient: net.weight.grad",
    "backward": "use .sum() or .mean(), which give a number with backward()",
})  # fmt: skip
"""Words of whole arrays."""

TENSOR = FORMULAS | ARRAYS
