"""What a file may hold at most; larger ones are refused in one line before they cost memory."""

from __future__ import annotations

LARGEST_FILE = 2**31 - 1
"""Bytes: protobuf reads no more. Weights may lie beside it, in files as large as they like."""

MOST_NODES = 200_000
"""Of one file. The largest language models have about 50,000."""

MOST_FIELDS = 2_000_000
"""Of one file: each side of a shape and each name of an operand is one. Two bytes may become 200 in memory."""

MOST_DEEP = 64
"""Messages within messages; what is read has eight."""

MOST_LETTERS = 10_000_000
"""Of a tensor of texts, each counted as long as the longest of them."""

LARGEST_BODIES = 1 << 28
"""Bytes of what calls of a file's own functions become: a body is written again for each call."""
