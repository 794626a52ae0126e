"""Trees, bit by bit."""


def bits_of(model):
    """All bits of the trees of a model."""
    return {name: (array.dtype.str, array.tobytes()) for name, array in model.trees_.to_plain().items()}
