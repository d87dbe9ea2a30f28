/* Searching an inverted index: the weights of the postings of a query's terms are added up document by document, and the
   best documents are kept. Weights are added in the order of the query's terms, so that a score has the bits that a plain
   loop gives, whatever else is asked. */
#ifndef CRANFIELD_POSTINGS_H
#define CRANFIELD_POSTINGS_H

#include <Python.h>
#include <math.h>
#include <stdint.h>

#include "ranking.h"
#include "sums.h"

/* Documents that are scored at a time: their scores stay in the cache, however many documents there are. */
#define SPAN 8192

typedef struct {
    double score;
    int64_t doc;
} Scored;

/* The postings of a term that are still to be added, and the term's weight in the query. */
typedef struct {
    int64_t at, end;
    double weight;
} Cursor;

typedef struct {
    Py_buffer starts, docs, weights;                 /* postings: of term t those from starts[t] to starts[t + 1] */
    Py_buffer query_starts, query_terms, query_weights;
    Py_buffer bonus, sizes;                          /* per document, and how often it counts for each query */
    Py_buffer found_starts, found_docs, found_scores, found_counts;
    int has_bonus;
    int64_t n_docs;
} Search;

typedef struct {
    double scores[SPAN];    /* of the documents of a span; 0 for those without a posting so far */
    uint16_t touched[SPAN + 1]; /* the documents that have postings */
    Cursor *cursors;
    size_t cursors_room;
    Scored *best; /* so far, and what came since they were selected */
    Scored *aside; /* room to sort them */
    size_t best_room, aside_room;
    size_t n, room, depth;
    double least; /* that a score must have to be kept */
    uint32_t chance;
} Desk;

/* Whether a ranks before b: by score, and of equal scores the first in the collection. Without a branch, which would be
   guessed wrong half of the time. */
static inline int ranks_before(Scored a, Scored b) {
    return (a.score > b.score) | ((a.score == b.score) & (a.doc < b.doc));
}

/* A place among n, by chance: it decides how long sorting takes, and nothing else. */
static inline size_t some_place(uint32_t *chance, size_t n) {
    *chance = *chance * 1664525u + 1013904223u;
    return (size_t)(((uint64_t)*chance * n) >> 32);
}

static size_t middle_of_three(const Scored *a, size_t n, uint32_t *chance) {
    size_t x = some_place(chance, n), y = some_place(chance, n), z = some_place(chance, n);
    int xy = ranks_before(a[x], a[y]), yz = ranks_before(a[y], a[z]), xz = ranks_before(a[x], a[z]);
    return xy == yz ? y : xy == xz ? z : x;
}

/* Part rows at one of them: those that rank before it, then it, then the others, which are put aside meanwhile. Where it
   is. */
static size_t part(Scored *a, size_t n, Scored *aside, uint32_t *chance) {
    size_t at = middle_of_three(a, n, chance), before = 0;
    Scored pivot = a[at];
    a[at] = a[n - 1];
    for (size_t i = 0; i < n - 1; i++) {
        Scored one = a[i];
        a[before] = one;
        aside[i - before] = one;
        before += (size_t)ranks_before(one, pivot);
    }
    a[before] = pivot;
    memcpy(a + before + 1, aside, (n - 1 - before) * sizeof(Scored));
    return before;
}

/* Bring the best to the front, in any order. */
static void select_best(Scored *a, size_t n, size_t depth, Scored *aside, uint32_t *chance) {
    size_t from = 0, to = n;
    while (to - from > 1) {
        size_t at = from + part(a + from, to - from, aside, chance);
        if (at >= depth) to = at;
        if (at < depth) from = at + 1;
    }
}

static void sort_few(Scored *a, size_t n) {
    for (size_t i = 1; i < n; i++) {
        Scored one = a[i];
        size_t k = i;
        for (; k > 0 && ranks_before(one, a[k - 1]); k--) a[k] = a[k - 1];
        a[k] = one;
    }
}

static void sort_scored(Scored *a, size_t n, Scored *aside, uint32_t *chance) {
    while (n > 12) {
        size_t at = part(a, n, aside, chance), after = n - at - 1;
        if (at < after) {
            sort_scored(a, at, aside, chance);
            a += at + 1;
            n = after;
        } else {
            sort_scored(a + at + 1, after, aside, chance);
            n = at;
        }
    }
    sort_few(a, n);
}

static void cut(Desk *desk) {
    select_best(desk->best, desk->n, desk->depth, desk->aside, &desk->chance);
    desk->n = desk->depth;
    desk->least = desk->best[0].score;
    for (size_t i = 1; i < desk->n; i++)
        if (desk->best[i].score < desk->least) desk->least = desk->best[i].score;
}

/* Keep a document if it may be among the best. When there is no more room, the best are selected, and what ranks behind
   all of them is not kept from then on. */
static inline void offer(Desk *desk, Scored one) {
    if (one.score < desk->least) return;
    desk->best[desk->n++] = one;
    if (desk->n == desk->room) cut(desk);
}

/* The first document that still has postings, or -1. */
static int64_t next_doc(const Cursor *cursors, size_t terms, const int32_t *docs) {
    int64_t first = -1;
    for (size_t t = 0; t < terms; t++) {
        if (cursors[t].at == cursors[t].end) continue;
        int32_t doc = docs[cursors[t].at];
        if (first < 0 || doc < first) first = doc;
    }
    return first;
}

/* Add the postings of a term in the span that begins with a document; how many documents have any now. */
static size_t add_term(Desk *desk, Cursor *cursor, const int32_t *docs, const double *weights, uint32_t first,
                       uint32_t span, size_t touched) {
    int64_t at = cursor->at;
    for (; at < cursor->end; at++) {
        uint32_t place = (uint32_t)docs[at] - first;
        if (place >= span) break;
        double before = desk->scores[place];
        double sum = before + cursor->weight * weights[at];
        uint64_t bits;
        memcpy(&bits, &before, sizeof bits);
        desk->touched[touched] = (uint16_t)place;
        touched += bits == 0;
        /* a sum of 0 is kept as -0, which adds up the same, and is told from no posting */
        desk->scores[place] = sum == 0 ? -0.0 : sum;
    }
    cursor->at = at;
    return touched;
}

/* 0 if the postings are not in order. */
static int score_query(Search *s, Desk *desk, size_t terms, double size) {
    const int32_t *docs = s->docs.buf;
    const double *weights = s->weights.buf, *bonus = s->has_bonus ? s->bonus.buf : NULL;
    int64_t first, done = 0;
    while ((first = next_doc(desk->cursors, terms, docs)) >= done) {
        if (first >= s->n_docs) return 0;
        uint32_t span = s->n_docs - first < SPAN ? (uint32_t)(s->n_docs - first) : SPAN;
        size_t touched = 0;
        for (size_t t = 0; t < terms; t++)
            touched = add_term(desk, &desk->cursors[t], docs, weights, (uint32_t)first, span, touched);
        for (size_t i = 0; i < touched; i++) {
            size_t place = desk->touched[i];
            Scored one = {desk->scores[place], first + (int64_t)place};
            desk->scores[place] = 0;
            if (one.score == 0) continue; /* like no posting at all */
            if (bonus) one.score += size * bonus[one.doc];
            offer(desk, one);
        }
        done = first + span;
    }
    for (size_t t = 0; t < terms; t++)
        if (desk->cursors[t].at != desk->cursors[t].end) return 0;
    return 1;
}

/* The postings of a query's terms; 0 if there is no memory, -1 if there are none such. */
static int open_cursors(Search *s, Desk *desk, int64_t from, int64_t to) {
    const int64_t *starts = s->starts.buf, *terms = s->query_terms.buf;
    const double *weights = s->query_weights.buf;
    int64_t n_terms = s->starts.len / 8 - 1, postings = s->docs.len / 4;
    if (!make_room((void **)&desk->cursors, &desk->cursors_room, (size_t)(to - from), sizeof(Cursor))) return 0;
    for (int64_t i = from; i < to; i++) {
        int64_t term = terms[i];
        if (term < 0 || term >= n_terms) return -1;
        Cursor cursor = {starts[term], starts[term + 1], weights[i]};
        if (cursor.at < 0 || cursor.at > cursor.end || cursor.end > postings) return -1;
        desk->cursors[i - from] = cursor;
    }
    return 1;
}

/* The best documents of a query, into their place; 0 if there is no memory, -1 if the arrays do not fit together. What
   is read from an array is read once, as another thread may change it. */
static int search_query(Search *s, Desk *desk, Py_ssize_t q) {
    const int64_t *query_starts = s->query_starts.buf, *found_starts = s->found_starts.buf;
    int64_t from = query_starts[q], to = query_starts[q + 1], first = found_starts[q], last = found_starts[q + 1];
    if (from < 0 || from > to || to > s->query_terms.len / 8) return -1;
    if (first < 0 || first > last || last > s->found_docs.len / 8) return -1;
    int opened = open_cursors(s, desk, from, to);
    if (opened < 1) return opened;
    desk->n = 0;
    desk->depth = (size_t)(last - first);
    if (!desk->depth) {
        ((int64_t *)s->found_counts.buf)[q] = 0;
        return 1;
    }
    desk->room = 2 * desk->depth + 64;
    desk->least = -INFINITY;
    if (!make_room((void **)&desk->best, &desk->best_room, desk->room, sizeof(Scored)) ||
        !make_room((void **)&desk->aside, &desk->aside_room, desk->room, sizeof(Scored)))
        return 0;
    double size = s->has_bonus ? ((const double *)s->sizes.buf)[q] : 0;
    if (!score_query(s, desk, (size_t)(to - from), size)) return -1;
    if (desk->n > desk->depth) cut(desk);
    sort_scored(desk->best, desk->n, desk->aside, &desk->chance);
    int64_t *docs = s->found_docs.buf;
    double *scores = s->found_scores.buf;
    for (size_t i = 0; i < desk->n; i++) {
        docs[first + (int64_t)i] = desk->best[i].doc;
        scores[first + (int64_t)i] = desk->best[i].score;
    }
    ((int64_t *)s->found_counts.buf)[q] = (int64_t)desk->n;
    return 1;
}

static int holds_halves(const Py_buffer *b) { return b->len % 4 == 0 && (uintptr_t)b->buf % 4 == 0; }

static int search_fits(const Search *s) {
    const Py_buffer *words[] = {&s->starts,       &s->weights,    &s->query_starts, &s->query_terms, &s->query_weights,
                                &s->found_starts, &s->found_docs, &s->found_scores, &s->found_counts};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!holds_words(words[i])) return 0;
    Py_ssize_t queries = s->found_counts.len / 8;
    if (s->has_bonus && !(holds_words(&s->bonus) && s->bonus.len / 8 == s->n_docs && holds_words(&s->sizes) &&
                          s->sizes.len / 8 == queries))
        return 0;
    return holds_halves(&s->docs) && s->starts.len >= 8 && s->docs.len / 4 == s->weights.len / 8 &&
           s->query_starts.len / 8 == queries + 1 && s->found_starts.len / 8 == queries + 1 &&
           s->query_terms.len == s->query_weights.len && s->found_docs.len == s->found_scores.len && s->n_docs >= 0 &&
           s->n_docs <= INT32_MAX;
}

static int search_all(Search *s) {
    Desk *desk = calloc(1, sizeof(Desk));
    int outcome = desk != NULL;
    for (Py_ssize_t q = 0; outcome == 1 && q < s->found_counts.len / 8; q++) outcome = search_query(s, desk, q);
    if (desk) {
        free(desk->cursors);
        free(desk->best);
        free(desk->aside);
    }
    free(desk);
    return outcome;
}

static void release_search(Search *s) {
    Py_buffer *all[] = {&s->starts,        &s->docs,  &s->weights, &s->query_starts, &s->query_terms,
                        &s->query_weights, &s->bonus, &s->sizes,   &s->found_starts, &s->found_docs,
                        &s->found_scores,  &s->found_counts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->obj) PyBuffer_Release(all[i]);
}

PyDoc_STRVAR(search_doc,
             "search(n_docs, starts, docs, weights, query_starts, query_terms, query_weights, bonus, sizes, "
             "found_starts, found_docs, found_scores, found_counts)\n--\n\n"
             "The best documents of each query with their scores, into the last three; as many as there is room for.");

static PyObject *search(PyObject *module, PyObject *args) {
    (void)module;
    Search s;
    memset(&s, 0, sizeof s);
    long long n_docs;
    if (!PyArg_ParseTuple(args, "Ly*y*y*y*y*y*z*z*y*w*w*w*", &n_docs, &s.starts, &s.docs, &s.weights, &s.query_starts,
                          &s.query_terms, &s.query_weights, &s.bonus, &s.sizes, &s.found_starts, &s.found_docs,
                          &s.found_scores, &s.found_counts))
        return NULL; /* what it took by then it has released */
    s.n_docs = n_docs;
    s.has_bonus = s.bonus.buf != NULL;
    int outcome = search_fits(&s) ? 1 : -1;
    if (outcome == 1) {
        Py_BEGIN_ALLOW_THREADS
        outcome = search_all(&s);
        Py_END_ALLOW_THREADS
    }
    release_search(&s);
    if (outcome == 0) return PyErr_NoMemory();
    if (outcome < 0) {
        PyErr_SetString(PyExc_ValueError, "these postings and queries do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
