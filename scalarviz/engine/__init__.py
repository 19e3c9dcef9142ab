"""Engines: what runs a lowered plan. They never import layers or optimisers; a `Run` joins them."""

from .problem import Problem, Trainer

__all__ = ["Problem", "Trainer"]
