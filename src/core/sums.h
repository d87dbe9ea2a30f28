/* Sums and counts per query: the hits of query i are starts[i] to starts[i + 1]. Values are added in order, as a plain
   loop does, so that a query's sum does not depend on other queries. */
#ifndef CRANFIELD_SUMS_H
#define CRANFIELD_SUMS_H

#include <Python.h>
#include <stdint.h>

/* Two arrays to read and one to write. */
typedef struct {
    Py_buffer starts, values, result;
} Buffers;

static void release_buffers(Buffers *b) {
    PyBuffer_Release(&b->starts);
    PyBuffer_Release(&b->values);
    PyBuffer_Release(&b->result);
}

/* Whether starts are in ascending order, from 0 to the number of hits. */
static int are_starts_valid(const int64_t *starts, Py_ssize_t n, Py_ssize_t hits) {
    if (n < 0 || starts[0] != 0 || starts[n] != hits) return 0;
    for (Py_ssize_t q = 0; q < n; q++)
        if (starts[q] > starts[q + 1]) return 0;
    return 1;
}

/* Whether a buffer consists of items of a size, aligned. */
static int has_items(const Py_buffer *b, size_t size) {
    return (size_t)b->len % size == 0 && (uintptr_t)b->buf % size == 0;
}

static int overlap(const Py_buffer *a, const Py_buffer *b) {
    uintptr_t x = (uintptr_t)a->buf, y = (uintptr_t)b->buf;
    return x < y + (size_t)b->len && y < x + (size_t)a->len;
}

/* Raise ValueError. */
static int refuse_sizes(void) {
    PyErr_SetString(PyExc_ValueError, "the array sizes do not fit together");
    return 0;
}

/* Check that the sizes match: a result for each query, or for each hit. Raises ValueError and returns 0 otherwise. */
static int check_buffers(Buffers *b, Py_ssize_t value_size, int one_per_query) {
    Py_ssize_t n = b->starts.len / 8 - 1, hits = b->values.len / value_size;
    Py_ssize_t results = b->result.len / 8;
    int aligned = has_items(&b->starts, 8) && has_items(&b->result, 8) && has_items(&b->values, (size_t)value_size);
    if (aligned && b->starts.len >= 8 && are_starts_valid(b->starts.buf, n, hits) &&
        results == (one_per_query ? n : hits) && !overlap(&b->starts, &b->result))
        return 1;
    return refuse_sizes();
}

static double sum_query(const Buffers *b, Py_ssize_t query) {
    const int64_t *starts = b->starts.buf;
    const double *values = b->values.buf;
    double sum = 0;
    for (int64_t i = starts[query]; i < starts[query + 1]; i++) sum += values[i];
    return sum;
}

static double divide(double part, double whole) { return whole != 0 ? part / whole : 0; }

PyDoc_STRVAR(sums_doc, "sums(starts, values, result)\n--\n\nWrite the sum of the values of each query into result.");

static PyObject *sums(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    if (!PyArg_ParseTuple(args, "y*y*w*", &b.starts, &b.values, &b.result)) return NULL;
    int valid = check_buffers(&b, 8, 1);
    double *result = b.result.buf;
    for (Py_ssize_t q = 0; valid && q < b.result.len / 8; q++) result[q] = sum_query(&b, q);
    release_buffers(&b);
    if (!valid) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(quotients_doc, "quotients(starts, values, whole, result)\n--\n\n"
                            "Divide the sum of the values of each query by whole; 0 where that is 0.");

static PyObject *quotients(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    Py_buffer whole;
    if (!PyArg_ParseTuple(args, "y*y*y*w*", &b.starts, &b.values, &whole, &b.result)) return NULL;
    int valid = check_buffers(&b, 8, 1);
    if (valid && (whole.len != b.result.len || !has_items(&whole, 8))) valid = refuse_sizes();
    const double *wholes = whole.buf;
    double *result = b.result.buf;
    for (Py_ssize_t q = 0; valid && q < b.result.len / 8; q++) result[q] = divide(sum_query(&b, q), wholes[q]);
    PyBuffer_Release(&whole);
    release_buffers(&b);
    if (!valid) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(running_doc, "running(starts, where, result)\n--\n\n"
                          "For each hit, count the hits of its query up to and including it for which where is true.");

static PyObject *running(PyObject *module, PyObject *args) {
    (void)module;
    Buffers b;
    if (!PyArg_ParseTuple(args, "y*y*w*", &b.starts, &b.values, &b.result)) return NULL;
    int valid = check_buffers(&b, 1, 0);
    if (valid) {
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
    release_buffers(&b);
    if (!valid) return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(shares_doc, "shares(part, whole, result)\n--\n\nWrite part / whole into result, and 0 where whole is 0.");

static PyObject *shares(PyObject *module, PyObject *args) {
    (void)module;
    Py_buffer part, whole, result;
    if (!PyArg_ParseTuple(args, "y*y*w*", &part, &whole, &result)) return NULL;
    int valid = part.len == whole.len && part.len == result.len && has_items(&part, 8) && has_items(&whole, 8) &&
               has_items(&result, 8);
    if (!valid) refuse_sizes();
    const double *parts = part.buf, *wholes = whole.buf;
    double *to = result.buf;
    for (Py_ssize_t i = 0; valid && i < result.len / 8; i++) to[i] = divide(parts[i], wholes[i]);
    PyBuffer_Release(&part);
    PyBuffer_Release(&whole);
    PyBuffer_Release(&result);
    if (!valid) return NULL;
    Py_RETURN_NONE;
}

#endif
