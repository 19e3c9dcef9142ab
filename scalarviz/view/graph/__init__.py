"""The picture of a graph of Values: which nodes, where they stand, how they are drawn. No OpenGL, window or font.

Open `shown` first, the whole way from objects to what is drawn of them: what no picture of a huge graph can show, which
gradients were computed, what nodes are called. Its stations:

* `walk` (the objects), `nodes` (those that are shown as a plain table)
* `trial` (a call that leaves no trace)
* `modules` (whose nodes they are), `folds` (sums of sums are one node; above 60 nodes those of a module become one)

Then the plane, and what is drawn on it:

* `signs` (how operations and numbers are written), `cards` (what is written on a node, and its size)
* `columns` (from left to right, and the order in a column), `layout` (heights, boxes, and ways of edges)
* `figure` (a layout as a :class:`~..draw.figure.Figure`), `said` (what a pointer is told)

`frame` is what a window shows of it. Who draws what and when is the business of :mod:`scalarviz.view.drawing`.
"""
