"""The figures in README.md, docs/figures.md, docs/gpu.md and benchmarks/README.md, made from ``results/*``.

    python benchmarks/readme_table.py

Writes each between two markers of its file and prints what is asked for; a test compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FIRST = (("scalarviz", ", warm cache"), ("PyTorch", ""), ("JAX", ", jit"))
REPORTS = (
    "wide_nets", "microgpt", "startup", "scenes_start", "compile_times", "memory", "making", "going_back", "plane_map",
    "objects_vs_micrograd", "sweep",
)  # fmt: skip
"""Those with goals, beside training steps and what is watched."""
IN_README = (
    "rgb 3-3, 1024",
    "3-16-16-3 Adam, 1024",
    "XOR 3-3-1, 4",
    "UV 12-64x4-3 Adam, 65536",
    "CNN 8/16 3x3 28x28, 64",
)
ON_A_GPU = {"numba": "numba", "cuda": "cuda", "PyTorch eager": "PyTorch", "PyTorch graph": "PyTorch, CUDA graph"}
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


def times(ratio: float) -> str:
    """Three digits of a ratio."""
    return f"{float(f'{ratio:.3g}'):,g}"


def peers(chosen: Collection[str], report: str) -> list[str]:
    """A line for each chosen workload, or for all: PyTorch eager, JAX jit or scan, the numba engine, both ratios."""
    medians: dict[str, dict[str, float]] = {}
    for key, timing in results(report)["seconds"].items():
        workload, contestant = key.rsplit(": ", 1)
        medians.setdefault(workload, {})[contestant] = timing["median"]
    lines = []
    for workload, found in medians.items():
        if chosen and workload not in chosen:
            continue
        ours, eager = found["numba"], found["PyTorch eager"]
        jax = min(time for name, time in found.items() if name.startswith("JAX"))
        cells = (workload, duration(eager), duration(jax), duration(ours), times(eager / ours), times(jax / ours))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def others() -> str:
    """The figures that are not training steps."""
    small, cubes, scenes = results("objects_vs_micrograd"), results("million_cubes"), results("live_view")["scenes"]
    start, peaks, sweep = results("startup"), results("memory")["peak_bytes"], results("sweep")
    objects, micrograd = (median(small, name) for name in ("scalarviz objects", "micrograd"))
    nodes = small["ns_a_node"]
    slab, mesh = (median(cubes, name) for name in ("slab", "InstancedMesh"))
    first = [median(start, f"{name[0]}: first trained step{name[1]}") for name in FIRST]
    ours, torch = (f"{peaks[f'ten million weights: {name}'] / 1e9:.2g} GB" for name in ("scalarviz", "PyTorch eager"))
    kept = ", ".join(f"`{name}` {found['share']:.0%}" for name, found in scenes.items())
    return (
        f"* **Objects.** Forward and backward pass of one sample through MLP(2, [16, 16, 1]): {objects}; with "
        f"micrograd, {micrograd}.\n"
        f"* **One node of a graph** that Python operators made, forward and backward: {nodes['typed: Values']} ns; "
        f"with micrograd, {nodes['typed: micrograd']} ns.\n"
        f"* **Start.** From the start of Python to the first trained step of 3-16-16-3: {first[0]}; with PyTorch "
        f"eager, {first[1]}; with JAX jit, {first[2]}.\n"
        f"* **Memory.** Training ten million weights with Adam takes {ours}; with PyTorch, {torch}.\n"
        f"* **Drawing.** One frame of a million cubes with new values, without a GPU: {slab}; with vispy's "
        f"InstancedMesh, {mesh}.\n"
        f"* **Watching.** Training speed while a window draws 30 frames per second, in percent of the speed without a "
        f"window: {kept}.\n"
        f"* **Sweep.** 1,000 runs of 20,000 steps (`scalarviz sweep xor --seeds 1000`) in two processes, with a "
        f"results file: {median(sweep, 'scalarviz: 1,000 runs')}; with PyTorch in two processes, "
        f"{sweep['pytorch_all_runs'] / 60:.0f} minutes (estimated from 8 runs).\n{grid()}"
    )


def grid() -> str:
    """The grid of widths and batches."""
    found = results("wide_nets")["summaries"]

    def beside(name: str) -> str:
        of = found[name]
        width, batch, rest = of["worst_at"].replace(" wide", " units").split(", ", 2)
        worst = f"{of['worst']:.2f} times, with {width}, batch {batch}, {rest}"
        return f"scalarviz is {of['mean']:.3g} times as fast as PyTorch (worst case: {worst})"

    return (
        f"* **Wide networks.** {found['all']['points']} cases: two layers of 2 to 1,024 units, batch 1 to 8,192, "
        f"SGD and Adam, float32 and float64. In the geometric mean, {beside('all')}. With 256 units or more, "
        f"{beside('wide')}."
    )


def median(report: dict[str, Any], name: str) -> str:
    """The median of one contestant."""
    return duration(report["seconds"][name]["median"])


Row = tuple[str, str, str, bool]
"""Of the table of goals: what, measured, asked, reached."""


def goals() -> list[Row]:
    """Everything that was asked for."""
    rows, live = [], results("live_view")
    for workload, peers_of_it in results("peers")["goals"].items():
        for peer, goal in peers_of_it.items():
            asked = f"at least {goal['at_least']:g}, aim {goal['aim']:g}"
            rows.append((f"{workload}: times as fast as {peer}", times(goal["ratio"]), asked, goal["reached"]))
    asked = f"at least {live['asked']['share']:.0%}, at most {1e3 * live['asked']['frame_gap_99_s']:g} ms"
    for name, scene in live["scenes"].items():
        measured = f"{scene['share']:.0%}, {1e3 * scene['frame_gap_99_s']:.0f} ms"
        rows.append((f"{name}: speed kept while watched, 99 of 100 frame gaps", measured, asked, scene["reached"]))
    for name, goal in (found for report in REPORTS for found in results(report)["goals"].items()):
        way = "at_least" if "at_least" in goal else "at_most"
        measured = f"{goal['measured']:.3g} {goal.get('unit', '')}".rstrip()
        rows.append((name, measured, f"{way.replace('_', ' ')} {goal[way]:g}", goal["reached"]))
    return rows


def goals_markdown() -> str:
    """The table of what was asked for, what was not reached first."""
    lines = ["| | measured | asked | |", "|---|---|---|---|"]
    for what, measured, asked, reached in sorted(goals(), key=lambda goal: goal[-1]):
        lines.append(f"| {what} | {measured} | {asked} | {'reached' if reached else '**not reached**'} |")
    return "\n".join(lines)


def table(chosen: Collection[str] = (), report: str = "peers") -> str:
    """Training steps beside those of others, and where they were measured."""
    about = results(report)
    versions = about["versions"]
    head = "| workload, batch | PyTorch eager | best JAX | scalarviz | x PyTorch | x JAX |\n|---|---|---|---|---|---|"
    source = (
        f"Measured on {about['date'][:10]}: {about['machine']['processor']}, {about['machine']['cores']} cores, one of "
        f"them used, no GPU, PyTorch {versions['torch']}, JAX {versions['jax']}."
    )
    return "\n".join([head, *peers(chosen, report), "", source])


CALLS = (
    " Run `make bench` to measure again.\n"
    "In the smallest networks, such as XOR, nearly all of PyTorch's time goes into its calls."
)


def readme() -> str:
    """Five figures."""
    return table(IN_README) + CALLS


def markdown() -> str:
    """All figures."""
    narrower = f"The same on a processor whose vectors are half as wide:\n\n{table(report='avx2/peers')}"
    return f"{table()}{CALLS}\n\n{narrower}\n\n{others()}"


TRAINED = {
    "rgb": "`rgb`: 12 weights, batch of 1,024, float32",
    "playground": "`playground`: 25 weights, batch of 10, float32",
    "xor": "`xor`: 12 weights, batch of 1, float32",
    "2-4-2-1: page": "TensorFlow Playground's default network, 2-4-2-1, batch of 10, float64",
    "2-4-2-1: Playground": "the same, by TensorFlow Playground's own code",
}


def page_trains() -> str:
    """Steps of training in a browser."""
    report = results("browser_training")
    lines = ["| network | a step | steps a second |", "|---|---|---|"]
    for name, said in TRAINED.items():
        rate = float(f"{report['rates'][name]:.3g}")
        lines.append(f"| {said} | {median(report, name)} | {rate:,.0f} |")
    return "\n".join(lines)


def live_cell() -> str:
    """Frames of a cell in a notebook."""
    report = results("live_cell")
    heads = (
        "picture in pixels", "frames received per second", "frames drawn per second",
        "frames received, drawn per second while another cell computes", "time from a change to its picture",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for size in dict.fromkeys(name.partition(":")[0] for name in report["rates"]):
        alone = [report["rates"][f"{size}: from one frame {what} to the next"] for what in ("received", "drawn")]
        beside = [
            report["rates"][f"{size}: the same, {what}, beside a cell that computes"] for what in ("received", "drawn")
        ]
        edit = median(report, f"{size}: an edit, until it is drawn")
        lines.append(f"| {size.replace('x', ' x ')} | {alone[0]} | {alone[1]} | {beside[0]}, {beside[1]} | {edit} |")
    return "\n".join(lines)


def page_plays() -> str:
    """Frames of a page that plays a recorded run."""
    rates = results("browser_player")["rates"]
    lines = ["| page | frames per second while it plays | while one turns it |", "|---|---|---|"]
    for name in dict.fromkeys(re.split(" plays| is turned", key)[0] for key in rates):
        plays, turned = (rates[f"{name} {way}: from one frame to the next"] for way in ("plays", "is turned"))
        lines.append(f"| `{name.replace(', ', ' --hidden ')}` | {plays} | {turned} |")
    return "\n".join(lines)


def gpu() -> str:
    """Steps on a GPU; of each figure the last that was measured."""
    found: dict[str, dict[str, float]] = {}
    text = (ROOT / "benchmarks" / "results" / "gpu.jsonl").read_text(encoding="utf-8")
    for row in map(json.loads, text.splitlines()):
        workload, comma, contestant = row["what"].partition(", float32: ")
        if row["part"] in ("workloads", "graph") and comma and row.get("unit") == "s":
            found.setdefault(workload, {})[contestant] = row["measured"]
    lines = [f"| network, batch | {' | '.join(ON_A_GPU.values())} |", "|" + "---|" * (len(ON_A_GPU) + 1)]
    for workload, times in found.items():
        cells = [duration(times[name]) if name in times else "" for name in ON_A_GPU]
        lines.append(f"| {' | '.join([workload, *cells])} |")
    return "\n".join([*lines, "", *foreseen()])


def foreseen() -> list[str]:
    """Steps on a GPU that were measured before kernels changed, and what they should take since."""
    folder = ROOT / "benchmarks" / "results"
    measured, now = (
        [json.loads(line) for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
        for name in ("gpu_kernels", "gpu_predicted")
    )
    before = {row["network"]: row for row in measured if "step_us" in row}
    heads = (
        "cuda, 2026-11-27", "cuda today, predicted", "PyTorch", "float16, 2026-11-27", "float16 today, predicted",
        "PyTorch, AMP",
    )  # fmt: skip
    lines = [f"| network, batch | {' | '.join(heads)} |", "|---" * (1 + len(heads)) + "|"]
    for row in now:
        of = before[row["network"]]
        single = of["step_us"], row["step_us"], of["pytorch_graph_us"]
        half = of.get("float16_us"), row["float16_us"], of["pytorch_amp_graph_us"]
        times = ["" if us is None else duration(1e-6 * us) for us in (*single, *half)]
        lines.append(f"| {' | '.join([row['network'], *times])} |")
    return lines


FILES = {
    "docs/gpu.md": (gpu,),
    "README.md": (readme,),
    "docs/figures.md": (markdown, page_trains, live_cell, page_plays),
    "benchmarks/README.md": (goals_markdown,),
}
"""The figures of each file, in the order of their markers."""


def main() -> None:
    """Renew the files."""
    for name, made in FILES.items():
        path = ROOT / name
        first, *rest = path.read_text(encoding="utf-8").split(START)
        parts = [f"\n{one()}\n{END}{part.partition(END)[2]}" for one, part in zip(made, rest, strict=True)]
        path.write_text(START.join([first, *parts]), encoding="utf-8")
    rows = goals()
    for what, measured, asked, reached in rows:
        print(f"{what:70} {measured:>14}   asked: {asked:<26}{'' if reached else ' NOT reached'}")
    print(f"{sum(row[-1] for row in rows)} of {len(rows)} reached")


if __name__ == "__main__":
    main()
