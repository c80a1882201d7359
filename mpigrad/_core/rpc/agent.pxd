# What has a fixed place in memory when the module is compiled, and what C calls directly; see docs/compiled.md.
from mpigrad._core.guard cimport enter, leave
from mpigrad._core.rpc.call_table cimport CallFuture, CallTable
from mpigrad._core.rpc.sender cimport Sender
from mpigrad._core.rpc.server cimport Server
from mpigrad._core.rpc.idle cimport Idle
from mpigrad._core.rpc.codec cimport kind_of
from mpigrad._core.rpc.instruments cimport Instruments

cdef class Agent:
    cdef object __weakref__
    cdef public CallTable calls
    cdef public Server server
    cdef public Sender sender
    cdef public Instruments _instruments
    cdef public Idle _idle
    cdef public dict workers, by_name, gone, left, epochs, slots
    cdef public object rank, info, rpc_timeout, transport, static, options, closing_protocol, membership, communicator
    cdef public object unknown_worker, progress, autograd, rrefs

    cpdef CallFuture call(self, dst, func, args, kwargs, timeout, kind=*, extra=*, extra2=*)
    cpdef call_sync(self, dst, func, args, kwargs, timeout)
    cpdef CallFuture request(self, dst, kind, body=*, arrays=*, timeout=*, extra=*, extra2=*, context=*, then=*)
    cpdef request_with_retries(self, dst, kind, body=*, extra=*, extra2=*, then=*)
    cpdef run_when_idle(self, work, subject)
    cpdef wait_for(self, CallFuture fut)
    cpdef receive(self, frame, waiting_for)
    cpdef serve(self, work)
