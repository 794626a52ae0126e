"""What the service loads before it answers."""

import subprocess
import sys


def test_the_service_loads_no_displays():
    code = "import sys, rankwise.serve.app; print(*(name for name in sys.modules if name.startswith('rankwise.')))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert not [name for name in printed.split() if name.startswith("rankwise.plots")]
