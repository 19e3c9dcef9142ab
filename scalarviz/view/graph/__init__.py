"""The picture of a graph of Values: its nodes, their places, and their drawing. No OpenGL, window or font.

Open `shown` first: it leads from objects to drawn items. `nodes` walks the objects and finds the modules that own them;
`folds` joins many nodes into one. `layout` writes the texts of a node, and places nodes and edges; `figure` draws them.
:mod:`scalarviz.view.drawing` uses all this for files and windows.
"""
