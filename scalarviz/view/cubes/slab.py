"""`SlabVisual`: every plate, strip, tile and activation row in one drawing, 4 bytes per weight and frame.

A plate is a box of twelve triangles; its cubes exist only in the fragment shader, which walks the plate's grid.
`TrayVisual` draws trays with soft contact shadows under the plates, and thin lines of flow between them. Both draw into
the bound framebuffer of the current OpenGL 2 context, offscreen or in a window.

A plate's own coordinates are cells: x counts columns (cell c spans c..c+1), y rows, z is 0 in the middle of its
thickness. The eye's ray steps from cell to cell until it meets a cube (Amanatides and Woo, "A fast voxel traversal
algorithm", 1987). The source is in ``view/glsl/cubes_*.glsl`` and is compiled in variants, because a software renderer
executes both sides of every `if`:

``DETAIL``  cubes of 6 px and more: gaps, rims, marks.
(none)      cubes of 1 to 6 px: flat cells without gaps, marks as patterns.
``AVERAGE`` cubes below a pixel: the mean colour of NU x NV samples of the pixel's footprint.
``MEANS``   more cubes than samples in a pixel: samples of blocks that were averaged before.
``FLAGS``   some cell carries a mark other than "clipped".
``TILED``   some plate has gaps between convolution tiles, or a last row that is not full.
``CURVED``  some plate has a logarithmic scale.
``OWN``     some cube has a look given by hand; implies
``SIZED``   cubes are as large as their numbers, or small ones are hidden: see `atlas`.
``LIFTED``  cubes are higher or lower than their plate: see `SlabVisual.set_lift`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...run.questions.ranges import KNEE, SCALES, Range
from .. import glsl
from ..glsl import read
from ..ink.painter import Viewport, gloo
from ..ink.sketch import Cached
from ..ink.theme import TABLE_SIZE, Colormap, Theme, get_map, get_theme, rgb
from ..space.arrangement import TRAY_MARGIN, Plate
from ..space.camera import Camera
from ..space.layout import Layout
from .atlas import ALL_ALIKE, DEAD, FROZEN, LEAST, NAN, NEG_INF, NOT_COMPUTED, POS_INF, Atlas
from .looks import CubeLook


@dataclass(frozen=True, slots=True)
class Variant:
    """A variant of the shader: see the module's docstring."""

    detail: bool = False
    samples: int = 0  # of a pixel's footprint along each of the screen's axes; 0 walks the grid
    flags: bool = False
    tiled: bool = False
    curved: bool = False
    sized: bool = False
    own: bool = False
    means: bool = False
    lifted: bool = False


def fragment(variant: Variant, *, knee: float, table: int) -> str:
    """Return the fragment shader of a variant. `knee`: of the symmetric-log scale; `table`: texels of a colour map."""
    head = f"#version 120\n#define KNEE {knee:.1f}\n#define TABLE {table:.1f}\n#define LEAST {LEAST:g}\n"
    head += "".join(
        f"#define {name.upper()}\n"
        for name in ("flags", "tiled", "curved", "sized", "own", "means", "lifted")
        if getattr(variant, name)
    )
    if variant.samples:
        head += f"#define NU {variant.samples}\n#define NV {variant.samples}\n"
        return head + read("cubes_common") + read("cubes_average")
    marks = read("cubes_marks") if variant.detail else ""
    return head + ("#define DETAIL\n" if variant.detail else "") + read("cubes_common") + marks + read("cubes_walk")


# ---- The boxes of the plates as vertices and triangles: each corner carries its plate's constants.

_VERTEX_TYPE = [
    ("a_pos", np.float32, 3), ("a_origin", np.float32, 3),
    ("a_u", np.float32, 3), ("a_v", np.float32, 3), ("a_w", np.float32, 3),
    ("a_dims", np.float32, 4), ("a_place", np.float32, 4), ("a_strides", np.float32, 4),
    ("a_range", np.float32, 4), ("a_style", np.float32, 4),
]  # fmt: skip

_CORNERS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)])
# Two triangles a face, counter-clockwise seen from outside in a right-handed frame.
_FACES = np.array(
    [[0, 2, 1], [1, 2, 3], [4, 5, 6], [5, 7, 6], [0, 1, 4], [1, 5, 4], [2, 6, 3], [3, 6, 7], [0, 4, 2], [2, 4, 6],
     [1, 3, 5], [3, 7, 5]]
)  # fmt: skip


def vertices(layout: Layout, atlas: Atlas) -> NDArray[np.void]:
    """Return eight corners per plate, each with the plate's constants."""
    table = np.zeros(8 * len(layout.plates), _VERTEX_TYPE)
    for index, plate in enumerate(layout.plates):
        block = table[8 * index : 8 * index + 8]
        rows, cols = plate.grid.cells
        low, high = plate.extent
        half_cell = np.array([0.5, 0.5, 0.0])
        block["a_pos"] = np.where(_CORNERS, high + half_cell, low + half_cell)
        block["a_origin"] = plate.origin - 0.5 * (plate.axes[0] + plate.axes[1])
        block["a_u"], block["a_v"], block["a_w"] = plate.axes
        block["a_dims"] = (cols, rows, plate.half, plate.depth)
        start = atlas.span(plate).start
        width = atlas.shape[1]
        period = plate.grid.period
        block["a_place"] = (period[1], period[0], start % width, start // width)
        block["a_strides"] = plate.grid.strides
        block["a_style"] = (*front_sides(plate), plate.last, upright(plate))
    return table


def front_sides(plate: Plate) -> tuple[float, float]:
    """Return for each of the two kinds of side 1 if it looks along y, and so at the viewer, else 0."""
    u, v = (float(part > 0.5 * plate.pitch) for part in np.abs(plate.axes[:2, 1]))
    return u, v


def upright(plate: Plate) -> int:
    """Return which of a plate's directions is down for its marks: see ``a_style`` in the shader."""
    u, v = np.abs(plate.axes[:2, 2]) > 0.5 * plate.pitch
    if u or v:
        return 2 if u else 1
    return 3 if abs(plate.axes[0][1]) > 0.5 * plate.pitch else 0  # lying: down is towards the viewer


def indices(layout: Layout, members: list[int]) -> NDArray[np.uint32]:
    """Return the triangles of some plates, all counter-clockwise from outside."""
    parts = []
    for index in members:
        right_handed = np.linalg.det(layout.plates[index].axes) > 0
        parts.append(8 * index + (_FACES if right_handed else _FACES[:, ::-1]))
    return np.concatenate(parts).astype(np.uint32).ravel()


# ---- All cubes of a layout.

DETAIL_PIXELS = 6.0
"""Least size of a cube in pixels for gaps, rims and marks."""
COLOURS = 8 * (TABLE_SIZE - 1) + 1
"""Texels of a map: fine enough for nearest lookup, which is faster than interpolation in software."""
FLOAT_MAX = float(np.finfo(np.float32).max)
RIM = 0.055
"""Width of the rim, as a share of the half side (none in a stack of large plates)."""
SAMPLES = 4
"""Samples along each axis of a pixel; if it covers more cubes, blocks are averaged."""
MARKS = ((NOT_COMPUTED | DEAD, 40), (NEG_INF, 85), (POS_INF, 170), (NAN, 255))
"""Value of the fourth channel for a block with such marks, the most important last."""


class SlabVisual:
    """All cubes of a layout, with a colour map for the weights and one for the activation rows.

    Set `sizing` to change the size of the weights' cubes. `looks` are those given by hand, by flat index, and
    `own_version` is the version of all such looks.
    """

    def __init__(
        self,
        layout: Layout,
        theme: str | Theme = "dark",
        colours: Colormap | None = None,
        activations: Colormap | None = None,
    ) -> None:
        self.layout = layout
        self.theme = get_theme(theme)
        self.atlas = Atlas(layout.plates)
        self._vertices = vertices(layout, self.atlas)
        self._buffer, self._ranged = gloo.VertexBuffer(self._vertices), False
        wrapping = {"interpolation": "nearest", "wrapping": "clamp_to_edge"}
        self._values = gloo.Texture2D(self.atlas.shape, format="red", internalformat="r32f", **wrapping)
        self._flags = gloo.Texture2D(self.atlas.flags, format="luminance", **wrapping)
        self._own: Any = None
        self._looks_changed = False
        self._marked = False
        self._programs: dict[Variant, Any] = {}
        self._indices: dict[tuple[int, ...], Any] = {}
        self._trays, self.bloom = TrayVisual(layout, self.theme), Bloom(layout)
        self._means: dict[int, tuple[object, Any]] = {}  # by plate: the inputs of its texture, and the texture
        self._uploads = 0
        self._shown = self.atlas.flags
        self._seen = Cached[list[Variant]]()  # cached while the camera rests
        self._rows = {index: plate for index, plate in enumerate(layout.plates) if plate.kind == "activation"}
        self._ranges: dict[int, Range] = {}
        self.sizing, self.own_version = ALL_ALIKE, -1
        self.looks: dict[int, CubeLook] = {}
        self._maps = [colours or get_map("weight", self.theme), activations or get_map("activation", self.theme)]
        self._colours = gloo.Texture2D(self.tables, interpolation="nearest", wrapping="clamp_to_edge")
        self.set_range(1.0)
        self.set_activation_range(0.0, 1.0)

    def set_activations(self, rows: Mapping[str, ArrayLike]) -> None:
        """Show new activations in the rows that the layout draws; other names and rows of another size are ignored."""
        for plate in self._rows.values():
            if np.size(rows.get(plate.name, ())) == plate.size:
                self.atlas.set_row(plate, rows[plate.name])

    def set_flags(
        self,
        *,
        frozen: ArrayLike | None = None,
        not_computed: ArrayLike | None = None,
        dead: Mapping[str, ArrayLike] | None = None,
    ) -> None:
        """Set the marks that do not follow from the values; arguments left out clear their mark.

        `frozen` and `not_computed` (P,) are in the order of a frame's flat arrays. `dead` marks units that are zero for
        every sample, by the stage whose row is drawn.
        """
        count = self.atlas.parameters
        for weight, marked in ((FROZEN, frozen), (NOT_COMPUTED, not_computed)):
            self.atlas.set_flags(slice(0, count), weight, None if marked is None else np.ravel(marked)[:count])
        self.mark_rows(DEAD, dead or {})

    def mark_rows(self, mark: int, marked: Mapping[str, ArrayLike]) -> None:
        """Give the cubes of the rows, by name, a mark; all others lose it."""
        for plate in self._rows.values():
            self.atlas.set_flags(self.atlas.span(plate), mark, marked.get(plate.name))

    def set_looks(self, looks: Mapping[int, CubeLook], version: int) -> bool:
        """Take over the looks given by hand, by flat index; return whether they changed."""
        self.own_version = version
        if looks == self.looks:
            return False
        self.looks = dict(looks)
        self.atlas.looks = {index: look for index, look in looks.items() if index < self.atlas.parameters}
        self._looks_changed = True
        return True

    def set_instead(self, flat: ArrayLike | None, rows: Mapping[str, ArrayLike] | None = None) -> None:
        """Set colours that replace those of the scale: of weights (P, 3), of rows (N, 3); NaN: not replaced.

        None: no cube has one.
        """
        atlas, found = self.atlas, None
        if flat is not None:
            found = np.full((atlas.values.size, 3), np.nan, np.float32)
            found[: atlas.parameters] = np.asarray(flat)[: atlas.parameters]
            for plate in self._rows.values():
                if rows and plate.name in rows:
                    found[atlas.span(plate)] = rows[plate.name]
        if not _same(found, atlas.instead):
            atlas.instead, self._looks_changed = found, True

    def set_lift(self, rise: ArrayLike | None) -> None:
        """Make the cubes of weights (P,) higher (1: twice as high) or lower (-1: flat); None: neither."""
        atlas = self.atlas
        found = None if rise is None else np.asarray(rise, np.float32)[: atlas.parameters]
        if not _same(found, atlas.lift):
            atlas.lift, self._looks_changed = found, True

    def set_range(self, v: float | Range) -> None:
        """Set the range of the weights: V, or a whole :class:`Range`."""
        chosen = v if isinstance(v, Range) else Range.symmetric(float(v))
        for index in range(len(self.layout.plates)):
            if index not in self._rows:
                self._range(index, chosen)

    def set_activation_range(self, low: float, high: float, own: Mapping[str, Range] | None = None) -> None:
        """Set the values of the darkest and the lightest grey (or of the map's ends) in the activation rows.

        Rows in `own` have a range of their own.
        """
        shared = Range(low, high)
        for index, plate in self._rows.items():
            self._range(index, (own or {}).get(plate.name, shared))

    def set_colours(self, colours: Colormap | None = None, activations: Colormap | None = None) -> None:
        """Change the colour maps; None keeps a map."""
        self._maps = [colours or self._maps[0], activations or self._maps[1]]
        self._colours.set_data(self.tables)

    def set_theme(self, theme: str | Theme) -> None:
        """Change the theme; everything that depends on the layout stays on the graphics card."""
        self.theme = get_theme(theme)
        for variant, program in self._programs.items():
            self._constants(program, walks=not variant.samples)
        self._trays.set_theme(self.theme)

    def share_of(self, index: int, element: int) -> float:
        """Return the side of a cube of plate `index` as a share of the largest; 0 if it is not drawn."""
        if index in self._rows:
            return 1.0
        return self.sizing.share_of(self.atlas, self.layout.plates[index].start + element, self._ranges[index])

    @property
    def ranges(self) -> list[Range]:
        """The colour range of each plate."""
        return [self._ranges[index] for index in range(len(self.layout.plates))]

    def colours_of(self, index: int) -> NDArray[np.float64]:
        """Return the colours of the cubes of plate `index`, (N, 3), in 0..1: as in the shader, without light."""
        table, unit = self.tables[int(index in self._rows)], np.clip(self._units(index), 0.0, 1.0)
        found = np.asarray(table[np.rint(unit * (len(table) - 1)).astype(np.intp)] / 255.0)
        if self.atlas.instead is not None:
            other = self.atlas.instead[self.atlas.span(self.layout.plates[index])]
            found = np.where(np.isnan(other), found, other)
        return found

    def clips(self, index: int) -> bool:
        """Return whether a weight of plate `index` is outside the colour range."""
        return index not in self._rows and bool((np.abs(self._units(index) - 0.5) > 0.5 + 1e-5).any())

    def _units(self, index: int) -> NDArray[np.float64]:
        """Return the positions of a plate's numbers on the scale."""
        return self._ranges[index].unit(self.atlas.values.reshape(-1)[self.atlas.span(self.layout.plates[index])])

    @property
    def shares(self) -> Callable[[int, int], float] | None:
        """:meth:`share_of`, or None while all cubes have full size."""
        return self.share_of if self.sizing.active or self.looks else None

    def detailed(self, camera: Camera, density: float) -> bool:
        """Return whether the cubes of some plate are large enough for every mark."""
        return any(variant.detail for variant in self._variants(camera, density))

    def _variants(self, camera: Camera, density: float) -> list[Variant]:
        """Return the shader variant of each plate, by the size of its cubes."""
        return self._seen.get((camera, density), lambda: [variant_for(p, camera, density) for p in self.layout.plates])

    def draw(self, camera: Camera | None, viewport: Viewport) -> None:
        """Draw into the bound framebuffer; this clears its depth, but not its colour.

        `viewport` is (width, height) or (x, y, width, height) in device pixels.
        """
        eye = camera or self.layout.camera
        x, y, width, height = (0, 0, *viewport) if len(viewport) == 2 else viewport
        gloo.set_viewport(x, y, width, height)
        gloo.set_state(depth_test=True, blend=False, cull_face=False, depth_mask=True, depth_func="less")
        gloo.clear(color=False, depth=True)
        self._upload()
        self._trays.draw(eye, (width, height), shadows=self.shares is None)  # first: no line crosses a number
        self.bloom.draw(eye, adds=self.theme.name == "dark")
        gloo.set_state(depth_test=True, blend=False, cull_face="front", front_face="ccw")
        density = width / eye.size[0]
        groups: dict[Variant, list[int]] = {}
        for index, (plate, size) in enumerate(zip(self.layout.plates, self._variants(eye, density), strict=True)):
            weights = index not in self._rows
            sized = self.shares is not None and weights
            own = (bool(self.looks) and weights) or self.atlas.instead is not None
            lifted = self.atlas.lift is not None and weights and not size.samples
            variant = replace(size, flags=self._marked, tiled=plate.grid.gaps, sized=sized or lifted, own=own or lifted,
                              curved=self._ranges[index].scale != "linear", lifted=lifted,
                              means=size.means and not (sized or own))  # fmt: skip
            groups.setdefault(variant, []).append(index)
        for variant, members in groups.items():
            self._draw_group(variant, members, eye, density)
        gloo.set_state(cull_face=False)

    def _draw_group(self, variant: Variant, members: list[int], camera: Camera, density: float) -> None:
        program = self._program(variant)
        program["u_matrix"] = camera.matrix.T.astype(np.float32)  # gloo wants columns first
        program["u_eye"] = camera.eye.astype(np.float32)
        program["u_scale"] = camera.scale * density
        if variant.sized:
            program["u_sizing"] = (float(self.sizing.by_value), self.sizing.threshold)
        for part in [[index] for index in members] if variant.means else [members]:
            if variant.means:
                program["u_means"], program["u_blocks"] = self._means_of(part[0], camera, density)
            key = tuple(part)
            if key not in self._indices:
                self._indices[key] = gloo.IndexBuffer(indices(self.layout, part))
            program.draw("triangles", self._indices[key])

    def _means_of(self, index: int, camera: Camera, density: float) -> tuple[Any, tuple[float, float, float]]:
        """Return mean colours of blocks of a plate, about as many per pixel as there are samples; cached.

        The second result is the side of a block, and one over their number across and down.
        """
        plate, chosen = self.layout.plates[index], self._ranges[index]
        block = max(2, int(cells_per_pixel(plate, camera, density) / SAMPLES))
        key, (before, texture) = (block, self._uploads, chosen, *self._maps), self._means.get(index, (None, None))
        if before != key:
            span, cells = self.atlas.span(plate), plate.grid.cells
            values = self.atlas.values.reshape(-1)[span].reshape(cells)
            flags = self._shown.reshape(-1)[span].reshape(cells)
            colours = block_means(values, flags, chosen, self.tables[int(index in self._rows)], block)
            if texture is not None and texture.shape[:2] == colours.shape[:2]:
                texture.set_data(colours)
            else:
                texture = gloo.Texture2D(colours, format="rgba", interpolation="nearest", wrapping="clamp_to_edge")
            self._means[index] = key, texture
        rows, cols = (-(-side // block) for side in plate.grid.cells)
        return texture, (float(block), 1.0 / cols, 1.0 / rows)

    def _program(self, variant: Variant) -> Any:
        if variant not in self._programs:
            lifted = "#version 120\n#define LIFTED\n" if variant.lifted else "#version 120\n"
            vertex = glsl.read("cubes_vertex").replace("#version 120\n", lifted)
            self._programs[variant] = program = gloo.Program(vertex, fragment(variant, knee=KNEE, table=COLOURS))
            program.bind(self._buffer)
            program["u_colours"] = self._colours
            program["u_values"] = self._values
            if variant.flags:
                program["u_flags"] = self._flags
            if variant.own:
                program["u_own"] = self._own
            height, width = self.atlas.shape
            program["u_atlas"], program["u_texel"] = (width, height), (1.0 / width, 1.0 / height)
            self._constants(program, walks=not variant.samples)
        return self._programs[variant]

    def _constants(self, program: Any, *, walks: bool) -> None:
        look, shading = self.theme, self.theme.shading
        program["u_ink"], program["u_paper"] = rgb(look.ink), rgb(look.paper)
        program["u_blank"], program["u_line"] = rgb(look.tray), rgb(look.text3)
        program["u_sides"] = (shading.side_front, shading.side_other)
        if walks:  # mean colours have no rims and no foot
            rim = 0.0 if self.layout.mode == "big" else RIM
            program["u_shading"] = (shading.rim_top, shading.rim_side, shading.foot, rim)

    def _upload(self) -> None:
        atlas = self.atlas
        if atlas.changed:
            self._values.set_data(atlas.values)
        if self._looks_changed and self._own is None:
            self._own = gloo.Texture2D(atlas.look_texels(), format="rgba", interpolation="nearest",
                                       wrapping="clamp_to_edge")  # fmt: skip
        elif self._looks_changed:
            self._own.set_data(atlas.look_texels())
        self._looks_changed = False
        if self._ranged:
            self._buffer.set_data(self._vertices)
            self._ranged = False
        self._uploads += atlas.changed or atlas.flags_changed
        if atlas.flags_changed:
            flags = self._shown = atlas.flags
            self._marked = bool(flags.any())
            self._flags.set_data(flags)
        atlas.changed = atlas.flags_changed = False

    @property
    def tables(self) -> NDArray[np.uint8]:
        """The colours of weights and those of activations, (2, COLOURS, 3)."""
        fractions = np.linspace(0.0, 1.0, COLOURS)
        return np.stack([m.bytes(2.0 * fractions - 1.0 if m.diverging else fractions) for m in self._maps])

    def _range(self, index: int, chosen: Range) -> None:
        if self._ranges.get(index) != chosen:
            self._ranges[index], most = chosen, 0.25 * FLOAT_MAX  # their difference must be finite too
            low, high = (min(max(end, -most), most) for end in (chosen.low, chosen.high))
            new = low, high, SCALES.index(chosen.scale), float(index in self._rows)
            self._vertices["a_range"][8 * index : 8 * index + 8] = new
            self._ranged = True  # uploaded at the next drawing, so a view that is never drawn queues none


def _same(a: NDArray[np.float32] | None, b: NDArray[np.float32] | None) -> bool:
    """Return whether both arrays are equal or None."""
    return a is b or (a is not None and b is not None and np.array_equal(a, b, equal_nan=True))


def cells_per_pixel(plate: Plate, camera: Camera, density: float) -> float:
    """Return how many rows or columns of a plate, whichever are denser, one device pixel covers at its middle."""
    middle = plate.bounds.mean(0)
    ray = camera.towards_eye(middle)
    across, down, out = plate.axes @ (ray / np.linalg.norm(ray)) / plate.pitch
    size = float(camera.pixels_per_unit(middle)[0]) * density * plate.pitch
    return float(np.sqrt(max(1.0 - min(across**2, down**2), 1e-9)) / (size * max(abs(out), 1e-3)))


def variant_for(plate: Plate, camera: Camera, density: float) -> Variant:
    """Return how a plate is drawn by the size of its cubes: in detail, as flat cells, or as the mean of samples."""
    dense = cells_per_pixel(plate, camera, density)
    if dense <= 1.0 / DETAIL_PIXELS:
        return Variant(detail=True)
    samples = 0 if dense <= 1.0 else int(min(np.ceil(dense), SAMPLES))
    return Variant(samples=samples, means=dense > SAMPLES and not plate.grid.gaps)


def block_means(
    values: NDArray[np.float32], flags: NDArray[np.uint8], chosen: Range, table: NDArray[np.uint8], block: int
) -> NDArray[np.uint8]:
    """Return mean colour (by `table`, (T, 3)) and mark of each block of cubes, (rows / block, columns / block, 4)."""
    marked = flags & ~np.uint8(FROZEN) if flags.any() else flags
    unit = np.clip(chosen.unit(values), 0.0, 1.0)
    if marked.any():
        unit[marked != 0] = 0.5
    rows, cols = values.shape
    places = np.rint(unit * (len(table) - 1)).astype(np.intp)
    tall, wide = -(-rows // block), -(-cols // block)
    total, count = np.zeros((tall, wide, 3), np.uint32), np.zeros((tall, wide, 1), np.uint32)
    found = np.zeros((tall, wide, 4), np.uint8)
    for row in range(min(block, rows)):
        for col in range(min(block, cols)):
            colours = table[places[row::block, col::block]]
            part = (slice(colours.shape[0]), slice(colours.shape[1]))
            total[part] += colours
            count[part] += 1
            for bits, mark in MARKS if marked.any() else ():
                there = (marked[row::block, col::block] & bits) != 0
                found[(*part, 3)] = np.maximum(found[(*part, 3)], np.where(there, np.uint8(mark), np.uint8(0)))
    found[..., :3] = (total + count // 2) // count
    return found


# ---- What lies under and between the cubes.


def flow_style(layout: Layout) -> tuple[float, float]:
    """Return width and alpha of the lines of flow; many side by side must not be louder than the cubes."""
    return (1.4, 0.9) if layout.mode == "few" else (1.0, 0.5)


class TrayVisual:
    """Trays and flow lines of a layout, drawn before the cubes."""

    def __init__(self, layout: Layout, theme: Theme) -> None:
        self._trays = _quads("tray", _tray_corners(layout)) if len(layout.trays) else None
        self._corner = layout.trays[0, 0] if len(layout.trays) else np.zeros(3)
        self._flow = _quads("flow", _flow_corners(layout)) if len(layout.flow) else None
        self._width, self._alpha = flow_style(layout)
        self.set_theme(theme)

    def set_theme(self, theme: Theme) -> None:
        """Change the theme."""
        self._shadow = theme.shading.shadow
        if self._trays is not None:
            program = self._trays[0]
            program["u_margin"] = TRAY_MARGIN
            program["u_tray"], program["u_border"] = rgb(theme.tray), rgb(theme.border)
        if self._flow is not None:
            self._flow[0]["u_colour"] = (*rgb(theme.flow), self._alpha)

    def draw(self, camera: Camera, viewport: tuple[int, int], *, shadows: bool) -> None:
        """Draw the trays, opaque, with depth. Seen from below they would hide everything, so they are left out.

        `shadows`: only for cubes that all have full size. Lines lie on the trays and below every cube, so they write no
        depth.
        """
        matrix, density = camera.matrix.T.astype(np.float32), viewport[0] / camera.size[0]
        if self._trays is not None and camera.towards_eye(self._corner)[2] > 0.0:
            program, quads = self._trays
            program["u_matrix"], program["u_density"] = matrix, density
            program["u_shadow"] = self._shadow if shadows else 0.0
            program.draw("triangles", quads)
        if self._flow is not None:
            program, quads = self._flow
            gloo.set_state(blend=True, depth_mask=False, blend_func=("src_alpha", "one_minus_src_alpha"))
            program["u_matrix"], program["u_viewport"], program["u_width"] = matrix, viewport, self._width * density
            program.draw("triangles", quads)
            gloo.set_state(blend=False, depth_mask=True)


BLOOM = 2.2
"""Reach of a cube's light from its middle, in pitches."""


class Bloom:
    """Light on the ground around cubes, below every face; it changes the colour of no face."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._drawn: tuple[Any, Any] | None = None
        self.shines: NDArray[np.float32] | None = None

    def shine(self, colours: NDArray[np.floating] | None) -> None:
        """Set red, green, blue and strength, 0 to 1, for the cubes of weights (P, 4); None: no light."""
        shines = None if colours is None else np.asarray(colours, np.float32)
        if not _same(shines, self.shines):
            self.shines, corners = shines, [] if shines is None else self._corners(shines)
            self._drawn = _quads("bloom", np.concatenate(corners)) if corners else None

    def _corners(self, shines: NDArray[np.float32]) -> list[NDArray[np.void]]:
        kind = [("a_pos", np.float32, 3), ("a_colour", np.float32, 4), ("a_place", np.float32, 2)]
        square, found = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]), []
        for plate in (plate for plate in self._layout.plates if plate.start >= 0):
            own = shines[plate.start : plate.start + plate.size]
            lit = np.flatnonzero(own[:, 3] > 0.02)
            table = np.zeros(4 * len(lit), kind)
            feet = plate.tops[lit] - 2.0 * plate.depth * plate.axes[2]
            table["a_pos"] = (feet[:, None] + BLOOM * square @ plate.axes[:2]).reshape(-1, 3)
            table["a_colour"], table["a_place"] = np.repeat(own[lit], 4, axis=0), np.tile(square, (len(lit), 1))
            found += [table] if len(lit) else []
        return found

    def draw(self, camera: Camera, *, adds: bool) -> None:
        """Draw the light before the cubes. `adds` adds it; else its colours are mixed in."""
        if self._drawn is None:
            return
        program, quads = self._drawn
        gloo.set_state(blend=True, depth_mask=False, depth_test=False, cull_face=False,
                       blend_func=("src_alpha", "one" if adds else "one_minus_src_alpha"))  # fmt: skip
        program["u_matrix"] = camera.matrix.T.astype(np.float32)
        program.draw("triangles", quads)
        gloo.set_state(blend=False, depth_mask=True, depth_test=True)


def _quads(name: str, corners: NDArray[np.void]) -> tuple[Any, Any]:
    """Return a program that draws quads of four corners each, and their triangles."""
    program = gloo.Program(*glsl.program(name))
    program.bind(gloo.VertexBuffer(corners))
    triangles = 4 * np.arange(len(corners) // 4, dtype=np.uint32)[:, None] + np.array([0, 1, 2, 0, 2, 3], np.uint32)
    return program, gloo.IndexBuffer(triangles.ravel())


def _tray_corners(layout: Layout) -> NDArray[np.void]:
    kind = [("a_pos", np.float32, 3), ("a_cell", np.float32, 2), ("a_dims", np.float32, 4)]
    table = np.zeros(4 * len(layout.trays), kind)
    table["a_pos"] = layout.trays.reshape(-1, 3)
    for index, owner in enumerate(layout.tray_plates):
        plate, block = layout.plates[owner], table[4 * index : 4 * index + 4]
        rows, cols = plate.grid.cells
        (x, y), right, near = TRAY_MARGIN, cols - 0.5 + TRAY_MARGIN[0], rows - 0.5 + TRAY_MARGIN[1]
        block["a_cell"] = [(0.5 - x, 0.5 - y), (right, 0.5 - y), (right, near), (0.5 - x, near)]
        block["a_dims"] = (cols, rows, plate.half, plate.last)
    return table


def _flow_corners(layout: Layout) -> NDArray[np.void]:
    segments = np.repeat(layout.flow, 4, axis=0)
    table = np.zeros(len(segments), [("a_from", np.float32, 3), ("a_to", np.float32, 3), ("a_end", np.float32, 2)])
    table["a_from"], table["a_to"] = segments[:, 0], segments[:, 1]
    table["a_end"] = np.tile([[0, -1], [1, -1], [1, 1], [0, 1]], (len(layout.flow), 1))
    return table
