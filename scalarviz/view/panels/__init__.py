"""The side column, the strip below and what lies over the picture: panels of a scene, legend, keys.

Open `drawer` first: what a kind of panel answers to. `registry` is the table of kinds; each has its drawer in a file of
its own (`pictures`, `colour_cube`, `board`, `pad`, `loss`, `image`, `table`), and `side` places and asks them all
without knowing any. `wording` says of which samples and which moment a number is.
"""
