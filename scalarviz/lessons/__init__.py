"""The lessons' files and live scenes: ``scalarviz lessons`` copies them and ``sv.lesson("06")`` opens them.

The notebooks are in the folder ``notebooks/`` at the top (installed as ``scalarviz.notebooks``); `shelf` finds and
copies them, and opens the scene of a lesson, which is a short function in `scenes`.
"""

from .shelf import Copied, Lesson, copy, lesson, lessons

__all__ = ["Copied", "Lesson", "copy", "lesson", "lessons"]
