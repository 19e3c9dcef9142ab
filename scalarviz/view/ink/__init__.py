"""Texts, lines and boxes in pixels, their colours, and the places of the picture's parts.

Open `sketch` first: a picture is a list of shapes, texts and images. `painter` draws that list with OpenGL; `figure` is
a drawing with a size of its own and writes SVG; `listed` turns the list into plain data for a browser. `text` measures
and formats numbers, also those that must be true together, `theme` defines the colours, `boxes` divides the canvas.
`axes` are under every plot, `widgets` are controls and short-lived parts above the picture. No module here knows the
content.
"""
