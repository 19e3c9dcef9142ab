"""A notebook's cell: the scene trains in the kernel, the browser draws its picture and tells what hands do.

Open `live` first: `sv.live` and its widgets. Then `shown`, a thread that owns a viewer, gives it time and does what is
asked for. Where a cell's picture comes from:

* `sv.live(x)`: `play` tells its parts, `channel` says when they may be sent, and ``page/js/cell.js`` draws them.
* `sv.live(x, display="pictures")`: `play` sends the viewer's pixels.
* The still that stays in a saved notebook, and `sv.player` of a recording: `saved`.
* `sv.picture(x)` as the output of a cell: `view.render`, whose output is made by `page.pictures`.
"""
