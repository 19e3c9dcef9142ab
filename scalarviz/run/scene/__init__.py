"""What a scene is: `scene` (a run with its words, panels and plan), `scene_file` (scenes by name, file or text).

`own_controls` are the controls that every run has, and "copy as command"; the kinds of controls stand in
:mod:`scalarviz.run.controls`, those of panels in :mod:`scalarviz.run.panels`.
"""
