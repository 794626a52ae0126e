"""What large requests take is given back, and they do not stop small ones."""

import gc
import json
import subprocess
import sys

import msgspec
import pytest

from rankwise.serve import messages
from rankwise.serve._memory import spare_long_lived_objects

_REQUESTS = """
from rankwise.serve._memory import return_large_blocks

def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6

kept = []

def left_by_requests():
    before = held()
    for _ in range(3):
        bodies = []
        for _ in range(4):
            bodies.append(bytearray(20 * 10**6))
            kept.append(bytearray(200_000))  # outlives the request, and may stand behind its body
    del bodies
    return held() - before

print(left_by_requests())
return_large_blocks()
print(left_by_requests())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other allocators are left as they are")
def test_memory_of_large_requests_goes_back_to_the_system():
    run = subprocess.run([sys.executable, "-c", _REQUESTS], capture_output=True, text=True, check=True)
    before, now = map(float, run.stdout.split())
    assert now < 15
    assert now < before / 2


def test_collections_leave_out_what_was_there_before():
    threshold = gc.get_threshold()
    try:
        spare_long_lived_objects()
        assert gc.get_freeze_count() > 10_000
        assert gc.get_threshold() > threshold
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


def test_rows_that_are_read_one_by_one_are_the_same(stream):
    rows, labels = stream
    told = [{"features": x, "label": y, "weight": 2} for x, y in zip(rows, labels, strict=True)]
    for decoder, body in ((messages.PREDICT, {"rows": rows, "level": 0.8, "remember": True}),
                          (messages.FEEDBACK, {"rows": told})):  # fmt: skip
        text = bytearray(json.dumps(body).encode())
        one_by_one, whole = decoder.decode_row_by_row(text), decoder.decode(text)
        assert isinstance(one_by_one, type(whole))
        assert msgspec.to_builtins(one_by_one) == msgspec.to_builtins(whole)


@pytest.mark.parametrize(
    "body",
    [b'{"rows": [{"label": "1"}, {"weight": 1}]}', b'{"rows": [{"label": "1"}, {"label": tru}]}', b'{"rows": 3}'],
)
def test_errors_of_rows_that_are_read_one_by_one_name_the_same_place(body):
    with pytest.raises(msgspec.DecodeError) as expected:
        messages.FEEDBACK.decode(body)
    with pytest.raises(msgspec.DecodeError) as found:
        messages.FEEDBACK.decode_row_by_row(body)
    assert str(found.value) == str(expected.value)
