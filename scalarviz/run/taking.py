"""Taking weights over from the runs that train them: each belongs to one living run at every moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from ..scalar.store import Block, Store
from .gather import gather, owners_of, release

if TYPE_CHECKING:
    from .run import Run

_ONE_BY_ONE = Lock()
"""Held while the owner of blocks changes: threads that make runs over the same blocks do not mix them up."""


def take_over(run: Run, blocks: Sequence[Block], use: Callable[[Store], None]) -> None:
    """Move the weights of `blocks` into a new store of `run`, and let `use` have it.

    Runs that trained them give them away between two of their steps. A run that another thread is making over the
    same weights is waited for: it owns them before it can be asked for anything.
    """
    while not _taken(run, blocks, use, _standing(blocks)):
        pass  # another thread was faster: the weights are its run's by now


def _standing(blocks: Sequence[Block]) -> list[Run]:
    """The owners of blocks, all of them made to the end, in an order in which no two threads wait for each other."""
    while True:
        owners: list[Run] = owners_of(blocks)
        unfinished = [run for run in owners if not run._stands.is_set()]
        if not unfinished:
            return sorted(owners, key=id)
        unfinished[0]._stands.wait()  # no turn is held meanwhile


def _taken(run: Run, blocks: Sequence[Block], use: Callable[[Store], None], owners: Sequence[Run]) -> bool:
    """Whether the weights are the run's now: not when another run than `owners`, who are asked, has got them."""
    take: Callable[[], bool] = partial(_moved, run, blocks, use, owners)
    for owner in owners:
        take = partial(owner._in_turn, take)
    return take()


def _moved(run: Run, blocks: Sequence[Block], use: Callable[[Store], None], asked: Sequence[Run]) -> bool:
    with _ONE_BY_ONE:
        owners: list[Run] = owners_of(blocks)
        if any(owner not in asked for owner in owners):
            return False
        store = gather(blocks, run._stored, run)
    for former in owners:
        if former is not run:
            former._hand_over(run)
            release(former._tape.blocks, former._store)  # what nobody takes stands alone again
    use(store)
    return True
