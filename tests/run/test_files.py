"""Laws of every kind of file: it gives back what was saved; a bad one is refused; a failed write loses nothing."""

import errno
import functools
import os

import pytest

from kit.files import DAMAGED, KINDS, left, same
from scalarviz.errors import FileFormatError, InputError, ScalarvizError

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
REPLACING = {name: kind for name, kind in KINDS.items() if kind.replaces}
FLIPS = 20


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """A file of a kind; not to be changed."""
    folder = tmp_path_factory.mktemp("examples")

    @functools.cache
    def example(kind):
        path = folder / f"{len(list(folder.iterdir()))}{kind.suffix}"
        kind.write(kind.make(1), path)
        return path

    return example


def refusal(kind, path):
    """What is said of a file that cannot be read; neither it nor anything that it would have changed is changed."""
    before = left(path.parent)
    with pytest.raises((FileFormatError, InputError)) as caught:
        kind.read(path)
    if kind.holder is not None:
        holder = kind.holder()
        was = kind.bits(holder)
        with pytest.raises((FileFormatError, InputError)):
            kind.take(holder, path)
        assert same(kind.bits(holder), was)
    said = str(caught.value)
    assert path.name in said
    assert "\n" not in said
    assert left(path.parent) == before
    return said


@EVERY
def test_a_file_gives_back_what_was_saved(kind, tmp_path):
    example, path = kind.make(1), tmp_path / f"it{kind.suffix}"
    kind.write(example, path)
    assert same(kind.read(path), kind.wanted(example))
    assert list(left(tmp_path)) == [path.name]


@EVERY
def test_another_file_takes_the_place_of_the_old_one_or_is_refused(kind, tmp_path):
    path, other = tmp_path / f"it{kind.suffix}", kind.make(2)
    kind.write(kind.make(1), path)
    before = left(tmp_path)
    if kind.replaces:
        kind.write(other, path)
        assert same(kind.read(path), kind.wanted(other))
    else:
        with pytest.raises(InputError, match=path.name):
            kind.write(other, path)
        assert left(tmp_path) == before
    assert list(left(tmp_path)) == [path.name]


@EVERY
@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_is_refused_with_its_name(kind, damage, examples, tmp_path):
    whole, path = examples(kind), tmp_path / f"bad{kind.suffix}"
    path.write_bytes(DAMAGED[damage](whole.read_bytes()))
    try:
        beginning = kind.read(path)
    except ScalarvizError:
        refusal(kind, path)
    else:
        assert kind.cut
        assert all(any(same(part, one) for one in kind.read(whole)) for part in beginning)


@EVERY
def test_what_is_no_file_is_refused(kind, tmp_path):
    path = tmp_path / f"it{kind.suffix}"
    refusal(kind, path)
    path.mkdir()
    assert "folder" in refusal(kind, path)
    with pytest.raises(InputError, match=path.name):
        kind.write(kind.make(1), path)
    assert not any(path.iterdir())


@pytest.mark.parametrize("kind", REPLACING.values(), ids=REPLACING)
@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_full_disk_loses_nothing_that_was_there(kind, fails, tmp_path, monkeypatch):
    path, old = tmp_path / f"it{kind.suffix}", kind.make(1)
    kind.write(old, path)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, fails, full)
        with pytest.raises(InputError, match=f"{path.name}: no space left"):
            kind.write(kind.make(2), path)
    assert same(kind.read(path), kind.wanted(old))
    assert list(left(tmp_path)) == [path.name]
