"""The simulated step against timelines worked out by hand, and against closed forms."""

from __future__ import annotations

import pytest

from bench.predict.timeline import Computation, Group, Message, Sending, Span, Timeline, Work, simulate


def computation(name: str, seconds: float, *after: str, cores: float = 0.0) -> Computation:
    return Computation(name=name, seconds=seconds, after=after, cores=cores)


def message(name: str, *after: str) -> Message:
    """A message of one byte."""
    return Message(name=name, op="all_reduce", message_bytes=1, group=Group("ranks", 2, 1), after=after)


def run(works: list[Work], each_s: float, *, message_cores: float = 0.0, cores: float = 1.0) -> Timeline:
    return simulate(
        works, lambda one: Sending(seconds=each_s * one.message_bytes, cores=message_cores), cores
    )


def exposed_s(works: list[Work], each_s: float) -> float:
    """Seconds in which a message is on its way, and the rank computes nothing."""
    return run(works, each_s).step_s - sum(work.seconds for work in works if isinstance(work, Computation))


def buckets(count: int, computing_s: float) -> list[Work]:
    """A backward whose pieces each make a bucket ready."""
    works: list[Work] = []
    for number in range(count):
        works.append(computation(f"b{number}", computing_s / count))
        works.append(message(f"m{number}", f"b{number}"))
    return works


def test_a_message_begins_when_its_gradients_are_ready_and_the_one_before_has_ended() -> None:
    timeline = run(buckets(3, 6.0), 3.0)
    assert timeline.spans == {
        "b0": Span(0, 2), "b1": Span(2, 4), "b2": Span(4, 6),
        "m0": Span(2, 5), "m1": Span(5, 8), "m2": Span(8, 11),
    }  # fmt: skip
    assert timeline.step_s == 11


def test_equal_buckets_show_as_much_as_the_closed_form_says() -> None:
    for count in (1, 2, 7, 40):
        for sent_s in (0.5, 6.0, 30.0):
            last_bucket, unhidden = sent_s / count, sent_s - 6.0 * (1 - 1 / count)
            shown = exposed_s(buckets(count, 6.0), sent_s / count)
            assert shown == pytest.approx(max(last_bucket, unhidden))


def test_a_message_that_all_that_follows_waits_for_hides_behind_nothing() -> None:
    works: list[Work] = [computation("f0", 1), message("m", "f0"), computation("f1", 1, "m")]
    assert run(works, 5.0).spans == {"f0": Span(0, 1), "m": Span(1, 6), "f1": Span(6, 7)}


def test_a_message_without_successors_hides_completely_behind_computation_that_lasts_longer() -> None:
    assert run([message("m"), computation("f", 6)], 5.0).step_s == 6


def test_a_gather_ahead_of_its_unit_is_exposed_only_where_computation_is_shorter() -> None:
    works: list[Work] = []
    for unit in range(3):
        works.append(message(f"gather{unit}", *([f"gathered{unit - 1}"] if unit else [])))
        works.append(computation(f"gathered{unit}", 0, f"gather{unit}"))
        works.append(computation(f"forward{unit}", 2))
    # one gather of 3 s, then two whose last second forward does not hide, then the last forward
    assert run(works, 3.0).step_s == 3 + 3 + 3 + 2
    assert exposed_s(works, 3.0) == 3 + 1 + 1


def test_two_works_that_need_a_core_each_take_twice_as_long_on_one_core() -> None:
    works: list[Work] = [message("m"), computation("f", 4, cores=1)]
    together = run(works, 4.0, message_cores=1.0, cores=1.0)
    assert together.spans == {"m": Span(0, 8), "f": Span(0, 8)}
    assert run(works, 4.0, message_cores=1.0, cores=2.0).step_s == 4


def test_a_message_that_mostly_waits_for_the_network_takes_only_its_part_of_the_core() -> None:
    works: list[Work] = [message("m"), computation("f", 3, cores=1)]
    timeline = run(works, 4.0, message_cores=0.25, cores=1.0)
    assert timeline.spans["m"] == Span(0, 4)
    assert timeline.spans["f"] == Span(0, 4)  # three quarters of the core for four seconds


def test_the_empty_step_takes_no_time() -> None:
    assert run([], 1.0).step_s == 0


@pytest.mark.parametrize(
    ("works", "said"),
    [
        ([computation("a", 1, "b"), computation("b", 1)], "a cannot begin: it waits for b"),
        ([computation("a", 1, "nothing")], "a cannot begin: it waits for nothing"),
        ([computation("a", 1), computation("a", 1)], "two works have the same name"),
    ],
)
def test_works_that_can_never_run_are_refused(works: list[Work], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        run(works, 1.0)
