"""Forged files of every fourth victim: few kernels to compile, for the ordinary tests."""

from functools import partial

from tests.attack import forge

setup = partial(forge.setup, every=4)
case = forge.case
