"""Products of a row with many columns of weights, and the matching update: four columns in one register.

``W`` is C-contiguous with one row per feature and one column per class, so that an entry that is not stored costs
nothing. Every column's sum runs over the features in order, one rounded product at a time, however many columns share a
pass, and a zero entry adds zero: a dense row, the same row in CSR form and the same row as a dict give the same bits.

:mod:`rankwise._kernels.rows` holds the plain Python meaning of these operations and is the only user. The entries of a
row are the places ``start .. stop - 1`` of ``data``; ``indices`` holds their columns, or is None for a dense row.
"""

from numba import types
from numba.extending import intrinsic

from rankwise._kernels.llvm import (
    LANES,
    VECTOR,
    ZEROS,
    array_argument,
    index_reader,
    int64,
    last_extent,
    loop,
    scalar_reader,
    splat,
    variable,
)


def _for_entries(context, builder, signature, args, body):
    """Call ``body(four times the value, column)`` for every entry of the row, the first four arguments."""
    start, stop = args[2:4]
    value = scalar_reader(builder, array_argument(context, builder, signature, args, 0))
    if isinstance(signature.args[1], types.NoneType):
        column = lambda p: builder.sub(p, start)  # noqa: E731
    else:
        column = index_reader(builder, array_argument(context, builder, signature, args, 1))
    with loop(builder, start, stop) as (p, _):
        body(splat(builder, value(p), VECTOR), column(p))


class _Block:
    """Columns ``first .. first + 3`` of a matrix, or of a vector, whose only row is 0."""

    def __init__(self, builder, array, first):
        self.builder, self.array, self.first = builder, array, first
        self.width = last_extent(builder, array)

    def _pointer(self, row):
        place = self.builder.add(self.builder.mul(row, self.width), self.first)
        return self.builder.bitcast(self.builder.gep(self.array.data, [place]), VECTOR.as_pointer())

    def load(self, row):
        return self.builder.load(self._pointer(row), align=8)

    def store(self, value, row):
        self.builder.store(value, self._pointer(row), align=8)


@intrinsic(prefer_literal=True)
def columns_dot(typing, data, indices, start, stop, W, lag, rate, first, n_blocks, out):
    """out[k] = sum of x_j (W - rate * lag)[j, k] over the entries x_j, for 4 * n_blocks columns k from ``first`` on.

    ``n_blocks`` is a constant; ``lag`` None means zero.
    """
    blocks, lagged = range(n_blocks.literal_value), not isinstance(lag, types.NoneType)

    def build(context, builder, signature, args):
        def blocks_of(position):
            array = array_argument(context, builder, signature, args, position)
            return [_Block(builder, array, builder.add(args[7], int64(LANES * k))) for k in blocks]

        weights, late, sums = blocks_of(4), blocks_of(5) if lagged else [], blocks_of(9)
        rates = splat(builder, args[6], VECTOR)
        totals = [variable(builder, ZEROS) for _ in blocks]

        def add(x, row):
            for k in blocks:
                w = weights[k].load(row)
                if lagged:
                    w = builder.fsub(w, builder.fmul(late[k].load(row), rates))
                builder.store(builder.fadd(builder.load(totals[k]), builder.fmul(x, w)), totals[k])

        _for_entries(context, builder, signature, args, add)
        for k in blocks:
            sums[k].store(builder.load(totals[k]), int64(0))
        return context.get_dummy_value()

    intp, float64 = types.intp, types.float64
    return types.void(data, indices, intp, intp, W, lag, float64, intp, n_blocks, out), build


@intrinsic
def columns_axpy(typing, data, indices, start, stop, factors, rounds, W, lag, first):
    """Add factors[k] x_j to W[j, k] and rounds * factors[k] x_j to lag[j, k], for the four columns k from ``first`` on.

    Stores are as wide as the loads of the scores that follow: see :func:`rankwise._kernels.lanes.dense_axpy_lagged`.
    """

    def build(context, builder, signature, args):
        factor, *targets = (
            _Block(builder, array_argument(context, builder, signature, args, position), args[8])
            for position in (4, 6, 7)
        )
        step = factor.load(int64(0))
        steps = step, builder.fmul(step, splat(builder, args[5], VECTOR))

        def add(x, row):
            for a, target in zip(steps, targets, strict=True):
                target.store(builder.fadd(target.load(row), builder.fmul(a, x)), row)

        _for_entries(context, builder, signature, args, add)
        return context.get_dummy_value()

    intp, float64 = types.intp, types.float64
    return types.void(data, indices, intp, intp, factors, float64, W, lag, intp), build
