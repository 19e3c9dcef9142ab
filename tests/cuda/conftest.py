"""Tests of the numba-CUDA engine: the machine that executes PTX is a package of this folder (no ``__init__``)."""

import hashlib
import sys
from pathlib import Path

import pytest

from scalarviz.engine.cache import CacheFolder
from scalarviz.engine.cuda import images, warm
from scalarviz.engine.cuda.images import key

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)


def key_of_tests():
    """Of the compilers and the kernels, and of what plays machine code here."""
    texts = [Path(FOLDER, "fake_driver.py").read_bytes()]
    return hashlib.sha256(b"".join([key().encode(), *texts])).hexdigest()[:16]


@pytest.fixture(autouse=True, scope="session")
def images_of_tests():
    """What a made-up driver makes of kernels must never be loaded into a GPU: it is kept in a folder of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(images, "PLACE", CacheFolder(key_of_tests, "cuda-tests-"))
        patch.setattr(warm, "FEW", 1 << 30)  # helpers would fill the user's folder
        yield


@pytest.fixture
def install_fake_driver(monkeypatch):
    """Puts a ``FakeDriver(**options)`` in the place of NVIDIA's driver, for this test: ``install_fake_driver(...)``."""
    pytest.importorskip("numba_cuda", reason="no numba-cuda (extra cuda)")
    import cuda.bindings
    from fake_driver import FakeDriver

    from scalarviz.engine.cuda import driver, there

    def install(*args, **options):
        fake = FakeDriver(*args, **options)
        monkeypatch.setattr(driver, "api", fake)
        monkeypatch.setattr(cuda.bindings, "driver", fake)  # who imports it later
        forget()
        return fake

    def forget():
        there._asked.cache_clear()
        driver._CONTEXTS.clear()
        there._LOST.clear()

    yield install
    forget()


@pytest.fixture
def fake_driver(install_fake_driver):
    """A fake driver with one GPU of 1 GiB, installed."""
    return install_fake_driver()


@pytest.fixture
def nothing_kept(tmp_path, monkeypatch):
    """An empty cache of kernels; its folder."""
    monkeypatch.setenv("SCALARVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(images, "PLACE", CacheFolder(lambda: "0" * 16, "cuda-"))
    images.text.cache_clear()
    yield tmp_path / "cache" / ("cuda-" + "0" * 16)
    images.text.cache_clear()
