/* Judgments: for each query its judged documents and their grades, ready to be joined with a run. */
#ifndef CRANFIELD_JUDGMENTS_H
#define CRANFIELD_JUDGMENTS_H

#include <Python.h>
#include <math.h>

#include "numbers.h"
#include "ranking.h"
#include "scan.h"

typedef struct {
    const char *at;
    size_t size;
    uint64_t hash;
} Id;

typedef struct {
    PyObject_HEAD
    size_t n;         /* queries */
    Id *queries;
    size_t *starts;   /* the documents of query i are starts[i] to starts[i + 1] */
    Id *docs;
    double *grades;
    int64_t *lines;   /* where each document stands in its file; NULL if it came from none */
    uint32_t *table;  /* from the hash of a query to 1 + its number */
    size_t mask;
    PyObject *text;     /* the bytes that hold the ids */
    PyObject *names;    /* the documents as strings, a list; NULL until asked for */
    PyObject *numbers;  /* from a query as a string to its number; NULL until asked for */
    PyObject *subtopic; /* what the second column says throughout; NULL if there is none */
} Judgments;

static void forget(Judgments *self) {
    PyMem_Free(self->queries);
    PyMem_Free(self->starts);
    PyMem_Free(self->docs);
    PyMem_Free(self->grades);
    PyMem_Free(self->lines);
    PyMem_Free(self->table);
    Py_XDECREF(self->text);
    Py_XDECREF(self->names);
    Py_XDECREF(self->numbers);
    Py_XDECREF(self->subtopic);
}

static void Judgments_dealloc(Judgments *self) {
    PyTypeObject *type = Py_TYPE(self);
    forget(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline int same_id(const Id *id, const char *at, size_t size, uint64_t hash) {
    return id->hash == hash && id->size == size && same_bytes(id->at, at, size);
}

static PyObject *as_text(const Id *id) {
    return PyUnicode_DecodeUTF8(id->at, (Py_ssize_t)id->size, "surrogateescape");
}

/* The number of a query, or -1. */
static int64_t find_query(const Judgments *self, const char *at, size_t size, uint64_t hash) {
    for (size_t i = hash & self->mask; self->table[i]; i = (i + 1) & self->mask)
        if (same_id(&self->queries[self->table[i] - 1], at, size, hash)) return self->table[i] - 1;
    return -1;
}

static int index_queries(Judgments *self) {
    size_t room = 8;
    while (room < 2 * self->n) room *= 2;
    PyMem_Free(self->table);
    self->table = PyMem_Calloc(room, sizeof(uint32_t));
    if (!self->table) {
        PyErr_NoMemory();
        return -1;
    }
    self->mask = room - 1;
    for (size_t q = 0; q < self->n; q++) {
        size_t i = self->queries[q].hash & self->mask;
        while (self->table[i]) i = (i + 1) & self->mask;
        self->table[i] = (uint32_t)q + 1;
    }
    return 0;
}

static int allocate(Judgments *self, size_t queries, size_t docs) {
    self->n = queries;
    self->queries = PyMem_Calloc(queries + 1, sizeof(Id));
    self->starts = PyMem_Calloc(queries + 1, sizeof(size_t));
    self->docs = PyMem_Calloc(docs + 1, sizeof(Id));
    self->grades = PyMem_Calloc(docs + 1, sizeof(double));
    if (self->queries && self->starts && self->docs && self->grades) return 0;
    PyErr_NoMemory();
    return -1;
}

/* ---- from Python's own queries and dictionaries ---- */

typedef struct {
    char *bytes;
    size_t size, room;
} Text;

/* The id as bytes at the end of a text; what is not valid UTF-8 is written as the bytes it was read from. */
static int append_id(Text *text, PyObject *name, Id *id) {
    PyObject *encoded = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
    if (!encoded) return -1;
    size_t size = (size_t)PyBytes_GET_SIZE(encoded);
    if (!make_room((void **)&text->bytes, &text->room, text->size + size + 1, 1)) {
        Py_DECREF(encoded);
        PyErr_NoMemory();
        return -1;
    }
    memcpy(text->bytes + text->size, PyBytes_AS_STRING(encoded), size);
    id->size = size;
    text->size += size;
    Py_DECREF(encoded);
    return 0;
}

static const char *placed(Id *ids, size_t n, const char *at) {
    for (size_t i = 0; i < n; i++) {
        ids[i].at = at;
        ids[i].hash = hash_of(at, ids[i].size);
        at += ids[i].size;
    }
    return at;
}

/* A finite number of a type that runs no code of its own, which could change the dictionary. */
static int plain_grade(PyObject *grade, double *value) {
    if (!PyFloat_Check(grade) && !PyLong_CheckExact(grade)) {
        PyErr_SetString(PyExc_TypeError, "grades must be numbers");
        return -1;
    }
    *value = PyFloat_AsDouble(grade);
    if (isfinite(*value)) return *value == -1 && PyErr_Occurred() ? -1 : 0;
    PyErr_SetString(PyExc_ValueError, "grades must be finite");
    return -1;
}

/* A plain string, so that comparing it runs no code of its own. */
static int append_name(PyObject *names, PyObject *doc) {
    PyObject *name = PyUnicode_FromObject(doc);
    int failed = !name || PyList_Append(names, name);
    Py_XDECREF(name);
    return failed ? -1 : 0;
}

static int add_judged(Judgments *self, PyObject *judged, Text *text, size_t query, size_t room) {
    PyObject *doc, *grade;
    Py_ssize_t at = 0;
    size_t i = self->starts[query];
    while (PyDict_Next(judged, &at, &doc, &grade)) {
        if (i == room) {
            PyErr_SetString(PyExc_RuntimeError, "judgments changed while they were read");
            return -1;
        }
        if (plain_grade(grade, &self->grades[i]) || append_name(self->names, doc)) return -1;
        if (append_id(text, PyList_GET_ITEM(self->names, (Py_ssize_t)i), &self->docs[i])) return -1;
        i++;
    }
    self->starts[query + 1] = i;
    return 0;
}

static int fill_from_dicts(Judgments *self, PyObject *queries, PyObject *judged, Text *text) {
    size_t docs = 0;
    Py_ssize_t n = PyTuple_GET_SIZE(queries);
    for (Py_ssize_t q = 0; q < n; q++) {
        if (!PyDict_Check(PyTuple_GET_ITEM(judged, q)) || !PyUnicode_Check(PyTuple_GET_ITEM(queries, q))) {
            PyErr_SetString(PyExc_TypeError, "expected a tuple of strings and a tuple of dicts");
            return -1;
        }
        docs += (size_t)PyDict_GET_SIZE(PyTuple_GET_ITEM(judged, q));
    }
    if ((size_t)n >= UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many queries");
        return -1;
    }
    if (allocate(self, (size_t)n, docs)) return -1;
    for (Py_ssize_t q = 0; q < n; q++)
        if (append_id(text, PyTuple_GET_ITEM(queries, q), &self->queries[q])) return -1;
    if (!(self->names = PyList_New(0))) return -1;
    for (Py_ssize_t q = 0; q < n; q++)
        if (add_judged(self, PyTuple_GET_ITEM(judged, q), text, (size_t)q, docs)) return -1;
    self->text = PyBytes_FromStringAndSize(text->bytes, (Py_ssize_t)text->size);
    if (!self->text) return -1;
    placed(self->docs, docs, placed(self->queries, self->n, PyBytes_AS_STRING(self->text)));
    return index_queries(self);
}

static PyObject *Judgments_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *queries, *judged;
    static char *names[] = {"queries", "judged", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!", names, &PyTuple_Type, &queries, &PyTuple_Type, &judged))
        return NULL;
    if (PyTuple_GET_SIZE(queries) != PyTuple_GET_SIZE(judged)) {
        PyErr_SetString(PyExc_ValueError, "expected as many dicts as queries");
        return NULL;
    }
    Judgments *self = (Judgments *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    Text text = {NULL, 0, 0};
    int failed = fill_from_dicts(self, queries, judged, &text);
    free(text.bytes);
    if (failed) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* ---- what Python asks for ---- */

static PyObject *names_of(Judgments *self) {
    if (!self->names) {
        size_t n = self->starts[self->n];
        PyObject *names = PyList_New((Py_ssize_t)n);
        for (size_t i = 0; names && i < n; i++) {
            PyObject *name = as_text(&self->docs[i]);
            if (!name) Py_CLEAR(names);
            else PyList_SET_ITEM(names, (Py_ssize_t)i, name);
        }
        self->names = names;
    }
    return self->names;
}

static PyObject *numbers_of(Judgments *self) {
    if (!self->numbers) {
        PyObject *numbers = PyDict_New();
        for (size_t q = 0; numbers && q < self->n; q++) {
            PyObject *name = as_text(&self->queries[q]), *number = PyLong_FromSize_t(q);
            if (!name || !number || PyDict_SetItem(numbers, name, number)) Py_CLEAR(numbers);
            Py_XDECREF(name);
            Py_XDECREF(number);
        }
        self->numbers = numbers;
    }
    return self->numbers;
}

static PyObject *Judgments_queries(Judgments *self, PyObject *unused) {
    (void)unused;
    PyObject *queries = PyList_New((Py_ssize_t)self->n);
    for (size_t q = 0; queries && q < self->n; q++) {
        PyObject *name = as_text(&self->queries[q]);
        if (!name) Py_CLEAR(queries);
        else PyList_SET_ITEM(queries, (Py_ssize_t)q, name);
    }
    return queries;
}

static PyObject *Judgments_docs(Judgments *self, PyObject *unused) {
    (void)unused;
    PyObject *names = names_of(self);
    return names ? PySequence_List(names) : NULL;
}

static PyObject *column(const void *values, size_t n) {
    return PyBytes_FromStringAndSize(values ? values : "", values ? (Py_ssize_t)(n * 8) : 0);
}

/* starts, grades and lines, as the bytes of int64, float64 and int64, and the subtopic. */
static PyObject *Judgments_columns(Judgments *self, PyObject *unused) {
    (void)unused;
    size_t docs = self->starts[self->n];
    PyObject *starts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((self->n + 1) * 8));
    if (!starts) return NULL;
    for (size_t q = 0; q <= self->n; q++) {
        int64_t start = (int64_t)self->starts[q];
        memcpy(PyBytes_AS_STRING(starts) + 8 * q, &start, 8);
    }
    return Py_BuildValue("NNNO", starts, column(self->grades, docs), column(self->lines, docs),
                         self->subtopic ? self->subtopic : Py_None);
}

static int by_grade_descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

enum { LEVELS = 16 };

/* The highest first. Nearly all grades are small whole numbers, which need only be counted. */
static void sort_grades(double *grades, size_t n) {
    size_t counts[LEVELS] = {0};
    for (size_t i = 0; i < n; i++) {
        int level = grades[i] >= 0 && grades[i] < LEVELS && !signbit(grades[i]) ? (int)grades[i] : -1;
        if (level < 0 || (double)level != grades[i]) {
            qsort(grades, n, sizeof(double), by_grade_descending);
            return;
        }
        counts[level]++;
    }
    for (int level = LEVELS - 1; level >= 0; level--)
        for (size_t k = counts[level]; k > 0; k--) *grades++ = level;
}

/* The grades of each query, the highest first, as the bytes of float64. */
static PyObject *Judgments_ideal(Judgments *self, PyObject *unused) {
    (void)unused;
    PyObject *bytes = column(self->grades, self->starts[self->n]);
    if (!bytes) return NULL;
    double *grades = (double *)(void *)PyBytes_AS_STRING(bytes);
    for (size_t q = 0; q < self->n; q++)
        sort_grades(grades + self->starts[q], self->starts[q + 1] - self->starts[q]);
    return bytes;
}

static void arrange_query(const Judgments *self, Judgments *made, size_t from, size_t to) {
    size_t start = self->starts[from], n = self->starts[from + 1] - start, at = made->starts[to];
    made->queries[to] = self->queries[from];
    memcpy(made->docs + at, self->docs + start, n * sizeof(Id));
    memcpy(made->grades + at, self->grades + start, n * sizeof(double));
    if (self->lines) memcpy(made->lines + at, self->lines + start, n * sizeof(int64_t));
    made->starts[to + 1] = at + n;
}

/* The same with the queries in another order: a list of all their numbers. */
static PyObject *Judgments_arranged(Judgments *self, PyObject *order) {
    if (!PyList_Check(order) || (size_t)PyList_GET_SIZE(order) != self->n) {
        PyErr_SetString(PyExc_ValueError, "expected a list with the number of every query");
        return NULL;
    }
    PyTypeObject *type = Py_TYPE(self);
    Judgments *made = (Judgments *)type->tp_alloc(type, 0);
    if (!made) return NULL;
    size_t docs = self->starts[self->n];
    if (allocate(made, self->n, docs)) goto failed;
    if (self->lines && !(made->lines = PyMem_Calloc(docs + 1, sizeof(int64_t)))) {
        PyErr_NoMemory();
        goto failed;
    }
    for (size_t to = 0; to < self->n; to++) {
        size_t from = PyLong_AsSize_t(PyList_GET_ITEM(order, (Py_ssize_t)to));
        if (from >= self->n || made->starts[to] + (self->starts[from + 1] - self->starts[from]) > docs) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expected the number of every query once");
            goto failed;
        }
        arrange_query(self, made, from, to);
    }
    made->text = Py_NewRef(self->text);
    made->subtopic = Py_XNewRef(self->subtopic);
    if (index_queries(made)) goto failed;
    return (PyObject *)made;
failed:
    Py_DECREF(made);
    return NULL;
}

static Py_ssize_t Judgments_length(Judgments *self) { return (Py_ssize_t)self->starts[self->n]; }

static PyMethodDef Judgments_methods[] = {
    {"queries", (PyCFunction)Judgments_queries, METH_NOARGS, "The queries, as strings."},
    {"docs", (PyCFunction)Judgments_docs, METH_NOARGS, "The judged documents of all queries, as strings."},
    {"columns", (PyCFunction)Judgments_columns, METH_NOARGS, "(starts, grades, lines, subtopic)"},
    {"ideal", (PyCFunction)Judgments_ideal, METH_NOARGS, "The grades of each query, the highest first."},
    {"arranged", (PyCFunction)Judgments_arranged, METH_O, "The same with the queries in another order."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot Judgments_slots[] = {
    {Py_tp_doc, "For each query the judged documents and their grades."},
    {Py_tp_new, Judgments_new},
    {Py_tp_dealloc, Judgments_dealloc},
    {Py_tp_methods, Judgments_methods},
    {Py_sq_length, Judgments_length},
    {0, NULL},
};

static PyType_Spec Judgments_spec = {
    "cranfield.base._core.Judgments",
    sizeof(Judgments),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    Judgments_slots,
};

#endif
