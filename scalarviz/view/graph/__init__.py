"""The picture of a graph of Values: which nodes, where they stand, and the ink. It needs no OpenGL, window or font.

Open `nodes` first: the objects become a plain table of nodes. Then, in this order,

* `names` (what nodes are called), `reached` (which gradients were computed), `chains` (sums of sums as one node)
* `modules` (whose nodes they are), `folds` (above 60 nodes those of a module become one)
* `columns` (from left to right, and the order in a column), `rows` (heights), `layout` (boxes, ways of edges)
* `signs` (how operations and numbers are written), `figure` (the ink), `svg` (a figure as text)

Who draws what and when is the business of :mod:`scalarviz.view.drawing`.
"""
