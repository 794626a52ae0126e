"""The tensors of these tests are small: threads would only wait for each other."""

from contextlib import suppress

with suppress(ImportError):  # without PyTorch the tests are skipped, each with its reason
    import torch

    torch.set_num_threads(1)
