"""Dot products summed in four fixed lanes: as fast as memory, the same bits everywhere.

A floating-point sum depends on its order, and a compiler that may reorder it picks a different order for every
vector width, array length and storage format. Here the order is part of the definition instead:

    lane[j mod 4] += a_j * b_j   for j = 0, 1, 2, ...;   result = (lane0 + lane2) + (lane1 + lane3)

Multiplication and addition are rounded separately (no fused operation). A zero entry adds exactly zero to its lane,
so a dense row, the same row in CSR form and the same row as a dict of features give the same bits; so do one row at a
time and a million rows in one call, AVX and NEON. Four lanes of float64 are one 256-bit register, which reads
memory at full speed, so the fixed order costs nothing.

The functions below build LLVM instructions, because numba has no vector type and runs LLVM's straight-line vectoriser
switched off. :mod:`rankwise._kernels.rows` holds their plain Python meaning and is the only user.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rankwise._kernels.llvm import (
    DOUBLE,
    INT32,
    INT64,
    LANES,
    VECTOR,
    ZEROS,
    array_argument,
    external,
    index_reader,
    int64,
    loop,
    scalar_reader,
    splat,
    variable,
)


def _combine(builder, lanes):
    """Add the four lanes: (lane0 + lane2) + (lane1 + lane3)."""
    return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))


class _Vectors:
    """Four neighbouring elements of an array as doubles, all of them or only the first few."""

    def __init__(self, context, builder, array_type, array, offset):
        self.builder = builder
        self.element = context.get_data_type(array_type.dtype)
        self.vector = ir.VectorType(self.element, LANES)
        self.alignment = 4 if self.element == ir.FloatType() else 8
        self.base = builder.gep(array.data, [offset])

    def _widen(self, value):
        return value if self.element == DOUBLE else self.builder.fpext(value, VECTOR)

    def _pointer(self, position):
        return self.builder.bitcast(self.builder.gep(self.base, [position]), self.vector.as_pointer())

    def full(self, position):
        return self._widen(self.builder.load(self._pointer(position), align=self.alignment))

    def masked(self, position, mask):
        """Elements outside the mask are not touched in memory and count as zero."""
        pointer = self._pointer(position)
        suffix = "f64" if self.element == DOUBLE else "f32"
        function = external(
            self.builder,
            ir.FunctionType(self.vector, [pointer.type, INT32, mask.type, self.vector]),
            f"llvm.masked.load.v{LANES}{suffix}.p0",
        )
        zeros = ir.Constant(self.vector, [0.0] * LANES)
        return self._widen(self.builder.call(function, [pointer, ir.Constant(INT32, self.alignment), mask, zeros]))

    def store_full(self, value, position):
        self.builder.store(value, self._pointer(position), align=self.alignment)

    def store_masked(self, value, position, mask):
        pointer = self._pointer(position)
        function = external(
            self.builder,
            ir.FunctionType(ir.VoidType(), [self.vector, pointer.type, INT32, mask.type]),
            f"llvm.masked.store.v{LANES}f64.p0",
        )
        self.builder.call(function, [value, pointer, ir.Constant(INT32, self.alignment), mask])


def _in_steps(builder, length, step):
    """Call ``step("full", place)`` for every four neighbours, then ``step("masked", place, mask)`` for the rest."""
    whole = builder.and_(length, int64(-LANES))
    with loop(builder, int64(0), whole, LANES) as (position, _):
        step("full", position)
    rest = builder.sub(length, whole)
    with builder.if_then(builder.icmp_signed(">", rest, int64(0))):
        index_vector = ir.VectorType(INT64, LANES)
        index = ir.Constant(index_vector, list(range(LANES)))
        step("masked", whole, builder.icmp_signed("<", index, splat(builder, rest, index_vector)))


def _dense_sum(builder, length, left, right):
    """Sum left * right over ``length`` neighbours; both map the name of a reader's method and a place to a vector."""
    total = variable(builder, ZEROS)

    def add_product(*how):
        builder.store(builder.fadd(builder.load(total), builder.fmul(left(*how), right(*how))), total)

    _in_steps(builder, length, add_product)
    lanes = builder.load(total)
    return _combine(builder, [builder.extract_element(lanes, ir.Constant(INT32, k)) for k in range(LANES)])


def _sparse_sum(builder, start, stop, index_at, left, right):
    """Sum ``left(p) * right(p, j)`` over the stored entries p in [start, stop), where j is the column of entry p."""
    lanes_type = ir.ArrayType(DOUBLE, LANES)
    lanes = variable(builder, ir.Constant(lanes_type, [0.0] * LANES))
    with loop(builder, start, stop) as (p, _):
        column = index_at(p)
        lane = builder.gep(lanes, [int64(0), builder.and_(column, int64(LANES - 1))])
        builder.store(builder.fadd(builder.load(lane), builder.fmul(left(p), right(p, column))), lane)
    return _combine(builder, [builder.load(builder.gep(lanes, [int64(0), int64(k)])) for k in range(LANES)])


@intrinsic
def dense_dot(typing, a, a_offset, b, b_offset, length):
    """Sum a[a_offset + j] * b[b_offset + j] over ``length`` elements of two C-contiguous arrays."""

    def build(context, builder, signature, args):
        left = _Vectors(context, builder, a, array_argument(context, builder, signature, args, 0), args[1])
        right = _Vectors(context, builder, b, array_argument(context, builder, signature, args, 2), args[3])
        return _dense_sum(
            builder, args[4], lambda how, *at: getattr(left, how)(*at), lambda how, *at: getattr(right, how)(*at)
        )

    return types.float64(a, types.intp, b, types.intp, types.intp), build


@intrinsic
def dense_dot_lagged(typing, a, a_offset, weights, lag, rate, length):
    """Sum a[a_offset + j] * (weights[j] - lag[j] * rate): the dot product with averaged weights."""

    def build(context, builder, signature, args):
        left = _Vectors(context, builder, a, array_argument(context, builder, signature, args, 0), args[1])
        w = _Vectors(context, builder, weights, array_argument(context, builder, signature, args, 2), int64(0))
        u = _Vectors(context, builder, lag, array_argument(context, builder, signature, args, 3), int64(0))
        rates = splat(builder, args[4], VECTOR)

        def averaged(how, *at):
            return builder.fsub(getattr(w, how)(*at), builder.fmul(getattr(u, how)(*at), rates))

        return _dense_sum(builder, args[5], lambda how, *at: getattr(left, how)(*at), averaged)

    return types.float64(a, types.intp, weights, lag, types.float64, types.intp), build


@intrinsic
def dense_axpy_lagged(typing, a, a_offset, factor, late_factor, weights, lag, length):
    """Add factor * a[a_offset + j] to weights[j] and late_factor * a[a_offset + j] to lag[j].

    Stores are as wide as the loads of the dot product that follows: a processor hands a value from a store to a load
    at once only if the store covers the load, and in a perceptron the next score waits for it.
    """

    def build(context, builder, signature, args):
        x = _Vectors(context, builder, a, array_argument(context, builder, signature, args, 0), args[1])
        factors = [splat(builder, args[k], VECTOR) for k in (2, 3)]
        targets = [
            _Vectors(context, builder, array_type, array_argument(context, builder, signature, args, k), int64(0))
            for k, array_type in ((4, weights), (5, lag))
        ]

        def step(how, *at):
            row = getattr(x, how)(*at)
            for factor_vector, target in zip(factors, targets, strict=True):
                moved = builder.fadd(getattr(target, how)(*at), builder.fmul(factor_vector, row))
                getattr(target, f"store_{how}")(moved, *at)

        _in_steps(builder, args[6], step)
        return context.get_dummy_value()

    float64, intp = types.float64, types.intp
    return types.void(a, intp, float64, float64, weights, lag, intp), build


@intrinsic
def sparse_dot(typing, data, indices, start, stop, weights):
    """Sum data[p] * weights[indices[p]] over p in [start, stop)."""

    def build(context, builder, signature, args):
        value = scalar_reader(builder, array_argument(context, builder, signature, args, 0))
        column = index_reader(builder, array_argument(context, builder, signature, args, 1))
        weight = scalar_reader(builder, array_argument(context, builder, signature, args, 4))
        return _sparse_sum(builder, args[2], args[3], column, value, lambda p, j: weight(j))

    return types.float64(data, indices, types.intp, types.intp, weights), build


@intrinsic
def sparse_dot_lagged(typing, data, indices, start, stop, weights, lag, rate):
    """Sum data[p] * (weights[j] - lag[j] * rate) with j = indices[p], over p in [start, stop)."""

    def build(context, builder, signature, args):
        value = scalar_reader(builder, array_argument(context, builder, signature, args, 0))
        column = index_reader(builder, array_argument(context, builder, signature, args, 1))
        weight = scalar_reader(builder, array_argument(context, builder, signature, args, 4))
        lagging = scalar_reader(builder, array_argument(context, builder, signature, args, 5))

        def averaged(p, j):
            return builder.fsub(weight(j), builder.fmul(lagging(j), args[6]))

        return _sparse_sum(builder, args[2], args[3], column, value, averaged)

    return types.float64(data, indices, types.intp, types.intp, weights, lag, types.float64), build


@intrinsic
def sparse_square(typing, data, indices, start, stop):
    """Sum data[p] ** 2 over p in [start, stop), in the lanes of the columns."""

    def build(context, builder, signature, args):
        value = scalar_reader(builder, array_argument(context, builder, signature, args, 0))
        column = index_reader(builder, array_argument(context, builder, signature, args, 1))
        return _sparse_sum(builder, args[2], args[3], column, value, lambda p, j: value(p))

    return types.float64(data, indices, types.intp, types.intp), build
