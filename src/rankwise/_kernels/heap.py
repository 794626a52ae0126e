"""A binary heap of items in an array, by a key: the next item costs O(log n), and all of them together a sort.

The item with the smallest ``sign * keys[item]`` is on top, of equal ones the smallest item. Items taken from the top
end up behind the heap, the first in the last place.
"""

from rankwise._kernels.compile import register_jitable


@register_jitable
def _before(a, b, keys, sign):
    left, right = sign * keys[a], sign * keys[b]
    return left < right or (left == right and a < b)


@register_jitable
def _sink(items, keys, sign, place, size):
    """Let the item at a place sink until no child comes before it."""
    item = items[place]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(items[child + 1], items[child], keys, sign):
            child += 1
        if not _before(items[child], item, keys, sign):
            break
        items[place] = items[child]
        place = child
    items[place] = item


@register_jitable
def heapify(items, keys, sign):
    """Make the array a heap."""
    for place in range(items.size // 2 - 1, -1, -1):
        _sink(items, keys, sign, place, items.size)


@register_jitable
def take_top(items, keys, sign, size):
    """Put the top of a heap of ``size`` items behind the rest, and return it."""
    top = items[0]
    items[0], items[size - 1] = items[size - 1], top
    _sink(items, keys, sign, 0, size - 1)
    return top
