"""Find changes of level in series of sessions that are measured side by side.

A series is a case at a placement with its settings. Its level is the median of up to `WINDOW` sessions since its last
change. A new session is compared with it, alone and together with the one or two before it. The shift that all series
share is subtracted first, and is a series of its own. benchmarks/coverage.py has the rates of false and found
changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WINDOW = 20
"""Sessions that make a level and its spread."""
LONGEST = 3
"""The most sessions that are tested together."""
MARGIN = 0.02
"""A change of throughput up to this is none."""
FALSE_RATE = 0.005
"""Probability of a false change in a session, slower or faster, over all series."""
LEAST_SERIES = 6
"""Series from which on the median of their changes is what they share."""
_SHARED_RATE = 0.2
"""Part of FALSE_RATE for what all series share."""
_PRIOR, _PRIOR_DEGREES = 0.01, 4.0
"""The spread between sessions that is assumed before any is seen, and its weight in degrees of freedom."""
_SHARED_PRIOR = 0.005
"""The same of what all series share."""
_MOST_DEGREES = 8.0
"""The most weight of the other series' spread, which one series may exceed."""
_EFFICIENCY = 0.54
"""Efficiency of the 68 % quantile as an estimate of a standard deviation: degrees of freedom of a difference."""
_LEAST_DIFFERENCES = 4
"""Differences from which on a series' own spread counts against that of the others."""
_LARGE = 3
"""A change of this many times its limit is no part of the spread."""
_UNMOVED = 2
"""Standard deviations from the shared shift from which on a series that is nearer to no change did not move with it."""
_NOISY = 2.2
"""A series that varies this many times as much as the others is judged by its own spread alone."""
_ODD_FACTOR, _ODD_VARIANCE = 64, 0.006
"""A session whose variance by repeats is this many times the usual one, and above this, has an odd run: a lone case
with three runs, two of them slow, shows it in no other way. 0.006: one run of three is off by a fifth."""
_MEDIAN_FACTOR = np.pi / 2
"""Variance of the median of many normal values ÷ that of their mean."""
_VALUE, _RAW, _SESSION = range(3)
"""A kept session's ln(throughput) without the shared shift, its ln(throughput), and its place."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """Arrays of (sessions, ..., series); the shared shift is one series."""

    direction: Array
    """1: faster, -1: slower, 0: no change."""
    log_ratio: Array
    """ln(throughput of the newest sessions ÷ level)."""
    half_width: Array
    """Half-width of its two-sided 95 % interval."""
    first: Array
    """Place of the first session at the new level."""
    level_first: Array
    """Place of the oldest session that made the level."""
    level_last: Array
    """Place of the newest session that made the level."""
    returns: Array
    """Whether the change goes back to the level before the last one."""
    assumed: Array
    """Whether the spread between sessions was assumed, because too few sessions show it."""


@dataclass(frozen=True, kw_only=True)
class Judged:
    """Changes of the series, and of what all of them share."""

    own: Changes
    shared: Changes
    sharing: Array
    """(sessions, ..., series): whether the series moved with all."""
    compared: Array
    """(sessions, ..., series): whether the series has a level to be compared with."""


def judge(values: Array, variances: Array) -> Judged:
    """Find the changes in `values`: ln(throughput), (sessions, ..., series), NaN where a series was not judged.

    `variances` are those of the values as the repeats of a session show them; NaN if unknown."""
    series, shared = _Levels(values.shape[1:]), _Levels((*values.shape[1:-1], 1))
    has_shared = values.shape[-1] >= LEAST_SERIES
    rate = FALSE_RATE * (1 - _SHARED_RATE) if has_shared else FALSE_RATE
    found = []
    shared_since: Array = np.full((*values.shape[1:-1], 1), -1.0)
    for session, (measured, variance) in enumerate(zip(values, variances, strict=True)):
        usual = series.variance()
        is_odd = (usual > 0) & (variance > np.maximum(_ODD_FACTOR * usual, _ODD_VARIANCE))
        raw = np.where(is_odd, np.nan, measured)
        distance = raw - series.level()
        is_compared = ~np.isnan(distance)
        compared = is_compared.sum(axis=-1)
        prior = _Prior(sd=_PRIOR, degrees=_PRIOR_DEGREES, is_assumed=True)
        shift: Array = np.zeros((*raw.shape[:-1], 1))
        if has_shared:
            common = np.where(compared >= LEAST_SERIES, _median(distance, -1), np.nan)[..., None]
            # With too few series to see it, it is what it was.
            shift = np.nan_to_num(np.where(np.isnan(common), shared.level(), common))
            prior = _spread_of_all(series.differences(raw - shift))
            variance_of_shift = _median(series.variance(), -1)[..., None] * _MEDIAN_FACTOR / values.shape[-1]
            quiet = _Prior(sd=_SHARED_PRIOR, degrees=_PRIOR_DEGREES, is_assumed=False)
            of_all, _, _ = shared.add(
                session, common, common, variance_of_shift, FALSE_RATE * _SHARED_RATE, quiet
            )
        else:
            nothing = np.full_like(shift, np.nan)
            of_all, _, _ = shared.add(session, nothing, nothing, nothing, rate, prior)
        own, moved, spread = series.add(
            session, raw - shift, raw, variance, rate / values.shape[-1], prior, shared_since
        )
        # A series that moved with all and further shares the shift, too.
        is_apart = (np.abs(distance - shift) > np.abs(distance)) & (
            np.abs(distance - shift) > _UNMOVED * spread
        )
        is_sharing = is_compared & ~is_apart & (moved * of_all["direction"] >= 0)
        of_all["direction"] *= (2 * is_sharing.sum(axis=-1) > compared)[..., None]
        shared_since = np.where(of_all["direction"] != 0, of_all["first"], shared_since)
        found.append((own, of_all, is_sharing, is_compared))
    of_series, of_shared, sharing, compared = zip(*found, strict=True)
    return Judged(
        own=_stacked(of_series),
        shared=_stacked(of_shared),
        sharing=np.stack(sharing),
        compared=np.stack(compared),
    )


@dataclass(frozen=True, kw_only=True)
class _Prior:
    """The spread of a session before a series' own differences are seen."""

    sd: Array | float
    degrees: Array | float
    is_assumed: bool


class _Levels:
    """Series side by side with what they kept of their sessions, newest first."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.kept: Array = np.full((WINDOW + LONGEST, *shape, 3), np.nan)
        """Sessions since the last change."""
        self.earlier: Array = self.kept
        """Those of the level before; NaN without one."""
        self.values: Array = np.full((WINDOW + 1, *shape), np.nan)
        """The values of all sessions, before and since the last change."""
        self.variances: Array = self.values

    def level(self) -> Array:
        return _median(self.kept[:WINDOW, ..., _VALUE], 0)

    def differences(self, newest: Array | None = None) -> Array:
        """Differences of sessions from the one before and from the one before that, `newest` included. A change is
        among few of them, so it does not move their quantile."""
        values = self.values if newest is None else np.concatenate([newest[None], self.values])
        found: Array = np.concatenate([values[:-1] - values[1:], values[:-2] - values[2:]])
        return found

    def variance(self) -> Array:
        """Variance of a session's value by its repeats: the median over sessions; 0 if unknown."""
        return np.nan_to_num(_median(self.variances, 0))

    def add(
        self,
        session: int,
        value: Array,
        raw: Array,
        variance: Array,
        rate: float,
        prior: _Prior,
        since: Array | float = -1.0,
    ) -> tuple[dict[str, Array], Array, Array]:
        """Judge a session, keep it, and return `Changes` by name, whether each series left its level (-1, 0, 1), and
        the spread of its sessions. `since`: place of the session that began the last shared shift.

        A series that only seems to move because all others did leaves its level, too, but that is no change of it."""
        is_new = ~np.isnan(value)
        self.variances = _pushed(self.variances, variance, ~np.isnan(variance))
        spread, degrees, is_known = self._spread(prior)
        place = np.full_like(value, session)
        kept = _pushed(self.kept, np.stack([value, raw, place], axis=-1), is_new[..., None])
        self.values = _pushed(self.values, value, is_new)

        critical = _t_quantile(rate / 2, degrees)
        found = {name: np.full_like(value, np.nan) for name in Changes.__annotations__}
        moved, length = np.zeros((2, *value.shape), int)
        for sessions in range(1, LONGEST + 1):
            newest, level = kept[:sessions], kept[sessions : sessions + WINDOW]
            middle, size = _median(level[..., _VALUE], 0), _count(level[..., _VALUE])
            change = newest[..., _VALUE].mean(axis=0) - middle
            error = spread * np.sqrt(
                1 / sessions + np.where(size > 2, _MEDIAN_FACTOR, 1) / np.maximum(size, 1)
            )
            is_alike = (np.sign(newest[..., _VALUE] - middle) == np.sign(change)).all(axis=0)
            limit = np.maximum(critical * error, -np.log(1 - MARGIN))
            hit = is_new & is_known & is_alike & (np.abs(change) > limit) & (moved == 0)
            if not hit.any():
                continue
            raw_change = newest[..., _RAW].mean(axis=0) - _median(level[..., _RAW], 0)
            of_level = level[..., _SESSION]
            # A shared shift has moved the level, too: from there on, unless the two began together.
            later = np.where(of_level >= since, level[..., _RAW], np.nan)
            has_later = ~np.isnan(later).all(axis=0)
            raw_change = np.where(has_later, newest[..., _RAW].mean(axis=0) - _median(later, 0), raw_change)
            of_level = np.where(has_later & (of_level < since), np.nan, of_level)
            is_seen = (np.abs(raw_change) > -np.log(1 - MARGIN)) & (np.sign(raw_change) == np.sign(change))
            described = {
                "direction": np.sign(change) * is_seen,
                "log_ratio": raw_change,
                "half_width": _t_quantile(0.025, degrees) * error,
                "first": newest[-1, ..., _SESSION],
                "level_first": np.fmin.reduce(of_level, axis=0),
                "level_last": np.fmax.reduce(of_level, axis=0),
                "returns": self._is_back(newest[..., _VALUE].mean(axis=0), spread, sessions),
                "assumed": prior.is_assumed & (_count(self.values) < _LEAST_DIFFERENCES + 2),
            }
            for name, values in described.items():
                found[name] = np.where(hit, values, found[name])
            moved = np.where(hit, np.sign(change), moved).astype(int)
            length = np.where(hit, sessions, length)
            is_large = hit & (np.abs(change) > _LARGE * limit)
            self.values[sessions:] += np.where(is_large, change, 0)
        self._keep(kept, length, found["returns"] == 1)
        return found | {"direction": np.nan_to_num(found["direction"]).astype(int)}, moved, spread

    def _spread(self, prior: _Prior) -> tuple[Array, Array, Array]:
        """The standard deviation of a session's value, its degrees of freedom, and whether it is known at all: a
        single repeat and no other session show nothing."""
        own, count = _scale(self.differences()), np.maximum(_count(self.values) - 1, 0)
        by_repeats = self.variance()
        others = np.maximum(np.square(prior.sd), by_repeats)
        degrees = prior.degrees + _EFFICIENCY * count
        both = (prior.degrees * others + _EFFICIENCY * count * own**2) / degrees
        has_own = count >= _LEAST_DIFFERENCES
        is_noisy = has_own & (own > _NOISY * np.sqrt(others))
        variance = np.maximum(both, by_repeats)
        variance = np.where(is_noisy, np.maximum(variance, own**2), variance)
        degrees = np.where(is_noisy, np.maximum(_EFFICIENCY * count, 1), degrees)
        return np.sqrt(variance), degrees, has_own | (_count(self.variances) > 0) | (not prior.is_assumed)

    def _is_back(self, value: Array, spread: Array, sessions: int) -> Array:
        size = _count(self.earlier[..., _VALUE])
        error = spread * np.sqrt(1 / sessions + _MEDIAN_FACTOR / np.maximum(size, 1))
        is_back: Array = np.abs(value - _median(self.earlier[..., _VALUE], 0)) < 3 * error
        return is_back

    def _keep(self, kept: Array, length: Array, returns: Array) -> None:
        """Begin a new level with the sessions that show it. A return goes on with the level before: what was between
        was odd."""
        following = self.earlier
        for sessions in range(1, LONGEST + 1):
            here = (length == sessions)[..., None]
            if not here.any():
                continue
            new = kept.copy()
            new[sessions:] = np.nan
            resumed = np.concatenate([kept[:sessions], self.earlier])[: len(kept)]
            before = np.concatenate([kept[sessions:], np.full_like(kept[:sessions], np.nan)])
            is_back = here & returns[..., None]
            following = np.where(is_back, np.nan, np.where(here, before, following))
            kept = np.where(is_back, resumed, np.where(here, new, kept))
        self.kept, self.earlier = kept, following


def _spread_of_all(differences: Array) -> _Prior:
    """The spread of all series."""
    every = np.moveaxis(differences, 0, -1).reshape(*differences.shape[1:-1], -1)
    degrees = np.minimum(_MOST_DEGREES, _PRIOR_DEGREES + _EFFICIENCY * _count(every, -1))
    return _Prior(
        sd=np.nan_to_num(_scale(every, -1))[..., None], degrees=degrees[..., None], is_assumed=False
    )


def _scale(differences: Array, axis: int = 0) -> Array:
    """The standard deviation of a session from differences of two: their 68 % quantile is one sigma; 0 without any."""
    scale: Array = np.nan_to_num(_quantile(np.abs(differences), 0.6827, axis)) / np.sqrt(2)
    return scale


def _median(values: Array, axis: int) -> Array:
    return _quantile(values, 0.5, axis)


def _quantile(values: Array, share: float, axis: int) -> Array:
    """The quantile of what is not NaN; NaN if nothing is. (numpy.nanquantile takes a hundred times as long.)"""
    ordered = np.sort(values, axis=axis)  # NaN last
    last = np.maximum(_count(values, axis) - 1, 0)
    place = np.clip(share * (last + 1) - 0.5, 0, last)
    below = np.floor(place).astype(int)
    weight = place - below
    lower, upper = (
        np.take_along_axis(ordered, np.expand_dims(index, axis), axis).squeeze(axis)
        for index in (below, np.minimum(below + 1, last))
    )
    result: Array = (1 - weight) * lower + weight * upper
    return result


def _count(values: Array, axis: int = 0) -> Array:
    count: Array = (~np.isnan(values)).sum(axis=axis)
    return count


def _pushed(kept: Array, newest: Array, is_new: Array) -> Array:
    return np.where(is_new, np.concatenate([newest[None], kept[:-1]]), kept)


def _t_quantile(tail: float, degrees: Array) -> Array:
    """The value that Student's t exceeds with this probability."""
    from scipy.special import stdtrit  # takes longer to import than a load without a history needs

    quantile: Array = -stdtrit(degrees, tail)
    return quantile


def _stacked(found: tuple[dict[str, Array], ...]) -> Changes:
    return Changes(**{name: np.stack([one[name] for one in found]) for name in found[0]})
