/* Sums and counts query by query: the hits of query i are starts[i] to starts[i + 1]. Added up one after another, from
   the front, so that a sum does not depend on what else is there, and is the one a plain loop gives. */
#ifndef CRANFIELD_SUMS_H
#define CRANFIELD_SUMS_H

#include <Python.h>
#include <stdint.h>

/* Buffers of which the first are read and the last is written; each item of the last two has a given size. */
typedef struct {
    Py_buffer starts, values, result;
} Buffers;

static void release(Buffers *b) {
    PyBuffer_Release(&b->starts);
    PyBuffer_Release(&b->values);
    PyBuffer_Release(&b->result);
}

/* Where the hits of each query start must rise from 0 to their number. */
static int starts_fit(const int64_t *starts, Py_ssize_t n, Py_ssize_t hits) {
    if (n < 0 || starts[0] != 0 || starts[n] != hits) return 0;
    for (Py_ssize_t q = 0; q < n; q++)
        if (starts[q] > starts[q + 1]) return 0;
    return 1;
}

/* Words of eight bytes, where such words may stand. */
static int holds_words(const Py_buffer *b) { return b->len % 8 == 0 && (uintptr_t)b->buf % 8 == 0; }

static int overlap(const Py_buffer *a, const Py_buffer *b) {
    uintptr_t x = (uintptr_t)a->buf, y = (uintptr_t)b->buf;
    return x < y + (size_t)b->len && y < x + (size_t)a->len;
}

static int fit(Buffers *b, Py_ssize_t value_size, int one_per_query) {
    Py_ssize_t n = b->starts.len / 8 - 1, hits = b->values.len / value_size;
    Py_ssize_t results = b->result.len / 8;
    int words = holds_words(&b->starts) && holds_words(&b->result) && (value_size == 1 || holds_words(&b->values));
    if (words && b->starts.len >= 8 && starts_fit(b->starts.buf, n, hits) && results == (one_per_query ? n : hits) &&
        !overlap(&b->starts, &b->result))
        return 1;
    PyErr_SetString(PyExc_ValueError, "the sizes of these arrays do not fit together");
    return 0;
}

PyDoc_STRVAR(sums_doc, "sums(starts, values, result)\n--\n\nThe sum of the values of each query, into result.");

static PyObject *sums(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    if (!PyArg_ParseTuple(args, "y*y*w*", &b.starts, &b.values, &b.result)) return NULL;
    int fits = fit(&b, 8, 1);
    if (fits) {
        const int64_t *starts = b.starts.buf;
        const double *values = b.values.buf;
        double *result = b.result.buf;
        for (Py_ssize_t q = 0; q < b.result.len / 8; q++) {
            double sum = 0;
            for (int64_t i = starts[q]; i < starts[q + 1]; i++) sum += values[i];
            result[q] = sum;
        }
    }
    release(&b);
    if (!fits) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(quotients_doc, "quotients(starts, values, whole, result)\n--\n\n"
                            "The sum of the values of each query divided by what is whole for it, and 0 where that is "
                            "0, into result.");

static PyObject *quotients(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    Py_buffer whole;
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &b.starts, &b.values, &whole, &b.result)) return NULL;
    int fits = fit(&b, 8, 1);
    if (fits && (whole.len != b.result.len || !holds_words(&whole))) {
        PyErr_SetString(PyExc_ValueError, "the sizes of these arrays do not fit together");
        fits = 0;
    }
    if (fits) {
        const int64_t *starts = b.starts.buf;
        const double *values = b.values.buf, *below = whole.buf;
        double *result = b.result.buf;
        for (Py_ssize_t q = 0; q < b.result.len / 8; q++) {
            double sum = 0;
            for (int64_t i = starts[q]; i < starts[q + 1]; i++) sum += values[i];
            result[q] = below[q] != 0 ? sum / below[q] : 0;
        }
    }
    PyBuffer_Release(&whole);
    release(&b);
    if (!fits) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(running_doc, "running(starts, where, result)\n--\n\n"
                          "How many hits up to and with each one, within its query, satisfy a condition, into result.");

static PyObject *running(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    if (!PyArg_ParseTuple(args, "y*y*w*", &b.starts, &b.values, &b.result)) return NULL;
    int fits = fit(&b, 1, 0);
    if (fits) {
        const int64_t *starts = b.starts.buf;
        const char *where = b.values.buf;
        double *result = b.result.buf;
        for (Py_ssize_t q = 0; q < b.starts.len / 8 - 1; q++) {
            int64_t count = 0;
            for (int64_t i = starts[q]; i < starts[q + 1]; i++) {
                count += where[i] != 0;
                result[i] = (double)count;
            }
        }
    }
    release(&b);
    if (!fits) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(shares_doc, "shares(part, whole, result)\n--\n\npart / whole, and 0 where whole is 0, into result.");

static PyObject *shares(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer part, whole, result;
    if (!PyArg_ParseTuple(args, "y*y*w*", &part, &whole, &result)) return NULL;
    int fits = part.len == whole.len && part.len == result.len && holds_words(&part) && holds_words(&whole) &&
               holds_words(&result);
    const double *above = part.buf, *below = whole.buf;
    double *to = result.buf;
    for (Py_ssize_t i = 0; fits && i < result.len / 8; i++) to[i] = below[i] != 0 ? above[i] / below[i] : 0;
    PyBuffer_Release(&part);
    PyBuffer_Release(&whole);
    PyBuffer_Release(&result);
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "the sizes of these arrays do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
