"""The fixture of the kit that runs commands."""

from kit.commands import cli

__all__ = ["cli"]
