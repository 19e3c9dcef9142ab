"""Files that ask for more than there is, read with little memory: `python hostile_reading.py FOLDER BYTES`."""

import resource
import sys
from pathlib import Path

from onnx import TensorProto

from scalarviz.errors import ScalarvizError
from scalarviz.onnx.reading import read_graph

here = Path(sys.argv[1])
status = Path("/proc/self/status").read_text().splitlines()
used = int(next(line.split()[1] for line in status if line.startswith("VmSize"))) * 1024


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def whole(graph):
    return b"\x08\x08" + field(7, graph) + field(8, b"\x10\x11")


def deep():
    inner = b""
    for _ in range(1000):  # a graph in an attribute of a node of a graph
        inner = field(1, field(5, field(6, inner)))
    return inner


one = field(1, field(1, b"x") + field(2, b"y") + field(4, b"Relu"))
beside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**38], data_location=TensorProto.EXTERNAL)
beside.external_data.add(key="location", value="holes")
with open(here / "holes", "wb") as file:
    file.truncate(2**40)
same = TensorProto(data_type=TensorProto.FLOAT, dims=[2**24], external_data=beside.external_data)
same.data_location = TensorProto.EXTERNAL
files = {
    "million nodes": whole(one * 10**6),
    "empty nodes": whole(field(1, b"") * 5_000_000),
    "empty attributes": whole(field(1, field(5, b"") * 5_000_000)),
    "sides": whole(field(5, field(1, b"\x01" * 9_000_000))),
    "numbers of an attribute": whole(field(1, field(5, field(8, b"\x01" * 9_000_000)))),
    "deep": whole(deep()),
    "long": b"\x08\x08" + b"\x3a" + varint(2**60),
    "groups": b"\x0b" * 1_000_000,
    "holes": whole(field(5, beside.SerializeToString())),
    "one place": whole(b"".join(field(5, same.SerializeToString() + field(8, b"%d" % k)) for k in range(100))),
}
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[2]),) * 2)
for name, content in files.items():
    (here / "net.onnx").write_bytes(content)
    try:
        read_graph(here / "net.onnx")
    except ScalarvizError as error:
        said = str(error)
        assert "\n" not in said, said
        assert len(said) < 400, said
        print(f"{name}: {said}")
    else:
        print(f"{name}: READ")
files = None
