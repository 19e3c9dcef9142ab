"""Two recordings side by side, with their difference beside them.

Open `triptych` first: the workbench that draws all three with one camera, and the card of a weight. `heads` says where
they stand, what is written above each and in which colours: the two share a range, the difference has its own.
What is compared, number by number, is no business of this folder but of :mod:`scalarviz.run.sources.recorded_pair`.
"""
