"""Scaling measurements with the fit of the Universal Scalability Law that others published for them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Published:
    """Measurements and their fit."""

    source: str
    """Source of the fit."""
    workers: tuple[int, ...]
    """Processors, users or threads."""
    throughput: tuple[float, ...]
    alpha: float
    beta: float
    gamma: float
    errors: tuple[float, float, float] | None
    """Standard errors of gamma, alpha and beta, if they are published."""
    digits: float
    """Relative difference that the published digits allow."""


PUBLISHED = {
    "specsdm91": Published(
        source="R package usl 3, README and tests/summary.Rout.save",
        workers=(1, 18, 36, 72, 108, 144, 216),
        throughput=(64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2),
        alpha=0.0277285,
        beta=0.0001044,
        gamma=89.9952330,
        errors=(14.2134894, 0.0091217, 0.0000199),
        digits=4e-4,
    ),
    "raytracer": Published(
        source="R package usl 3, tests/confint.Rout.save: middle of the intervals",
        workers=(1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64),
        throughput=(20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310),
        alpha=0.0577705,
        beta=0.0,
        gamma=21.848843,
        errors=None,
        digits=1e-5,
    ),
    "made": Published(
        source="R package usl 3, tests/coef.Rout.save",
        workers=(1, 2, 4, 6, 8, 10),
        throughput=(1, 1.8868, 3.0769, 3.5294, 3.5398, 3.3557),
        alpha=0.02,
        beta=0.02,
        gamma=1.0,
        errors=None,
        digits=5e-4,
    ),
    "cisco": Published(
        source="B. Schwartz, Practical Scalability Analysis with the Universal Scalability Law; usl4j, ModelTest.java",
        workers=tuple(range(1, 33)),
        throughput=(
            *(955.16, 1878.91, 2688.01, 3548.68, 4315.54, 5130.43, 5931.37, 6531.08),
            *(7219.8, 7867.61, 8278.71, 8646.7, 9047.84, 9426.55, 9645.37, 9897.24),
            *(10097.6, 10240.5, 10532.39, 10798.52, 11151.43, 11518.63, 11806, 12089.37),
            *(12075.41, 12177.29, 12211.41, 12158.93, 12155.27, 12118.04, 12140.4, 12074.39),
        ),
        alpha=0.02671591,
        beta=7.690945e-4,
        gamma=995.6486,
        errors=None,
        digits=2e-6,
    ),
}
