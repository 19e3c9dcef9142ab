"""What is shown: whatever `show` and `render` accept, brought into one form.

Open `source` first: it turns a Scene, a Run, a module, weights or arrays into a `Subject`, which holds what stays the
same from frame to frame.
"""
