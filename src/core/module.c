/* cranfield.base._core: reads plain TREC text, joins it with judgments and ranks it.

   Every function answers None for what is not plain (a line that is not as expected, a number that is none, a document
   that occurs twice, an id that is no text): then Python reads the same input, and words the error or the note. So
   there is one place for messages, and nothing here needs to know about line numbers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>

#include "hits.h"
#include "judgments.h"
#include "lines.h"
#include "postings.h"
#include "ranking.h"
#include "scan.h"
#include "sums.h"

typedef enum { DONE, PLAIN_NO, NO_MEMORY, STOPPED } Outcome;

/* What is known of the type of Judgments, for this module. */
typedef struct {
    PyTypeObject *judgments;
} State;

static int compare_text(const Row *a, const Row *b) {
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->doc, b->doc, shorter);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

static int compare_strings(const Row *a, const Row *b) {
    /* code points are in the order of their UTF-8 bytes; there are no surrogates here */
    return PyUnicode_Compare((PyObject *)a->doc, (PyObject *)b->doc);
}

/* ---- joining one query of a text ---- */

/* All rows by the hash of their ids; PLAIN_NO if a document occurs twice. */
static Outcome index_rows(Rows *r) {
    size_t room = 16;
    while (room < 2 * r->n) room *= 2;
    if (r->n >= UINT32_MAX) return PLAIN_NO;
    if (!make_room((void **)&r->table, &r->table_room, room, sizeof(uint32_t))) return NO_MEMORY;
    memset(r->table, 0, room * sizeof(uint32_t));
    for (size_t i = 0; i < r->n; i++) {
        const Row *row = &r->rows[i];
        size_t k = row->hash & (room - 1);
        for (; r->table[k]; k = (k + 1) & (room - 1)) {
            const Row *other = &r->rows[r->table[k] - 1];
            if (UNLIKELY(other->hash == row->hash) && !compare_text(other, row)) return PLAIN_NO;
        }
        r->table[k] = (uint32_t)i + 1;
    }
    return DONE;
}

static size_t find_row(const Rows *r, const Id *id, size_t mask) {
    for (size_t k = id->hash & mask; r->table[k]; k = (k + 1) & mask) {
        const Row *row = &r->rows[r->table[k] - 1];
        if (row->hash == id->hash && row->size == id->size && same_bytes(row->doc, id->at, id->size)) return r->table[k];
    }
    return 0;
}

static int make_room_for_judged(Rows *r) {
    if (!make_room((void **)&r->judged, &r->judged_room, r->n + 1, sizeof(int64_t))) return 0;
    memset(r->judged, 0, r->n * sizeof(int64_t));
    return 1;
}

/* Look the judged documents up among the rows. */
static size_t find_judged(Rows *r, const Judgments *judgments, size_t query) {
    size_t found = 0, start = judgments->starts[query], n = judgments->starts[query + 1] - start, room = 16;
    while (room < 2 * r->n) room *= 2;
    r->grades = judgments->grades + start;
    for (size_t i = 0; i < n; i++) {
        size_t row = find_row(r, &judgments->docs[start + i], room - 1);
        /* of two spellings of the same bytes the first counts */
        if (!row || r->judged[row - 1]) continue;
        r->judged[row - 1] = (int64_t)i + 1;
        found++;
    }
    return found;
}

static Outcome join_group(Rows *r, const Judgments *judgments, int64_t query, Hits *hits) {
    Outcome outcome = index_rows(r);
    if (outcome != DONE || query < 0) return outcome;
    if (!make_room_for_judged(r)) return NO_MEMORY;
    size_t found = find_judged(r, judgments, (size_t)query);
    return rank_rows(r) && add_group(hits, r, query, found) ? DONE : NO_MEMORY;
}

/* ---- joining a text ---- */

typedef struct {
    Reader reader;
    Rows rows;
    Hits hits;
    Fields fields;
    const Judgments *judgments;
    const char *text;
    int at_start, at_end;
    const char *query; /* of the group that is being read */
    size_t query_size;
    size_t head, tail; /* where the first group ends and the last one starts */
    size_t groups;
    Id *others; /* queries without judgments */
    size_t n_others, others_room;
} Join;

static Outcome close_group(Join *join) {
    uint64_t hash = hash_of(join->query, join->query_size);
    int64_t query = find_query(join->judgments, join->query, join->query_size, hash);
    if (query < 0) {
        if (!make_room((void **)&join->others, &join->others_room, join->n_others + 1, sizeof(Id))) return NO_MEMORY;
        join->others[join->n_others++] = (Id){join->query, join->query_size, hash};
    }
    return join_group(&join->rows, join->judgments, query, &join->hits);
}

/* A line of another query: the group before it is complete, unless it began before this text. */
static Outcome change_group(Join *join) {
    size_t here = (size_t)(join->reader.line - join->text);
    Outcome outcome = DONE;
    if (join->groups == 1 && !join->at_start) join->head = here;
    else if (join->groups) outcome = close_group(join);
    join->groups++;
    join->query = join->fields.query;
    join->query_size = join->fields.query_size;
    join->tail = here;
    start_rows(&join->rows);
    return outcome;
}

static Outcome join_all(Join *join) {
    LineKind kind;
    start_rows(&join->rows);
    while ((kind = read_run_line(&join->reader, &join->fields)) != TEXT_END) {
        if (UNLIKELY(kind == IRREGULAR)) return PLAIN_NO;
        if (UNLIKELY(kind == NO_LINE)) continue;
        const Fields *f = &join->fields;
        if (UNLIKELY(f->query_size != join->query_size || !same_bytes(f->query, join->query, f->query_size))) {
            Outcome outcome = change_group(join);
            if (outcome != DONE) return outcome;
        }
        if (!add_row(&join->rows, f->doc, f->doc_size, hash_of(f->doc, f->doc_size), f->value)) return NO_MEMORY;
    }
    size_t size = (size_t)(join->reader.end - join->text);
    if (join->groups <= 1 && !join->at_start) join->head = join->tail = size;
    else if (!join->at_end) return DONE;
    if (join->at_end) {
        join->tail = size;
        if (join->groups > (join->at_start ? 0 : 1)) return close_group(join);
    }
    return DONE;
}

static PyObject *hits_as_tuple(const Hits *hits, PyObject *others) {
    static const int64_t none[1] = {0};
    if (!others) return NULL;
    size_t groups = hits->groups, n = hits->n;
    return Py_BuildValue("NNNNNNNNNNN", column(hits->query, groups), column(hits->retrieved, groups),
                         column(hits->tied, groups), column(hits->single_tied, groups),
                         column(groups ? hits->starts : none, groups + 1), column(hits->rank, n),
                         column(hits->grade, n), column(hits->doc, n),
                         hits->grouped ? column(hits->first, n) : Py_NewRef(Py_None),
                         hits->grouped ? column(hits->size, n) : Py_NewRef(Py_None), others);
}

static PyObject *ids_as_list(const Id *ids, size_t n) {
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        PyObject *id = as_text(&ids[i]);
        if (!id) Py_CLEAR(list);
        else PyList_SET_ITEM(list, (Py_ssize_t)i, id);
    }
    return list;
}

static PyObject *join_result(Join *join, Outcome outcome) {
    if (outcome == NO_MEMORY) return PyErr_NoMemory();
    if (outcome == STOPPED) return NULL;
    if (outcome == PLAIN_NO) Py_RETURN_NONE;
    PyObject *hits = hits_as_tuple(&join->hits, ids_as_list(join->others, join->n_others));
    return hits ? Py_BuildValue("nnN", (Py_ssize_t)join->head, (Py_ssize_t)join->tail, hits) : NULL;
}

static int known_ties(int ties) {
    if (ties >= TIES_DOC_DESCENDING && ties <= TIES_WORST) return 1;
    PyErr_SetString(PyExc_ValueError, "unknown rule for ties");
    return 0;
}

PyDoc_STRVAR(join_lines_doc,
             "join_lines(judgments, text, size, ties, single, at_start, at_end)\n--\n\n"
             "Join the first `size` bytes of lines of a run: (head, tail, hits), or None if they are not plain.\n\n"
             "The first query may have begun before and the last one may go on after the text, unless at_start and\n"
             "at_end say otherwise: text[:head] and text[tail:] are then left to the caller.");

static PyObject *join_lines(PyObject *module, PyObject *args) {
    State *state = PyModule_GetState(module);
    Judgments *judgments;
    Py_buffer text;
    Py_ssize_t size;
    int ties, single, at_start, at_end;
    if (!PyArg_ParseTuple(args, "O!y*nippp", state->judgments, &judgments, &text, &size, &ties, &single, &at_start,
                          &at_end))
        return NULL;
    PyObject *result = NULL;
    if (size < 0 || size > text.len) {
        PyErr_SetString(PyExc_ValueError, "size is out of range");
    } else if (known_ties(ties)) {
        Join join = {.judgments = judgments, .text = text.buf, .at_start = at_start, .at_end = at_end, .query = ""};
        join.query_size = SIZE_MAX; /* that of no query */
        join.reader.at = text.buf;
        join.reader.end = join.reader.at + size;
        join.rows.ties = (Ties)ties;
        join.rows.single = single;
        join.rows.compare = compare_text;
        join.reader.thread = PyEval_SaveThread();
        Outcome outcome = join_all(&join);
        PyEval_RestoreThread(join.reader.thread);
        result = join_result(&join, outcome);
        free_rows(&join.rows);
        free_hits(&join.hits);
        free(join.others);
    }
    PyBuffer_Release(&text);
    return result;
}

/* ---- joining dictionaries ---- */

/* Whether an id in a dictionary is plain text: not empty, on one line, and without surrogates, which stand for other
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

/* NumPy's own: not a class of the same name or one that inherits, which may run any code. */
static int is_numpy_number(PyObject *value) {
    static const char *names[] = {"numpy.float64", "numpy.float32", "numpy.float16", "numpy.int64", "numpy.int32"};
    if (PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(Py_TYPE(value)->tp_name, names[i])) return 1;
    return 0;
}

static int plain_score(PyObject *value, double *score) {
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

/* All rows of a dictionary, and whether their ids are ASCII throughout. */
static Outcome collect_rows(Rows *r, PyObject *docs, int *ascii) {
    PyObject *doc, *value;
    Py_ssize_t at = 0;
    double score;
    start_rows(r);
    *ascii = 1;
    while (PyDict_Next(docs, &at, &doc, &value)) {
        if (!is_plain_id(doc) || !plain_score(value, &score)) return PLAIN_NO;
        if (!add_row(r, doc, 0, 0, score)) return NO_MEMORY;
        *ascii &= PyUnicode_IS_ASCII(doc);
    }
    return DONE;
}

/* Take the bytes of the ids in place of the strings: ASCII is UTF-8. */
static void take_bytes(Rows *r) {
    for (size_t i = 0; i < r->n; i++) {
        PyObject *doc = (PyObject *)r->rows[i].doc;
        const char *bytes = PyUnicode_DATA(doc);
        size_t size = (size_t)PyUnicode_GET_LENGTH(doc);
        r->rows[i].doc = bytes;
        r->rows[i].size = size;
        r->rows[i].hash = hash_of(bytes, size);
    }
}

/* The place of a score in rank order, the first of those that share it. */
static size_t first_place(const Rows *r, double key) {
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key_at(r, middle) > key) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* All rows by the hash of their strings. */
static Outcome index_strings(Rows *r, size_t room) {
    if (!make_room((void **)&r->table, &r->table_room, room, sizeof(uint32_t))) return NO_MEMORY;
    memset(r->table, 0, room * sizeof(uint32_t));
    for (size_t i = 0; i < r->n; i++) {
        Py_hash_t hash = PyObject_Hash((PyObject *)r->rows[i].doc);
        if (hash == -1) return STOPPED;
        size_t k = (size_t)hash & (room - 1);
        while (r->table[k]) k = (k + 1) & (room - 1);
        r->table[k] = (uint32_t)i + 1;
    }
    return DONE;
}

static int same_string(PyObject *a, PyObject *b) { return a == b || !PyUnicode_Compare(a, b); }

/* 1 + the row of a document that has this score: told by the score where no two are equal, else by the index. */
static size_t find_string(const Rows *r, PyObject *name, double key, size_t room) {
    if (!r->tied) return row_at(r, first_place(r, key)) + 1;
    for (size_t k = (size_t)PyObject_Hash(name) & (room - 1); r->table[k]; k = (k + 1) & (room - 1))
        if (same_string((PyObject *)r->rows[r->table[k] - 1].doc, name)) return r->table[k];
    return 0;
}

/* Look the judged documents up in the dictionary; where they rank follows from their scores. */
static Outcome find_judged_strings(Rows *r, Judgments *judgments, size_t query, PyObject *docs, size_t *found) {
    PyObject *names = names_of(judgments);
    size_t start = judgments->starts[query], n = judgments->starts[query + 1] - start, room = 16;
    if (!names) return STOPPED;
    while (room < 2 * r->n) room *= 2;
    Outcome outcome = r->n >= UINT32_MAX ? PLAIN_NO : r->tied ? index_strings(r, room) : DONE;
    r->grades = judgments->grades + start;
    *found = 0;
    for (size_t i = 0; i < n && outcome == DONE; i++) {
        PyObject *name = PyList_GET_ITEM(names, (Py_ssize_t)(start + i));
        PyObject *value = PyDict_GetItemWithError(docs, name);
        double score;
        if (!value) {
            if (PyErr_Occurred()) outcome = STOPPED;
            continue;
        }
        if (!plain_score(value, &score)) return PLAIN_NO;
        size_t row = find_string(r, name, as_key(r, score), room);
        if (!row || r->judged[row - 1]) return PLAIN_NO;
        r->judged[row - 1] = (int64_t)i + 1;
        (*found)++;
    }
    return outcome;
}

static Outcome join_strings(Rows *r, Judgments *judgments, size_t query, PyObject *docs, Hits *hits) {
    size_t found;
    if (!make_room_for_judged(r)) return NO_MEMORY;
    Ties ties = r->ties;
    /* first by score alone, so that documents are found; then ties by grade, once grades are known */
    if (ties == TIES_BEST || ties == TIES_WORST) r->ties = TIES_INPUT;
    int ranked = rank_rows(r);
    r->ties = ties;
    if (!ranked) return NO_MEMORY;
    Outcome outcome = find_judged_strings(r, judgments, query, docs, &found);
    if (outcome != DONE) return outcome;
    if ((ties == TIES_BEST || ties == TIES_WORST) && !rank_rows(r)) return NO_MEMORY;
    return add_group(hits, r, (int64_t)query, found) ? DONE : NO_MEMORY;
}

/* Looking up few judged documents touches little; many are found faster as the documents of a text are. */
static Outcome join_docs(Rows *r, Judgments *judgments, size_t query, PyObject *docs, int ascii, Hits *hits) {
    size_t judged = judgments->starts[query + 1] - judgments->starts[query];
    if (!ascii || 4 * judged < r->n) return join_strings(r, judgments, query, docs, hits);
    take_bytes(r);
    r->compare = compare_text;
    Outcome outcome = join_group(r, judgments, (int64_t)query, hits);
    r->compare = compare_strings;
    return outcome;
}

static Outcome join_dicts(Judgments *judgments, PyObject *run, Rows *rows, Hits *hits, PyObject *others) {
    PyObject *query, *docs;
    Py_ssize_t at = 0;
    PyObject *numbers = numbers_of(judgments);
    /* made before the run is looked at: to make a list may run a finaliser, which may do anything */
    if (!numbers || !names_of(judgments)) return STOPPED;
    while (PyDict_Next(run, &at, &query, &docs)) {
        if (!is_plain_id(query) || !PyDict_CheckExact(docs)) return PLAIN_NO;
        int ascii;
        Outcome outcome = collect_rows(rows, docs, &ascii);
        if (outcome != DONE) return outcome;
        PyObject *number = PyDict_GetItemWithError(numbers, query);
        if (number) outcome = join_docs(rows, judgments, PyLong_AsSize_t(number), docs, ascii, hits);
        else if (PyErr_Occurred() || PyList_Append(others, query)) outcome = STOPPED;
        if (outcome != DONE) return outcome;
    }
    return DONE;
}

PyDoc_STRVAR(join_dict_doc, "join_dict(judgments, run, ties, single)\n--\n\n"
                            "Join {query: {doc: score}}: its hits, or None if it is not plain.");

static PyObject *join_dict(PyObject *module, PyObject *args) {
    State *state = PyModule_GetState(module);
    Judgments *judgments;
    PyObject *run;
    int ties, single;
    if (!PyArg_ParseTuple(args, "O!O!ip", state->judgments, &judgments, &PyDict_Type, &run, &ties, &single))
        return NULL;
    if (!known_ties(ties)) return NULL;
    PyObject *others = PyList_New(0);
    if (!others) return NULL;
    Rows rows = {.ties = (Ties)ties, .single = single, .compare = compare_strings};
    Hits hits = {0};
    Outcome outcome = join_dicts(judgments, run, &rows, &hits, others);
    PyObject *result = NULL;
    if (outcome == DONE) {
        result = hits_as_tuple(&hits, Py_NewRef(others));
    } else if (outcome == PLAIN_NO) {
        result = Py_NewRef(Py_None);
    } else if (outcome == NO_MEMORY) {
        PyErr_NoMemory();
    }
    free_rows(&rows);
    free_hits(&hits);
    Py_DECREF(others);
    return result;
}

/* ---- reading judgments ---- */

typedef struct {
    Id doc;
    double grade;
    int64_t line;
    uint32_t query;
} JudgedLine;

typedef struct {
    Reader reader;
    Fields fields;
    JudgedLine *lines;
    size_t n, room;
    Id *queries;
    size_t n_queries, queries_room;
    uint32_t *table; /* from the hash of a query to 1 + its number */
    size_t mask;
    const char *subtopic;
    size_t subtopic_size;
} JudgedText;

static int grow_table(JudgedText *t) {
    size_t room = t->mask ? 4 * (t->mask + 1) : 1024;
    uint32_t *table = calloc(room, sizeof(uint32_t));
    if (!table) return 0;
    for (size_t q = 0; q < t->n_queries; q++) {
        size_t i = t->queries[q].hash & (room - 1);
        while (table[i]) i = (i + 1) & (room - 1);
        table[i] = (uint32_t)q + 1;
    }
    free(t->table);
    t->table = table;
    t->mask = room - 1;
    return 1;
}

/* The number of the query of the line, a new one if it has not been seen; -1 where there is no memory. */
static int64_t query_number(JudgedText *t) {
    const Fields *f = &t->fields;
    uint64_t hash = hash_of(f->query, f->query_size);
    if ((!t->mask || 2 * t->n_queries > t->mask) && !grow_table(t)) return -1;
    size_t i = hash & t->mask;
    for (; t->table[i]; i = (i + 1) & t->mask)
        if (same_id(&t->queries[t->table[i] - 1], f->query, f->query_size, hash)) return t->table[i] - 1;
    if (!make_room((void **)&t->queries, &t->queries_room, t->n_queries + 1, sizeof(Id))) return -1;
    t->queries[t->n_queries] = (Id){f->query, f->query_size, hash};
    t->table[i] = (uint32_t)++t->n_queries;
    return (int64_t)t->n_queries - 1;
}

static int same_subtopic(JudgedText *t) {
    const Fields *f = &t->fields;
    if (!t->subtopic) {
        t->subtopic = f->second;
        t->subtopic_size = f->second_size;
    }
    return t->subtopic == f->second ||
           (t->subtopic_size == f->second_size && !memcmp(t->subtopic, f->second, f->second_size));
}

static size_t count_lines(const char *p, const char *end) {
    size_t n = 1;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) p++, n++;
    return n;
}

static Outcome read_all(JudgedText *t) {
    LineKind kind;
    int64_t query = -1;
    size_t most = count_lines(t->reader.at, t->reader.end);
    /* as much as there can be, so that nothing is copied on the way */
    if (!(t->lines = malloc(most * sizeof(JudgedLine)))) return NO_MEMORY;
    t->room = most;
    while ((kind = read_qrels_line(&t->reader, &t->fields)) != TEXT_END) {
        if (kind == NO_LINE) continue;
        if (kind == IRREGULAR || !same_subtopic(t) || t->n >= UINT32_MAX) return PLAIN_NO;
        const Fields *f = &t->fields;
        const Id *last = query < 0 ? NULL : &t->queries[query];
        if (!last || last->size != f->query_size || !same_bytes(last->at, f->query, f->query_size)) query = query_number(t);
        if (query < 0 || !make_room((void **)&t->lines, &t->room, t->n + 1, sizeof(JudgedLine))) return NO_MEMORY;
        Id doc = {f->doc, f->doc_size, hash_of(f->doc, f->doc_size)};
        t->lines[t->n++] = (JudgedLine){doc, f->value, t->reader.number, (uint32_t)query};
    }
    return t->n ? DONE : PLAIN_NO;
}

/* Whether a query has a document twice. */
static Outcome check_twice(const Judgments *self, size_t query, Rows *r) {
    size_t start = self->starts[query], stop = self->starts[query + 1];
    start_rows(r);
    for (size_t i = start; i < stop; i++) {
        const Id *doc = &self->docs[i];
        if (!add_row(r, doc->at, doc->size, doc->hash, 0)) return NO_MEMORY;
    }
    return index_rows(r);
}

/* The lines grouped by query, in the order of the file within each. */
static Outcome group_lines(Judgments *self, const JudgedText *t) {
    if (allocate(self, t->n_queries, t->n)) return STOPPED;
    if (!(self->lines = PyMem_Calloc(t->n + 1, sizeof(int64_t)))) return NO_MEMORY;
    memcpy(self->queries, t->queries, t->n_queries * sizeof(Id));
    for (size_t i = 0; i < t->n; i++) self->starts[t->lines[i].query + 1]++;
    for (size_t q = 0; q < self->n; q++) self->starts[q + 1] += self->starts[q];
    size_t *next = PyMem_Calloc(self->n + 1, sizeof(size_t));
    if (!next) return NO_MEMORY;
    memcpy(next, self->starts, self->n * sizeof(size_t));
    for (size_t i = 0; i < t->n; i++) {
        size_t at = next[t->lines[i].query]++;
        self->docs[at] = t->lines[i].doc;
        self->grades[at] = t->lines[i].grade;
        self->lines[at] = t->lines[i].line;
    }
    PyMem_Free(next);
    Rows rows = {0};
    Outcome outcome = DONE;
    for (size_t q = 0; q < self->n && outcome == DONE; q++) outcome = check_twice(self, q, &rows);
    free_rows(&rows);
    return outcome;
}

PyDoc_STRVAR(read_judgments_doc, "read_judgments(text)\n--\n\n"
                                 "The judgments in lines of `query subtopic doc grade`, or None if they are not plain.");

static PyObject *read_judgments(PyObject *module, PyObject *text) {
    State *state = PyModule_GetState(module);
    if (!PyBytes_CheckExact(text)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    JudgedText judged = {0};
    judged.reader.at = PyBytes_AS_STRING(text);
    judged.reader.end = judged.reader.at + PyBytes_GET_SIZE(text);
    judged.reader.thread = PyEval_SaveThread();
    Outcome outcome = read_all(&judged);
    PyEval_RestoreThread(judged.reader.thread);
    PyObject *result = NULL;
    Judgments *self = outcome == DONE ? (Judgments *)state->judgments->tp_alloc(state->judgments, 0) : NULL;
    if (self) {
        self->text = Py_NewRef(text);
        outcome = group_lines(self, &judged);
        if (outcome == DONE) {
            Id subtopic = {judged.subtopic, judged.subtopic_size, 0};
            self->subtopic = as_text(&subtopic);
            if (self->subtopic && !index_queries(self)) result = Py_NewRef((PyObject *)self);
        }
        Py_DECREF(self);
    }
    if (outcome == PLAIN_NO) result = Py_NewRef(Py_None);
    if (outcome == NO_MEMORY) PyErr_NoMemory();
    free(judged.lines);
    free(judged.queries);
    free(judged.table);
    return result;
}

/* ---- bringing the lines of a query together ---- */

typedef struct {
    const char *at;
    size_t size;
    uint32_t query;
} Line;

typedef struct {
    JudgedText known; /* for the numbers of queries */
    Line *lines;
    size_t n, room;
    size_t *starts;
} Gathering;

/* All lines with a query, and how many bytes those of each query have. */
static Outcome find_lines(Gathering *g, const char *p, const char *end) {
    Fields *fields = &g->known.fields;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop + 1 : end;
        const char *query = skip_gap(p, stop);
        if (query < stop && *query != '\n' && *query != '#') {
            fields->query = query;
            fields->query_size = (size_t)(token_end(query, stop) - query);
            int64_t number = query_number(&g->known);
            if (number < 0 || !make_room((void **)&g->lines, &g->room, g->n + 1, sizeof(Line))) return NO_MEMORY;
            if (number >= UINT32_MAX) return PLAIN_NO;
            g->lines[g->n++] = (Line){p, (size_t)(stop - p), (uint32_t)number};
        }
        p = stop;
    }
    return DONE;
}

/* The lines, query after query; each with a line end, which the last one of the text may lack. */
static void copy_lines(Gathering *g, char *to) {
    size_t at = 0;
    for (size_t q = 0; q < g->known.n_queries; q++) {
        size_t size = g->starts[q];
        g->starts[q] = at;
        at += size;
    }
    for (size_t i = 0; i < g->n; i++) {
        const Line *line = &g->lines[i];
        char *place = to + g->starts[line->query];
        int ended = line->at[line->size - 1] == '\n';
        memcpy(place, line->at, line->size);
        if (!ended) place[line->size] = '\n';
        g->starts[line->query] += line->size + !ended;
    }
}

static PyObject *gathered(Gathering *g) {
    size_t size = 0;
    g->starts = calloc(g->known.n_queries + 1, sizeof(size_t));
    if (!g->starts) return PyErr_NoMemory();
    for (size_t i = 0; i < g->n; i++) {
        const Line *line = &g->lines[i];
        size_t with_end = line->size + (line->at[line->size - 1] != '\n');
        g->starts[line->query] += with_end;
        size += with_end;
    }
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (result) {
        PyThreadState *thread = PyEval_SaveThread();
        copy_lines(g, PyBytes_AS_STRING(result));
        PyEval_RestoreThread(thread);
    }
    return result;
}

PyDoc_STRVAR(gather_queries_doc, "gather_queries(text)\n--\n\n"
                                 "The same lines with those of each query together, in their order, less comments.");

static PyObject *gather_queries(PyObject *module, PyObject *text) {
    (void)module;
    if (!PyBytes_CheckExact(text)) { /* which nobody can change meanwhile */
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    const char *start = PyBytes_AS_STRING(text);
    Gathering g = {0};
    PyThreadState *thread = PyEval_SaveThread();
    Outcome outcome = find_lines(&g, start, start + PyBytes_GET_SIZE(text));
    PyEval_RestoreThread(thread);
    PyObject *result = NULL;
    if (outcome == DONE) result = gathered(&g);
    else if (outcome == NO_MEMORY) PyErr_NoMemory();
    else result = Py_NewRef(Py_None);
    free(g.lines);
    free(g.starts);
    free(g.known.queries);
    free(g.known.table);
    return result;
}

/* ---- the module ---- */

static PyMethodDef methods[] = {
    {"join_lines", join_lines, METH_VARARGS, join_lines_doc},
    {"join_dict", join_dict, METH_VARARGS, join_dict_doc},
    {"read_judgments", read_judgments, METH_O, read_judgments_doc},
    {"gather_queries", gather_queries, METH_O, gather_queries_doc},
    {"sums", sums, METH_VARARGS, sums_doc},
    {"quotients", quotients, METH_VARARGS, quotients_doc},
    {"running", running, METH_VARARGS, running_doc},
    {"shares", shares, METH_VARARGS, shares_doc},
    {"search", search, METH_VARARGS, search_doc},
    {NULL, NULL, 0, NULL},
};

/* Python's own hashes of strings differ from process to process. */
static int seed_hashes(void) {
    PyObject *text = PyUnicode_FromString("cranfield.base._core");
    if (!text) return -1;
    hash_seed = (uint64_t)PyObject_Hash(text);
    Py_DECREF(text);
    return 0;
}

static int execute(PyObject *module) {
    State *state = PyModule_GetState(module);
    if (seed_hashes()) return -1;
    compute_powers_of_five();
    state->judgments = (PyTypeObject *)PyType_FromModuleAndSpec(module, &Judgments_spec, NULL);
    if (!state->judgments) return -1;
    return PyModule_AddObjectRef(module, "Judgments", (PyObject *)state->judgments);
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    State *state = PyModule_GetState(module);
    Py_VISIT(state->judgments);
    return 0;
}

static int clear(PyObject *module) {
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->judgments);
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "Reads plain TREC text, joins it with judgments and ranks it.",
    sizeof(State),         methods, slots,
    traverse,              clear,   NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&definition); }
