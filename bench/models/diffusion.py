"""The forward process of DDPM (Ho, Jain & Abbeel 2020): x_t = sqrt(a_t) x_0 + sqrt(1 - a_t) noise."""

from __future__ import annotations

import torch

from bench.data.per_device import PerDevice

TIME_STEPS = 1_000
_BETA_FIRST, _BETA_LAST = 1e-4, 0.02


def _amplitudes(device: torch.device) -> torch.Tensor:
    """Amplitudes of signal and noise by time step, [2, TIME_STEPS], for a linear beta schedule."""
    betas = torch.linspace(_BETA_FIRST, _BETA_LAST, TIME_STEPS, dtype=torch.float64)
    kept = (1 - betas).cumprod(0)  # a_t, "alpha bar"
    return torch.stack([kept.sqrt(), (1 - kept).sqrt()]).float().to(device)


amplitudes = PerDevice(_amplitudes)


def diffuse(clean: torch.Tensor, noise: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
    """Noisy images [B, C, H, W] from clean ones, their noise, and time steps int64 [B]."""
    signal, strength = amplitudes.on(steps.device)[:, steps, None, None, None].unbind()
    return clean * signal + noise * strength
