# C declarations: fields with a fixed offset, and functions that C calls directly; see docs/compiled.md.
cimport cython

from mpigrad._core.autograd.contexts cimport DistAutogradContext, Sink, Worker
from mpigrad._core.autograd.graph cimport MessageGradients, Parts, Path, Source
from mpigrad._core.engine cimport GraphTask
from mpigrad._core.guard cimport resume, suspend
from mpigrad._core.objects cimport Mutex

cdef class Pass:
    cdef public object F, captured, captures, id, initiator, terms, thread
    cdef public bint discard, keep

    @cython.locals(sink=Sink, path=Path, task=GraphTask, before=int)
    cpdef dict run(self, DistAutogradContext context, Source source, grads)
    cdef _run_unrecorded(self, Path path, grads, sink)
    @cython.locals(suspended=int)
    cpdef run_task(self, GraphTask task, bint user_code)
    cdef _run_task(self, GraphTask task, bint user_code)

@cython.locals(single=MessageGradients)
cpdef tuple encode(batch, DistAutogradContext context, Pass pass_)
cpdef list decode(body, arrays, src, DistAutogradContext context, Pass pass_)

cdef class Branch:
    cdef public Worker worker
    cdef public DistAutogradContext context
    cdef public Pass pass_
    cdef public object collecting, ended, error, of_part, on_end, pending, requester
    cdef public Mutex lock
    cdef public list answer

    cpdef finish(self, dict outgoing)
    @cython.locals(source=Source, context=DistAutogradContext, parts=Parts, pass_=Pass, gradients=MessageGradients)
    cpdef dict process(self, list batch)
    cpdef dict route(self, dict outgoing)
    cpdef _sort(self, dict outgoing, list here, dict elsewhere)
    @cython.locals(context=DistAutogradContext, pass_=Pass)
    cpdef send(self, rank, list batch, then=*)
    cpdef list answered_gradients(self, reply)
    cpdef fail(self, error)
    cpdef settle(self)
    cpdef _end(self)
    cpdef reply(self)
    cpdef result(self)
