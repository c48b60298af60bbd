"""The batches of torch's DataLoaders: their examples, and the time that the script waits for them.

The sampler of a DataLoader gives the indices of each batch to the main process, also if workers load it: their number
is the batch's examples, in any form of batch. A data set that batches by itself, or that has no indices,
leaves only the shape of the batch (batches.py).
"""

from __future__ import annotations

import functools
import weakref

from bench_probe import torch_private
from bench_probe.batches import TokenCounter, digest, examples_in

UNKNOWN_EXAMPLES = -1


class Source:
    """An iterator of a DataLoader."""

    is_trained_on = False

    def __init__(self, iterator, loader):
        self.loader, self.iterator = loader, weakref.ref(iterator)
        self.gives_lists = torch_private.gives_lists(iterator)
        """Whether each number of indices is known, and the main process loads the batch at once: the usual case."""
        self.workers, self.starts_again = torch_private.workers_of(iterator)
        """Whether the next iterator of the DataLoader has workers of its own."""
        self.counts = {}
        """The number of indices of each batch that was asked for and not returned, by the batch's own number."""
        self.begin()

    def begin(self):
        """It begins, or begins again with its workers."""
        self.may_show_ahead = not self.loader.is_ahead
        self.loads = self.passes = self.first_loads = 0
        """Batches since the last backward pass; backward passes, up to two; the batches before the first one."""
        self.last = self.carried = 0
        """Examples of the batch that was loaded last, and of the one before the step that is under way."""

    def train(self):
        """A backward pass follows. A script that reads a batch ahead has loaded one more before the first one."""
        self.is_trained_on = True
        if self.may_show_ahead:
            self.passes += 1
            if self.passes == 1:
                self.first_loads = self.loads
            else:
                self.may_show_ahead = False
                if self.first_loads == self.loads + 1:
                    self.loader.is_ahead, self.carried = True, 0  # it was counted
        self.loads = 0

    def shift(self):
        """Examples of this step beyond those that were loaded in it: those of the batch that it found, less those of
        the batch that it leaves to the next."""
        return 0 if UNKNOWN_EXAMPLES in (self.carried, self.last) else self.carried - self.last


class _Untrained:
    """In place of the source of batches that are not trained on."""

    is_trained_on, loader = False, None


_UNTRAINED = _Untrained()


class Loader:
    """A DataLoader, over all of its iterators."""

    def __init__(self, iterator):
        self.batch_size = torch_private.batch_size_of(iterator)
        """Examples that it gives to `collate_fn`; null if the data set batches by itself."""
        self.tokens_of = TokenCounter()
        self.counted_by = None
        """`indices` or `shape`: what tells the examples of its batches."""
        self.step, self.step_before = -2, -4
        """The numbers of the last two steps in which it was asked."""
        self.is_ahead = False
        """Whether the script reads a batch ahead, as accelerate does."""

    def is_in_every_step(self):
        return self.step == self.step_before + 1


class Loaders:
    """The DataLoaders of a script, and those whose batches are trained on."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._loaders = weakref.WeakKeyDictionary()
        """By their samplers, which their iterators share."""
        self.pending = []
        """The sources of batches since the last backward pass, and since the last validation."""
        self.is_known = False
        """Whether a backward pass has followed a batch."""
        self.counted_by = set()
        """That of all DataLoaders that were trained on."""
        self._most_in_a_step = 0
        self._ended = None
        """The source that had no batch left, until another batch is loaded."""
        self.is_loading = False
        """Whether a DataLoader is being asked. One that it asks is a part of it."""
        self.is_read_elsewhere = False
        """Whether another thread than the one that trains reads a DataLoader."""
        self.workers, self.starts = None, 0
        """Workers of the DataLoader that is trained on, and how often they have started again in the measured steps."""

    def source_of(self, iterator):
        try:
            return iterator._bench_source
        except AttributeError:
            iterator._bench_source = self._new_source(iterator)
            return iterator._bench_source

    def _new_source(self, iterator):
        sampler = torch_private.sampler_of(iterator)
        try:
            loader = self._loaders.get(sampler)
            if loader is None:
                loader = self._loaders[sampler] = Loader(iterator)
        except TypeError:  # a list of batches, for example
            loader = Loader(iterator)
        return Source(iterator, loader)

    def loaded(self, iterator, begin, batch, is_end):
        """The DataLoader has returned a batch, or has none left."""
        recorder = self._recorder
        source, step = self.source_of(iterator), recorder.step
        counts = source.counts
        if not counts:
            examples = None
        elif source.gives_lists:
            examples = counts.pop(0)
        else:
            examples = counts.pop(torch_private.number_of_last(iterator, counts), None)
        if not recorder.is_mine():  # meanwhile another thread has begun to train
            return
        end = None if begin is None else recorder.device.mark()
        loader = source.loader
        if loader.step != recorder.closed:
            loader.step, loader.step_before = recorder.closed, loader.step
            source.carried = source.last
        if is_end:
            source.last, self._ended = 0, source
            step.loads.append((source, begin, end, 0, None))
            return
        loader.counted_by = "shape" if examples is None else "indices"
        if examples is None:
            examples = examples_in(batch, loader.batch_size) or UNKNOWN_EXAMPLES
        source.last, self._ended = examples, None
        source.loads += 1
        if source.is_trained_on:
            step.is_validating = False
        if source not in self.pending:
            self.pending.append(source)
        tokens = loader.tokens_of(batch) if loader.tokens_of.may_find else None
        step.loads.append((source, begin, end, examples, tokens))
        if recorder.counting.wants_digest:
            step.digest = digest(batch)

    def train(self):
        """A backward pass follows the batches of the DataLoaders that are asked in every step, or else of the one that
        was asked last. Several batches of another one were for the validation of a copy, which has no hooks; a single
        one may have been for that, too, so the examples of the step are unknown."""
        pending, self.pending = self.pending, []
        if len(pending) > 1:
            pending = self._trained_of(pending)
        for source in pending:
            if not source.is_trained_on:
                self.is_known, self.workers = True, source.workers
                self.counted_by.add(source.loader.counted_by)
            source.train()
        if self._ended is not None and not pending and self._ended.is_trained_on:
            self._ended.loader.is_ahead = True

    def _trained_of(self, pending):
        """Those of the sources whose batches are trained on. The batches of the others count no more."""
        newest = {source.loader: source for source in pending}  # the last one that was asked
        one_each, step = [], self._recorder.step
        for source in pending:
            if source is newest[source.loader]:
                one_each.append(source)
            elif source.iterator() is not None and source.is_trained_on and source.loads == 1:
                step.is_unsure = True  # another loop over the same DataLoader came between
        every = [source for source in one_each if source.loader.is_in_every_step()]
        unsure = [source for source in one_each if every and source not in every and source.loads == 1]
        step.is_unsure = step.is_unsure or bool(unsure)
        trained = [*every, *unsure] or one_each[-1:]
        for source in pending:
            if source not in trained:
                self.drop(source)
        return trained

    def misses_one(self, sources):
        """Whether the step asked fewer DataLoaders than an earlier one: the script may have kept the batches of one."""
        asked = 1 if len(sources) == 1 else len({source.loader for source in sources})
        self._most_in_a_step = max(asked, self._most_in_a_step)
        return asked < self._most_in_a_step

    def drop(self, source):
        """The batches that were loaded since the last backward pass are not trained on."""
        loads = self._recorder.step.loads
        for place in range(len(loads) - 1, -1, -1):
            if source.loads and loads[place][0] is source and loads[place][3]:
                loads[place] = (_UNTRAINED, *loads[place][1:])
                source.loads -= 1
        source.loads = 0

    def validate(self):
        """A forward pass without gradients follows the batches. It may be a part of the training, on the batch of a
        DataLoader that is asked in every step."""
        kept = []
        for source in self.pending:
            if source.loads <= 2 and source.loader.is_in_every_step():
                kept.append(source)
            else:
                source.loads = 0
        self.pending = kept


def install(recorder):
    import torch.utils.data.dataloader as loaders

    loaders.DataLoader.__iter__ = _around_start(recorder, loaders.DataLoader.__iter__)
    torch_private.replace_next_index(_around_index(recorder, torch_private.next_index))
    iterator = torch_private.BaseDataLoaderIter
    iterator.__next__ = _around_load(recorder, iterator.__next__)


def _around_start(recorder, start):
    """The start of a DataLoader's workers belongs to its batches."""

    def begin():
        if not recorder.is_mine() or recorder.depth:
            return None
        if recorder.owes_ending:
            recorder.go_on()
        return recorder.device.mark()

    def started(iterator, begin):
        if not isinstance(iterator, torch_private.BaseDataLoaderIter):
            return  # of a subclass that changes what it gives
        source = recorder.loaders.source_of(iterator)
        if source.passes or source.last:
            recorder.loaders.drop(source)
            source.begin()
        recorder.step.loads.append((source, begin, recorder.device.mark(), None, None))

    begins, ends = recorder.guarded("data", begin), recorder.guarded("data", started)

    @functools.wraps(start)
    def call(loader):
        begin = begins()
        iterator = start(loader)
        if begin is not None:
            ends(iterator, begin)
        return iterator

    return call


def _around_index(recorder, next_index):
    """Keep the number of indices of each batch, by the batch's own number, until it is returned."""

    errors, source_of = recorder.errors, recorder.loaders.source_of

    def keep(iterator, index):
        source = source_of(iterator)
        counts = source.counts
        if source.gives_lists:
            counts[0] = len(index) if hasattr(index, "__len__") else None
            return
        number = torch_private.number_of_next(iterator)
        if number == 0:  # the beginning, also of another epoch of workers that persist
            counts.clear()
        counts[number] = len(index) if torch_private.are_examples(iterator, index) else None

    @functools.wraps(next_index)
    def call(iterator):
        index = next_index(iterator)
        if "examples" not in errors:
            try:
                keep(iterator, index)
            except Exception:
                recorder.turn_off("examples")
        return index

    return call


def _around_load(recorder, load):
    errors, loaders = recorder.errors, recorder.loaders

    @functools.wraps(load)
    def call(iterator):
        if loaders.is_loading or not recorder.is_mine() or "data" in errors:
            if not recorder.is_copy and recorder.is_elsewhere():
                loaders.is_read_elsewhere = True
            return load(iterator)
        try:
            if recorder.owes_ending:
                recorder.go_on()
            # within a phase that the script marks, the time is that phase's
            begin = None if recorder.depth else recorder.device.mark()
        except Exception:
            recorder.turn_off("data")
            return load(iterator)
        recorder.depth += 1
        loaders.is_loading, batch, is_end = True, None, True
        try:
            batch = load(iterator)
            is_end = False
        finally:
            recorder.depth -= 1
            loaders.is_loading = False
            try:
                loaders.loaded(iterator, begin, batch, is_end)
            except Exception:
                recorder.turn_off("data")
        return batch

    return call
