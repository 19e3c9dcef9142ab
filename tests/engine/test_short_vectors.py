"""The vector kernels for processors with AVX2 alone, whatever this one has: their own tests, once more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

HERE = Path(__file__).parent
NEEDED = ("avx2", "fma")
HASWELL = "avx avx2 fma bmi bmi2 cx16 f16c lzcnt movbe popcnt sse sse2 sse3 ssse3 sse4.1 sse4.2"

pytestmark = pytest.mark.skipif(
    not all(binding.get_host_cpu_features().get(name) for name in NEEDED), reason="this processor has no AVX2"
)


@pytest.mark.slow
def test_kernels_of_256_bits_pass_the_tests_of_all():
    environment = {
        **os.environ,
        "NUMBA_CPU_NAME": "haswell",
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in HASWELL.split()),
    }
    code = "from scalarviz.engine.cpu.vector import capability; assert capability.vector_bytes() == 32, 'no AVX2 here'"
    files = [str(HERE / name) for name in ("test_vector_kernels.py", "test_few.py")]
    tests = [sys.executable, "-m", "pytest", *files, "-q", "-x", "-k", "float32", "-p", "no:cacheprovider", "-n", "0"]
    for command in ([sys.executable, "-c", code], tests):
        result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    assert "passed" in result.stdout
