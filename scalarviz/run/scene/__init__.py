"""Scenes: `scene` (a run with its texts, panels and plan), `scene_file` (scenes by name, file or text).

`own_controls` are the controls that every run has, and "copy as command". The kinds of controls are in
:mod:`scalarviz.run.controls`, those of panels in :mod:`scalarviz.run.panels`.
"""
