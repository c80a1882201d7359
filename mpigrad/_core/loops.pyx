"""Loops over the rows of tables, in C.

NumPy has no loop that reads, changes and writes back rows, nor one that sums rows while reading them: it creates intermediate
arrays. These loops visit each row once and prefetch rows some steps ahead. (Rows that are only read or only written NumPy copies
as fast.)

Each function does its work and returns True, or does nothing and returns False if the arrays are not contiguous, the rows not
float32 or float64, or the indices not int64. An index out of range raises IndexError before anything is changed; the loops check
again, because another thread may change the indices meanwhile. Products and sums are rounded one by one, as NumPy does.
"""

from cpython.buffer cimport PyBUF_FORMAT, PyBUF_ND, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.string cimport memset

cdef extern from *:
    """
    #include <string.h>

    #define AHEAD 12  /* rows that are asked for before their turn */
    #define LINE 64  /* bytes of a cache line */
    #define LINES 8  /* of a row, at most: the processor fetches on its own then */

    #if defined(__GNUC__)
    #define mpigrad_fetch(address) __builtin_prefetch(address)
    #else
    #define mpigrad_fetch(address) ((void)(address))
    #endif

    static inline void mpigrad_fetch_row(const char *row, Py_ssize_t size) {
        Py_ssize_t at, end = size < LINES * LINE ? size : LINES * LINE;
        for (at = 0; at < end; at += LINE)
            mpigrad_fetch(row + at);
    }

    /* Both loops say whether all the rows were there. Of bags, places are there for `ahead` more than the `count` of this one. */
    #define mpigrad_LOOPS(number, form, attribute) \\
        attribute static int mpigrad_add_##number##form(number *table, Py_ssize_t rows, Py_ssize_t width, \\
                const long long *place, Py_ssize_t count, const number *value, number factor) { \\
            for (Py_ssize_t i = 0; i < count; i++) { \\
                if (i + AHEAD < count) \\
                    mpigrad_fetch_row((const char *)(table + place[i + AHEAD] * width), width * sizeof(number)); \\
                unsigned long long at = (unsigned long long)place[i]; \\
                if (at >= (unsigned long long)rows) \\
                    return 0; \\
                number *into = table + at * width; \\
                for (Py_ssize_t k = 0; k < width; k++) \\
                    into[k] += value[i * width + k] * factor; \\
            } \\
            return 1; \\
        } \\
        attribute static int mpigrad_sum_##number##form(const number *restrict table, Py_ssize_t rows, Py_ssize_t width, \\
                const long long *place, Py_ssize_t count, Py_ssize_t ahead, number *restrict into) { \\
            for (Py_ssize_t i = 0; i < count; i++) { \\
                if (i + AHEAD < count + ahead) \\
                    mpigrad_fetch_row((const char *)(table + place[i + AHEAD] * width), width * sizeof(number)); \\
                unsigned long long at = (unsigned long long)place[i]; \\
                if (at >= (unsigned long long)rows) \\
                    return 0; \\
                const number *restrict row = table + at * width; \\
                if (i == 0) \\
                    memcpy(into, row, width * sizeof(number)); \\
                else \\
                    for (Py_ssize_t k = 0; k < width; k++) \\
                        into[k] += row[k]; \\
            } \\
            return 1; \\
        }

    mpigrad_LOOPS(float, _plain, )
    mpigrad_LOOPS(double, _plain, )
    #if defined(__GNUC__) && defined(__x86_64__)  /* with registers twice as long, where the processor has them */
    mpigrad_LOOPS(float, _wide, __attribute__((target("avx2"))))
    mpigrad_LOOPS(double, _wide, __attribute__((target("avx2"))))
    #define mpigrad_CHOOSE(loop, ...) \\
        (__builtin_cpu_supports("avx2") ? loop##_wide(__VA_ARGS__) : loop##_plain(__VA_ARGS__))
    #else
    #define mpigrad_CHOOSE(loop, ...) loop##_plain(__VA_ARGS__)
    #endif
    #define mpigrad_add_float(...) mpigrad_CHOOSE(mpigrad_add_float, __VA_ARGS__)
    #define mpigrad_add_double(...) mpigrad_CHOOSE(mpigrad_add_double, __VA_ARGS__)
    #define mpigrad_sum_float(...) mpigrad_CHOOSE(mpigrad_sum_float, __VA_ARGS__)
    #define mpigrad_sum_double(...) mpigrad_CHOOSE(mpigrad_sum_double, __VA_ARGS__)
    """
    bint mpigrad_add_float(
        float*, Py_ssize_t rows, Py_ssize_t width, const long long* place, Py_ssize_t count, const float*, float
    ) noexcept nogil
    bint mpigrad_add_double(
        double*, Py_ssize_t rows, Py_ssize_t width, const long long* place, Py_ssize_t count, const double*, double
    ) noexcept nogil
    bint mpigrad_sum_float(
        const float*, Py_ssize_t rows, Py_ssize_t width, const long long* place, Py_ssize_t count, Py_ssize_t ahead, float*
    ) noexcept nogil
    bint mpigrad_sum_double(
        const double*, Py_ssize_t rows, Py_ssize_t width, const long long* place, Py_ssize_t count, Py_ssize_t ahead, double*
    ) noexcept nogil


cdef class Block:
    """The memory of one contiguous array, kept alive by this object."""

    cdef Py_buffer view
    cdef bint held
    cdef char* data
    cdef Py_ssize_t rows, row  # number of rows, and bytes per row
    cdef char kind

    def __cinit__(self, array, bint writable=False):
        PyObject_GetBuffer(array, &self.view, PyBUF_ND | PyBUF_FORMAT | (PyBUF_WRITABLE if writable else PyBUF_SIMPLE))
        self.held = True
        self.data = <char*>self.view.buf
        self.rows = self.view.shape[0] if self.view.ndim else 0
        self.row = self.view.len // self.rows if self.rows else 0
        self.kind = self.view.format[0] if self.view.format[1] == 0 else 0

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef bint all_contiguous(tuple arrays):
    for array in arrays:
        if not array.flags.c_contiguous or not array.ndim:
            return False
    return True


cdef inline bint counts(Block places):
    return (places.kind == b"l" or places.kind == b"q") and places.view.itemsize == 8 and places.view.ndim == 1


cdef int check(const long long* place, Py_ssize_t count, Py_ssize_t rows) except -1:
    cdef Py_ssize_t i
    cdef unsigned long long largest = 0
    for i in range(count):
        if <unsigned long long>place[i] > largest:  # as unsigned numbers, negative indices are too large
            largest = <unsigned long long>place[i]
    if count and largest >= <unsigned long long>rows:
        raise missing(rows)
    return 0


cdef object missing(Py_ssize_t rows):
    return IndexError(f"a place is not one of the {rows} rows")


def add_scaled(table, places, values, double factor):
    if not all_contiguous((table, places, values)) or table.dtype != values.dtype:
        return False
    cdef Block into = Block(table, True), where = Block(places), change = Block(values)
    cdef const long long* place = <const long long*>where.data
    cdef Py_ssize_t count = where.rows, row = into.row
    if not counts(where) or not (into.kind == b"f" or into.kind == b"d"):
        return False
    if change.view.len != count * row:
        raise ValueError("as many rows as places are wanted")
    check(place, count, into.rows)
    cdef bint done
    with nogil:
        if into.kind == b"f":
            done = mpigrad_add_float(
                <float*>into.data, into.rows, row // sizeof(float), place, count, <const float*>change.data, <float>factor
            )
        else:
            done = mpigrad_add_double(
                <double*>into.data, into.rows, row // sizeof(double), place, count, <const double*>change.data, factor
            )
    if not done:
        raise missing(into.rows)
    return True


def sum_bags(table, places, starts, lengths, made):
    if not all_contiguous((table, places, starts, lengths, made)) or table.dtype != made.dtype or not table.size:
        return False
    cdef Block source = Block(table), where = Block(places), begin = Block(starts), many = Block(lengths), into = Block(made, True)
    cdef const long long* place = <const long long*>where.data
    cdef const long long* start = <const long long*>begin.data
    cdef const long long* length = <const long long*>many.data
    cdef Py_ssize_t b, at, count, bags = many.rows, total = where.rows, row = source.row
    if not (counts(where) and counts(begin) and counts(many)) or not (source.kind == b"f" or source.kind == b"d"):
        return False
    if begin.rows != bags or into.view.len != bags * row:
        raise ValueError("a start, a length and a row for every bag are wanted")
    for b in range(bags):
        if start[b] < 0 or length[b] < 0 or start[b] > total or length[b] > total - start[b]:
            raise IndexError(f"bag {b} is not within the {total} places")
    check(place, total, source.rows)
    cdef bint done = True
    with nogil:
        for b in range(bags):
            at, count = start[b], length[b]
            if at < 0 or count < 0 or at > total or count > total - at:
                done = False
            elif count == 0:
                memset(into.data + b * row, 0, row)
            elif source.kind == b"f":
                done = mpigrad_sum_float(
                    <const float*>source.data, source.rows, row // sizeof(float), place + at, count, total - at - count,
                    <float*>(into.data + b * row),
                )
            else:
                done = mpigrad_sum_double(
                    <const double*>source.data, source.rows, row // sizeof(double), place + at, count, total - at - count,
                    <double*>(into.data + b * row),
                )
            if not done:
                break
    if not done:
        raise missing(source.rows)
    return True
