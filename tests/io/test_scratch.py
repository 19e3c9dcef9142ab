"""Folders for files that nobody keeps: what a killed process left goes away, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from scalarviz.io.scratch import scratch

MAKES = """
import os, sys, tempfile
from scalarviz.io.scratch import scratch
folder = tempfile.mkdtemp(prefix=scratch())
open(os.path.join(folder, "run.svz"), "w").close()
print(os.path.basename(folder), flush=True)
sys.stdin.read()
os._exit(9)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_only_folders_of_processes_that_are_no_more_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-c", MAKES], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        name = other.stdout.readline().strip()
        mine = Path(tempfile.mkdtemp(prefix=scratch()))
        assert {path.name for path in tmp_path.iterdir()} == {name, mine.name}  # it lives
        other.communicate("")
    kept = [mine, tmp_path / "scalarviz-rescued", tmp_path / "somebody"]
    for path in kept[1:]:
        path.mkdir()
    link = tmp_path / f"{name}link"
    link.symlink_to(tmp_path / "somebody")
    assert scratch() == mine.name[: len(scratch())]
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in [*kept, link]}
