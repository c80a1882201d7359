"""A scripted function of torch, which other workers find by its name."""

import warnings

import torch

with warnings.catch_warnings():
    warnings.simplefilter("ignore")

    @torch.jit.script
    def double_sine(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x) * 2
