"""Pieces of LLVM code that the vector operations of ``lanes`` and ``columns`` are built from.

numba has no vector type and runs LLVM's straight-line vectoriser switched off, so those operations build their vector
instructions themselves. A vector is four doubles, one 256-bit register.
"""

from llvmlite import ir

LANES = 4

INT32, INT64, DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()
VECTOR = ir.VectorType(DOUBLE, LANES)
ZEROS = ir.Constant(VECTOR, [0.0] * LANES)


def int64(value):
    """Constant integer."""
    return ir.Constant(INT64, value)


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
