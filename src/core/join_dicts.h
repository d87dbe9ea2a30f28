/* The join of a run given as Python dictionaries. */
#ifndef CRANFIELD_JOIN_DICTS_H
#define CRANFIELD_JOIN_DICTS_H

#include "join.h"

static int compare_strings(const Row *a, const Row *b) {
    /* code points are in the order of their UTF-8 bytes; there are no surrogates here */
    return PyUnicode_Compare((PyObject *)a->doc, (PyObject *)b->doc);
}

/* Whether a dictionary key is a plain id: a string, not empty, on one line, without surrogates, which stand for other
   bytes. */
static int is_plain_id(PyObject *id) {
    if (!PyUnicode_CheckExact(id) || PyUnicode_GET_LENGTH(id) == 0) return 0;
    if (LIKELY(PyUnicode_KIND(id) == PyUnicode_1BYTE_KIND))
        return !has_line_end(PyUnicode_DATA(id), (size_t)PyUnicode_GET_LENGTH(id));
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(id); i++) {
        Py_UCS4 c = PyUnicode_READ_CHAR(id, i);
        if (c == '\n' || c == '\r' || (c >= 0xd800 && c <= 0xdfff)) return 0;
    }
    return 1;
}

/* Whether a value has a NumPy type. A heap type with such a name is another class, which may run any code. */
static int is_numpy_number(PyObject *value) {
    static const char *names[] = {"numpy.float64", "numpy.float32", "numpy.float16", "numpy.int64", "numpy.int32"};
    if (PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(Py_TYPE(value)->tp_name, names[i])) return 1;
    return 0;
}

static int convert_score(PyObject *value, double *score) {
    if (LIKELY(PyFloat_CheckExact(value))) {
        *score = PyFloat_AS_DOUBLE(value);
    } else if (PyLong_CheckExact(value) || is_numpy_number(value)) {
        *score = PyFloat_AsDouble(value);
        if (*score == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    } else {
        return 0;
    }
    return isfinite(*score);
}

/* Collect the rows of a dictionary, and whether all ids are ASCII. */
static Outcome collect_rows(Rows *r, PyObject *docs, int *ascii) {
    PyObject *doc, *value;
    Py_ssize_t at = 0;
    double score;
    start_rows(r);
    *ascii = 1;
    while (PyDict_Next(docs, &at, &doc, &value)) {
        if (!is_plain_id(doc) || !convert_score(value, &score)) return NOT_PLAIN;
        if (!add_row(r, doc, 0, 0, score)) return NO_MEMORY;
        *ascii &= PyUnicode_IS_ASCII(doc);
    }
    return DONE;
}

/* Replace the strings of ids by their bytes, given that all are ASCII. */
static void use_bytes(Rows *r) {
    for (size_t i = 0; i < r->n; i++) {
        PyObject *doc = (PyObject *)r->rows[i].doc;
        const char *bytes = PyUnicode_DATA(doc);
        size_t size = (size_t)PyUnicode_GET_LENGTH(doc);
        r->rows[i].doc = bytes;
        r->rows[i].size = size;
        r->rows[i].hash = hash_bytes(bytes, size);
    }
}

/* The index of a score in rank order, the first of equal ones. */
static size_t first_place(const Rows *r, double key) {
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key_at(r, middle) > key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Index the rows by the hash of their strings. */
static Outcome index_strings(Rows *r, size_t room) {
    if (!make_room((void **)&r->table, &r->table_room, room, sizeof(uint32_t))) return NO_MEMORY;
    memset(r->table, 0, room * sizeof(uint32_t));
    for (size_t i = 0; i < r->n; i++) {
        Py_hash_t hash = PyObject_Hash((PyObject *)r->rows[i].doc);
        if (hash == -1) return FAILED;
        size_t k = (size_t)hash & (room - 1);
        while (r->table[k]) k = (k + 1) & (room - 1);
        r->table[k] = (uint32_t)i + 1;
    }
    return DONE;
}

static int same_string(PyObject *a, PyObject *b) { return a == b || !PyUnicode_Compare(a, b); }

/* 1 + the row of a document with a score, or 0. Where all scores differ, the score identifies the row. */
static size_t find_string(const Rows *r, PyObject *name, double key, size_t room) {
    if (!r->tied) return row_at(r, first_place(r, key)) + 1;
    for (size_t k = (size_t)PyObject_Hash(name) & (room - 1); r->table[k]; k = (k + 1) & (room - 1))
        if (same_string((PyObject *)r->rows[r->table[k] - 1].doc, name)) return r->table[k];
    return 0;
}

/* Look up the judged documents in the dictionary. Their ranks follow from their scores. */
static Outcome find_judged_strings(Rows *r, Judgments *judgments, size_t query, PyObject *docs, size_t *found) {
    PyObject *names = get_doc_names(judgments);
    size_t start = judgments->starts[query], n = judgments->starts[query + 1] - start, room = 16;
    if (!names) return FAILED;
    while (room < 2 * r->n) room *= 2;
    Outcome outcome = r->n >= UINT32_MAX ? NOT_PLAIN : r->tied ? index_strings(r, room) : DONE;
    r->grades = judgments->grades + start;
    *found = 0;
    for (size_t i = 0; i < n && outcome == DONE; i++) {
        PyObject *name = PyList_GET_ITEM(names, (Py_ssize_t)(start + i));
        PyObject *value = PyDict_GetItemWithError(docs, name);
        double score;
        if (!value) {
            if (PyErr_Occurred()) outcome = FAILED;
            continue;
        }
        if (!convert_score(value, &score)) return NOT_PLAIN;
        size_t row = find_string(r, name, score_key(r, score), room);
        if (!row || r->judged[row - 1]) return NOT_PLAIN;
        r->judged[row - 1] = (int64_t)i + 1;
        (*found)++;
    }
    return outcome;
}

static Outcome join_strings(Rows *r, Judgments *judgments, size_t query, PyObject *docs, Hits *hits) {
    size_t found;
    if (!clear_judged(r)) return NO_MEMORY;
    Ties ties = r->ties;
    /* rank by score first, to find the judged documents; break ties by grade once their grades are known */
    if (ties == TIES_BEST || ties == TIES_WORST) r->ties = TIES_INPUT;
    int ranked = rank_rows(r);
    r->ties = ties;
    if (!ranked) return NO_MEMORY;
    Outcome outcome = find_judged_strings(r, judgments, query, docs, &found);
    if (outcome != DONE) return outcome;
    if ((ties == TIES_BEST || ties == TIES_WORST) && !rank_rows(r)) return NO_MEMORY;
    return add_group(hits, r, (int64_t)query, found) ? DONE : NO_MEMORY;
}

/* Few judged documents are looked up in the dictionary, many in an index of the rows, which is then faster. */
static Outcome join_docs(Rows *r, Judgments *judgments, size_t query, PyObject *docs, int ascii, Hits *hits) {
    size_t judged = judgments->starts[query + 1] - judgments->starts[query];
    if (!ascii || 4 * judged < r->n) return join_strings(r, judgments, query, docs, hits);
    use_bytes(r);
    r->compare = compare_text;
    Outcome outcome = join_group(r, judgments, (int64_t)query, hits);
    r->compare = compare_strings;
    return outcome;
}

static Outcome join_dicts(Judgments *judgments, PyObject *run, Rows *rows, Hits *hits, PyObject *unjudged) {
    PyObject *query, *docs;
    Py_ssize_t at = 0;
    PyObject *numbers = get_query_numbers(judgments);
    /* made before the run is read: creating objects may run finalizers, which could change it */
    if (!numbers || !get_doc_names(judgments)) return FAILED;
    while (PyDict_Next(run, &at, &query, &docs)) {
        if (!is_plain_id(query) || !PyDict_CheckExact(docs)) return NOT_PLAIN;
        int ascii;
        Outcome outcome = collect_rows(rows, docs, &ascii);
        if (outcome != DONE) return outcome;
        PyObject *number = PyDict_GetItemWithError(numbers, query);
        if (number) outcome = join_docs(rows, judgments, PyLong_AsSize_t(number), docs, ascii, hits);
        else if (PyErr_Occurred() || PyList_Append(unjudged, query)) outcome = FAILED;
        if (outcome != DONE) return outcome;
    }
    return DONE;
}

PyDoc_STRVAR(join_dict_doc, "join_dict(judgments, run, ties, single)\n--\n\n"
                            "Join {query: {doc: score}}: the hits, or None if the run is not plain.");

static PyObject *join_dict(PyObject *module, PyObject *args) {
    State *state = PyModule_GetState(module);
    Judgments *judgments;
    PyObject *run;
    int ties, single;
    if (!PyArg_ParseTuple(args, "O!O!ip", state->judgments, &judgments, &PyDict_Type, &run, &ties, &single))
        return NULL;
    if (!check_ties(ties)) return NULL;
    PyObject *unjudged = PyList_New(0);
    if (!unjudged) return NULL;
    Rows rows = {.ties = (Ties)ties, .single = single, .compare = compare_strings};
    Hits hits = {0};
    Outcome outcome = join_dicts(judgments, run, &rows, &hits, unjudged);
    PyObject *result = NULL;
    if (outcome == DONE) {
        result = make_hits_tuple(&hits, Py_NewRef(unjudged));
    } else if (outcome == NOT_PLAIN) {
        result = Py_NewRef(Py_None);
    } else if (outcome == NO_MEMORY) {
        PyErr_NoMemory();
    }
    free_rows(&rows);
    free_hits(&hits);
    Py_DECREF(unjudged);
    return result;
}

#endif
