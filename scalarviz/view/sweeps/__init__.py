"""Many runs as pictures: plots of what an option does, the wall of runs, the report.

What was computed is read from the file of results (``scalarviz.sweep``); nothing is trained here.
"""
