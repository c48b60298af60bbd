"""Which rank the others wait for when a run takes too long."""

from __future__ import annotations

from bench.agent.timeout import timed_out
from bench.records.messages import Fault, Progress
from bench.records.run_spec import MeasureSpec
from tests.unit.session.test_session import run_spec

RUN = run_spec(nodes=2, ranks_per_node=2, world_size=4, measure=MeasureSpec(steps=3, timeout_s=4))


def fault(*reported: Progress) -> Fault:
    return timed_out(RUN, list(reported))


def test_a_stopped_rank_is_the_one_that_the_others_wait_for() -> None:
    found = fault(Progress(node=0, rows={0: 5, 1: 5}), Progress(node=1, rows={2: 5, 3: 5}, stopped=[3]))
    assert found == Fault(
        status="timeout",
        error="not done after 4 s (measure.timeout_s); steps completed: rank 0: 5, rank 1: 5, rank 2: 5, rank 3: 5; "
        "rank 3 is stopped; stacks are in the ranks' logs",
        rank=3,
        node=1,
    )


def test_of_several_stopped_ranks_all_are_named() -> None:
    found = fault(
        Progress(node=1, rows={2: 5, 3: 4}, stopped=[3]), Progress(node=0, rows={0: 5}, stopped=[0])
    )
    assert (found.rank, found.node) == (0, 0)
    assert "rank 0 is stopped; rank 3 is stopped; " in found.error


def test_a_stopped_rank_comes_before_one_that_has_done_less() -> None:
    assert fault(Progress(node=0, rows={0: 1, 1: 5}, stopped=[1])).rank == 1


def test_the_rank_with_fewest_steps_is_behind() -> None:
    found = fault(Progress(node=1, rows={2: 3, 3: 4}), Progress(node=0, rows={0: 4, 1: 4}))
    assert (found.rank, found.node) == (2, 1)
    assert "rank 0: 4, rank 1: 4, rank 2: 3, rank 3: 4;" in found.error


def test_where_several_are_behind_none_is_blamed() -> None:
    found = fault(Progress(node=0, rows={0: 4, 1: 3}), Progress(node=1, rows={2: 3, 3: 4}))
    assert (found.rank, found.node) == (None, None)


def test_where_no_rank_stands_out_on_one_node_it_is_that_node() -> None:
    found = fault(Progress(node=1, rows={2: 3, 3: 3}), Progress(node=1, rows={}))
    assert (found.rank, found.node) == (None, 1)


def test_ranks_that_have_ended_are_not_waited_for() -> None:
    found = fault(Progress(node=0), Progress(node=1, rows={3: 12}))
    assert (found.rank, found.node) == (3, 1)


def test_a_run_whose_ranks_have_all_ended_blames_none() -> None:
    assert fault(Progress(node=0), Progress(node=1)).rank is None


def test_of_ranks_that_have_done_as_much_the_only_one_that_waits_for_nobody_is_behind() -> None:
    found = fault(
        Progress(node=0, rows={0: 5, 1: 5}),
        Progress(node=1, rows={2: 5, 3: 5}, busy={3: "queue.py line 9 in get"}),
    )
    assert (found.rank, found.node) == (3, 1)
    assert "rank 3: 5; rank 3 is at queue.py line 9 in get; stacks are" in found.error


def test_the_line_of_the_script_comes_before_that_of_the_library_that_it_calls() -> None:
    places = {0: "train.py line 30 in main", 1: "train.py line 12 in wait_for_data"}
    found = fault(Progress(node=0, rows={0: 5, 1: 5}, busy={1: "queue.py line 9 in get"}, places=places))
    assert found.rank == 1
    assert "rank 1: 5; rank 1 is at train.py line 12 in wait_for_data; stacks are" in found.error


def test_where_none_is_blamed_the_places_of_all_are_named_if_they_are_few() -> None:
    main = dict.fromkeys((0, 1, 3), "train.py line 30 in main")
    rows = dict.fromkeys(range(4), 5)
    found = fault(Progress(node=0, rows=rows, places=main | {2: "train.py line 9 in load"}))
    assert (
        "; ranks 0-1,3 are at train.py line 30 in main; rank 2 is at train.py line 9 in load; st"
        in found.error
    )
    many = {rank: f"train.py line {rank} in main" for rank in range(4)}
    assert "train.py" not in fault(Progress(node=0, rows=rows, places=many)).error


def test_where_several_wait_for_nobody_none_is_blamed() -> None:
    busy = {0: "my_model.py line 12 in loss", 1: "my_model.py line 12 in loss"}
    found = fault(Progress(node=0, rows={0: 5, 1: 5}, busy=busy), Progress(node=1, rows={2: 5, 3: 5}))
    assert (found.rank, found.node) == (None, None)
    assert "my_model" not in found.error


def test_of_thousands_of_ranks_the_message_names_those_that_stand_out() -> None:
    rows = dict.fromkeys(range(4096), 30) | {77: 3, 78: 29, 79: 29}
    found = fault(Progress(node=0, rows=rows))
    assert found.rank == 77
    assert "steps completed: rank 77: 3, 2 ranks: 29, 4,093 ranks: 30; stacks are" in found.error


def test_of_thousands_that_all_differ_the_slowest_and_the_fastest_are_named() -> None:
    found = fault(
        Progress(node=0, rows={rank: 5000 - rank for rank in range(4096)}, stopped=list(range(100)))
    )
    assert "steps completed: rank 4095: 905, rank 4094: 906, " in found.error
    assert ", rank 4081: 919, ..., rank 0: 5000; rank 0 is stopped; " in found.error
    assert "rank 15 is stopped; 84 more ranks are stopped; stacks" in found.error
    assert len(found.error) < 1000


def test_of_hundreds_of_silent_agents_the_first_are_named() -> None:
    found = timed_out(RUN, [Progress(node=0, rows={0: 5})], [f"n{number}" for number in range(500)])
    assert "n15 does not answer; 484 more agents do not answer; " in found.error
