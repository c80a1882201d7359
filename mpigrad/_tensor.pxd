# Where the slots of tensors lie, for modules that are compiled; see mpigrad/_compiled.py. `Tensor` itself stays a class of Python's,
# which puts slots in the order of their names. `tests/test_compiled.py` compares. All of them are set from the beginning on.
cdef extern from *:
    """
    typedef struct {
        PyObject_HEAD
        PyObject *_array, *_counter, *_extra, *_grad, *_grad_fn, *_nr, *_requires, *_view;
    } mpigrad_Tensor;
    """
    ctypedef class mpigrad._tensor.Tensor [object mpigrad_Tensor, check_size ignore]:
        cdef object _array, _counter, _extra, _grad, _grad_fn, _nr, _requires, _view
