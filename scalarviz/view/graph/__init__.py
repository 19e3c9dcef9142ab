"""The picture of a graph of Values: which nodes, where they stand, how they are drawn. No OpenGL, window or font.

Open `shown` first, the whole way from objects to what is drawn of them. `nodes` are the objects as plain records, and
whose they are; `folds` makes one of many. Then the plane: `layout` says what is written on a node and beside the
pointer, where it stands and how edges run, `figure` draws it. Who draws what and when is the business of
:mod:`scalarviz.view.drawing`, which has a window on it, too.
"""
