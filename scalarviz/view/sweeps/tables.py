"""The tables of a report: quartiles by option, and all runs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ...sweep.groups import Group, by_loss, groups, metrics_of, swept
from ...sweep.result import Result
from .words import ending_of, metric_text, number_text, value_text

MOST = 2_000
"""Runs of the table of all runs; a file of the sweep has the others."""


def quartile_tables(results: Sequence[Result]) -> str:
    """A table for each option that was swept, and a line of all runs."""
    names, metrics = swept(results), metrics_of(results)
    heads = ["runs", "learnt", "diverged", "loss: a quarter below", "median", "three quarters below"]
    rows = []
    for name in names:
        rows += [(f"{name} {value_text(group.value)}", group) for group in groups(results, name)]
    rows += [("all runs", Group(None, tuple(results)))]
    body = [[words, *_group(group), *(metric_text(group.of_metric(m)[1]) for m in metrics)] for words, group in rows]
    return _table(["", *heads, *(f"{metric}, median" for metric in metrics)], body)


def run_table(results: Sequence[Result]) -> str:
    """All runs, from the lowest loss on."""
    names = list(dict.fromkeys(name for result in results for name in result.options))
    metrics = metrics_of(results)
    rows = [
        [
            f"{r.number:,}", *(value_text(r.options.get(name, "")) for name in names), f"{r.seed:,}", ending_of(r),
            f"{r.steps:,}", number_text(r.loss) if r.state == "done" else "",
            *(metric_text(r.metrics[m]) if m in r.metrics else "" for m in metrics),
            f"{r.seconds:.2f}", r.processor, f"{r.tries}", r.error,
        ]
        for r in by_loss(results)[:MOST]
    ]  # fmt: skip
    heads = ["run", *names, "seed", "ended", "steps", "loss", *metrics, "seconds", "computed by", "tries", "why"]
    return _table(heads, rows)


def _group(group: Group) -> list[str]:
    learnt = "" if group.learnt is None else f"{group.learnt:,}"
    return [f"{len(group.results):,}", learnt, f"{group.count('diverged'):,}", *map(number_text, group.quartiles)]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns that are empty in every row are left out."""
    kept = [k for k in range(len(heads)) if any(row[k] for row in rows)]
    head = "".join(f"<th>{escape(heads[k])}</th>" for k in kept)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(row[k])}</td>' for k in kept)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
