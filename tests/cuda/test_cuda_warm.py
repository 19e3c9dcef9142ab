"""``scalarviz warmup`` fills the cache of GPU kernels: for the GPUs that are here, or for a kind that is named."""

import json
import shutil
import sys

import pytest

from scalarviz.cli import warmup as cli_warmup
from scalarviz.cli.main import main
from scalarviz.engine.cache import CacheFolder, serve
from scalarviz.engine.cuda import catalog, images, there, warm
from scalarviz.engine.cuda.kernel import Kernel
from scalarviz.engine.cuda.source import forward_source
from scalarviz.scalar import ops

NAMES = ("zero", "forward:neg", "backward:neg")
H200 = there.Gpu(0, "NVIDIA H200", 1 << 37, (9, 0))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of GPU kernels, of which there are three; those of the processor are there."""
    (tmp_path / "cache").mkdir(mode=0o700)
    monkeypatch.setattr(images, "PLACE", CacheFolder(lambda: "0" * 16, "cuda-"))
    monkeypatch.setattr("scalarviz.engine.cache.user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(catalog, "names", lambda: iter(names()))
    monkeypatch.setattr("scalarviz.engine.cpu.loader.warmup", lambda *_, **__: None)
    images.text.cache_clear()
    yield tmp_path / "cache" / ("cuda-" + "0" * 16)
    images.text.cache_clear()


def names():
    structural = next(name for name in catalog._structural("float32") if ":" not in name)
    return (structural, *NAMES[1:])


@pytest.fixture
def compiled(monkeypatch):
    """What is compiled; it takes no time."""
    seen = []

    def ptx(kernel, capability):
        seen.append((kernel.name, kernel.dtype, capability))
        return ".visible .entry _Z1k("

    monkeypatch.setattr(Kernel, "ptx", ptx)
    return seen


def kinds(cache):
    return sorted(path.name.partition("-sm_")[2] for path in cache.iterdir())


def test_a_kernel_is_compiled_once_for_each_dtype(cache, compiled):
    said = []
    warm.warmup((9, 0), progress=lambda *what: said.append(what))
    assert sorted(compiled) == sorted((name, dtype, (9, 0)) for name in names() for dtype in ("float32", "float64"))
    assert [what[:2] for what in said] == [(k, 6) for k in range(7)]
    assert said[-1][2] == "done"
    assert kinds(cache) == ["90.ptx"] * 6
    warm.warmup((9, 0), progress=lambda *what: said.append(what))
    assert (len(compiled), said[-1]) == (6, (6, 6, "done"))
    warm.warmup((8, 0), dtypes=("float32",))
    assert compiled[6:] == [(name, "float32", (8, 0)) for name in names()]


def test_warm_are_the_shared_kernels_and_those_of_the_operations(cache, compiled, monkeypatch):
    monkeypatch.setattr(there, "driver", lambda: there.Driver((13, 0), (H200,)))
    monkeypatch.setattr(warm, "simulated", lambda: False)
    assert not warm.is_warm("float32", ())
    images.text(catalog.find(names()[0], "float32"), (9, 0))
    assert warm.is_warm("float32", ())
    assert not warm.is_warm("float64", ())
    images.text(catalog.find("forward:neg", "float32"), (9, 0))
    assert not warm.is_warm("float32", ["neg"])
    images.text(catalog.find("backward:neg", "float32"), (9, 0))
    assert warm.is_warm("float32", ["neg"])
    monkeypatch.setattr(there, "driver", lambda: there.Driver((13, 0), (there.Gpu(0, "A100", 1 << 36, (8, 0)), H200)))
    assert not warm.is_warm("float32", ())


def test_a_helper_leaves_operations_that_it_does_not_know(cache, compiled, monkeypatch, capsys):
    units = [["ptx", f"forward:{name}", "float32", 9, 0] for name in ("own_of_another", "neg")]
    monkeypatch.setattr("sys.stdin", map(json.dumps, units))
    serve(warm.help_out)
    assert (compiled, capsys.readouterr().out) == ([("forward:neg", "float32", (9, 0))], "\n\n")


def of_a_program():
    """Kernels that are found by name, and one whose source was made for a program."""
    op = ops.get("neg")
    own = catalog.written("forward:made_for_a_program", forward_source(op).replace(op.name, "it"), "float32")
    found = [catalog.find(name, "float32") for name in ("keep", "forward:neg", "backward:neg")]
    return [*found, own]


def test_a_program_s_missing_kernels_are_compiled_once_also_if_helpers_die(cache, compiled, monkeypatch):
    monkeypatch.setattr(sys, "executable", shutil.which("true"))
    monkeypatch.setattr(warm, "FEW", 3)
    kernels = of_a_program()
    warm.compile_side_by_side(kernels[1:], (9, 0), 13000)
    assert compiled == []  # two with a name are too few for helpers: they are compiled where they are loaded
    warm.compile_side_by_side(kernels, (9, 0), 13000)
    assert sorted(name for name, *_ in compiled) == sorted(kernel.name for kernel in kernels)
    assert compiled[0][0] == kernels[-1].name  # while helpers do the others
    warm.compile_side_by_side(kernels, (9, 0), 13000)
    assert len(compiled) == 4
    assert all(images.kept(kernel, (9, 0), 13000) for kernel in kernels)


@pytest.mark.ci
@pytest.mark.cuda
def test_helpers_compile_what_has_a_name_and_this_process_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(images, "PLACE", CacheFolder(images.key, "cuda-"))
    monkeypatch.setattr(warm, "FEW", 3)
    images.text.cache_clear()
    here, ptx = [], Kernel.ptx
    monkeypatch.setattr(Kernel, "ptx", lambda kernel, kind: here.append(kernel.name) or ptx(kernel, kind))
    kernels = of_a_program()
    assert not any(images.kept(kernel, (9, 0), 13000) for kernel in kernels)
    warm.compile_side_by_side(kernels, (9, 0), 13000)
    assert here == [kernels[-1].name]
    assert all(images.kept(kernel, (9, 0), 13000) for kernel in kernels)
    images.text.cache_clear()


def test_where_there_is_no_gpu_nothing_is_said_of_it(cache, compiled, capsys, monkeypatch):
    monkeypatch.setattr(cli_warmup, "no_cuda", lambda number: "needs a GPU")
    assert main(["warmup"]) == 0
    assert (len(capsys.readouterr().err.splitlines()), compiled) == (1, [])


@pytest.fixture
def toolkit(monkeypatch):
    """A compiler that is there, of CUDA 13.0."""
    monkeypatch.setattr(cli_warmup, "no_compiler", lambda: "")
    monkeypatch.setattr(cli_warmup.nvvm, "processors", lambda: (75, 90, 100))


def test_a_kind_that_is_named_is_compiled_for(cache, compiled, toolkit, capsys):
    assert main(["warmup", "--gpu", "sm_100"]) == 0
    assert "sm_100" in capsys.readouterr().err.splitlines()[1]
    assert ({capability for *_, capability in compiled}, kinds(cache)) == ({(10, 0)}, ["100.ptx"] * 6)


@pytest.mark.parametrize("kind", ["sm_91", "90", "sm_٩٠", ""])
def test_another_kind_is_refused(cache, compiled, toolkit, capsys, kind):
    assert main(["warmup", "--gpu", kind]) == 2
    said = capsys.readouterr().err
    assert [fact for fact in ("--gpu", "sm_75, sm_90, sm_100", repr(kind)) if fact not in said] == []
    assert compiled == []


def test_without_a_compiler_it_is_said_what_is_missing(cache, capsys, monkeypatch):
    monkeypatch.setattr(there, "no_numba", lambda: "")
    for gone, says in (("simulated", "unset NUMBA_ENABLE_CUDASIM"), ("_no_packages", "needs numba-cuda")):
        monkeypatch.setattr(there, "simulated", lambda gone=gone: gone == "simulated")
        monkeypatch.setattr(there, "_no_packages", lambda: "needs numba-cuda")
        assert main(["warmup", "--gpu", "sm_90"]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.cuda
@pytest.mark.parametrize("quiet", [False, True])
def test_for_a_gpu_that_is_here_machine_code_is_made(cache, install_fake_driver, capsys, quiet, monkeypatch):
    """In the background only PTX: others may be using the GPU."""
    install_fake_driver(capability=(9, 0), version=13000)
    monkeypatch.setattr(cli_warmup.os, "nice", lambda by: None, raising=False)
    assert main(["warmup", "--quiet"] if quiet else ["warmup"]) == 0
    assert kinds(cache) == (["90.ptx"] * 6 if quiet else sorted(["90-13000.cubin"] * 6 + ["90.ptx"] * 6))
    lines = capsys.readouterr().err.splitlines()
    assert lines == [] if quiet else "sm_90" in lines[-1]
    before = {path: path.stat().st_mtime_ns for path in cache.iterdir()}
    assert main(["warmup", "--quiet"] if quiet else ["warmup"]) == 0
    assert {path: path.stat().st_mtime_ns for path in cache.iterdir()} == before
