"""All that is taken from inside rankwise, each with its reason; everything else here is imported by its public name."""

from rankwise._drawing import (  # pictures look like those of rankwise.plots
    INK,
    OKABE_ITO,
    QUIET,
    SMALL,
    load_matplotlib,
    quiet_frame,
)
from rankwise._files import replacing  # files appear whole or not at all: there is no public function for it

__all__ = ["INK", "OKABE_ITO", "QUIET", "SMALL", "load_matplotlib", "quiet_frame", "replacing"]
