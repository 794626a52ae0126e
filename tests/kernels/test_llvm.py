"""numba's code generator: what the vector operations take from it beyond its documented surface."""

import numpy as np
import pytest
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from rankwise._kernels import llvm


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("for_range_slice", "loop"),
        ("alloca_once_value", "variable"),
        ("get_or_insert_function", "external"),
        ("unpack_tuple", "last_extent"),
    ],
)
def test_what_the_code_generator_provides(name, used):
    assert callable(getattr(cgutils, name, None)), (
        f"numba.core.cgutils.{name} is gone: mend rankwise._kernels.llvm.{used}"
    )


@intrinsic
def sum_of_every_second(typing, values):
    def build(context, builder, signature, args):
        array = llvm.array_argument(context, builder, signature, args, 0)
        read = llvm.scalar_reader(builder, array)
        total = llvm.variable(builder, llvm.DOUBLE(0.0))
        with llvm.loop(builder, llvm.int64(0), llvm.last_extent(builder, array), 2) as (place, _):
            builder.store(builder.fadd(builder.load(total), read(place)), total)
        return builder.load(total)

    return types.float64(values), build


def test_loops_variables_and_extents_do_what_their_names_say():
    add = njit(lambda values: sum_of_every_second(values))
    assert add(np.array([1.0, 20.0, 3.0, 40.0, 5.0])) == 9.0
    assert add(np.array([1.5, 20.0], dtype=np.float32)) == 1.5
    assert add(np.empty(0)) == 0.0
