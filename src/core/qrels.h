/* Reads qrels, and groups the lines of a run by query. */
#ifndef CRANFIELD_QRELS_H
#define CRANFIELD_QRELS_H

#include "join.h"
#include "lines.h"

typedef struct {
    Id doc;
    double grade;
    int64_t line;
    uint32_t query;
} QrelsLine;

typedef struct {
    Reader reader;
    Fields fields;
    QrelsLine *lines;
    size_t n, room;
    Id *queries;
    size_t n_queries, queries_room;
    uint32_t *table; /* hash table: 1 + number for each query */
    size_t mask;
    const char *subtopic;
    size_t subtopic_size;
} QrelsText;

static int grow_table(QrelsText *t) {
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

/* The number of the current line's query, a new one for a new query. Returns -1 if memory runs out. */
static int64_t number_query(QrelsText *t) {
    const Fields *f = &t->fields;
    uint64_t hash = hash_bytes(f->query, f->query_size);
    if ((!t->mask || 2 * t->n_queries > t->mask) && !grow_table(t)) return -1;
    size_t i = hash & t->mask;
    for (; t->table[i]; i = (i + 1) & t->mask)
        if (same_id(&t->queries[t->table[i] - 1], f->query, f->query_size, hash)) return t->table[i] - 1;
    if (!make_room((void **)&t->queries, &t->queries_room, t->n_queries + 1, sizeof(Id))) return -1;
    t->queries[t->n_queries] = (Id){f->query, f->query_size, hash};
    t->table[i] = (uint32_t)++t->n_queries;
    return (int64_t)t->n_queries - 1;
}

static int same_subtopic(QrelsText *t) {
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

static Outcome read_qrels_text(QrelsText *t) {
    LineKind kind;
    int64_t query = -1;
    size_t most = count_lines(t->reader.at, t->reader.end);
    /* allocated for all lines at once, to avoid copying */
    if (!(t->lines = malloc(most * sizeof(QrelsLine)))) return NO_MEMORY;
    t->room = most;
    while ((kind = read_qrels_line(&t->reader, &t->fields)) != END_OF_TEXT) {
        if (kind == SKIPPED_LINE) continue;
        if (kind == IRREGULAR || !same_subtopic(t) || t->n >= UINT32_MAX) return NOT_PLAIN;
        const Fields *f = &t->fields;
        const Id *last = query < 0 ? NULL : &t->queries[query];
        if (!last || last->size != f->query_size || !same_bytes(last->at, f->query, f->query_size))
            query = number_query(t);
        if (query < 0 || !make_room((void **)&t->lines, &t->room, t->n + 1, sizeof(QrelsLine))) return NO_MEMORY;
        Id doc = {f->doc, f->doc_size, hash_bytes(f->doc, f->doc_size)};
        t->lines[t->n++] = (QrelsLine){doc, f->value, t->reader.number, (uint32_t)query};
    }
    return t->n ? DONE : NOT_PLAIN;
}

/* NOT_PLAIN if a query has a document twice. */
static Outcome check_duplicates(const Judgments *self, size_t query, Rows *r) {
    size_t start = self->starts[query], stop = self->starts[query + 1];
    start_rows(r);
    for (size_t i = start; i < stop; i++) {
        const Id *doc = &self->docs[i];
        if (!add_row(r, doc->at, doc->size, doc->hash, 0)) return NO_MEMORY;
    }
    return index_rows(r);
}

/* Group the lines by query, in file order within each. */
static Outcome group_lines(Judgments *self, const QrelsText *t) {
    if (allocate(self, t->n_queries, t->n)) return FAILED;
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
    for (size_t q = 0; q < self->n && outcome == DONE; q++) outcome = check_duplicates(self, q, &rows);
    free_rows(&rows);
    return outcome;
}

PyDoc_STRVAR(read_judgments_doc, "read_judgments(text)\n--\n\n"
                                 "Read lines of `query subtopic doc grade`: Judgments, or None if not plain.");

static PyObject *read_judgments(PyObject *module, PyObject *text) {
    State *state = PyModule_GetState(module);
    if (!PyBytes_CheckExact(text)) {
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    QrelsText qrels = {0};
    qrels.reader.at = PyBytes_AS_STRING(text);
    qrels.reader.end = qrels.reader.at + PyBytes_GET_SIZE(text);
    qrels.reader.thread = PyEval_SaveThread();
    Outcome outcome = read_qrels_text(&qrels);
    PyEval_RestoreThread(qrels.reader.thread);
    PyObject *result = NULL;
    Judgments *self = outcome == DONE ? (Judgments *)state->judgments->tp_alloc(state->judgments, 0) : NULL;
    if (self) {
        self->text = Py_NewRef(text);
        outcome = group_lines(self, &qrels);
        if (outcome == DONE) {
            Id subtopic = {qrels.subtopic, qrels.subtopic_size, 0};
            self->subtopic = decode_id(&subtopic);
            if (self->subtopic && !index_queries(self)) result = Py_NewRef((PyObject *)self);
        }
        Py_DECREF(self);
    }
    if (outcome == NOT_PLAIN) result = Py_NewRef(Py_None);
    if (outcome == NO_MEMORY) PyErr_NoMemory();
    free(qrels.lines);
    free(qrels.queries);
    free(qrels.table);
    return result;
}

/* ---- grouping the lines of a run by query ---- */

typedef struct {
    const char *at;
    size_t size;
    uint32_t query;
} Line;

typedef struct {
    QrelsText known; /* numbers the queries */
    Line *lines;
    size_t n, room;
    size_t *starts;
} QueryLines;

/* Find all lines with a query. */
static Outcome find_lines(QueryLines *g, const char *p, const char *end) {
    Fields *fields = &g->known.fields;
    while (p < end) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        stop = stop ? stop + 1 : end;
        const char *query = skip_gap(p, stop);
        if (query < stop && *query != '\n' && *query != '#') {
            fields->query = query;
            fields->query_size = (size_t)(token_end(query, stop) - query);
            int64_t number = number_query(&g->known);
            if (number < 0 || !make_room((void **)&g->lines, &g->room, g->n + 1, sizeof(Line))) return NO_MEMORY;
            if (number >= UINT32_MAX) return NOT_PLAIN;
            g->lines[g->n++] = (Line){p, (size_t)(stop - p), (uint32_t)number};
        }
        p = stop;
    }
    return DONE;
}

/* Copy the lines query by query, adding the line end that the last line may lack. */
static void copy_lines(QueryLines *g, char *to) {
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

static PyObject *copy_by_query(QueryLines *g) {
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
                                 "The lines grouped by query, in their order, without blank lines and comments.");

static PyObject *gather_queries(PyObject *module, PyObject *text) {
    (void)module;
    if (!PyBytes_CheckExact(text)) { /* bytes do not change while the GIL is released */
        PyErr_SetString(PyExc_TypeError, "expected bytes");
        return NULL;
    }
    const char *start = PyBytes_AS_STRING(text);
    QueryLines g = {0};
    PyThreadState *thread = PyEval_SaveThread();
    Outcome outcome = find_lines(&g, start, start + PyBytes_GET_SIZE(text));
    PyEval_RestoreThread(thread);
    PyObject *result = NULL;
    if (outcome == DONE) result = copy_by_query(&g);
    else if (outcome == NO_MEMORY) PyErr_NoMemory();
    else result = Py_NewRef(Py_None);
    free(g.lines);
    free(g.starts);
    free(g.known.queries);
    free(g.known.table);
    return result;
}

#endif
