"""Fixtures of this folder; its tests may use what another one of it makes."""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = str(Path(__file__).parent)
if FOLDER not in sys.path:
    sys.path.append(FOLDER)


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """Those to SQLite, the newest last."""
    made, genuine = list[sqlite3.Connection](), sqlite3.connect

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        made.append(genuine(*arguments, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", connect)
    return made
