"""Pictures of many things in one window: the wall of all scenes, the tour, the wall of a sweep's runs, stored files.

Open `wall` first: the places of its pictures, what every wall does, and the way to what it leads to. `scene_wall` is
that of all scenes, `tour` the tour. A `scene_entry` is all that is known here of a scene: the command line makes them.
`runs` are those of a file of sweep results, `run_wall` their wall, `run_faces` their pictures, `run_plots` what an
option does, `run_report` one HTML file. `stored` is a file of numbers (ONNX, safetensors) as a picture, with its
layers and wires.
"""
