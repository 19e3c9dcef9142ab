"""`GoingAlong`: what is shown of recordings that are still being written grows with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...run.sources.played import Played, RecordedSource
from ...run.sources.recorded_pair import NAMES, RecordedPair
from ...run.sources.recording.recorded import Following, Recorded


@dataclass(slots=True, eq=False)
class _Written:
    """One of the recordings.

    Attributes
    ----------
    name : str
        Its letter where two are compared, else empty.
    source : RecordedSource
    following : Following
    grow : callable
        Takes a newer moment, and whether to go along; returns what is to be said of it.
    """

    name: str
    source: RecordedSource
    following: Following
    grow: Callable[[Recorded, bool], str]


class GoingAlong:
    """Looks whether there is more, of one recording or of the two of a comparison.

    Parameters
    ----------
    source : Played
        What else is played never grows.
    """

    def __init__(self, source: Played) -> None:
        self._written: list[_Written] = []
        if isinstance(source, RecordedSource):
            self._follow("", source, lambda record, along: source.grow(record, along=along))
        elif isinstance(source, RecordedPair):
            for which, one in enumerate(source.pair):
                if isinstance(one, RecordedSource):
                    self._follow(NAMES[which], one, _half(source, which))

    def _follow(self, name: str, source: RecordedSource, grow: Callable[[Recorded, bool], str]) -> None:
        if source.record.growing:
            self._written.append(_Written(name, source, Following(source.record), grow))

    @property
    def words(self) -> str:
        """That it is still written; empty where nothing more comes."""
        if not self._written:
            return ""
        names = [one.name for one in self._written if one.name]
        who = "" if not names else "both are " if len(names) > 1 else f"{names[0]} is "
        return f"{who}still being recorded: at its end it goes along"

    def look(self, along: bool) -> tuple[bool, list[str], list[str]]:
        """Take over what was written since.

        Returns
        -------
        (bool, list of str, list of str)
            Whether anything is another; what is to be said of that; and why nothing more will come.
        """
        changed, said, ends = False, list[str](), list[str]()
        for one in list(self._written):
            ended, newer = one.following.ended, one.following.take()  # in this order: then what was last is taken, too
            before = f"{one.name}: " if one.name else ""
            if newer is not None:
                changed = True
                if words := one.grow(newer, along):
                    said.append(before + words)
            elif ended:
                changed = True
                one.following.close()
                self._written.remove(one)
                ends.append(f"{before}{ended}: it ends at step {one.source.span[1]:,}")
        return changed, said, ends

    def close(self) -> None:
        """Look no further."""
        for one in self._written:
            one.following.close()
        self._written.clear()


def _half(pair: RecordedPair, which: int) -> Callable[[Recorded, bool], str]:
    return lambda record, along: pair.grow(which, record, along=along)
