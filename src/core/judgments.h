/* The judged documents of each query with their grades, prepared for the join with runs. */
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
    size_t n; /* number of queries */
    Id *queries;
    size_t *starts; /* the documents of query i are starts[i] to starts[i + 1] */
    Id *docs;
    double *grades;
    int64_t *lines;  /* the line of each judgment in its file; NULL if there is no file */
    uint32_t *table; /* hash table: 1 + number for each query */
    size_t mask;
    PyObject *text;     /* bytes that contain the ids */
    PyObject *names;    /* list of the documents as strings; NULL until needed */
    PyObject *numbers;  /* dict of the number of each query; NULL until needed */
    PyObject *subtopic; /* the value of the second column, the same in all lines; NULL if there is no file */
} Judgments;

static void release_members(Judgments *self) {
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
    release_members(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline int same_id(const Id *id, const char *at, size_t size, uint64_t hash) {
    return id->hash == hash && id->size == size && same_bytes(id->at, at, size);
}

static PyObject *decode_id(const Id *id) {
    return PyUnicode_DecodeUTF8(id->at, (Py_ssize_t)id->size, "surrogateescape");
}

static PyObject *make_id_list(const Id *ids, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *id = decode_id(&ids[i]);
        if (!id) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, id);
    }
    return list;
}

/* The number of a query, or -1 if it has no judgments. */
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

/* ---- from Python dictionaries ---- */

typedef struct {
    char *bytes;
    size_t size, room;
} Text;

/* Append an id to a text, as UTF-8. Surrogate escapes become the bytes they stand for. */
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

/* Set the address and hash of ids that follow each other in a text. Returns the end of the last one. */
static const char *set_addresses(Id *ids, size_t n, const char *at) {
    for (size_t i = 0; i < n; i++) {
        ids[i].at = at;
        ids[i].hash = hash_bytes(at, ids[i].size);
        at += ids[i].size;
    }
    return at;
}

/* Convert a finite number. Other types could run code that changes the dictionary. */
static int convert_grade(PyObject *grade, double *value) {
    if (!PyFloat_Check(grade) && !PyLong_CheckExact(grade)) {
        PyErr_SetString(PyExc_TypeError, "grades must be numbers");
        return -1;
    }
    *value = PyFloat_AsDouble(grade);
    if (isfinite(*value)) return *value == -1 && PyErr_Occurred() ? -1 : 0;
    PyErr_SetString(PyExc_ValueError, "grades must be finite");
    return -1;
}

/* Append an id as an exact string, which is compared without running Python code. */
static int append_name(PyObject *names, PyObject *doc) {
    PyObject *name = PyUnicode_FromObject(doc);
    int failed = !name || PyList_Append(names, name);
    Py_XDECREF(name);
    return failed ? -1 : 0;
}

static int add_query(Judgments *self, PyObject *judged, Text *text, size_t query, size_t room) {
    PyObject *doc, *grade;
    Py_ssize_t at = 0;
    size_t i = self->starts[query];
    while (PyDict_Next(judged, &at, &doc, &grade)) {
        if (i == room) {
            PyErr_SetString(PyExc_RuntimeError, "judgments changed while they were read");
            return -1;
        }
        if (convert_grade(grade, &self->grades[i]) || append_name(self->names, doc)) return -1;
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
        if (add_query(self, PyTuple_GET_ITEM(judged, q), text, (size_t)q, docs)) return -1;
    self->text = PyBytes_FromStringAndSize(text->bytes, (Py_ssize_t)text->size);
    if (!self->text) return -1;
    set_addresses(self->docs, docs, set_addresses(self->queries, self->n, PyBytes_AS_STRING(self->text)));
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

/* ---- methods ---- */

static PyObject *get_doc_names(Judgments *self) {
    if (!self->names) self->names = make_id_list(self->docs, self->starts[self->n]);
    return self->names;
}

static PyObject *get_query_numbers(Judgments *self) {
    if (!self->numbers) {
        PyObject *numbers = PyDict_New();
        for (size_t q = 0; numbers && q < self->n; q++) {
            PyObject *name = decode_id(&self->queries[q]), *number = PyLong_FromSize_t(q);
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
    return make_id_list(self->queries, self->n);
}

static PyObject *Judgments_docs(Judgments *self, PyObject *unused) {
    (void)unused;
    PyObject *names = get_doc_names(self);
    return names ? PySequence_List(names) : NULL;
}

static PyObject *to_bytes(const void *values, size_t n) {
    return PyBytes_FromStringAndSize(values ? values : "", values ? (Py_ssize_t)(n * 8) : 0);
}

/* starts, grades and lines as the bytes of int64, float64 and int64, and the subtopic. */
static PyObject *Judgments_columns(Judgments *self, PyObject *unused) {
    (void)unused;
    size_t docs = self->starts[self->n];
    PyObject *starts = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((self->n + 1) * 8));
    if (!starts) return NULL;
    for (size_t q = 0; q <= self->n; q++) {
        int64_t start = (int64_t)self->starts[q];
        memcpy(PyBytes_AS_STRING(starts) + 8 * q, &start, 8);
    }
    return Py_BuildValue("NNNO", starts, to_bytes(self->grades, docs), to_bytes(self->lines, docs),
                         self->subtopic ? self->subtopic : Py_None);
}

static int by_grade_descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

enum { LEVELS = 16 };

/* Sort in descending order. Nearly all grades are small integers, for which counting is enough. */
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

/* The grades of each query in descending order, as the bytes of float64. */
static PyObject *Judgments_ideal(Judgments *self, PyObject *unused) {
    (void)unused;
    PyObject *bytes = to_bytes(self->grades, self->starts[self->n]);
    if (!bytes) return NULL;
    double *grades = (double *)(void *)PyBytes_AS_STRING(bytes);
    for (size_t q = 0; q < self->n; q++)
        sort_grades(grades + self->starts[q], self->starts[q + 1] - self->starts[q]);
    return bytes;
}

static void copy_query(const Judgments *self, Judgments *copy, size_t from, size_t to) {
    size_t start = self->starts[from], n = self->starts[from + 1] - start, at = copy->starts[to];
    copy->queries[to] = self->queries[from];
    memcpy(copy->docs + at, self->docs + start, n * sizeof(Id));
    memcpy(copy->grades + at, self->grades + start, n * sizeof(double));
    if (self->lines) memcpy(copy->lines + at, self->lines + start, n * sizeof(int64_t));
    copy->starts[to + 1] = at + n;
}

/* The same judgments with the queries in another order, a list of their numbers. */
static PyObject *Judgments_arranged(Judgments *self, PyObject *order) {
    if (!PyList_Check(order) || (size_t)PyList_GET_SIZE(order) != self->n) {
        PyErr_SetString(PyExc_ValueError, "expected a list with the number of every query");
        return NULL;
    }
    PyTypeObject *type = Py_TYPE(self);
    Judgments *copy = (Judgments *)type->tp_alloc(type, 0);
    if (!copy) return NULL;
    size_t docs = self->starts[self->n];
    if (allocate(copy, self->n, docs)) goto failed;
    if (self->lines && !(copy->lines = PyMem_Calloc(docs + 1, sizeof(int64_t)))) {
        PyErr_NoMemory();
        goto failed;
    }
    for (size_t to = 0; to < self->n; to++) {
        size_t from = PyLong_AsSize_t(PyList_GET_ITEM(order, (Py_ssize_t)to));
        if (from >= self->n || copy->starts[to] + (self->starts[from + 1] - self->starts[from]) > docs) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "expected the number of every query once");
            goto failed;
        }
        copy_query(self, copy, from, to);
    }
    copy->text = Py_NewRef(self->text);
    copy->subtopic = Py_XNewRef(self->subtopic);
    if (index_queries(copy)) goto failed;
    return (PyObject *)copy;
failed:
    Py_DECREF(copy);
    return NULL;
}

static Py_ssize_t Judgments_length(Judgments *self) { return (Py_ssize_t)self->starts[self->n]; }

static PyMethodDef Judgments_methods[] = {
    {"queries", (PyCFunction)Judgments_queries, METH_NOARGS, "The queries, as strings."},
    {"docs", (PyCFunction)Judgments_docs, METH_NOARGS, "The judged documents of all queries, as strings."},
    {"columns", (PyCFunction)Judgments_columns, METH_NOARGS, "(starts, grades, lines, subtopic)"},
    {"ideal", (PyCFunction)Judgments_ideal, METH_NOARGS, "The grades of each query in descending order."},
    {"arranged", (PyCFunction)Judgments_arranged, METH_O, "The same judgments with the queries in another order."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot Judgments_slots[] = {
    {Py_tp_doc, "The judged documents of each query with their grades."},
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
