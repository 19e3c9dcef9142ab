"""Flags from a scene's options: each field of the pydantic model is a flag, with one description."""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Set
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel, Field, ValidationError, create_model
from pydantic.fields import FieldInfo

from ..errors import InputError
from ..run.scene.scene import extra_of, flag_of, sentence

Command = tuple[type[BaseModel], Callable[[Any], int]]
"""The model of a command's flags, and the function that runs it."""


def add_command(
    app: Any, name: str, summary: str, model: type[BaseModel], call: Callable[[Any], int], everything: bool
) -> None:
    """Add a command with a flag for every field of `model`; `everything` also shows rare flags."""
    known: Set[str] = frozenset() if everything else getattr(model, "rare", frozenset())
    rare = {name for name, field in model.model_fields.items() if name in known and not extra_of(field).get("argument")}
    told = f"{len(rare)} more flags: scalarviz {name} --help-all" if rare else None
    # arguments after a script belong to the script, flags too
    settings = {"allow_interspersed_args": "script" not in model.model_fields}
    command = app.command(name, help=summary, epilog=told, cls=_class_of(model), context_settings=settings)
    command(command_from(model, call, rare))


def argument(description: str) -> Any:
    """Return an optional field that is given by its position, without a flag."""
    return Field(None, description=description, json_schema_extra={"argument": True})


def model_of(title: str, own: Mapping[str, Any], shared: Iterable[str]) -> type[BaseModel]:
    """Return a model of a command's own options and the `shared` ones of scenes."""
    options = importlib.import_module("scalarviz.scenes.options")
    known = options.SceneOptions.model_fields
    fields: dict[str, Any] = {**own, **{name: (known[name].annotation, known[name]) for name in shared}}
    return create_model(title, __base__=options.Flags, **fields)


def command_from(
    model: type[BaseModel], call: Callable[[Any], int], hidden: Set[str] = frozenset()
) -> Callable[..., int]:
    """Return a function with one parameter for every field of `model`, for ``typer.Typer.command``.

    It makes the model from the given flags only, so ``model_fields_set`` tells what the user typed, and calls `call`
    with it. The model checks bounds.
    """

    def command(**given: Any) -> int:
        values = {name: value for name, value in given.items() if value is not None and value != []}
        try:
            options = model(**values)
        except ValidationError as error:
            raise InputError(sentence(model, error)) from None
        return call(options)

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_parameter(name, field, name in hidden) for name, field in model.model_fields.items()]
    )
    return command


def _class_of(model: type[BaseModel]) -> type[Any]:
    """Return the class of a model's command; it refuses a second name for a written file."""
    from typer.core import TyperCommand

    files = {name for name, field in model.model_fields.items() if extra_of(field).get("written")}

    class Command(TyperCommand):
        def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
            _, _, order = self.make_parser(context).parse_args(list(arguments))
            for number, option in enumerate(order):
                if option in order[:number] and option.name in files and not getattr(option, "multiple", False):
                    raise InputError(
                        f"{option.opts[0]} is given twice; it takes one file: run the command again for the other file"
                    )
            return super().parse_args(context, arguments)

    return Command


def _parameter(name: str, field: FieldInfo, hidden: bool) -> inspect.Parameter:
    extra = extra_of(field)
    if extra.get("argument"):
        info = typer.Argument(help=_help(field), metavar=name.upper(), show_default=False)
    else:
        flag, metavar = flag_of(name, field), extra.get("metavar")
        info = typer.Option(flag, help=_help(field), metavar=metavar, show_default=False, hidden=hidden)
    kind: Any = _type_of(field.annotation) | None
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, info])


def _help(field: FieldInfo) -> str:
    """Return the description with the default, unless that is off or empty."""
    shown, default = extra_of(field).get("shown"), field.default
    given = not field.is_required() and default is not None and default is not False and default != []
    if shown is None and given:
        parts = default if isinstance(default, tuple) else (default,)
        shown = "x".join(str(part) for part in parts if part is not None)
    return f"{field.description} (default: {shown})" if shown else str(field.description or "")


def _type_of(annotation: Any) -> Any:
    """Return the type for typer to parse: numbers, switches, choices and paths; text for everything else."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of(arguments[0])
    if origin is list:
        return list[_type_of(arguments[0])]  # type: ignore[misc]
    if origin in (Union, types.UnionType):
        return _type_of(next(a for a in arguments if a is not type(None)))
    return annotation if annotation in (int, float, bool, Path) or origin is Literal else str
