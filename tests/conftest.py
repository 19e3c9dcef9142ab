"""Hooks for the whole suite."""

from __future__ import annotations

import os

import pytest

ALLOWED_SKIP = "no GPU"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """In CI (SCALARVIZ_NO_SKIPS=1) a skipped test has failed, unless its reason says "no GPU"."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("SCALARVIZ_NO_SKIPS"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if ALLOWED_SKIP not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where a skip is a failure: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The same for a module that skips itself (``pytest.importorskip`` at its top)."""
    report = yield
    if report.skipped and os.environ.get("SCALARVIZ_NO_SKIPS"):
        reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
        if ALLOWED_SKIP not in reason:
            report.outcome = "failed"
            report.longrepr = f"skipped where a skip is a failure: {reason}"
    return report
