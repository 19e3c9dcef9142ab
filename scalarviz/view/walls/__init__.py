"""Pictures of many things in one window: the wall of all scenes, the tour, the wall of a sweep's runs, stored files.

Open `rooms` first: it says which picture the window shows. A `door` is all that is known here of a scene; the command
line makes them. `wall` and `wall_drawing` are the wall of scenes, `grid` where things stand on it; `tour` is the tour.
`run_opening` opens a file of sweep results as a window, a picture or a report; `runs` is what all of them show,
`run_plots` what an option does, `run_wall` the wall of runs, `run_report` one HTML file. `stored` is a file of numbers
(ONNX, safetensors) as a picture.
"""
