"""Names for the arrays that signatures speak of."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]  #: places of classes in their order
Ints = NDArray[np.int64]
Places = NDArray[np.intp]  #: places in other arrays
