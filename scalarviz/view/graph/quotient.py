"""`Quotient`: a graph some of whose nodes become one, and which has no circle afterwards either."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class Quotient:
    """Items of a graph: its nodes 0 .. N - 1, and pieces that stand for many of them.

    Parameters
    ----------
    operands : sequence of sequences of int
        Of each node, those before it.

    Attributes
    ----------
    first : list of list of int
        Those operands.
    below : dict of int to list of int
        The items before each item, each once.
    order : list of int
        The items, operands before results.
    item : list of int
        Of each node.
    """

    def __init__(self, operands: Sequence[Sequence[int]]) -> None:
        self.first = [list(row) for row in operands]
        self.below = {k: list(dict.fromkeys(row)) for k, row in enumerate(self.first)}
        self.order = list(range(len(self.first)))
        self.item = list(range(len(self.first)))
        self._next = len(self.first)

    def members(self, item: int) -> list[int]:
        """The nodes that an item stands for, operands before results."""
        return [k for k, one in enumerate(self.item) if one == item]

    def contract(self, members: Collection[int]) -> list[int]:
        """Let nodes become one item, or as few as there can be without a circle; returns these, in their order."""
        entered = self._entered(set(members))
        pieces: dict[int, int] = {}
        for number in sorted({entered[member] for member in members}):
            pieces[number], self._next = self._next, self._next + 1
        new = {member: pieces[entered[member]] for member in members}
        for node, item in enumerate(self.item):
            self.item[node] = new.get(item, item)
        below: dict[int, dict[int, None]] = {}
        for one in self.order:
            mine = new.get(one, one)
            row = below.setdefault(mine, {})
            row.update((other, None) for k in self.below[one] if (other := new.get(k, k)) != mine)
        self.below = {one: list(row) for one, row in below.items()}
        self._sort()
        return list(pieces.values())

    def _entered(self, members: set[int]) -> dict[int, int]:
        """How often a way to each item has come into the members from outside, at most.

        Two members with one such number can become one: a way that leaves them and comes back has a larger one.
        """
        found: dict[int, int] = {}
        for one in self.order:
            inside = one in members
            ways = [found[k] + (inside and k not in members) for k in self.below[one]]
            found[one] = max(ways, default=int(inside))
        users: dict[int, int] = {}
        for one in self.order:
            for k in self.below[one]:
                if one in members:
                    users[k] = min(users.get(k, found[one]), found[one])
        for one in members:
            if not self.below[one]:  # a leaf stands where it is used first
                found[one] = users.get(one, found[one])
        return found

    def closed_below(self, wanted: set[int]) -> set[int]:
        """Items and all leaves that nothing else uses."""
        users: dict[int, list[int]] = {}
        for one, row in self.below.items():
            for k in row:
                users.setdefault(k, []).append(one)
        leaves = (one for one, row in self.below.items() if not row and one in users)
        return wanted | {leaf for leaf in leaves if all(user in wanted for user in users[leaf])}

    def _sort(self) -> None:
        """Operands before results, as near to the order before as can be."""
        found: dict[int, None] = {}
        for begin in self.below:
            stack = [(begin, False)]
            while stack:
                one, done = stack.pop()
                if done:
                    found[one] = None
                elif one not in found:
                    stack.append((one, True))
                    stack += [(k, False) for k in reversed(self.below[one]) if k not in found]
        self.order = list(found)
