"""The panels of a scene, one family of kinds a file, over axes, pictures and widgets of `ink`.

Open `drawer` first: what a kind of panel answers to. `registry` is the table of kinds, which a user's kinds
join; `screen.side` asks them all without knowing any. Kinds that show points on axes stand in `points`,
those that show pictures in `image`. `wording` says of which samples and which moment a number is, `pace`
how often what is dear is measured, and at how many places. To add a kind: a description in
`run.panels.kinds`, its name in `run.panels`, a drawer here, and its row in `registry`.
"""
