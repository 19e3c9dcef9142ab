"""Ink on paper: texts, lines and boxes in pixels, their colours, and the places of the picture's parts.

Open `sketch` first: a picture is a list of shapes, texts and images. `painter` gives that list to OpenGL,
`figure` is a drawing with a size of its own, and writes any as SVG; `listed` makes plain data of it for a browser.
`text` measures and prints numbers, `equation` those that have to be true together, `theme` and `maps` say which
colours there are, `boxes` divides the canvas. `axes` stand under every plot, `widgets` are what a hand presses,
slides and types into, `overlay` lies over the picture for a moment. Nothing here knows what is shown.
"""
