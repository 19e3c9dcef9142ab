"""The command line: find the command, its flags and its exit code. Other modules do the work.

Exit codes: 0 done; 2 wrong use or input, or a file that could not be written (one line or two, no traceback);
130 after Ctrl-C, 143 after SIGTERM and 129 after SIGHUP (the files are still written).
Nothing heavy is imported at the top: ``scalarviz --help`` answers at once.
"""

from __future__ import annotations

import ast
import importlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from .. import display
from ..errors import ExpressionError, ScalarvizError, listing
from .console import fail, say, tell, unwritable, usable
from .interrupt import INTERRUPTED, MESSAGE
from .scene_files import scene_files, scene_names, summary_of

HELP_ALL = "--help-all"
"""Flag that also shows the flags that ``--help`` leaves out."""
COMMANDS = {
    "scenes": "List the scenes.",
    "tour": "Take a one-minute walkthrough of scalarviz.",
    "train": "Train a network from an ONNX file on your own data, watch it, and save it as ONNX.",
    "replay": "Show a recording (made with --recording), or compare two recordings side by side.",
    "view": "Show the numbers of one or two files (.onnx, .safetensors), or the runs of a sweep (.svs).",
    "watch": "Run a training script (PyTorch, or its own Value class) and watch its weights.",
    "sweep": "Train a scene many times: every seed with every combination of option values.",
    "lessons": "List the lessons, or copy their notebooks into a folder.",
    "doctor": "Check what works on this machine, and what to install for the rest.",
    "warmup": "Compile the kernels into the cache so that later runs start quickly.",
}
SHOWN_BY = {".svs": "view", ".onnx": "view", ".safetensors": "view", ".svz": "replay"}
"""The command that shows a file, by its ending."""
TYPED_APART = "unexpected extra argument"
"""Part of typer's message about a word that no flag takes."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that `argv` names (default: the process's arguments); return the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    with usable(), early_frame(arguments):
        return _answered(arguments)


def _answered(arguments: list[str]) -> int:
    try:
        _refuse_pickles(arguments)
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except ExpressionError as error:
        said, _, caret = str(error).partition("\n")
        return fail(said, caret)
    except ScalarvizError as error:
        return fail(str(error))
    except OSError as error:
        if not {"-h", "--help", HELP_ALL} & set(arguments):  # of a file: a defect, which keeps its traceback
            raise
        return fail(str(unwritable(error)))
    except KeyboardInterrupt:
        say(MESSAGE)
        return INTERRUPTED


def _refuse_pickles(arguments: Sequence[str]) -> None:
    """Refuse PyTorch files that a command should read, before anything heavy is imported."""
    for flag, word in pairwise(["", *arguments]):
        path = Path(word.removeprefix("--load="))
        if (flag == "--load" or not flag.startswith("--")) and path.suffix not in ("", ".py") and path.is_file():
            from ..io.atomic import PICKLES, refuse_pickle

            if path.suffix.lower() in PICKLES:
                refuse_pickle(path, network="train" in arguments[:1] and "--load" not in (flag, word[:6]))


def _dispatch(arguments: list[str]) -> int:
    if not arguments:
        from .tour import open_wall
        from .window import wants_wall

        if wants_wall():
            return _interruptible(lambda: open_wall(lambda: _dispatch(["--help"])))
        arguments = ["--help"]
    import typer

    app, name = _app(arguments)
    arguments = ["--help" if argument == HELP_ALL else argument for argument in arguments]
    try:
        code = typer.main.get_command(app).main(arguments, prog_name="scalarviz", standalone_mode=False)
    except Exception as error:
        # typer's errors of use have format_message and exit_code; anything else is a defect and keeps its traceback
        if not hasattr(error, "format_message"):
            raise
        said = _brief(error.format_message())
        return fail(said, hint(arguments, name, said))
    return code if isinstance(code, int) else 0


def _brief(said: str) -> str:
    """Return typer's message without its words for pydantic's errors; long words that the user typed are cut."""
    said = said.replace(": Value error, ", ": ")
    return re.sub(r"\S{61,}", lambda typed: f"{typed[0][:57]}...", said)


def _app(arguments: list[str]) -> tuple[Any, str]:
    """Return the typer application. Only the called command gets its flags; the others get a line of help."""
    import typer

    app = typer.Typer(
        add_completion=False,
        help="Watch every weight of a small network while it trains. Run your own scene: scalarviz my_scene.py",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    asked = next((a for a in arguments if not a.startswith("-")), "")
    _add_version(app)
    known = {**scene_names(), **COMMANDS, **({asked: ""} if asked.endswith(".py") else {})}
    for name, summary in known.items():
        if name == "scenes":
            app.command(name, help=summary)(_scenes)
        elif name == asked:
            _add_asked(app, name, arguments)
        else:
            app.command(name, help=summary)(_unasked)
    return app, asked


def _add_asked(app: Any, name: str, arguments: list[str]) -> None:
    """Add the called command with its flags; this loads what it needs."""
    from ..run.scene.scene_file import LoadedScene, load_scene
    from .flags import add_command

    summary, everything = COMMANDS.get(name, ""), HELP_ALL in arguments or name == "tour"
    run: Callable[[Any], int]
    match name:
        case "tour" | "replay" | "view" | "watch" | "lessons" | "doctor" | "warmup":
            model, run = importlib.import_module(f".{name}", __package__).command()
        case "sweep":
            from .sweep import run_sweep, sweep_options

            scene = scene_in(arguments)
            model, typed = sweep_options(load_scene(scene) if scene else None)
            run = partial(run_sweep, typed=typed)
            summary += "" if scene else " `scalarviz sweep xor --help` also lists the options of a scene."
        case _:
            from .run import run_scene

            if name == "train":  # a scene without its own name
                module = importlib.import_module("scalarviz.scenes._train")
                loaded = LoadedScene(name, module, module.Options)
            else:
                loaded = load_scene(name)
                summary = loaded.summary
            model, run = loaded.options, partial(run_scene, loaded)
    add_command(app, name, summary, model, lambda options: _interruptible(lambda: run(options)), everything)


def _add_version(app: Any) -> None:
    import typer

    def show(value: bool) -> None:
        if value:
            from .. import __version__

            tell(f"scalarviz {__version__}")
            raise typer.Exit

    option = typer.Option(False, "--version", callback=show, is_eager=True, help="Show the version.")

    @app.callback()  # type: ignore[untyped-decorator]
    def root(version: bool = option) -> None:
        pass


def _interruptible(command: Callable[[], int]) -> int:
    """Print a message after Ctrl-C; typer would silently turn it into an exit code."""
    try:
        return command()
    except KeyboardInterrupt:
        say("scalarviz: interrupted")
        return INTERRUPTED


def _unasked() -> None:
    """Placeholder for a command that was not called."""


def _scenes() -> None:
    width = max(map(len, scene_names()), default=0)
    for name, summary in scene_names().items():
        tell(f"{name:{width}}  {summary}")


def hint(arguments: Sequence[str], name: str, said: str) -> str:
    """Return the line below an error: where to read more, or the fix of a common slip of a sweep."""
    if name == "sweep":
        return _of_sweep(arguments, said)
    if command := SHOWN_BY.get(PurePath(name).suffix.lower()):
        return f"Try: scalarviz {command} {name}"
    if "--micro" in arguments:
        return "Try: leave out --micro: a page opens steps without it; --open 0,100 says which"
    if not name or name in scene_names() or name in COMMANDS or name.endswith(".py"):
        return f"Try: scalarviz {name + ' ' if name else ''}--help"
    return f"Try: scalarviz --help; the scenes are {listing(scene_names())}"


def scene_in(arguments: Sequence[str]) -> str | None:
    """Return the scene that a command line of `sweep` names."""
    return next((a for a in arguments if a in scene_names() or (a.endswith(".py") and not a.startswith("-"))), None)


def _of_sweep(arguments: Sequence[str], said: str) -> str:
    scene = scene_in(arguments)
    if TYPED_APART in said and any(a == "--grid" or a.startswith("--grid=") for a in arguments):
        return 'Try: quote an option together with its values: --grid "lr=0.1 0.5 1"'
    for flag, value in pairwise(arguments):
        values = value.replace(",", " ").split()
        if flag.startswith("--") and len(values) > 1 and f"'{flag}'" in said:  # a refused flag with several values
            return f'Try: --grid "{flag.lstrip("-")}={" ".join(values)}" to try each value'
    return f"Try: scalarviz sweep {scene + ' ' if scene else ''}--help"


# ---- the frame of a window, shown before the command is read

NO_WINDOW = ("-h", "--help", "--help-all", "--headless", "--html", "--out", "--version")
"""Flags that open no window."""
ALL = "all scenes"
"""Title of the window with the wall of scenes."""
_OF_A_FILE = ("replay", "view")


@contextmanager
def early_frame(arguments: Sequence[str]) -> Iterator[None]:
    """Show the frame of the window that a command line asks for, and close it if no window opens.

    Loading what a command needs takes seconds, but its line alone tells the title of the window. A line with an unknown
    flag, or a flag without its value, opens none: the flags are read from the text of the options.
    """
    try:
        if display.has_display() and (name := window_name(arguments)):
            size, look = _size(_flag_value(arguments, "--size")), _flag_value(arguments, "--theme")
            scene = scene_files().get(name)
            display.open_early(name, size, look, about="" if scene is None else summary_of(scene))
        yield
    finally:
        display.close_early()


def window_name(arguments: Sequence[str]) -> str:
    """Return the title of a command line's window; empty if it opens none."""
    if not arguments:
        return ALL if sys.stdout is not None and sys.stdout.isatty() else ""
    if arguments[0] == "watch":  # flags after the script belong to the script
        return Path(arguments[1]).stem if len(arguments) > 1 and Path(arguments[1]).is_file() else ""
    if any(argument.partition("=")[0] in NO_WINDOW for argument in arguments):
        return ""
    (command, *more), scenes = arguments, scene_files()
    if command in scenes and not _has_flags(more, scenes[command], scenes["rgb"].with_name("options.py")):
        return ""
    if command == "tour" or command in scenes:
        return command
    file = command if command.endswith(".py") else more[0] if command in _OF_A_FILE and more else ""
    return Path(file).stem if file and Path(file).is_file() else ""


# ---- flags, from the text of the classes that declare them


def _has_flags(arguments: Sequence[str], scene: Path, options: Path) -> bool:
    """Return whether a scene has these flags, each with a value unless it is a switch."""
    switches, places, rest = dict[str, bool](), 0, [*arguments]
    for name, is_switch, more in (*_fields(options), *_fields(scene)):
        switches[more.get("name") or "--" + name.replace("_", "-")] = is_switch
        places += bool(more.get("argument"))
    while rest:
        flag, equals, _ = rest.pop(0).partition("=")
        if not flag.startswith("-"):
            places -= 1
        elif flag not in switches or (switches[flag] and equals) or not (switches[flag] or equals or rest):
            return False
        elif not (switches[flag] or equals):
            rest.pop(0)
    return places >= 0


def _fields(path: Path) -> Iterator[tuple[str, bool, dict[str | None, Any]]]:
    """Yield the fields of a file's classes: name, whether it is a switch, and constants of its declaration."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for line in node.body if isinstance(node, ast.ClassDef) else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                words = line.value.keywords if isinstance(line.value, ast.Call) else ()
                more = {word.arg: word.value.value for word in words if isinstance(word.value, ast.Constant)}
                yield line.target.id, ast.unparse(line.annotation) == "bool", more


def _flag_value(arguments: Sequence[str], flag: str) -> str:
    """Return the value of a flag, as typed; empty without it."""
    for place, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name == flag:
            return value if equals else next(iter(arguments[place + 1 :]), "")
    return ""


def _size(typed: str) -> tuple[int, int]:
    """Return a size in pixels; the default for an invalid one, which the command will refuse."""
    found = re.fullmatch(r"(\d{2,4})[xX×](\d{2,4})", typed)
    return (int(found[1]), int(found[2])) if found else display.SIZE
