"""The forward process of DDPM (Ho, Jain & Abbeel 2020): x_t = sqrt(a_t) x_0 + sqrt(1 - a_t) noise."""

from __future__ import annotations

import torch

TIME_STEPS = 1_000
_BETA_FIRST, _BETA_LAST = 1e-4, 0.02


class Schedule:
    """Signal and noise amplitudes by time step, for a linear beta schedule."""

    def __init__(self, device: torch.device) -> None:
        betas = torch.linspace(_BETA_FIRST, _BETA_LAST, TIME_STEPS, dtype=torch.float64)
        kept = (1 - betas).cumprod(0)  # a_t, "alpha bar"
        self.signal = kept.sqrt().float().to(device)
        self.noise = (1 - kept).sqrt().float().to(device)

    def diffuse(self, clean: torch.Tensor, noise: torch.Tensor, steps: torch.Tensor) -> torch.Tensor:
        """Noisy images [B, C, H, W] from clean ones, their noise, and time steps int64 [B]."""
        signal, amplitude = self.signal[steps], self.noise[steps]
        return clean * signal[:, None, None, None] + noise * amplitude[:, None, None, None]
