"""What a scene is: `scene` (a run with its words and panels), `scene_file` (scenes by name, file or text), `plan`.

`own_controls` are the controls that every run has; the kinds of controls stand in :mod:`scalarviz.run.controls`, those
of panels in :mod:`scalarviz.run.panels`.
"""
