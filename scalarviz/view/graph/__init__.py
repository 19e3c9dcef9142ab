"""The picture of a graph of Values: its nodes, their places, and their drawing. No OpenGL, window or font.

Open `figure` first: it leads from objects to drawn items, and draws them. `nodes` walks the objects, finds their
modules, and joins many nodes into one. `layout` writes the texts of a node, and places nodes and edges.
:mod:`scalarviz.view.drawing` uses all this for files and windows.
"""
