"""The modules whose calls are forward passes: the outermost ones that hold parameters of the optimizers."""

from __future__ import annotations

import contextlib
import gc
import weakref

import torch
from bench_probe.batches import TokenCounter, digest, examples_in, first_tensor, is_unreal
from bench_probe.hooks import is_compiling
from bench_probe.torch_private import modules_in, version_of


class _Hook:
    """A hook in a module of the script. A copy of the module shares it; in a pickled module it does nothing."""

    def __init__(self, models):
        self._models = models

    def __deepcopy__(self, _memo):
        return self

    def __reduce__(self):
        return getattr, (contextlib.nullcontext(), "__exit__")


class Models:
    """Finds them after the first step, and records their calls."""

    def __init__(self, recorder):
        self.recorder = recorder
        self._candidates = {}
        """Modules with hooks, by their ids."""
        self.called = set()
        """Ids of modules that were called as the outermost one."""
        self.depth = 0
        """Number of their calls inside of each other."""
        self._hooks = {}
        self.began = None
        self._before_call, self._after_call = _Before(self), _After(self)
        self.roots = []
        self._tokens_of = TokenCounter()

    def were_all_called(self):
        return self._candidates.keys() <= self.called

    def find(self):
        """The outermost modules that hold parameters of the optimizers, with a hook each."""
        recorder = self.recorder
        wanted = {
            id(parameter)
            for optimizer in recorder.closing.optimizers
            for group in optimizer.param_groups
            for parameter in group["params"]
        }
        modules = [each for each in gc.get_objects() if issubclass(type(each), torch.nn.Module)]
        inner = {id(child) for module in modules for child in modules_in(module).values()}
        for module in modules:
            is_new = id(module) not in inner and all(module is not root for root in self.roots)
            if is_new and any(id(each) in wanted for each in module.parameters()):
                self.roots.append(module)
                self._hook(module)

    def _hook(self, module):
        self._candidates[id(module)] = module
        self._hooks[id(module)] = [*self._listen(module)]
        inside = modules_in(module).get("module")
        if inside is not None:  # of a DistributedDataParallel, which a validation may leave out
            self._hooks[id(module)] += self._listen(inside)

    def _listen(self, module):
        before = module.register_forward_pre_hook(self._before_call, with_kwargs=True)
        try:  # always_call: also after a forward pass that raises
            after = module.register_forward_hook(self._after_call, with_kwargs=True, always_call=True)
        except TypeError:  # torch 2.0
            after = module.register_forward_hook(self._after_call, with_kwargs=True)
        return before, after

    @contextlib.contextmanager
    def without_hooks(self):
        """No hooks in this context, for a compiler that would read them."""
        modules = [self._candidates[key] for key in self._hooks]
        for hooks in self._hooks.values():
            for hook in hooks:
                hook.remove()
        try:
            yield
        finally:
            for module in modules:
                self._hook(module)

    def look_deeper(self):
        """Replace modules that no step has called by their children: Lightning calls what is inside of its module."""
        for key, module in list(self._candidates.items()):
            if key not in self.called:
                del self._candidates[key]
                for hook in self._hooks.pop(key):
                    hook.remove()
                for child in module.children():
                    if id(child) not in self._candidates and next(child.parameters(), None) is not None:
                        self._hook(child)

    def begin(self, module, arguments, options):
        """A call of a module with a hook begins."""
        recorder = self.recorder
        if not recorder.is_mine():
            return
        self.depth += 1
        if self.depth > 1:
            return
        if recorder.owes_ending:
            recorder.go_on()
        self.called.add(id(module))
        is_forward = recorder.may_be_forward()
        recorder.depth += 1
        first = arguments[0] if arguments else None
        is_real = not (first.is_meta if type(first) is torch.Tensor else is_unreal(arguments))
        self.began = recorder.device.mark() if recorder.depth == 1 and is_real else None
        # LBFGS passes over the same batch again
        if (
            is_forward
            and is_real
            and torch.is_grad_enabled()
            and (recorder.optimizer_began is None or not recorder.step.passes_in_optimizer)
        ):
            step = recorder.step
            if step.loads and type(first) is torch.Tensor and first.dim() and len(self._candidates) == 1:
                if step.examples is not None:  # the usual case, which takes the least time
                    step.examples += first.shape[0]
                return
            first = first_tensor((arguments, options))
            if self._is_new(step, first):
                examples = _examples(first, arguments)
                step.examples = None if None in (examples, step.examples) else step.examples + examples
                if not step.loads:
                    step.tokens += self._tokens_of((arguments, options)) or 0
            if recorder.counting.wants_digest and not step.loads:
                step.digest = digest((arguments, options))

    def count(self, arguments, options):
        """Examples and tokens in the arguments of a call; null: unknown."""
        examples = _examples(first_tensor((arguments, options)), arguments)
        return examples, self._tokens_of((arguments, options))

    def _is_new(self, step, first):
        """Whether no other module has seen the first tensor in this step: an actor and a critic see one batch. A tensor
        that the script fills again is another batch."""
        if first is None:
            return True
        version = version_of(first)
        if any(seen() is first and version == version_then for seen, version_then in step.inputs):
            return False
        step.inputs.append((weakref.ref(first), version))
        return True

    def end(self):
        """A call of a module with a hook has ended."""
        recorder = self.recorder
        if not recorder.is_mine() or self.depth == 0:
            return
        self.depth -= 1
        if self.depth:
            return
        recorder.depth -= 1
        if self.began is None:
            return
        step, end = recorder.step, recorder.device.mark()
        if torch.is_grad_enabled():
            recorder.seen.add("forward")
            step.is_validating = False
            step.spans.append(("forward", self.began, end))
        else:
            begin = step.validations.pop()[0] if step.is_validating else self.began
            step.validations.append((begin, end))
            step.is_validating = True
            recorder.loaders.validate()


def _examples(first, arguments):
    """The first dimension of the first tensor in the arguments of a call, or the members of a list that comes first;
    null: unknown."""
    if arguments and isinstance(arguments[0], (list, tuple)):
        return examples_in(arguments[0])
    return None if first is None else first.shape[0]


class _Before(_Hook):
    def __call__(self, module, arguments, options):
        models = self._models
        if is_compiling() or "forward" in models.recorder.errors:
            return
        try:
            models.begin(module, arguments, options)
        except Exception:
            models.recorder.turn_off("forward")


class _After(_Hook):
    def __call__(self, *_call):
        models = self._models
        if is_compiling() or "forward" in models.recorder.errors:
            return
        try:
            models.end()
        except Exception:
            models.recorder.turn_off("forward")
