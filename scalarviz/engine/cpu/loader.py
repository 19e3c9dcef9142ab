"""From source to machine code: from the cache if possible, otherwise in memory. `warmup` fills the cache.

numba's own locators name the code of a function by the path of its source file, so another copy of the same
sources would be compiled again. `OurLocator` uses folder and version instead (see ``units``). numba does not
guarantee that ``CacheImpl`` has its list of locators, so `error_message` tests whether numba calls ours.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import numba
from numba.core import caching, config

from ...scalar import ops
from ...scalar.kernel import define
from ...scalar.ops import TABLE
from ..cache import BUILD, Filling, Progress, remove, start_helpers, user_cache, warn_once
from ..cost import has_package
from ..problem import DTYPES
from . import units
from .compiled import build
from .source import UPDATES, kernel_names, module_source, update_source
from .units import PLACE, Unit, closed, folder, is_there, key, make_folder
from .wire import KERNELS

ARRAYS, BLAS, SLOW = "numba.np.arraymath", "numba.np.linalg", "scipy.linalg.cython_blas"


def arrays_without_scipy() -> None:
    """Import numba's array functions, and SciPy only where this numba is built otherwise than those that we know.

    numba would also import SciPy's BLAS, to find out whether ``np.vdot`` may call it: a tenth of the start time
    of a small scene. Code that calls it still works, because numba checks again when it compiles such a call.
    """
    if ARRAYS in sys.modules or SLOW in sys.modules or not has_package("scipy"):
        return
    blas: Any = importlib.import_module(BLAS)
    asked = getattr(blas, "ensure_blas", None)
    if asked is None:
        return
    blas.ensure_blas = lambda: None  # its result is known
    try:
        arrays: Any = importlib.import_module(ARRAYS)
    finally:
        blas.ensure_blas = asked
    if hasattr(arrays, "ensure_blas"):
        arrays.ensure_blas = asked


_PROTOCOL: Any = getattr(caching, "_CacheLocator", object)
_here = threading.local()


class CodeFolder(NamedTuple):
    """A folder of machine code, the stamp of its sources, and whether it is being filled."""

    folder: Path
    stamp: str
    filling: bool


class Missing(Exception):
    """A sealed unit lacks code: numba compiled a function and was about to write it there."""


class OurLocator(_PROTOCOL):  # type: ignore[misc]  # numba has no types
    """Tells numba where to cache a function; only inside :func:`kept_in`."""

    def __init__(self, place: CodeFolder, source: str) -> None:
        self.place = place
        self._py_file = source  # named in a warning of numba's

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> OurLocator | None:
        """Return the locator of a function; None leaves the function to numba's own locators."""
        place = getattr(_here, "place", None)
        return None if place is None else cls(place, py_file)

    def get_cache_path(self) -> str:
        """Return the folder."""
        return str(self.place.folder)

    def get_source_stamp(self) -> str:
        """Return the stamp that numba compares with that of the files it finds."""
        return self.place.stamp

    def get_disambiguator(self) -> str:
        """Return an empty text, because functions of one unit have different names."""
        return ""

    def ensure_cache_path(self) -> None:
        """Allow or refuse a write of numba."""
        if not self.place.filling:
            raise Missing(f"{self.place.folder} has no code for this function and processor")


@contextmanager
def use_folder(folder: Path, stamp: str, filling: bool) -> Iterator[None]:
    """Make numba read (and with `filling` also write) the code that this thread compiles with ``cache=True``."""
    named = getattr(config, "CACHE_LOCATOR_CLASSES", "")  # this user variable would override ours
    config.CACHE_LOCATOR_CLASSES = ""
    _here.place = CodeFolder(folder, stamp, filling)
    try:
        yield
    finally:
        _here.place = None
        config.CACHE_LOCATOR_CLASSES = named


@cache
def error_message() -> str:
    """Return why this numba does not use our folder; empty if it does. The first call registers our locator."""
    try:
        caching.CacheImpl._locator_classes.insert(0, OurLocator)
        probe = Path("probe")
        with use_folder(probe, "", filling=False):
            found = caching.FunctionCache(error_message.__wrapped__).cache_path
    except Exception as error:  # a numba with other internals may raise anything
        reason = f"{type(error).__name__}: {error}"
    else:
        if found == str(probe):
            return ""
        reason = "it looks for the cache in another way"
    return f"numba {numba.__version__} keeps compiled code in a way that scalarviz does not know ({reason})"


T = TypeVar("T")
_ENTRIES = "addresses of"

arrays_without_scipy()

LOCK = threading.RLock()


def load(unit: str, compile_with: Callable[[bool], T]) -> T:
    """Return the result of `compile_with(cache)`: a unit, compiled or from the cache."""
    with LOCK:
        if reason := error_message() or closed(unit):
            warn_once(f"{reason}; compiling in memory")
            return compile_with(False)
        home = folder() / unit
        if home.is_dir():
            if units.intact(home):
                PLACE.used()
                try:
                    with use_folder(home, _stamp(unit), filling=False):
                        return compile_with(True)
                except Exception:
                    pass  # numba may fail on odd files; an error of ours recurs during compilation
            warn_once(f"compiled kernels in {home} are damaged; compiling them again")
            remove(home)
        try:
            return _fill(unit, compile_with)
        except OSError as error:
            warn_once(
                f"cannot keep compiled kernels in {user_cache()} ({error.strerror or error}); "
                "compiling in memory. Free some space, or set SCALARVIZ_CACHE_DIR to a folder that can be written"
            )
            return compile_with(False)


def row_addresses(name: str, dtype: str) -> dict[str, int]:
    """Return addresses of the row kernels of the operation `name`: ``forward`` and ``backward_0`` .. ``backward_2``."""
    op = ops.get(name)
    unit = units.rows_unit(op, dtype)
    return _addresses(unit, lambda cached: _compile_rows(op, dtype, unit, cached))


def kernel_address(name: str, dtype: str) -> int:
    """Return the address of another kernel, one of ``wire.KERNELS``."""
    unit = units.core_unit(name, dtype)
    return _addresses(unit, lambda cached: _compile_kernel(name, dtype, unit, cached))[name]


def _addresses(unit: str, compile_with: Callable[[bool], dict[str, Any]]) -> dict[str, int]:
    with LOCK:
        if unit not in units.LOADED:
            kernels = load(unit, compile_with)
            units.LOADED[unit] = {**kernels, _ENTRIES: {name: _entry(found) for name, found in kernels.items()}}
        return units.LOADED[unit][_ENTRIES]  # type: ignore[no-any-return]


def _entry(kernel: Any) -> int:
    """Return the address of the kernel itself, without the C wrapper, which would copy arguments on the stack."""
    address: int = kernel._library.get_pointer_to_function(kernel.native_name.removeprefix("cfunc."))
    return address


@cache
def callable_at(address: int) -> Callable[..., None]:
    """Return the kernel at an address as a slow Python function of six addresses and two numbers."""
    # numba's calling convention: it returns a status, and takes places for a result and an exception first
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 8, ctypes.c_int64, ctypes.c_int64)(address)
    places = [ctypes.c_void_p(), ctypes.c_void_p()]  # written to, so they live as long as the function
    result, exception = (ctypes.addressof(place) for place in places)
    entry.places = places  # type: ignore[attr-defined]

    def call(*args: int) -> None:
        entry(result, exception, *args)

    return call


def _fill(unit: str, compile_with: Callable[[bool], T]) -> T:
    home = make_folder() / unit
    making = Path(tempfile.mkdtemp(prefix=BUILD, dir=home.parent))  # private to this user
    try:
        with use_folder(making, _stamp(unit), filling=True):
            result = compile_with(True)
        units.seal(making)
        try:
            os.rename(making, home)
        except OSError:
            if not home.is_dir():  # otherwise another process was faster
                raise
    finally:
        remove(making)
    PLACE.prune()
    return result


def _stamp(unit: str) -> str:
    return f"{key()}/{unit}"


def _compile_rows(op: ops.Op, dtype: str, unit: str, cached: bool) -> dict[str, Any]:
    module = _module(unit, module_source(op, dtype))
    return build.rows(module, kernel_names(op), dtype, cached)


def _compile_kernel(name: str, dtype: str, unit: str, cached: bool) -> dict[str, Any]:
    if name in UPDATES:
        return build.update(_module(unit, update_source(name, dtype)), name, dtype, cached)
    return build.kernel(name, dtype, cached)


def _module(unit: str, source: str) -> ModuleType:
    """Return a module made from generated source."""
    module = sys.modules[f"scalarviz_rows.{unit}"] = ModuleType(f"scalarviz_rows.{unit}")  # numba looks the module up
    define(unit, source, module.__dict__)
    return module


MAKERS: dict[str, Callable[[str, str], object]] = {"kernel": kernel_address, "rows": row_addresses}


def warmup(dtypes: Iterable[str] = DTYPES, ops: Iterable[str] | None = None, progress: Progress | None = None) -> None:
    """Compile all kernels that are missing in the cache, on all cores: for all operations, or those of `ops`.

    `progress(done, total, next_name)` is called before each unit, and at the end.
    """
    chosen = list(TABLE if ops is None else ops)
    kinds = (("kernel", KERNELS), ("rows", chosen))
    fill([(kind, name, dtype) for dtype in dtypes for kind, names in kinds for name in names], progress)


def fill(wanted: Sequence[Unit], progress: Progress | None = None, stopped: Callable[[], bool] = lambda: False) -> None:
    """Compile the units that are missing in the cache, the slowest first."""
    with PLACE.alone(stopped):  # one process compiles, the others then find its results
        missing = sorted((unit for unit in wanted if not is_there(unit)), key=_rank)
        filling = Filling(wanted, is_there, help_out, lambda unit: f"{unit[1]}, {unit[2]}", progress, stopped)
        filling.fill(missing, start_helpers(__name__, len(missing), PLACE))


LONG = ("outer", "maxima_one", "train", "conv", "conv_outer", "orders", "coupled", "combine", "update_rows")
"""Kernels that take more than a second to compile."""


def _rank(unit: Unit) -> int:
    return LONG.index(unit[1]) if unit[1] in LONG else len(LONG)


def help_out(unit: Unit) -> None:
    """Compile a unit; other processes call it too."""
    kind, name, dtype = unit
    MAKERS[kind](name, dtype)
