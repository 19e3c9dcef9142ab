"""Many runs as pictures: plots of what an option does, the wall of runs, the report.

What was computed is read from the file of results (``scalarviz.sweep``). Open `opening` first: a file as a window, a
picture, or a report. `runs` is what all of them show, with its words; `plots` say what an
option does; `wall` is what the wall does and how it looks, `faces` the pictures of runs on it; `report` is one HTML
file, with its tables, pictures and players.
"""

from .opening import open_wall, report_of_file, wall_picture

__all__ = ["open_wall", "report_of_file", "wall_picture"]
