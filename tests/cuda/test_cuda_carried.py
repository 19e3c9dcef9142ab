"""Kernels that were compiled on another machine: found by what they are, sealed, read where nobody else writes."""

from __future__ import annotations

import pytest

from scalarviz.engine.cuda import carried, catalog, images, there
from scalarviz.engine.cuda.kept import files

CODE = b"\x7fELF of a kernel"


@pytest.fixture
def kernel():
    return catalog.find("forward:exp", "float32")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cubins"
    place.mkdir(mode=0o700)
    monkeypatch.setenv(carried.NAMED, str(place))
    return place


@pytest.fixture
def alone(monkeypatch):
    """Neither a cache nor a compiler."""

    def nothing(*_):
        raise AssertionError("it was looked for elsewhere")

    monkeypatch.setattr(files, "load", nothing)
    monkeypatch.setattr(images.kept, "load", nothing)
    monkeypatch.setattr(images, "text", nothing)


def put(folder, kernel, capability=(9, 0)):
    return carried.store(folder, kernel, images.entry(kernel), capability, CODE)


@pytest.mark.usefixtures("alone")
def test_it_is_loaded_where_nothing_else_is(folder, kernel):
    put(folder, kernel)
    assert images.image(kernel, (9, 0), 13000, None) == CODE


def test_a_smaller_gpu_of_its_generation_will_do_and_no_other(folder, kernel):
    put(folder, kernel, (8, 0))
    name = images.entry(kernel)
    found = {gpu: carried.load(kernel, name, gpu) for gpu in ((8, 0), (8, 6), (7, 5), (9, 0))}
    assert found == {(8, 0): CODE, (8, 6): CODE, (7, 5): None, (9, 0): None}


def test_another_kernel_dtype_or_version_is_not_taken_for_it(folder, kernel, monkeypatch):
    put(folder, kernel)
    for other in (catalog.find("forward:exp", "float64"), catalog.find("forward:log", "float32")):
        assert carried.load(other, images.entry(other), (9, 0)) is None
    assert carried.load(kernel, images.entry(kernel), (9, 0)) == CODE
    monkeypatch.setattr(carried, "_version", lambda: "0" * 16)  # another checkout
    assert carried.load(kernel, images.entry(kernel), (9, 0)) is None


@pytest.mark.parametrize("change", ["cut", "changed", "renamed"])
def test_what_does_not_answer_to_its_seal_is_not_loaded(folder, kernel, change):
    path = put(folder, kernel)
    content = path.read_bytes()
    if change == "renamed":
        content = put(folder, catalog.find("forward:log", "float32")).read_bytes()
    path.write_bytes({"cut": content[:-1], "changed": content[:-1] + b"x", "renamed": content}[change])
    with pytest.warns(RuntimeWarning, match="is damaged and is not loaded"):
        assert carried.load(kernel, images.entry(kernel), (9, 0)) is None


@pytest.mark.skipif(not hasattr(__import__("os"), "getuid"), reason="no owners of files on Windows")
def test_a_folder_that_others_can_write_is_not_read(folder, kernel):
    put(folder, kernel)
    folder.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="since they are code: .*cubins"):
        assert carried.load(kernel, images.entry(kernel), (9, 0)) is None


def test_without_a_folder_nothing_is_looked_for(kernel, monkeypatch):
    monkeypatch.delenv(carried.NAMED, raising=False)
    assert carried.named() is None
    assert carried.load(kernel, images.entry(kernel), (9, 0)) is None


@pytest.mark.cuda
def test_with_such_a_folder_no_compiler_is_needed(folder, monkeypatch, install_fake_driver):
    from scalarviz.errors import MissingDependencyError

    install_fake_driver()

    def missing():
        raise MissingDependencyError("needs libNVVM, which was not found")

    monkeypatch.setattr(there.nvvm, "toolkit", missing)
    monkeypatch.setattr(there.nvvm, "processors", missing)
    assert there.no_cuda(0) == ""
    assert str(folder) in there.found()
    monkeypatch.delenv(carried.NAMED)
    assert "needs libNVVM" in there.no_cuda(0)
