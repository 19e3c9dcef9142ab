"""A notebook cell: the kernel trains the scene, the browser draws the picture and sends input.

Read `live` first: `sv.live` and its widgets. Then `shown`: a thread that owns a viewer, advances time and handles
requests. The sources of a cell's pictures:

* `sv.live(x)`: `play` sends the picture in parts, `channel` decides when, and ``page/js/cell.js`` draws them.
* `sv.live(x, display="pictures")`: `play` sends the viewer's pixels.
* The still in a saved notebook, and `sv.player` of a recording: `saved`.
* `sv.picture(x)` as the output of a cell: `view.render`, with `page.pictures` for the output.
"""
