/* The join of one query: looks up its judged documents among the rows of the run. */
#ifndef CRANFIELD_JOIN_H
#define CRANFIELD_JOIN_H

#include "hits.h"
#include "judgments.h"
#include "ranking.h"

/* FAILED: a Python exception is set. */
typedef enum { DONE, NOT_PLAIN, NO_MEMORY, FAILED } Outcome;

/* The state of the module. */
typedef struct {
    PyTypeObject *judgments;
} State;

static int compare_text(const Row *a, const Row *b) {
    size_t shorter = a->size < b->size ? a->size : b->size;
    int order = memcmp(a->doc, b->doc, shorter);
    return order ? order : (a->size > b->size) - (a->size < b->size);
}

/* Index the rows by the hash of their ids. Returns NOT_PLAIN if a document occurs twice. */
static Outcome index_rows(Rows *r) {
    size_t room = 16;
    while (room < 2 * r->n) room *= 2;
    if (r->n >= UINT32_MAX) return NOT_PLAIN;
    if (!make_room((void **)&r->table, &r->table_room, room, sizeof(uint32_t))) return NO_MEMORY;
    memset(r->table, 0, room * sizeof(uint32_t));
    for (size_t i = 0; i < r->n; i++) {
        const Row *row = &r->rows[i];
        size_t k = row->hash & (room - 1);
        for (; r->table[k]; k = (k + 1) & (room - 1)) {
            const Row *other = &r->rows[r->table[k] - 1];
            if (UNLIKELY(other->hash == row->hash) && !compare_text(other, row)) return NOT_PLAIN;
        }
        r->table[k] = (uint32_t)i + 1;
    }
    return DONE;
}

/* 1 + the row of a document, or 0. */
static size_t find_row(const Rows *r, const Id *id, size_t mask) {
    for (size_t k = id->hash & mask; r->table[k]; k = (k + 1) & mask) {
        const Row *row = &r->rows[r->table[k] - 1];
        if (same_id(id, row->doc, row->size, row->hash)) return r->table[k];
    }
    return 0;
}

static int clear_judged(Rows *r) {
    if (!make_room((void **)&r->judged, &r->judged_room, r->n + 1, sizeof(int64_t))) return 0;
    memset(r->judged, 0, r->n * sizeof(int64_t));
    return 1;
}

/* Look up the judged documents of a query among the rows. Returns the number of hits. */
static size_t find_judged(Rows *r, const Judgments *judgments, size_t query) {
    size_t found = 0, start = judgments->starts[query], n = judgments->starts[query + 1] - start, room = 16;
    while (room < 2 * r->n) room *= 2;
    r->grades = judgments->grades + start;
    for (size_t i = 0; i < n; i++) {
        size_t row = find_row(r, &judgments->docs[start + i], room - 1);
        /* two strings may encode to the same bytes: the first counts */
        if (!row || r->judged[row - 1]) continue;
        r->judged[row - 1] = (int64_t)i + 1;
        found++;
    }
    return found;
}

/* Join the rows of a query, whose number is -1 if it has no judgments. */
static Outcome join_group(Rows *r, const Judgments *judgments, int64_t query, Hits *hits) {
    Outcome outcome = index_rows(r);
    if (outcome != DONE || query < 0) return outcome;
    if (!clear_judged(r)) return NO_MEMORY;
    size_t found = find_judged(r, judgments, (size_t)query);
    return rank_rows(r) && add_group(hits, r, query, found) ? DONE : NO_MEMORY;
}

static PyObject *make_hits_tuple(const Hits *hits, PyObject *unjudged) {
    static const int64_t none[1] = {0};
    if (!unjudged) return NULL;
    size_t groups = hits->groups, n = hits->n;
    return Py_BuildValue("NNNNNNNNNNN", to_bytes(hits->query, groups), to_bytes(hits->retrieved, groups),
                         to_bytes(hits->tied, groups), to_bytes(hits->single_tied, groups),
                         to_bytes(groups ? hits->starts : none, groups + 1), to_bytes(hits->rank, n),
                         to_bytes(hits->grade, n), to_bytes(hits->doc, n),
                         hits->grouped ? to_bytes(hits->first, n) : Py_NewRef(Py_None),
                         hits->grouped ? to_bytes(hits->size, n) : Py_NewRef(Py_None), unjudged);
}

static int check_ties(int ties) {
    if (ties >= TIES_DOC_DESCENDING && ties <= TIES_WORST) return 1;
    PyErr_SetString(PyExc_ValueError, "unknown tie rule");
    return 0;
}

#endif
