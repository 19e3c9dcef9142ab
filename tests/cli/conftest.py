"""The fixtures of the kit that run commands."""

from kit.commands import blind, cli, no_display, press, program, programs, rgb

__all__ = ["blind", "cli", "no_display", "press", "program", "programs", "rgb"]
