"""Networks of other libraries, and a loop of the user's own: followed step by step, never imported, never copied.

Open `watched` first (``sv.watch``): a source whose numbers somebody else changes, and who says so with ``update()``.
`trees` names the arrays in nested dicts, lists and dataclasses, `modules` those of a torch.nn.Module; `leaves` reads
one of them where it lies; `parts` puts all into the flat arrays of a frame, `reader` asks anew what there is, `alike`
sees at every step whether a tree is as it was. `pace` says when it is time to look, `kept` which looks one can go back
to. Nothing here imports PyTorch or JAX: their objects are asked by the methods they have.
"""

from .watched import Watched, watch

__all__ = ["Watched", "watch"]
