"""What is shown: whatever `show` and `render` accept, brought into one form.

Open `subject` first: it turns a Scene, a Run, a module, weights or arrays into a `Subject`, which holds what stays the
same from frame to frame. Where the numbers come from is a Source (`scalarviz.run.source`): a run has its own there,
arrays and a hand loop's weights have theirs here, with what such a loop says of itself. What its parts are called on
the screen, `names` says.
"""
