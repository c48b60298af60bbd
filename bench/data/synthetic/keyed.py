"""Random numbers as a pure function of (seed, stream, key, element). There is no state, so order and rank do not
matter.

Every example of the training stream has a key, its global position. Its random numbers (noise, a diffusion time step, a
flip) depend only on that key: they are the same on every rank, at every world size, for every split of a batch, and
when a forward pass is recomputed.

The generator is SplitMix64 (Steele, Lea & Flood, OOPSLA 2014): element e of key k is mix(h + (e + 1) x golden), where h
hashes seed, stream and key. It needs only 64-bit integer multiply, add, xor and shift, which wrap in the same way on
CPU and CUDA: integers are bit-identical on all devices, floats up to the rounding of log and cos.
"""

from __future__ import annotations

import math

import torch

_GOLDEN = -0x61C8864680B583EB  # 0x9E3779B97F4A7C15 as int64: 2^64 / golden ratio
_MIX_1 = -0x40A7B892E31B1A47  # 0xBF58476D1CE4E5B9, Stafford's variant 13
_MIX_2 = -0x6B2FB644ECCEEE15  # 0x94D049BB133111EB
_WORD = (1 << 64) - 1


def uniform(seed: int, keys: torch.Tensor, count: int, stream: int = 0) -> torch.Tensor:
    """float32 [B, count] in [0, 1), in steps of 2^-24; `keys` int64 [B], on the device of the result.

    Different `stream` numbers give independent draws for the same key."""
    return _fraction(_shift(_bits(seed, keys, count, stream), 40))


def randint(seed: int, keys: torch.Tensor, high: int, stream: int = 0) -> torch.Tensor:
    """int64 [B] in [0, high), high <= 2^31; the bias against uniformity is below high x 2^-32."""
    return _shift(_bits(seed, keys, 1, stream)[:, 0], 32).mul_(high).bitwise_right_shift_(32)


def normal(seed: int, keys: torch.Tensor, count: int, stream: int = 0) -> torch.Tensor:
    """float32 [B, count], standard normal, by Box and Muller: one 64-bit draw makes two numbers, |z| < 5.9."""
    bits = _bits(seed, keys, (count + 1) // 2, stream)
    radius = _fraction(_shift(bits, 40)).add_(2.0**-25).log_().mul_(-2.0).sqrt_()
    angle = _fraction(bits.bitwise_and_((1 << 24) - 1)).mul_(2.0 * math.pi)
    return torch.cat([angle.cos().mul_(radius), angle.sin_().mul_(radius)], dim=1)[:, :count]


def hash_seed(seed: int, stream: int) -> int:
    """A 64-bit hash of two integers, as a signed number that fits int64."""
    word = _mix_word(_mix_word(seed & _WORD) + ((stream + 1) * _GOLDEN & _WORD) & _WORD)
    return word - (1 << 64) if word >> 63 else word


def _bits(seed: int, keys: torch.Tensor, count: int, stream: int) -> torch.Tensor:
    """int64 [B, count], 64 random bits each."""
    if torch.compiler.is_compiling():
        bits: torch.Tensor = _opaque_bits(seed, keys, count, stream)
        return bits
    return _mixed(seed, keys, count, stream)


@torch.library.custom_op("bench::keyed_bits", mutates_args=())
def _opaque_bits(seed: int, keys: torch.Tensor, count: int, stream: int) -> torch.Tensor:
    """For torch.compile, whose generated code has no products of indices beyond 64 bits ("too big to convert")."""
    return _mixed(seed, keys, count, stream)


@_opaque_bits.register_fake
def _(seed: int, keys: torch.Tensor, count: int, stream: int) -> torch.Tensor:  # noqa: ARG001 - as above
    return keys.new_empty(len(keys), count)


def _mixed(seed: int, keys: torch.Tensor, count: int, stream: int) -> torch.Tensor:
    hashed = _mix((keys + 1) * _GOLDEN + hash_seed(seed, stream))
    elements = torch.arange(1, count + 1, device=keys.device).mul_(_GOLDEN)
    return _mix(hashed[:, None] + elements)


def _mix(z: torch.Tensor) -> torch.Tensor:
    """SplitMix64's finaliser, in place."""
    z.bitwise_xor_(_shift(z, 30)).mul_(_MIX_1)
    z.bitwise_xor_(_shift(z, 27)).mul_(_MIX_2)
    return z.bitwise_xor_(_shift(z, 31))


def _mix_word(z: int) -> int:
    z = (z ^ (z >> 30)) * _MIX_1 & _WORD
    z = (z ^ (z >> 27)) * _MIX_2 & _WORD
    return z ^ (z >> 31)


def _shift(z: torch.Tensor, places: int) -> torch.Tensor:
    """Logical right shift: int64's own shift copies the sign."""
    return (z >> places).bitwise_and_((1 << (64 - places)) - 1)


def _fraction(bits24: torch.Tensor) -> torch.Tensor:
    """24 random bits as float32 in [0, 1)."""
    return bits24.to(torch.float32).mul_(2.0**-24)
