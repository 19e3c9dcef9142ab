"""Pictures of many things in one window: the wall of all scenes, the tour, the wall of a sweep's runs, stored files.

Read `wall` first: the places of its pictures, the shared behaviour of walls, and the way to entered scenes. A
`SceneEntry` describes a scene; the command line creates them. `scene_wall` is the wall of all scenes, with the tour.
`runs` reads a sweep's results file, `run_wall` is its wall with the runs' pictures, `run_plots` the plots,
`run_report` the HTML report. `stored` shows a file of numbers (ONNX, safetensors) with its layers and wires.
"""
