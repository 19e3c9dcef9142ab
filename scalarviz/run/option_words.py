"""What is said of a scene's options: how a field of their pydantic model is called, and what is wrong with a value."""

from __future__ import annotations

from typing import Any

from ..errors import shown


def extra_of(field: Any) -> dict[str, Any]:
    """What a field says of itself beyond what pydantic knows."""
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}


def flag_of(name: str, field: Any) -> str:
    """How a field is called on the command line."""
    extra = extra_of(field)
    if extra.get("argument"):
        return name.upper()
    return str(extra.get("flag", "--" + name.replace("_", "-")))


def sentence(model: Any, error: Any) -> str:
    """One line for the first thing that is wrong, of a pydantic model and its ValidationError."""
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    flag = flag_of(name, model.model_fields[name]) + ": " if name in model.model_fields else ""
    said = first["msg"].removeprefix("Value error, ")
    if first["type"] == "missing":
        what = model.model_fields[name].description if name in model.model_fields else ""
        return f"{flag}nothing was given" + (f"; wanted: {what}" if what else "")
    if first["type"] == "value_error":  # one of our own: it names what it got
        return flag + str(said)
    return f"{flag}{said[:1].lower()}{said[1:]}, got {shown(first['input'])}"
