"""The modules whose calls are forward passes: the outermost ones that hold parameters of the optimizers."""

from __future__ import annotations

import gc

import torch
from bench_probe.batches import count, digest
from bench_probe.hooks import is_compiling


class Models:
    """Finds them after the first step, and records their calls."""

    def __init__(self, recorder):
        self._recorder = recorder
        self._candidates = {}
        """Modules with hooks, by their ids."""
        self._called = set()
        """Ids of modules that were called as the outermost one."""
        self.depth = 0
        """Number of their calls inside of each other."""
        self._hooks = {}
        self._began = None
        self.roots = []

    def were_all_called(self):
        return self._candidates.keys() <= self._called

    def find(self):
        """The outermost modules that hold parameters of the optimizers, with a hook each."""
        recorder = self._recorder
        wanted = {
            id(parameter)
            for optimizer in recorder.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        modules = [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]
        inner = {id(child) for module in modules for child in vars(module).get("_modules", {}).values()}
        for module in modules:
            is_outermost = id(module) not in inner and id(module) not in self._candidates
            if is_outermost and any(id(each) in wanted for each in module.parameters()):
                self.roots.append(module)
                self._hook(module)

    def _hook(self, module):
        self._candidates[id(module)] = module
        self._hooks[id(module)] = self._listen(module)
        inside = vars(module).get("_modules", {}).get("module")
        if inside is not None:  # of a DistributedDataParallel, which a validation may leave out
            self._listen(inside)

    def _listen(self, module):
        before = module.register_forward_pre_hook(self._before, with_kwargs=True)
        try:  # always_call: also after a forward pass that raises
            after = module.register_forward_hook(self._after, with_kwargs=True, always_call=True)
        except TypeError:  # torch 2.0
            after = module.register_forward_hook(self._after, with_kwargs=True)
        return before, after

    def look_deeper(self):
        """Replace modules that no step has called by their children: Lightning calls what is inside of its module."""
        for key, module in list(self._candidates.items()):
            if key not in self._called:
                del self._candidates[key]
                for hook in self._hooks.pop(key):
                    hook.remove()
                for child in module.children():
                    if id(child) not in self._candidates and next(child.parameters(), None) is not None:
                        self._hook(child)

    def _before(self, module, arguments, options):
        recorder = self._recorder
        if is_compiling() or not recorder.is_mine():
            return
        self.depth += 1
        if self.depth > 1:
            return
        self._called.add(id(module))
        is_forward = recorder.may_be_forward()
        recorder.depth += 1
        self._began = recorder.device.mark() if recorder.depth == 1 else None
        # LBFGS passes over the same batch again
        if (
            is_forward
            and torch.is_grad_enabled()
            and (recorder.optimizer_began is None or not recorder.step.passes_in_optimizer)
        ):
            step = recorder.step
            examples, tokens = count((arguments, options))
            step.examples += examples
            step.tokens += tokens
            if recorder.digest is None and not step.loads:
                step.digest = digest((arguments, options))

    def _after(self, *_call):
        recorder = self._recorder
        if is_compiling() or not recorder.is_mine() or self.depth == 0:
            return
        self.depth -= 1
        if self.depth:
            return
        recorder.depth -= 1
        if self._began is None:
            return
        step, end = recorder.step, recorder.device.mark()
        if torch.is_grad_enabled():
            recorder.seen.add("forward")
            step.spans.append(("forward", self._began, end))
        else:
            step.validation = (self._began if step.validation is None else step.validation[0], end)
