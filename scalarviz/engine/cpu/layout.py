"""The numbers by which the encoder and the compiled interpreter understand each other.

An encoded program is a table of int64 with one line an instruction: its kind, then its fields. A *list* is an offset
into a pool of int64 (row numbers, indices into theta, flags). Rows are numbered through one workspace: the values of
the program's rows, then their adjoints, then the padding. The kinds and their fields:

============  ========================================================================================================
CALL          address, rows a b c y g d, neighbouring rows, fresh
COMBINE       destinations, how many, sources, how many, weight, steps to the next destination's and source's
              weight, bias or -1, 1 to add (lists of rows, indices into theta)
OUTER         upstream, how many, sources (with the row of ones last if there is a bias), how many, weight,
              weights a row, bias
SUM           destination, sources, how many, weights (list of indices into theta) or -1, first of the numbers,
              bias or -1, number of the offset
SUM_BACK      upstream, sources, how many, weights or -1, first of the numbers, bias or -1, adjoints of the
              sources (-1: none wanted), fresh flags of those
PRODUCT       destination, sources a, sources b, how many, bias or -1, number of the offset
PRODUCT_BACK  upstream, sources a, sources b, how many, bias or -1, adjoints of a, of b, fresh flags of a, of b
PARAM         first row, how many, indices into theta
PARAM_BACK    first adjoint, how many, indices into theta
ZERO          first adjoint, how many
============  ========================================================================================================
"""

from __future__ import annotations

CALL, COMBINE, OUTER, SUM, SUM_BACK, PRODUCT, PRODUCT_BACK, PARAM, PARAM_BACK, ZERO = range(10)

FIELDS = 10
"""Columns of the table."""

PADDING = 5
"""Rows behind the adjoints: zeros, ones, and three for what a tile of four computes too much."""
