"""Machine code of kernels, made without a GPU, and what is wrong with it."""

from __future__ import annotations

import functools
import os
import re

from scalarviz.engine.cuda import images, ptxas

ARCHITECTURES = tuple(map(int, os.environ.get("SCALARVIZ_TEST_ARCHITECTURES", "80 90").split()))
"""GPUs to compile for, as numbers: 90 for sm_90."""

LARGE_ANGLES = "angles beyond 105615 are reduced by a table of digits of 2/pi, which stands in local memory"
HALVES = "the last step of that reduction is one product in float64"
SLOW_PATH = "the reduction of large angles is a function of libdevice, which is called for them alone"
WEAK = "libdevice's power is a function that is not inlined twice"
LOSSES = "losses are summed in float64: 1,024 of them in float32 lose three digits"
NARROW = "libdevice begins the exponential of tanh, erf and expm1 in float32, and corrects it"
LENGTHS = "penalties and squared lengths of gradients are sums over all weights, in float64 as the losses are"
MEANS = "means over the batch are sums over all samples, in float64 as the losses are, and so is what follows them"
ALLOWED = {
    ("forward:sin", "float32"): {"float64": HALVES},
    ("forward:cos", "float32"): {"float64": HALVES},
    ("backward:sin", "float32"): {"float64": HALVES, "stack": LARGE_ANGLES},
    ("backward:cos", "float32"): {"float64": HALVES, "stack": LARGE_ANGLES},
    ("forward:sin", "float64"): {"call": SLOW_PATH, "stack": LARGE_ANGLES},
    ("forward:cos", "float64"): {"call": SLOW_PATH, "stack": LARGE_ANGLES},
    ("backward:sin", "float64"): {"call": SLOW_PATH, "stack": LARGE_ANGLES},
    ("backward:cos", "float64"): {"call": SLOW_PATH, "stack": LARGE_ANGLES},
    ("forward:pow", "float64"): {"call": WEAK},
    ("backward:pow", "float64"): {"call": WEAK},
    ("forward:tanh", "float64"): {"float32": NARROW},
    ("forward:erf", "float64"): {"float32": NARROW},
    ("forward:elu", "float64"): {"float32": NARROW},
    ("backward:elu", "float64"): {"float32": NARROW},
    **{(name, "float32"): {"float64": LENGTHS} for name in ("penalty", "lengths", "coefficient")},
    **{(name, "float32"): {"float64": MEANS} for name in ("batch_parts", "batch_mean", "batch_mean_back", "follow")},
    ("loss", "float32"): {"float64": LOSSES},
    ("loss_of_squares", "float32"): {"float64": LOSSES},
}
"""Kernels that may have what others may not, with the reason."""

_OPCODE = re.compile(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]*)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry \w+\(([^)]*)\)")
_PARAMETER = re.compile(r"\.param \.(\w+)(?: \.ptr[\w. ]*)? \w+(\[\d+\])?")
_FAST = re.compile(r"(div|sqrt)\.(approx|full)|(sin|cos|tanh|lg2)\.approx")


def allowed(kernel):
    """What a kernel may have: its own entry; one that does several things, what each of them may."""
    kind, dtype = kernel.name.partition(":")[0], kernel.dtype
    found = set(ALLOWED.get((kernel.name, dtype), {}))
    if kind in ("block", "alone"):
        found |= set(ALLOWED.get(("loss", dtype), {}))
    if kind in ("block", "alone", "update") or kind.startswith("tile_"):
        for name, sign in {
            "sin": "_sin(",
            "cos": "_cos(",
            "tanh": "_tanh(",
            "pow": "**",
            "erf": "_erf(",
            "elu": "_expm1(",
        }.items():
            if sign in kernel.text or f":{name}." in kernel.name:
                found |= {x for way in ("forward", "backward") for x in ALLOWED.get((f"{way}:{name}", dtype), {})}
    return found


def capability(architecture):
    """(9, 0) of 90."""
    return divmod(architecture, 10)


@functools.cache
def assembled(kernel, architecture):
    return ptxas.assemble(images.text(kernel, capability(architecture)), capability(architecture))


def instructions(ptx):
    """The opcodes of a text, in order."""
    body = re.sub(r"//[^\n]*", "", ptx[ptx.index(".entry") :])
    return _OPCODE.findall(body)


def parameters(ptx):
    """Types of the entry's parameters as the text has them; an array would be a number passed by value."""
    return ["".join(found) for found in _PARAMETER.findall(_ENTRY.search(ptx)[1])]


def faults(kernel, architecture):
    """Words for what a kernel should not have, on one GPU; see `ALLOWED` for who may."""
    ptx, found = images.text(kernel, capability(architecture)), set()
    for opcode in instructions(ptx):
        kind = opcode.split(".")[0]
        if kind in ("atom", "red"):
            found.add("atomic")
        elif kind == "call":
            found.add("call")
        if _FAST.match(opcode):
            found.add("approximate")
        if kernel.dtype == "float32" and ".f64" in opcode:
            found.add("float64")
        if kernel.dtype == "float64" and opcode.startswith("cvt") and ".f32" in opcode and ".f64" in opcode:
            found.add("float32")
    code = assembled(kernel, architecture)
    return found | ({"stack"} if code.stack else set()) | ({"spill"} if code.spills else set())
