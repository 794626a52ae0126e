"""A full budget of support vectors: which one is evicted, and which ones take over its share.

When every slot is taken, the vector with the smallest influence on the model is evicted; of equals the oldest. Its
influence is ``|a_s| sqrt(k(x_s, x_s))``, how far the model moves (in the kernel's own norm) without it, where
``|a_s|`` is the larger of the lengths of its last and its averaged coefficients.

Dropping it would take its share from the score while thresholds and intercepts keep theirs, and would remove from the
average all its contributions in earlier rounds. So its feature is projected on those of the m vectors nearest to it:

    phi(x_s) ~ sum_n b_n phi(x_n),   a_n += b_n a_s,   lag_n += b_n lag_s,

the new vector among them. The same numbers b move the last coefficients and the lags, so the average is projected too.
b solves an m x m system of kernel values; a neighbour that is nearly a combination of nearer ones is left out (Wang and
Vucetic, "Online passive-aggressive algorithms on a budget", 2010, project on one neighbour or on all; one is too few
here, all cost the square of the budget).

Nearness is the cosine ``k(x, z) / sqrt(k(x, x) k(z, z))``. The cosines among the vectors in the slots are kept in a
table of single precision, 4 bytes for each pair. A row that takes a slot already has its kernel values, from which the
cosines with vectors admitted in the current block are computed.
"""

import numpy as np

from rankwise._kernels.compile import kernel, register_jitable

#: A neighbour counts if at least this fraction of its squared length is independent of the nearer ones.
_INDEPENDENT = 1e-3


@register_jitable
def cosine_of(value, first, second):
    """Cosine of two vectors with a kernel value and lengths."""
    lengths = first * second
    return np.float32(value / lengths) if lengths > 0.0 else np.float32(0.0)


@register_jitable
def _cosine(s, u, table, owner, values, length):
    """Cosine of the vectors in two slots: from the table, or from the kernel values of the row that came later."""
    if owner[s] < 0 and owner[u] < 0:
        return table[s, u]
    newer, older = (s, u) if owner[s] > owner[u] else (u, s)
    return cosine_of(values[owner[newer], older], length[newer], length[older])


@register_jitable
def _cosines_with(slot, closeness, size, block, length):
    """As :func:`_cosine`, with the vectors in all slots; those that came later in the block overwrite the others."""
    values, _, _, taken, owner, table = block
    came = owner[slot]
    for s in range(size):
        closeness[s] = table[slot, s] if came < 0 else cosine_of(values[came, s], length[slot], length[s])
    for b in range(came + 1, taken.size):
        if taken[b] >= 0:
            closeness[taken[b]] = cosine_of(values[b, slot], length[taken[b]], length[slot])


@register_jitable
def _weakest(dual, lag, rounds, length, born, size, last_influence):
    """Slot of the vector with the smallest influence; slots of negative length are empty.

    ``last_influence`` is the influence of the last coefficients alone, a lower bound; negative if not yet computed.
    """
    slot, least = 0, np.inf
    rate = 1.0 / rounds if rounds > 0.0 else 0.0
    for s in range(size):
        if last_influence[s] < 0.0:
            last = 0.0
            for k in range(dual.shape[1]):
                last += dual[s, k] ** 2
            last_influence[s] = np.sqrt(last) * abs(length[s])
        if last_influence[s] <= least and length[s] >= 0.0:
            mean = 0.0
            for k in range(dual.shape[1]):
                mean += (dual[s, k] - lag[s, k] * rate) ** 2
            influence = max(last_influence[s], np.sqrt(mean) * length[s])
            if influence < least or (influence == least and born[s] < born[slot]):
                slot, least = s, influence
    return slot


@register_jitable
def scratch(n_slots, n_columns, limits):
    """Memory for handing over a share: the share, cosines, neighbours and their matrix; influences."""
    n = min(limits[1], n_slots)
    closeness = np.zeros(n_slots if n else 0, dtype=np.float32)
    share, lag_share, near = np.zeros(n_columns), np.zeros(n_columns), np.zeros(n, dtype=np.int64)
    return share, lag_share, closeness, near, np.zeros((n, n)), np.zeros(n), np.zeros(n), np.full(n_slots, -1.0)


@register_jitable
def _nearest(closeness, size, slots, nearness):
    """Fill in the slots with the largest cosines, nearest first; return how many are not zero."""
    n_near, bound = 0, 0.0
    for s in range(size):
        near = abs(closeness[s])
        if near > bound:
            p = min(n_near, slots.size - 1)
            while p > 0 and nearness[p - 1] < near:
                slots[p], nearness[p] = slots[p - 1], nearness[p - 1]
                p -= 1
            slots[p], nearness[p] = s, near
            n_near = min(n_near + 1, slots.size)
            bound = nearness[n_near - 1] if n_near == slots.size else 0.0
    return n_near


@register_jitable
def _take_out(slot, dual, lag, memory):
    """Move the coefficients of a slot to memory and set them to zero."""
    share, lag_share = memory[:2]
    for k in range(dual.shape[1]):
        share[k], dual[slot, k] = dual[slot, k], 0.0
        lag_share[k], lag[slot, k] = lag[slot, k], 0.0


@register_jitable
def _hand_over(old_length, dual, lag, length, size, kept, memory):
    """Add the share of an evicted vector to those of its neighbours; memory holds it and its cosines."""
    table, owner, values = kept
    share, lag_share, closeness, slots, root, column, along, last_influence = memory
    n_near = _nearest(closeness, size, slots, along)
    n = 0  # number of neighbours that count; ``root`` is the upper Cholesky factor of the matrix of their cosines
    for p in range(n_near):
        rest, cosine = 1.0, float(closeness[slots[p]])
        for q in range(n):
            column[q] = _cosine(slots[p], slots[q], table, owner, values, length)
        for q in range(n):
            column[q] /= root[q, q]
            for r in range(q + 1, n):
                column[r] -= column[q] * root[q, r]
            rest -= column[q] ** 2
            cosine -= column[q] * along[q]
        if rest > _INDEPENDENT:
            for q in range(n):
                root[q, n] = column[q]
            root[n, n] = np.sqrt(rest)
            along[n] = cosine / root[n, n]
            slots[n] = slots[p]
            n += 1
    for p in range(n - 1, -1, -1):
        for q in range(p + 1, n):
            along[p] -= root[p, q] * along[q]
        along[p] /= root[p, p]
    for p in range(n):
        factor = along[p] * old_length / length[slots[p]]
        last_influence[slots[p]] = -1.0
        for k in range(dual.shape[1]):
            dual[slots[p], k] += factor * share[k]
            lag[slots[p], k] += factor * lag_share[k]


@register_jitable
def admit(b, block, dual, lag, rounds, vectors, budget, birth, memory):
    """Slot of row b of a block, whose coefficients are about to change.

    A row without a slot gets one with zero coefficients: the next free one, or that of the weakest vector. ``dual``
    and ``lag`` are 2-D, a row for each slot; ``memory`` is what :func:`scratch` makes.
    """
    values, within, slots, taken, owner, table = block
    length, born, size = vectors
    closeness, last_influence = memory[2], memory[-1]
    if slots[b] >= 0:
        last_influence[slots[b]] = -1.0
        return slots[b]
    new_length = np.sqrt(within[b, b])
    if size[0] < budget:
        slot = size[0]
        size[0] += 1
        length[slot] = new_length
        owner[slot] = b
    else:
        slot = _weakest(dual, lag, rounds, length, born, size[0], last_influence)
        old_length = length[slot]
        if closeness.size:
            _cosines_with(slot, closeness, size[0], block, length)
            closeness[slot] = cosine_of(values[b, slot], new_length, old_length)  # of the new vector, there from now on
        for e in range(within.shape[0]):  # the row that held the slot no longer holds it
            if slots[e] == slot:
                slots[e] = -1
            if taken[e] == slot:
                taken[e] = -1
        length[slot] = new_length
        owner[slot] = b
        _take_out(slot, dual, lag, memory)
        if closeness.size:
            _hand_over(old_length, dual, lag, length, size[0], (table, owner, values), memory)
    taken[b] = slot
    born[slot] = birth
    last_influence[slot] = -1.0
    for later in range(b + 1, within.shape[0]):
        values[later, slot] = within[later, b]
    return slot


@kernel
def shrink(dual, lag, rounds, length, born, size, limits, table):
    """Evict the weakest vectors, one after the other, until the budget is met; their lengths become -1."""
    owner, values = np.full(size, -1, dtype=np.int64), np.empty((0, 0))
    memory = scratch(size, dual.shape[1], limits)
    closeness = memory[2]
    for _ in range(size - limits[0]):
        slot = _weakest(dual, lag, rounds, length, born, size, memory[-1])
        old_length, length[slot] = length[slot], -1.0
        _take_out(slot, dual, lag, memory)
        for s in range(closeness.size):
            closeness[s] = table[slot, s] if length[s] >= 0.0 else np.float32(0.0)
        if closeness.size:
            _hand_over(old_length, dual, lag, length, size, (table, owner, values), memory)


@kernel
def remember(block, length, size, table):
    """Write the cosines of the rows that took slots into the table, the later ones over the earlier ones."""
    values, within, _, taken, owner, _ = block
    for b in range(taken.size):
        slot = taken[b]
        if slot >= 0:
            for s in range(size):
                table[slot, s] = cosine_of(values[b, s], length[slot], length[s])
            table[slot, slot] = cosine_of(within[b, b], length[slot], length[slot])
    # The columns for all rows at once, because each of their numbers lies in another page of memory.
    for s in range(size):
        for b in range(taken.size):
            slot = taken[b]
            if slot >= 0 and owner[s] > b:
                table[slot, s] = table[s, slot]
            elif slot >= 0:
                table[s, slot] = table[slot, s]
