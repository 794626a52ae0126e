"""Sorting a few items by a key, in place: a binary heap, so that the first m of n cost O(n + m log n)."""

from numba.extending import register_jitable


@register_jitable
def _sift_down(items, keys, sign, root, size):
    """Let the item at ``root`` sink until no child comes before it."""
    item = items[root]
    while True:
        child = 2 * root + 1
        if child >= size:
            break
        if child + 1 < size and _before(items[child + 1], items[child], keys, sign):
            child += 1
        if not _before(items[child], item, keys, sign):
            break
        items[root] = items[child]
        root = child
    items[root] = item


@register_jitable
def _before(a, b, keys, sign):
    left, right = sign * keys[a], sign * keys[b]
    return left < right or (left == right and a < b)


@register_jitable
def sort_last_to_first(items, keys, sign, wanted):
    """Sort by ``sign * keys[item]``, then by item: the first ends in the last place, the second before it, and so on.

    Only the first ``wanted`` items are put into their places.
    """
    size = items.size
    for root in range(size // 2 - 1, -1, -1):
        _sift_down(items, keys, sign, root, size)
    for _ in range(min(wanted, size)):
        size -= 1
        items[0], items[size] = items[size], items[0]
        _sift_down(items, keys, sign, 0, size)
