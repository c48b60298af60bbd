from __future__ import annotations

import math

import pytest
import torch

from bench.data.synthetic import keyed

KEYS = torch.arange(2_000)
COUNT = 500


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1])


def test_it_is_splitmix64() -> None:
    """The first numbers of Vigna's reference splitmix64.c for state 0: mixing one and two steps of the golden ratio."""
    steps = torch.tensor([1, 2]) * keyed._GOLDEN
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
    assert [word % 2**64 for word in keyed._mix(steps).tolist()] == expected
    assert keyed._mix_word(0x9E3779B97F4A7C15) == expected[0]


def test_normal_numbers_have_the_moments_of_the_normal_distribution() -> None:
    z = keyed.normal(1, KEYS, COUNT).double()
    error = 1 / math.sqrt(
        z.numel()
    )  # standard error of the mean; 4 of them let one honest run in 16,000 fail
    assert abs(float(z.mean())) < 4 * error
    assert abs(float(z.var()) - 1) < 4 * math.sqrt(2) * error
    assert abs(float((z**3).mean())) < 4 * math.sqrt(15) * error
    assert abs(float((z**4).mean()) - 3) < 4 * math.sqrt(96) * error


def test_uniform_numbers_fill_the_unit_interval_evenly() -> None:
    u = keyed.uniform(1, KEYS, COUNT)
    assert float(u.min()) >= 0
    assert float(u.max()) < 1
    counts = torch.histc(u, 100, 0, 1).double()
    expected = u.numel() / 100
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert 50 < chi_square < 165  # 99 degrees of freedom: mean 99, standard deviation 14


def test_integers_cover_their_range_evenly() -> None:
    drawn = keyed.randint(1, torch.arange(100_000), 1_000)
    counts = torch.bincount(drawn, minlength=1_000).double()
    assert len(counts) == 1_000
    assert 800 < float(((counts - 100) ** 2 / 100).sum()) < 1_200  # 999 degrees of freedom, deviation 45


@pytest.mark.parametrize("draw", [keyed.normal, keyed.uniform])
def test_neighbouring_keys_seeds_streams_and_elements_are_uncorrelated(draw: object) -> None:
    assert callable(draw)
    here = draw(5, KEYS, COUNT)
    bound = 4 / math.sqrt(here.numel())
    assert abs(correlation(here, draw(5, KEYS + 1, COUNT))) < bound
    assert abs(correlation(here, draw(6, KEYS, COUNT))) < bound
    assert abs(correlation(here, draw(5, KEYS, COUNT, stream=1))) < bound
    assert abs(correlation(here[:, 1:], here[:, :-1])) < bound
    half = COUNT // 2  # the two numbers that Box and Muller make of one draw
    assert abs(correlation(here[:, :half], here[:, half:])) < bound


@pytest.mark.parametrize("count", [1, 7, 192])
def test_a_split_batch_gets_the_same_numbers_to_the_bit(count: int) -> None:
    whole = keyed.normal(9, KEYS[:64], count)
    for pieces in (2, 4, 64):
        assert torch.equal(
            torch.cat([keyed.normal(9, part, count) for part in KEYS[:64].chunk(pieces)]), whole
        )


def test_the_keys_are_left_as_they_were() -> None:
    keys = torch.arange(5)
    keyed.normal(0, keys, 3)
    keyed.randint(0, keys, 10)
    assert keys.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.gpu
def test_a_gpu_draws_the_same_integers_and_nearly_the_same_normal_numbers() -> None:
    keys = KEYS.cuda()
    assert torch.equal(keyed.randint(3, keys, 1_000).cpu(), keyed.randint(3, KEYS, 1_000))
    assert torch.equal(keyed.uniform(3, keys, COUNT).cpu(), keyed.uniform(3, KEYS, COUNT))
    torch.testing.assert_close(
        keyed.normal(3, keys, COUNT).cpu(), keyed.normal(3, KEYS, COUNT), rtol=1e-5, atol=1e-6
    )
