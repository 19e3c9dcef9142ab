"""The panels of a scene, one family of kinds a file, over axes, pictures and widgets of `ink`.

Open `drawer` first: what a kind of panel answers to. `registry` is the table of kinds, which a user's kinds join;
`screen.side` asks them all without knowing any. Kinds that show points on axes share `points`, those that show pictures
stand in `image`, maps are worked out by `grid`. `wording` says of which samples and which moment a number is, `pace`
how often what is dear is measured. To add a kind: a description in `run.panels.kinds`, its name in `run.panels`, a
drawer here, and its row in `registry`.
"""
