"""The panels of a scene, one family of kinds per file, built on axes, pictures and widgets of `ink`.

Open `drawer` first: the methods of a kind of panel. `registry` is the table of kinds, which a user's kinds join;
`screen.side` calls them all without knowing any. Kinds that show points on axes are in `points`, those that show
pictures in `image`. The words of `drawer` say which samples and which moment a number belongs to, `pace` how often
costly numbers are measured, and at how many places. To add a kind: a description in `run.panels.kinds`, its name in
`run.panels`, a drawer here, and its row in `registry`.
"""
