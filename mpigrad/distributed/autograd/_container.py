"""The container: this worker's contexts by id, the one of the current thread, and the ids of contexts and messages.

Ids have 64 bits, the worker's id in the top 16, so that every worker can number on its own. A context exists on a
worker from the first message that names it until the release; the ids of released ones are remembered, so that a
message that comes late does not bring a context back to life.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict

from ._context import DistAutogradContext

_LOCAL_BITS = 48
_REMEMBERED = 1 << 16  # released ids that are remembered; a message is never this late


class _Current(threading.local):
    """The context of this thread."""

    context: DistAutogradContext | None = None


CURRENT = _Current()


class Container:
    """All contexts of one worker."""

    def __init__(self, worker_id: int) -> None:
        if not 0 <= worker_id < 1 << 16:
            raise RuntimeError(f"worker_id needs to be in the range [0, {(1 << 16) - 1}], got {worker_id}")
        self.worker_id = worker_id
        self.contexts: dict[int, DistAutogradContext] = {}
        self._released: OrderedDict[int, None] = OrderedDict()
        self._lock = threading.Lock()
        start = worker_id << _LOCAL_BITS
        self._context_ids = itertools.count(start)
        self._message_ids = itertools.count(start)
        self.max_id = start | ((1 << _LOCAL_BITS) - 1)
        self.new_message_id = self._message_ids.__next__

    def new_context(self) -> DistAutogradContext:
        """Make a context and make it this thread's."""
        if CURRENT.context is not None:
            raise RuntimeError(f"Already have an autograd context id for this thread: {CURRENT.context.context_id}")
        context_id = next(self._context_ids)
        if context_id > self.max_id:
            raise RuntimeError("We have run out of autograd context ids!!!")
        made = self.contexts[context_id] = DistAutogradContext(context_id)
        CURRENT.context = made
        return made

    def get_or_create(self, context_id: int) -> DistAutogradContext | None:
        """The context that a message names, made if it is the first to do so; None if it was released already."""
        found = self.contexts.get(context_id)
        if found is not None:
            return found
        with self._lock:
            if context_id in self._released:
                return None
            return self.contexts.setdefault(context_id, DistAutogradContext(context_id))

    def retrieve(self, context_id: int) -> DistAutogradContext:
        """The context with this id, or PyTorch's complaint."""
        found = self.contexts.get(context_id)
        if found is None:
            raise RuntimeError(f"Could not find autograd context with id: {context_id}")
        return found

    def drop(self, context_id: int) -> DistAutogradContext | None:
        """Forget a context for good; gives it back if it was there."""
        with self._lock:
            found = self.contexts.pop(context_id, None)
            self._released[context_id] = None
            if len(self._released) > _REMEMBERED:
                self._released.popitem(last=False)
        if found is not None:
            found.released = True
            if CURRENT.context is found:
                CURRENT.context = None
        return found
