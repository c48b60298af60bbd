"""The examples and tokens of a step, as the probe counts them."""

from __future__ import annotations

import pytest

from bench.measure.recorder import UNKNOWN_PHASE
from tests.unit.probe.recorded import MEASURED_STEPS, Run

OWN = """
class Own(torch.utils.data.Dataset):
    def __init__(self, make, number=800):
        self.make, self.number = make, number
    def __len__(self):
        return self.number
    def __getitem__(self, place):
        return self.make(place)
class Stream(torch.utils.data.IterableDataset):
    def __init__(self, make, number=800):
        self.make, self.number = make, number
    def __iter__(self):
        return (self.make(place) for place in range(self.number))
def picture(place):
    return torch.randn(3, 8 + place % 3, 8), {"boxes": torch.rand(place % 4 + 1, 4)}
def sound(place):
    return torch.randn(1, 20 + place % 7)
def train():
    nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.zeros(5, dtype=torch.long)).backward()
    optimizer.step()
"""
COUNTED = {
    "a tuple of pictures": "DataLoader(Own(picture), batch_size=8, collate_fn=lambda b: tuple(zip(*b)))",
    "a list of sounds": "DataLoader(Own(sound), batch_size=8, collate_fn=list)",
    "three workers": "DataLoader(Own(picture), batch_size=8, collate_fn=list, num_workers=3)",
    "workers out of order": (
        "DataLoader(Own(picture), batch_size=8, collate_fn=list, num_workers=3, "
        "**({'in_order': False} if 'in_order' in vars(DataLoader)['__init__'].__code__.co_varnames else {}))"
    ),
    "time first": (
        "DataLoader(Own(lambda place: torch.randn(35)), batch_size=8, collate_fn=lambda b: torch.stack(b, 1))"
    ),
    "packed": (
        "DataLoader(Own(lambda place: torch.randn(3 + place % 4, 2)), batch_size=8, "
        "collate_fn=lambda b: nn.utils.rnn.pack_sequence(b, enforce_sorted=False))"
    ),
    "a dict": "DataLoader(Own(lambda place: {'length': 3, 'x': torch.randn(4)}), batch_size=8)",
    "one flat tensor": "DataLoader(Own(lambda place: torch.randn(3 + place % 4)), batch_size=8, collate_fn=torch.cat)",
    "neighbours of nodes": "DataLoader(range(800), batch_size=8, collate_fn=lambda nodes: torch.randn(200, 4))",
    "a sampler of lists": (
        "DataLoader(data, batch_size=None, sampler=torch.utils.data.BatchSampler(range(800), 8, False))"
    ),
    "batches of its own sampler": "DataLoader(data, batch_sampler=[range(n, n + 8) for n in range(700)])",
    "a stream": "DataLoader(Stream(lambda place: torch.randn(4)), batch_size=8)",
    "a stream of pictures": "DataLoader(Stream(picture), batch_size=8, collate_fn=lambda b: tuple(zip(*b)))",
    "a stream of sounds in a list": "DataLoader(Stream(sound), batch_size=8, collate_fn=list)",
    "a stream, time first": (
        "DataLoader(Stream(lambda place: torch.randn(35)), batch_size=8, collate_fn=lambda b: torch.stack(b, 1))"
    ),
    "a stream of batches": "DataLoader(Stream(lambda place: (torch.randn(8, 4), torch.randn(8))), batch_size=None)",
    "a stream of pairs": "DataLoader(Stream(picture), batch_size=8, collate_fn=list)",
    "a stream of arrays": (
        "DataLoader(Stream(lambda place: torch.randn(16).numpy()), batch_size=8, "
        "collate_fn=lambda b: [__import__('numpy').stack(b), __import__('numpy').ones(8)])"
    ),
    "a short stream, time first": (
        "DataLoader(Stream(lambda place: torch.randn(5)), batch_size=8, collate_fn=lambda b: torch.stack(b, 1))"
    ),
    "pairs that the data set makes": "DataLoader(Stream(lambda _: [picture(n) for n in range(8)]), batch_size=None)",
    "a stream of lists of dicts": (
        "DataLoader(Stream(lambda place: [{'x': torch.randn(3, n)} for n in range(4, 12)]), batch_size=8, "
        "collate_fn=lambda b: b[0])"
    ),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_each_step_trains_eight_examples_in_any_form_of_batch(run: Run, kind: str) -> None:
    found = run(f"{OWN}\nfor batch in {COUNTED[kind]}:\n    train()")
    assert found.code == 0, found.log
    assert found.facts["errors"] == {}
    assert found.counted == ("loader", {"total": 8 * MEASURED_STEPS, "batch": 8})


LOOPS = {
    "a break": """
for epoch in range(30):
    for number, batch in enumerate(loader):
        if number == 4:
            break
        train()
""",
    "a break of workers that persist": """
loader = DataLoader(Own(sound), batch_size=8, collate_fn=list, num_workers=1, persistent_workers=True)
for epoch in range(30):
    for number, batch in enumerate(loader):
        if number == 4:
            break
        train()
""",
    "its accuracy on the same loader": """
for step, batch in enumerate(loader):
    train()
    if step % 4 == 3:
        for number, other in enumerate(loader):
            if number == 2:
                break
            with torch.no_grad():
                net(torch.randn(5, 4))
""",
    "a copy evaluated on the same loader": """
import copy
ema = copy.deepcopy(net)
for step, batch in enumerate(loader):
    train()
    if step % 4 == 3:
        for number, other in zip(range(5), loader):
            ema(torch.randn(5, 4))
""",
    "a teacher's pass before each step": """
few = DataLoader(Own(sound, 40), batch_size=8, collate_fn=list)
for epoch in range(30):
    for batch in few:
        with torch.no_grad():
            net(torch.randn(5, 4))
        train()
""",
}


@pytest.mark.parametrize("kind", LOOPS)
def test_batches_that_are_not_trained_on_do_not_count(run: Run, kind: str) -> None:
    found = run(
        f"{OWN}\nloader = DataLoader(Own(sound), batch_size=8, collate_fn=list)\n{LOOPS[kind]}", steps=12
    )
    assert found.code == 0, found.log
    assert found.facts["errors"] == {}
    assert found.counted == ("loader", {"total": 8 * 12, "batch": 8})
    assert min(found.column("data_ns")) > 0


UNSURE = {
    "a loader in every second step": """
other = iter(DataLoader(Own(lambda place: torch.randn(4)), batch_size=24))
for step, (batch, _) in enumerate(DataLoader(data, batch_size=8)):
    if step % 2:
        batch = torch.cat([batch, next(other)])
    net(batch).square().mean().backward()
    optimizer.step()
""",
    "a loader whose batches are kept": """
import itertools
few = DataLoader(torch.utils.data.Subset(data, range(24)), batch_size=8)
for (batch, _), (other, _) in zip(DataLoader(data, batch_size=8), itertools.cycle(few)):
    net(torch.cat([batch, other])).square().mean().backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize(("kind", "total"), list(zip(UNSURE, (8 * 12 + 24 * 6, 16 * 12), strict=True)))
def test_where_the_loaders_do_not_tell_the_model_does(run: Run, kind: str, total: int) -> None:
    found = run(OWN + UNSURE[kind], steps=12)
    assert found.code == 0, found.log
    assert (found.counted[0], found.counted[1]["total"]) == ("model", total)


UNKNOWN = {
    "pictures or channels": "DataLoader(Stream(lambda place: [torch.randn(3, 8, 8)] * 5), batch_size=None)",
    "clouds of points or parts": "DataLoader(Stream(lambda place: [torch.randn(64, 3)] * 5), batch_size=None)",
    "sizes that differ": (
        "DataLoader(Stream(lambda place: {'a': torch.randn(4), 'b': torch.randn(6)}), batch_size=None)"
    ),
}


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_shape_that_does_not_tell_is_no_count(run: Run, kind: str) -> None:
    found = run(f"{OWN}\nfor batch in {UNKNOWN[kind]}:\n    train()")
    assert found.code == 0, found.log
    assert found.facts["examples"]["loader"] == {"total": None, "batch": None}


def test_short_last_batches_of_workers_that_persist_are_counted_as_they_are(run: Run) -> None:
    """An epoch is 8, 8 and 4."""
    found = run(
        f"""{OWN}
loader = DataLoader(Own(sound, 20), batch_size=8, collate_fn=list, num_workers=2, persistent_workers=True)
for epoch in range(20):
    for batch in loader:
        train()
        if epoch == 0:
            break
""",
        steps=6,
    )
    assert found.code == 0, found.log
    assert found.counted == ("loader", {"total": 2 * 20, "batch": 8})


AHEAD = """
def ahead(loader):
    batches = iter(loader)
    batch = next(batches)
    for following in batches:
        yield batch
        batch = following
    yield batch
"""


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_reader_one_batch_ahead_trains_the_batch_before(run: Run, accumulate: int) -> None:
    """An epoch is 8, 8, 8, 8 and 4; two together are 16, 16 and 4."""
    per_epoch = 5 if accumulate == 1 else 3
    found = run(
        f"""{OWN}{AHEAD}
loader = DataLoader(Own(sound, 36), batch_size=8, collate_fn=list)
for epoch in range(20):
    for number, batch in enumerate(ahead(loader), start=1):
        nn.functional.cross_entropy(net(torch.randn(5, 4)), torch.zeros(5, dtype=torch.long)).backward()
        if number % {accumulate} == 0 or number == 5:
            optimizer.step()
""",
        steps=2 * per_epoch,
    )
    assert found.code == 0, found.log
    assert found.counted == ("loader", {"total": 72, "batch": 8 * accumulate})


def test_the_short_last_batch_of_a_reader_ahead_is_the_last_steps(run: Run) -> None:
    found = run(
        f"""{OWN}{AHEAD}
for batch in ahead(DataLoader(Own(sound, 76), batch_size=8, collate_fn=list)):
    train()
""",
        steps=6,
    )
    assert found.code == 0, found.log
    assert found.counted == ("loader", {"total": 6 * 8 - 4, "batch": 8})  # of the tenth step, the last one


AGAIN = {
    "a cycle over few batches": """
import itertools
for batch, target in itertools.cycle(DataLoader(torch.utils.data.Subset(data, range(48)), batch_size=8)):
    nn.functional.cross_entropy(net(batch), target).backward()
    optimizer.step()
""",
    "minibatches of a batch": """
for batch, target in DataLoader(data, batch_size=32):
    for part, goal in zip(batch.split(8), target.split(8)):
        nn.functional.cross_entropy(net(part), goal).backward()
        optimizer.step()
""",
}


@pytest.mark.parametrize("kind", AGAIN)
def test_a_batch_that_is_trained_on_again_is_counted_by_the_model(run: Run, kind: str) -> None:
    found = run(AGAIN[kind])
    assert found.code == 0, found.log
    assert found.counted == ("model", {"total": 8 * MEASURED_STEPS, "batch": 8})


TWO = """
import time
slow = DataLoader(Own(lambda place: time.sleep(0.002) or torch.randn(4)), batch_size=8)
fast = DataLoader(Own(lambda place: torch.randn(4), 8000), batch_size=24)
"""


def test_all_loaders_that_a_step_uses_count_and_are_waited_for(run: Run) -> None:
    found = run(f"{OWN}{TWO}\nfor x, u in zip(slow, fast):\n    train()")
    assert found.code == 0, found.log
    assert found.counted[1]["batch"] == 32
    assert min(found.column("data_ns")) > 8 * 2e6


def test_accumulation_over_two_loaders_counts_both(run: Run) -> None:
    found = run(f"""{OWN}{TWO}
for x, u in zip(slow, fast):
    net(x).square().mean().backward()
    net(u).square().mean().backward()
    optimizer.step()
""")
    assert found.code == 0, found.log
    assert found.counted[1]["batch"] == 32


def test_a_validation_of_a_copy_does_not_count(run: Run) -> None:
    """The copy has no hooks, so nothing tells that its batches are not trained on."""
    found = run(
        f"""{OWN}
import copy
ema = copy.deepcopy(net)
validation = DataLoader(data, batch_size=100)
for step, (batch, target) in enumerate(DataLoader(data, batch_size=8)):
    if step == 6:
        for other, _ in validation:
            ema(other)
    train()
"""
    )
    assert found.code == 0, found.log
    assert found.counted == ("loader", {"total": 8 * MEASURED_STEPS, "batch": 8})


def test_a_loader_that_another_thread_reads_has_no_data_phase(run: Run) -> None:
    found = run(f"""{OWN}
import queue, threading
batches = queue.Queue(2)
def read():
    for batch, _ in DataLoader(data, batch_size=8):
        batches.put(batch)
net(torch.randn(5, 4)).mean().backward()
threading.Thread(target=read, daemon=True).start()
for step in range(90):
    net(batches.get()).square().mean().backward()
    optimizer.step()
""")
    assert found.code == 0, found.log
    assert set(found.column("data_ns")) == {UNKNOWN_PHASE}
    assert found.facts["is_loaded_elsewhere"]
    assert found.counted == ("model", {"total": 8 * MEASURED_STEPS, "batch": 8})


def test_a_loader_within_a_marked_phase_counts(run: Run) -> None:
    found = run(f"""{OWN}
import bench_probe
batches = iter(DataLoader(Own(sound), batch_size=8, collate_fn=list))
for step in range(90):
    with bench_probe.phase("data"):
        batch = next(batches)
    train()
""")
    assert found.code == 0, found.log
    assert found.counted == ("loader", {"total": 8 * MEASURED_STEPS, "batch": 8})
    assert min(found.column("data_ns")) > 0


TOKENS = {
    "input_ids": (
        "{'mask': torch.ones(7, dtype=torch.long), 'input_ids': torch.zeros(9, dtype=torch.long)}",
        8 * 9,
    ),
    "input and target": ("(torch.zeros(9, dtype=torch.long), torch.ones(9, dtype=torch.long))", 8 * 9),
    "texts of two lengths": ("(torch.zeros(9, dtype=torch.long), torch.ones(5, dtype=torch.long))", 0),
    "a picture and its class": ("(torch.randn(3, 4), place % 3)", 0),
}


@pytest.mark.parametrize("kind", TOKENS)
def test_tokens_are_the_elements_of_the_text(run: Run, kind: str) -> None:
    example, tokens = TOKENS[kind]
    found = run(f"{OWN}\nfor batch in DataLoader(Own(lambda place: {example}), batch_size=8):\n    train()")
    assert found.code == 0, found.log
    assert found.facts["tokens"] == tokens * MEASURED_STEPS


def test_two_modules_that_see_one_batch_count_it_once(run: Run) -> None:
    found = run("""
        critic = nn.Linear(4, 1)
        both = torch.optim.SGD([*net.parameters(), *critic.parameters()], lr=0.1)
        for step in range(100):
            for part in range(2):
                batch = torch.randn(8, 4)
                (net(batch).square().mean() + critic(batch).square().mean()).backward()
            both.step()
    """)
    assert found.code == 0, found.log
    assert found.counted[1]["batch"] == 16


def test_a_tensor_that_is_filled_again_is_another_batch(run: Run) -> None:
    found = run("""
        batch = torch.empty(8, 4)
        for step in range(100):
            for part in range(3):
                net(batch.copy_(torch.randn(8, 4))).square().mean().backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.counted[1]["batch"] == 24


def test_a_tensor_that_refuses_is_no_error_of_the_recorder(run: Run) -> None:
    found = run("""
        class Refuses(torch.Tensor):
            def dim(self):
                raise TypeError("no dimensions")
        for batch, target in DataLoader(data, batch_size=8):
            with torch.enable_grad():
                net(batch.as_subclass(Refuses))
            nn.functional.cross_entropy(net(batch), target).backward()
            optimizer.step()
    """)
    assert found.code == 0, found.log
    assert found.facts["errors"] == {}
    assert found.counted == ("loader", {"total": 8 * MEASURED_STEPS, "batch": 8})
