"""The page's scripts joined into one text."""

from __future__ import annotations

import re

import pytest

from scalarviz.errors import InputError, UnknownNameError
from scalarviz.view.page import scripts


@pytest.fixture
def files(monkeypatch, tmp_path):
    """A folder of scripts of our own."""
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    for kept in (scripts.script, scripts.joined):
        kept.cache_clear()
    yield lambda **texts: [(tmp_path / f"{name}.js").write_text(text, encoding="utf-8") for name, text in texts.items()]
    for kept in (scripts.script, scripts.joined):
        kept.cache_clear()


BASE = "/** Two. */\nexport const two = 2;\nexport function twice(x) {\n  return two * x;\n}\n"
MIDDLE = 'import { two, twice } from "./base.js";\n\nexport class Number4 {\n  get value() { return twice(two); }\n}\n'
TOP = """import { Number4 } from "./middle.js";
import { two } from "./base.js";
export async function six() { return new Number4().value + two; }
"""
IMPORTED = "async text => import(URL.createObjectURL(new Blob([text], { type: 'text/javascript' })))"
"""An expression in the page: the module of a text."""


def test_what_is_imported_comes_first_and_once(files):
    files(base=BASE, middle=MIDDLE, top=TOP, other="export const unused = 1;\n")
    assert scripts.order("top.js") == ["base.js", "middle.js", "top.js"]
    assert scripts.order("other.js", "middle.js", "top.js") == ["other.js", "base.js", "middle.js", "top.js"]
    text = scripts.joined("top.js")
    assert "import" not in text
    assert "export" not in text
    assert "unused" not in text
    assert text.count("const two = 2;") == 1
    assert text.index("const two") < text.index("class Number4") < text.index("async function six")
    assert text.startswith('"use strict";')


def test_it_runs_as_an_inline_script_and_as_a_module(files, page):
    files(base=BASE, middle=MIDDLE, top=TOP)
    page.set_content("<!doctype html><title>x</title>")
    page.add_script_tag(content=scripts.joined("top.js"))
    assert page.evaluate("six()") == 6
    module = scripts.joined("top.js") + "export default { six };\n"
    assert page.evaluate(f"async text => (await ({IMPORTED})(text)).default.six()", module) == 6


def test_an_unknown_script_is_named(files):
    files(a='import { b } from "./gone.js";\n')
    with pytest.raises(UnknownNameError, match=r"'gone\.js' is not known; allowed: a\.js"):
        scripts.joined("a.js")


@pytest.mark.parametrize(
    "line",
    ['import * as b from "./b.js";', 'import b from "./b.js";', 'import "./b.js";', "export { a };",
     "export default a;", 'export * from "./b.js";', 'import { a as b } from "./b.js";', "export var a = 1;"],
)  # fmt: skip
def test_other_forms_are_refused(line):
    with pytest.raises(InputError, match="cannot be joined"):
        scripts.plain(f"const x = 1;\n{line}\n")


def test_a_word_within_a_text_is_left_alone():
    text = 'const a = "export const";\n  import_(1); // import { a } from\n'
    assert scripts.plain(text) == text


# ---- the files themselves


def every():
    return {name: scripts.script(name) for name in scripts.script_names()}


def test_every_file_can_be_joined_and_is_short():
    for name, text in every().items():
        assert scripts.plain(text), name
        assert len(text.splitlines()) <= 400, name
        assert "sourceMappingURL" not in text, name
        assert "</script" not in text.lower(), name  # it would end an inline script
        assert "<!--" not in text, name


def test_every_import_names_what_the_other_file_exports():
    for name, text in every().items():
        for source, wanted in scripts.imports_of(text).items():
            there = scripts.script(source)
            for word in wanted:
                assert re.search(rf"^export (?:async )?(?:function|class|const|let) {word}\b", there, re.MULTILINE), (
                    f"{name} imports {word} from {source}, which does not export it"
                )


def test_all_of_them_together_are_one_module(page):
    """They share one scope: a browser refuses a module in which a name stands twice, or that is no JavaScript."""
    page.set_content("<!doctype html><title>x</title>")
    loaded = f"text => ({IMPORTED})(text).then(() => '', error => String(error))"
    assert page.evaluate(loaded, scripts.joined(*scripts.script_names())) == ""
    assert "already been declared" in page.evaluate(loaded, "function a() {}\nfunction a() {}\n")
