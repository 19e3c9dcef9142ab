"""Numbers, files, pictures and the list of what a user can do are those that were written down (`make.py`)."""

import importlib
import re

import pytest

from tests.frozen import make

pytestmark = pytest.mark.ci


def compare(stored, now, kind):
    difference = make.difference([make.line(r) for r in stored], [make.line(r) for r in now], kind)
    if difference:
        pytest.fail(difference, pytrace=False)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return make.Numbers(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def pictures():
    return make.read_pictures()


def test_every_scene_and_picture_is_written_down(pictures):
    scenes = make.scene_names()
    assert {r["scene"] for r in make.read("numbers")} == set(scenes) == set(make.OTHER)
    assert set(pictures) == {*make.picture_cases(), *make.MICRO}
    assert {r["file"] for r in make.read("files")} == {path.name for path in make.FILES.iterdir()}


@pytest.mark.parametrize("engine", make.ENGINES)
@pytest.mark.parametrize("scene", make.OTHER)
def test_weights_have_the_same_bits(scene, engine, numbers):
    stored = [r for r in make.read("numbers") if (r["scene"], r["engine"]) == (scene, engine)]
    if not any(make.processor() in r["bits"] for r in stored):
        print(f"no bits of {make.processor()}: compared within {make.NEAR}; {make.COMMAND} numbers adds them")
    changed = make.changes(stored, numbers.made(scene, engine))
    if changed:
        pytest.fail(changed, pytrace=False)


def test_files_hold_the_same_numbers():
    compare(make.read("files"), make.files_now(), "files")


@pytest.mark.parametrize("name", make.picture_cases())
def test_a_picture_is_the_same_list(name, pictures, tmp_path):
    compare(pictures[name], make.picture_of(tmp_path, *make.picture_cases()[name]), "pictures")


@pytest.mark.parametrize("name", make.MICRO)
def test_micro_steps_have_the_same_words_and_numbers(name, pictures):
    assert len(pictures[name]) == 44
    compare(pictures[name], make.micro_steps(whole_batch=make.MICRO[name]), "pictures")


def test_a_user_can_do_the_same():
    stored = (make.HERE / "surface.txt").read_text("utf-8").splitlines()
    difference = make.difference(stored, make.surface_now(), "surface", most=80)
    if difference:
        pytest.fail(difference, pytrace=False)


@pytest.mark.parametrize(
    "place", ["", ".nn", ".nn.functional", ".nn.init", ".optim", ".optim.lr_scheduler", ".run", ".view"]
)
def test_dir_shows_the_listed_names_alone(place):
    surface = (make.HERE / "surface.txt").read_text("utf-8")
    listed = re.findall(rf"^name sv{place}\.(\w+)(?:\(.*)?$", surface, re.MULTILINE)
    assert sorted({*dir(importlib.import_module(f"scalarviz{place}"))} - {"__version__"}) == sorted(set(listed))
