"""Pieces of LLVM code that the vector operations of ``lanes`` and ``columns`` are built from.

numba has no vector type and runs LLVM's straight-line vectoriser switched off, so those operations build their vector
instructions themselves. A vector is four doubles, one 256-bit register. This is the one place that uses numba's code
generator (``numba.core.cgutils``); ``tests/kernels/test_llvm`` shows what broke when a new numba changes it.
"""

from llvmlite import ir
from numba.core import cgutils

LANES = 4

INT32, INT64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
ZEROS = ir.Constant(VECTOR, [0.0] * LANES)


def int64(value):
    """Constant integer."""
    return ir.Constant(INT64, value)


def loop(builder, start, stop, step=1):
    """Context of a loop over ``start, start + step, ...`` below ``stop``; gives the position and the index."""
    return cgutils.for_range_slice(builder, start, stop, int64(step), INT64)


def variable(builder, value):
    """Place on the stack, initialised with a value."""
    return cgutils.alloca_once_value(builder, value)


def external(builder, function_type, name):
    """Function that LLVM provides."""
    return cgutils.get_or_insert_function(builder.module, function_type, name)


def last_extent(builder, array):
    """Length of the last axis of an array."""
    return cgutils.unpack_tuple(builder, array.shape)[-1]


def array_argument(context, builder, signature, args, position):
    """Array that was passed as the argument at ``position``."""
    return context.make_array(signature.args[position])(context, builder, args[position])


def splat(builder, value, vector_type):
    """Vector of four times the same value."""
    undefined = ir.Constant(vector_type, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(INT32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(INT32, LANES), [0] * LANES))


def scalar_reader(builder, array):
    """Return a function from a position in the array to its element as a double."""

    def read(position):
        value = builder.load(builder.gep(array.data, [position]))
        return value if value.type == DOUBLE else builder.fpext(value, DOUBLE)

    return read


def index_reader(builder, array):
    """Return a function from a position in the array to its element as an index."""

    def read(position):
        value = builder.load(builder.gep(array.data, [position]))
        return value if value.type == INT64 else builder.zext(value, INT64)

    return read
