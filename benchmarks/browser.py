"""Frames that a headless Chromium draws with WebGL in software (SwiftShader); none with a GPU is measured here.

* ``browser_player``: the page of a recorded run, while it plays and while it is turned. While something moves the page
  draws coarser, down to what holds twenty frames a second; the share of a pixel's side that it draws is in the report.
* ``live_cell``: a cell of JupyterLab, with a kernel on the same machine: frames that it gets and draws, also beside a
  cell that computes, and how long an edit takes there and back. Numbers are sent at most thirty times a second and
  never more than two frames ahead of what is drawn, so a browser that draws slowly also gets fewer.
* ``browser_training``: training steps of a page that trains, without its picture. TensorFlow Playground's default
  network is measured beside Playground's own code if ``PLAYGROUND`` names its ``nn.ts`` as JavaScript (``npx esbuild
  nn.ts --format=cjs --outfile=nn.js``): with our shuffled batches, and like Playground, sample after sample.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from _timing import Found, Timing, benchmark, in_turns, main, timings_of

WAIT = 90.0
"""Seconds for something to start."""


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as browsers:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = browsers.chromium.launch(executable_path=found, args=flags)
        try:
            yield browser
        finally:
            browser.close()


def gaps(times: Sequence[float]) -> list[float]:
    """Seconds between one frame and the next, of moments in milliseconds."""
    return [(b - a) / 1000 for a, b in pairwise(times)]


def rates(timings: dict[str, Timing]) -> dict[str, float]:
    return {name: round(1 / timing.median, 1) for name, timing in timings.items()}


# ---- the training of a page

STEPS = """
window.contestants ??= {};
for (const { name, made, settings, numbers, rates } of RUNS) {
  const real = settings.real === "float64" ? Float64Array : Float32Array, given = { ...numbers };
  for (const one of ["theta", "data"]) given[one] = real.from(numbers[one]);
  given.state = numbers.state.map(one => real.from(one));
  const lacking = { _pow, _erf, _erfc, _float16, _key, _mask };
  const functions = new Function(...Object.keys(lacking), made)(...Object.values(lacking));
  const engine = new Engine(functions, settings, given);
  contestants[name] = count => { for (let k = 0; k < count; k++) engine.step(rates); };
}
"""
THEIRS = """
const net = nn.buildNetwork([2, 4, 2, 1], nn.Activations.TANH, nn.Activations.TANH, null, ["x", "y"]);
let at = 0;
contestants["2-4-2-1: Playground"] = count => { for (let k = 0; k < count; k++) {
  for (let i = 0; i < 10; i++, at = (at + 1) % 250) {
    nn.forwardProp(net, [DATA[3 * at], DATA[3 * at + 1]]);
    nn.backProp(net, DATA[3 * at + 2], nn.Errors.SQUARE);
  }
  nn.updateWeights(net, 0.03, 0);
} };
"""


@benchmark("numpy playwright", "step")
def browser_training(quick: bool) -> Found:
    from scalarviz.engine.js.module import runtime

    runs = {name: scene_run(name) for name in ("rgb", "xor", "playground")} | {DEFAULT: default_run()}
    told = [run_told(name, run) for name, run in runs.items()]
    inside = "(() => {" + runtime() + f"const RUNS = {json.dumps(told)}; {STEPS} }})();"
    with chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(content=inside)
        names = [*runs]
        if path := os.environ.get("PLAYGROUND"):
            own, data = Path(path).read_text("utf-8"), told[-1]["numbers"]["data"]
            theirs = f"const module = {{}}; {own}; const nn = module.exports, DATA = {data}; {THEIRS}"
            page.add_script_tag(content=f"(() => {{ {theirs} }})();")
            names.append("2-4-2-1: Playground")
        asked = {name: partial(trained, page, name) for name in names}
        timings = in_turns(asked, rounds=3 if quick else 15, seconds=0.2)
    return timings, {"rates": rates(timings)}


DEFAULT = "2-4-2-1: page"


def trained(page: Any, name: str, count: int) -> None:
    page.evaluate("([name, count]) => contestants[name](count)", [name, count])


def scene_run(name: str) -> Any:
    module = importlib.import_module(f"scalarviz.scenes.{name}")
    run = module.build(module.Options(engine="numpy")).run
    run.step(1)
    return run


def default_run() -> Any:
    """Playground's default network on a disc in a ring, with batches of ten."""
    import numpy as np

    import scalarviz as sv
    from scalarviz import nn, optim

    random = np.random.default_rng(0)
    turn, inner = random.uniform(0, 2 * np.pi, 250), np.arange(250) < 125
    far = np.where(inner, random.uniform(0, 2.5, 250), random.uniform(3.5, 5, 250))
    data = np.column_stack([far * np.sin(turn), far * np.cos(turn)]), np.where(inner, 1.0, -1.0)[:, None]
    net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2), nn.Tanh(), nn.Linear(2, 1), nn.Tanh())
    rule = optim.SGD(net.parameters(), lr=0.03)
    run = sv.Run(net, lambda o, t: 0.5 * (o[0] - t[0]) ** 2, rule, data, batch_size=10, dtype="float64", engine="numpy")
    run.step(1)
    return run


def run_told(name: str, run: Any) -> dict[str, Any]:
    from scalarviz.engine.js.module import module, settings

    problem, rate = run._problem, run.optimizer.lr
    numbers = {
        "theta": problem.store.value.tolist(), "state": [one.tolist() for one in problem.state],
        "data": problem.data[:].T.ravel().tolist(), "trained": problem.trained.tolist(), "columns": [],
        "frozen": problem.store.frozen.tolist(), "shares": None, "steps": run.steps,
    }  # fmt: skip
    real = {"real": problem.store.value.dtype.name}
    return {
        "name": name,
        "made": module(problem),
        "settings": settings(problem) | real,
        "numbers": numbers,
        "rates": [rate],
    }


# ---- the page of a recorded run

SCENES = {"rgb": ("rgb", {}), "rgb, 16,16": ("rgb", {"hidden": (16, 16)}), "digits": ("digits", {})}
WATCH = """() => {
  window.times = []; window.shares = [];
  scalarviz.player.on("drawn", () => {
    times.push(performance.now());
    shares.push(scalarviz.player.canvas.width / scalarviz.player.canvas.clientWidth);
  });
}"""
TURN = """() => {
  const turn = () => {
    if (!window.turning) return;
    scalarviz.player.pose = { ...scalarviz.player.pose, az: scalarviz.player.pose.az + 1 };
    requestAnimationFrame(turn);
  };
  window.turning = true;
  turn();
}"""
MOVES = {
    "plays": ("() => { scalarviz.go(0); scalarviz.pace(60); scalarviz.play(); }", "() => scalarviz.stop()"),
    "is turned": (TURN, "() => { window.turning = false; }"),
}
"""What begins a movement, and what ends it."""


@benchmark("numpy numba playwright")
def browser_player(quick: bool) -> Found:
    times, sides = {}, {}
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name in list(SCENES)[:1] if quick else SCENES:
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(f"{page_of(name, folder).as_uri()}#frame=0")
            page.wait_for_function("() => window.scalarviz")
            page.evaluate(WATCH)
            for what, (begin, end) in MOVES.items():
                page.evaluate(begin)
                page.wait_for_timeout(1500)  # it finds out how fine it may draw
                page.evaluate("() => { times.length = 0; shares.length = 0; }")
                page.wait_for_timeout(1000 if quick else 3000)
                drawn, shares = page.evaluate("() => [times, shares]")
                page.evaluate(end)
                times[f"{name} {what}: from one frame to the next"] = gaps(drawn)
                sides[f"{name} {what}"] = round(sorted(shares)[len(shares) // 2], 2)
            page.close()
    print("device pixels of a CSS pixel:", sides)
    timings = timings_of(times)
    return timings, {"rates": rates(timings), "sides": sides}


def page_of(name: str, folder: str) -> Path:
    """The page of 300 steps of a scene, with gradients, updates and the sample's way."""
    import scalarviz as sv

    base, options = SCENES[name]
    module = importlib.import_module(f"scalarviz.scenes.{base}")
    scene = module.build(module.Options(**options))
    with sv.Recording(scene.run, every=1, gradients=True, updates=True) as recording:
        scene.run.step(300)
    return Path(recording.save_html(Path(folder) / f"{base}-{len(name)}.html"))


# ---- a live cell

CELLS = (
    "import importlib\nimport scalarviz as sv\n"
    "scene = importlib.import_module('scalarviz.scenes.rgb')\nscene = scene.build(scene.Options())\n"
    "sv.live(scene, size=({}, {}))",
    "import time\nuntil = time.time() + {}\nwhile time.time() < until:\n    sum(range(1000))",
)
LOOK = "const cell = document.querySelector('.scalarviz-cell').parentElement.scalarviz;"
COUNT = f"""() => {{
  {LOOK}
  window.received = [];
  window.drawn = [];
  const keep = () => requestAnimationFrame(keep);
  keep(); // a browser without a screen may leave out the frame that a single request asks for
  const show = cell.show.bind(cell), drawn = cell.picture.drawn;
  cell.show = (...given) => {{ window.received.push(performance.now()); show(...given); }};
  cell.picture.drawn = (known) => {{ window.drawn.push(performance.now()); drawn(known); window.seen?.(); }};
}}"""
EDIT = f"""key => new Promise(done => {{
  {LOOK}
  const written = () => JSON.stringify(cell.known["list numbers"]).match(/lr [^"]*/)[0];
  const before = written(), begun = performance.now();
  window.seen = () => {{
    if (written() === before) return;
    window.seen = null;
    done(performance.now() - begun);
  }};
  cell.event("key_down", {{ key }});
}})"""


@benchmark("numpy numba anywidget jupyterlab")
def live_cell(quick: bool) -> Found:
    timings = dict[str, Timing]()
    for width, height in ((320, 240),) if quick else ((960, 640), (680, 510)):
        found = in_a_cell(width, height, 2.0 if quick else 6.0, 3 if quick else 25)
        timings |= timings_of(found, f"{width}x{height}: ")
    return timings, {"rates": rates(timings)}


def in_a_cell(width: int, height: int, seconds: float, edits: int) -> dict[str, list[float]]:
    """Gaps between frames while it trains, the same beside a cell that computes, and edits at rest."""
    found = {}
    with notebook((CELLS[0].format(width, height), CELLS[1].format(seconds + 5))) as page:

        def watched(words: str) -> None:
            page.evaluate("window.received = []; window.drawn = []")
            page.wait_for_timeout(1000 * seconds)
            times = page.evaluate("({ received: window.received, drawn: window.drawn })")
            found.update({words.format(name): gaps(moments) for name, moments in times.items()})

        run_cell(page, 0)
        page.wait_for_selector(".scalarviz-cell canvas", timeout=60_000)
        page.wait_for_function(f"(() => {{ {LOOK} return cell.answered > 0; }})()", timeout=60_000)
        page.evaluate(COUNT)
        found["an edit, until it is drawn"] = [
            page.evaluate(EDIT, ("ArrowDown", "ArrowUp")[k % 2]) / 1000 for k in range(edits)
        ]
        page.focus(".scalarviz-cell .stage")
        page.keyboard.press("Space")
        page.wait_for_timeout(2000)
        watched("from one frame {} to the next")
        run_cell(page, 1)
        page.wait_for_timeout(500)
        watched("the same, {}, beside a cell that computes")
    return found


def run_cell(page: Any, number: int) -> None:
    prompt = page.locator(".jp-CodeCell").nth(number).locator(".jp-InputPrompt")
    deadline = time.monotonic() + WAIT
    while prompt.inner_text().strip() in ("[ ]:", "") and time.monotonic() < deadline:
        prompt.click()
        page.click("button[data-command='notebook:run-cell-and-select-next'], [title^='Run this cell']")
        page.wait_for_timeout(500)


@contextlib.contextmanager
def notebook(cells: Sequence[str]) -> Iterator[Any]:
    """A page that shows a notebook of these cells in JupyterLab, none of them run yet."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), cells) as address, chromium() as browser:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(address)
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=WAIT * 1000)
        yield page


@contextlib.contextmanager
def served(folder: Path, cells: Sequence[str]) -> Iterator[str]:
    """The address of the notebook, on a server of its own that is gone in the end."""
    import nbformat

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, folder / "live.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token, shared = secrets.token_hex(16), Path(nbformat.__file__).parents[4] / "share" / "jupyter"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--ip=127.0.0.1", f"--port={port}", "--allow-root",
               f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}"]  # fmt: skip
    env = {**os.environ, "JUPYTER_PATH": str(shared), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=env, start_new_session=True, **quiet)
    try:
        deadline = time.monotonic() + WAIT
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/status?token={token}", timeout=2).close()
                break
            if time.monotonic() > deadline or process.poll() is not None:
                raise SystemExit("JupyterLab did not start")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/doc/tree/live.ipynb?token={token}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


if __name__ == "__main__":
    main()
