"""The lessons' files and their live scenes: what ``scalarviz lessons`` copies and ``sv.lesson("06")`` opens.

The notebooks stand in the folder ``notebooks/`` at the top (installed as ``scalarviz.notebooks``); `shelf` finds and
copies them. `opening` opens the scene of a lesson; each scene is a short function of its own, in ``lesson_NN``.
"""

from .opening import lesson
from .shelf import Copied, Lesson, copy, lessons

__all__ = ["Copied", "Lesson", "copy", "lesson", "lessons"]
