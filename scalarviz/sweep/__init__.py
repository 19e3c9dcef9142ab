"""Many runs: what is tried, who computes it, and the file of their results. Nothing is drawn here.

Open `sweep` first (``sv.sweep``). The rest:

* what is tried: `build` (a scene, its text, or a function), `job` (one run, and how it is computed), `result`
* the file: `results` (``Results.read(path)``), `about` (what it says of the sweep), `rows` and `schema` (what it is on
  disk)
"""
