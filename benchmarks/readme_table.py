"""The README's table of figures, made from ``results/*.json``.

    python benchmarks/readme_table.py

Writes it between the two markers of README.md; a test compares.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
START, END = "<!-- figures: made by benchmarks/readme_table.py -->", "<!-- end of figures -->"


def results(name: str) -> dict[str, Any]:
    """One result file."""
    found: dict[str, Any] = json.loads((ROOT / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def duration(seconds: float) -> str:
    """Three digits in a fitting unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def peers() -> list[str]:
    """One line a workload: PyTorch eager, the better of JAX jit and scan, the numba engine, both ratios."""
    medians: dict[str, dict[str, float]] = {}
    for key, timing in results("peers")["seconds"].items():
        workload, contestant = key.rsplit(": ", 1)
        medians.setdefault(workload, {})[contestant] = timing["median"]
    lines = []
    for workload, found in medians.items():
        ours, eager = found["numba"], found["PyTorch eager"]
        jax = min(time for name, time in found.items() if name.startswith("JAX"))
        cells = (workload, duration(eager), duration(jax), duration(ours), f"{eager / ours:.3g}", f"{jax / ours:.3g}")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def others() -> str:
    """The figures that are no training step."""
    small, cubes, live = results("objects_vs_micrograd")["seconds"], results("million_cubes"), results("live_view")
    slab, mesh = (duration(cubes["milliseconds"][name] / 1e3) for name in ("slab", "InstancedMesh"))
    objects, micrograd = (duration(small[name]["median"]) for name in ("scalarviz objects", "micrograd"))
    return (
        f"Objects, MLP(2, [16, 16, 1]), forward and backward of one sample: {objects}, micrograd {micrograd} "
        "(its garbage collection included).\n"
        f"A million cubes with new values each frame in software GL: {slab}, vispy's InstancedMesh {mesh}.\n"
        f"Watched at 30 frames a second, `rgb` keeps {live['share']:.0%} of its undrawn speed."
    )


def markdown() -> str:
    """What stands between the markers."""
    about = results("peers")
    versions = about["versions"]
    head = "| workload, batch | PyTorch eager | best JAX | scalarviz | x PyTorch | x JAX |\n|---|---|---|---|---|---|"
    source = (
        f"{about['date'][:10]}, {about['machine']['processor']} with {about['machine']['cores']} shared cores, no GPU, "
        f"PyTorch {versions['torch']}, JAX {versions['jax']}; `make bench` measures again."
    )
    return "\n".join([head, *peers(), "", others(), "", source])


def main() -> None:
    """Renew the README."""
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(f"(?s){START}.*{END}", f"{START}\n{markdown()}\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
