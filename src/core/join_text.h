/* The join of a run read from text, query by query. */
#ifndef CRANFIELD_JOIN_TEXT_H
#define CRANFIELD_JOIN_TEXT_H

#include "join.h"
#include "lines.h"

typedef struct {
    Reader reader;
    Rows rows;
    Hits hits;
    Fields fields;
    const Judgments *judgments;
    const char *text;
    int at_start, at_end;
    const char *query; /* of the group being read */
    size_t query_size;
    size_t head, tail; /* the end of an incomplete first group, the start of an incomplete last one */
    size_t groups;
    Id *unjudged; /* queries without judgments */
    size_t n_unjudged, unjudged_room;
} Join;

static Outcome finish_group(Join *join) {
    uint64_t hash = hash_bytes(join->query, join->query_size);
    int64_t query = find_query(join->judgments, join->query, join->query_size, hash);
    if (query < 0) {
        if (!make_room((void **)&join->unjudged, &join->unjudged_room, join->n_unjudged + 1, sizeof(Id)))
            return NO_MEMORY;
        join->unjudged[join->n_unjudged++] = (Id){join->query, join->query_size, hash};
    }
    return join_group(&join->rows, join->judgments, query, &join->hits);
}

/* Start a group at a line with another query. The group before it is complete, unless it began before this text. */
static Outcome start_group(Join *join) {
    size_t here = (size_t)(join->reader.line - join->text);
    Outcome outcome = DONE;
    if (join->groups == 1 && !join->at_start) join->head = here;
    else if (join->groups) outcome = finish_group(join);
    join->groups++;
    join->query = join->fields.query;
    join->query_size = join->fields.query_size;
    join->tail = here;
    start_rows(&join->rows);
    return outcome;
}

static Outcome join_text(Join *join) {
    LineKind kind;
    start_rows(&join->rows);
    while ((kind = read_run_line(&join->reader, &join->fields)) != END_OF_TEXT) {
        if (UNLIKELY(kind == IRREGULAR)) return NOT_PLAIN;
        if (UNLIKELY(kind == SKIPPED_LINE)) continue;
        const Fields *f = &join->fields;
        if (UNLIKELY(f->query_size != join->query_size || !same_bytes(f->query, join->query, f->query_size))) {
            Outcome outcome = start_group(join);
            if (outcome != DONE) return outcome;
        }
        if (!add_row(&join->rows, f->doc, f->doc_size, hash_bytes(f->doc, f->doc_size), f->value)) return NO_MEMORY;
    }
    size_t size = (size_t)(join->reader.end - join->text);
    if (join->groups <= 1 && !join->at_start) join->head = join->tail = size;
    else if (!join->at_end) return DONE;
    if (join->at_end) {
        join->tail = size;
        if (join->groups > (join->at_start ? 0 : 1)) return finish_group(join);
    }
    return DONE;
}

static PyObject *make_join_result(Join *join, Outcome outcome) {
    if (outcome == NO_MEMORY) return PyErr_NoMemory();
    if (outcome == FAILED) return NULL;
    if (outcome == NOT_PLAIN) Py_RETURN_NONE;
    PyObject *hits = make_hits_tuple(&join->hits, make_id_list(join->unjudged, join->n_unjudged));
    return hits ? Py_BuildValue("nnN", (Py_ssize_t)join->head, (Py_ssize_t)join->tail, hits) : NULL;
}

PyDoc_STRVAR(join_lines_doc,
             "join_lines(judgments, text, size, ties, single, at_start, at_end)\n--\n\n"
             "Join the run in the first `size` bytes of a text: (head, tail, hits), or None if it is not plain.\n\n"
             "Without at_start the first query may have begun before the text, and without at_end the last one may\n"
             "continue after it: their lines, text[:head] and text[tail:], are left to the caller.");

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
    } else if (check_ties(ties)) {
        Join join = {.judgments = judgments, .text = text.buf, .at_start = at_start, .at_end = at_end, .query = ""};
        join.query_size = SIZE_MAX; /* of no query */
        join.reader.at = text.buf;
        join.reader.end = join.reader.at + size;
        join.rows.ties = (Ties)ties;
        join.rows.single = single;
        join.rows.compare = compare_text;
        join.reader.thread = PyEval_SaveThread();
        Outcome outcome = join_text(&join);
        PyEval_RestoreThread(join.reader.thread);
        result = make_join_result(&join, outcome);
        free_rows(&join.rows);
        free_hits(&join.hits);
        free(join.unjudged);
    }
    PyBuffer_Release(&text);
    return result;
}

#endif
