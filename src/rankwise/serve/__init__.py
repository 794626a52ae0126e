"""A service that learns: predictions and feedback over HTTP, and nothing that was acknowledged is ever lost.

Feedback goes into a log first (:mod:`rankwise.serve.store`), then into the model. A model is a pure function of the
rows it has learnt and of their order, so the model that is served is *snapshot + replay of the log*, to the bit, after
any crash (:mod:`rankwise.serve.engine`). Everything that is not about models is in modules of its own and can serve
another application: :mod:`~rankwise.serve.problems`, :mod:`~rankwise.serve.tokens`, :mod:`~rankwise.serve.limits`,
:mod:`~rankwise.serve.gate`, :mod:`~rankwise.serve.events` and :mod:`~rankwise.serve.server`.

This package needs the extra ``serve``: ``pip install 'rankwise[serve]'``.
"""

from rankwise._extras import require


def check_installed() -> None:
    """Raise an error that says what to install if a package is missing."""
    for package in ("msgspec", "starlette", "uvicorn"):
        require(package, f'the service needs {package}: pip install "rankwise[serve]"')
