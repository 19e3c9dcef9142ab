"""Recordings as a view shows them. Open `recording` first: the two classes that `sv` offers."""

from .recording import Recorded, Recording, load_recording

__all__ = ["Recorded", "Recording", "load_recording"]
