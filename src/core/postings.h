/* Searches an inverted index: adds up the weights of the postings of a query's terms for each document, and keeps the
   best documents. Weights are added in the order of the query's terms, as a plain loop does, so that a score does not
   depend on the other queries. */
#ifndef CRANFIELD_POSTINGS_H
#define CRANFIELD_POSTINGS_H

#include <Python.h>
#include <math.h>
#include <stdint.h>

#include "ranking.h"
#include "sums.h"

/* Documents scored at a time. Their scores stay in the CPU's cache, however large the collection is. */
#define SPAN 8192

typedef struct {
    double score;
    int64_t doc;
} Scored;

/* The remaining postings of a term, and the term's weight in the query. */
typedef struct {
    int64_t at, end;
    double weight;
} Cursor;

typedef struct {
    Py_buffer starts, docs, weights; /* the postings of term t are starts[t] to starts[t + 1] */
    Py_buffer query_starts, query_terms, query_weights;
    Py_buffer bonus, sizes; /* a score added to each document, and its factor for each query */
    Py_buffer result_starts, result_docs, result_scores, result_counts;
    int has_bonus;
    int64_t n_docs;
} Search;

typedef struct {
    double scores[SPAN];        /* of the documents of a span; 0 for those without postings so far */
    uint16_t touched[SPAN + 1]; /* the documents with postings */
    Cursor *cursors;
    size_t cursors_room;
    Scored *best;    /* the best documents so far, and candidates added since they were selected */
    Scored *scratch; /* to sort them */
    size_t best_room, scratch_room;
    size_t n, room, depth;
    double threshold; /* lower scores cannot be among the best */
    uint32_t rng;
} Accumulators;

/* Whether a ranks before b: by score, then by position in the collection. Without a branch, which would be mispredicted
   half of the time. */
static inline int ranks_before(Scored a, Scored b) {
    return (a.score > b.score) | ((a.score == b.score) & (a.doc < b.doc));
}

/* A random index below n. It affects the time that sorting takes, and nothing else. */
static inline size_t random_index(uint32_t *rng, size_t n) {
    *rng = *rng * 1664525u + 1013904223u;
    return (size_t)(((uint64_t)*rng * n) >> 32);
}

static size_t median_of_three(const Scored *a, size_t n, uint32_t *rng) {
    size_t x = random_index(rng, n), y = random_index(rng, n), z = random_index(rng, n);
    int xy = ranks_before(a[x], a[y]), yz = ranks_before(a[y], a[z]), xz = ranks_before(a[x], a[z]);
    return xy == yz ? y : xy == xz ? z : x;
}

/* Partition around a pivot: what ranks before it, the pivot, what ranks after it. Returns the index of the pivot. */
static size_t partition(Scored *a, size_t n, Scored *scratch, uint32_t *rng) {
    size_t at = median_of_three(a, n, rng), before = 0;
    Scored pivot = a[at];
    a[at] = a[n - 1];
    for (size_t i = 0; i < n - 1; i++) {
        Scored one = a[i];
        a[before] = one;
        scratch[i - before] = one;
        before += (size_t)ranks_before(one, pivot);
    }
    a[before] = pivot;
    memcpy(a + before + 1, scratch, (n - 1 - before) * sizeof(Scored));
    return before;
}

/* Move the best `depth` to the front, in any order. */
static void select_best(Scored *a, size_t n, size_t depth, Scored *scratch, uint32_t *rng) {
    size_t from = 0, to = n;
    while (to - from > 1) {
        size_t at = from + partition(a + from, to - from, scratch, rng);
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

static void sort_scored(Scored *a, size_t n, Scored *scratch, uint32_t *rng) {
    while (n > 12) {
        size_t at = partition(a, n, scratch, rng), after = n - at - 1;
        if (at < after) {
            sort_scored(a, at, scratch, rng);
            a += at + 1;
            n = after;
        } else {
            sort_scored(a + at + 1, after, scratch, rng);
            n = at;
        }
    }
    sort_few(a, n);
}

static void keep_best(Accumulators *acc) {
    select_best(acc->best, acc->n, acc->depth, acc->scratch, &acc->rng);
    acc->n = acc->depth;
    acc->threshold = acc->best[0].score;
    for (size_t i = 1; i < acc->n; i++)
        if (acc->best[i].score < acc->threshold) acc->threshold = acc->best[i].score;
}

/* Add a document if it may be among the best. When the buffer is full, only the best are kept, and the lowest of their
   scores becomes the threshold. */
static inline void add_candidate(Accumulators *acc, Scored one) {
    if (one.score < acc->threshold) return;
    acc->best[acc->n++] = one;
    if (acc->n == acc->room) keep_best(acc);
}

/* The first document with remaining postings, or -1. */
static int64_t next_doc(const Cursor *cursors, size_t terms, const int32_t *docs) {
    int64_t first = -1;
    for (size_t t = 0; t < terms; t++) {
        if (cursors[t].at == cursors[t].end) continue;
        int32_t doc = docs[cursors[t].at];
        if (first < 0 || doc < first) first = doc;
    }
    return first;
}

/* Add the postings of a term in the span that starts at document `first`. Returns the number of touched documents. */
static size_t add_term(Accumulators *acc, Cursor *cursor, const int32_t *docs, const double *weights, uint32_t first,
                       uint32_t span, size_t touched) {
    int64_t at = cursor->at;
    for (; at < cursor->end; at++) {
        uint32_t place = (uint32_t)docs[at] - first;
        if (place >= span) break;
        double before = acc->scores[place];
        double sum = before + cursor->weight * weights[at];
        uint64_t bits;
        memcpy(&bits, &before, sizeof bits);
        acc->touched[touched] = (uint16_t)place;
        touched += bits == 0;
        /* a sum of 0 is stored as -0, which adds up the same and differs from no posting */
        acc->scores[place] = sum == 0 ? -0.0 : sum;
    }
    cursor->at = at;
    return touched;
}

/* Score all documents for a query. Returns 0 if the postings are not in order. */
static int score_query(Search *s, Accumulators *acc, size_t terms, double size) {
    const int32_t *docs = s->docs.buf;
    const double *weights = s->weights.buf, *bonus = s->has_bonus ? s->bonus.buf : NULL;
    int64_t first, done = 0;
    while ((first = next_doc(acc->cursors, terms, docs)) >= done) {
        if (first >= s->n_docs) return 0;
        uint32_t span = s->n_docs - first < SPAN ? (uint32_t)(s->n_docs - first) : SPAN;
        size_t touched = 0;
        for (size_t t = 0; t < terms; t++)
            touched = add_term(acc, &acc->cursors[t], docs, weights, (uint32_t)first, span, touched);
        for (size_t i = 0; i < touched; i++) {
            size_t place = acc->touched[i];
            Scored one = {acc->scores[place], first + (int64_t)place};
            acc->scores[place] = 0;
            if (one.score == 0) continue; /* the same as without postings */
            if (bonus) one.score += size * bonus[one.doc];
            add_candidate(acc, one);
        }
        done = first + span;
    }
    for (size_t t = 0; t < terms; t++)
        if (acc->cursors[t].at != acc->cursors[t].end) return 0;
    return 1;
}

/* Find the postings of a query's terms. Returns 0 if memory runs out, -1 if the arrays do not fit together. */
static int open_cursors(Search *s, Accumulators *acc, int64_t from, int64_t to) {
    const int64_t *starts = s->starts.buf, *terms = s->query_terms.buf;
    const double *weights = s->query_weights.buf;
    int64_t n_terms = s->starts.len / 8 - 1, postings = s->docs.len / 4;
    if (!make_room((void **)&acc->cursors, &acc->cursors_room, (size_t)(to - from), sizeof(Cursor))) return 0;
    for (int64_t i = from; i < to; i++) {
        int64_t term = terms[i];
        if (term < 0 || term >= n_terms) return -1;
        Cursor cursor = {starts[term], starts[term + 1], weights[i]};
        if (cursor.at < 0 || cursor.at > cursor.end || cursor.end > postings) return -1;
        acc->cursors[i - from] = cursor;
    }
    return 1;
}

/* Write the best documents of a query. Returns 0 if memory runs out, -1 if the arrays do not fit together. Each value
   that is checked is read only once, as another thread may change the array. */
static int search_query(Search *s, Accumulators *acc, Py_ssize_t q) {
    const int64_t *query_starts = s->query_starts.buf, *result_starts = s->result_starts.buf;
    int64_t from = query_starts[q], to = query_starts[q + 1], first = result_starts[q], last = result_starts[q + 1];
    if (from < 0 || from > to || to > s->query_terms.len / 8) return -1;
    if (first < 0 || first > last || last > s->result_docs.len / 8) return -1;
    int opened = open_cursors(s, acc, from, to);
    if (opened < 1) return opened;
    acc->n = 0;
    acc->depth = (size_t)(last - first);
    if (!acc->depth) {
        ((int64_t *)s->result_counts.buf)[q] = 0;
        return 1;
    }
    acc->room = 2 * acc->depth + 64;
    acc->threshold = -INFINITY;
    if (!make_room((void **)&acc->best, &acc->best_room, acc->room, sizeof(Scored)) ||
        !make_room((void **)&acc->scratch, &acc->scratch_room, acc->room, sizeof(Scored)))
        return 0;
    double size = s->has_bonus ? ((const double *)s->sizes.buf)[q] : 0;
    if (!score_query(s, acc, (size_t)(to - from), size)) return -1;
    if (acc->n > acc->depth) keep_best(acc);
    sort_scored(acc->best, acc->n, acc->scratch, &acc->rng);
    int64_t *docs = s->result_docs.buf;
    double *scores = s->result_scores.buf;
    for (size_t i = 0; i < acc->n; i++) {
        docs[first + (int64_t)i] = acc->best[i].doc;
        scores[first + (int64_t)i] = acc->best[i].score;
    }
    ((int64_t *)s->result_counts.buf)[q] = (int64_t)acc->n;
    return 1;
}

/* Whether the sizes of all arrays fit together. Their values are checked when they are used. */
static int check_search(const Search *s) {
    const Py_buffer *words[] = {&s->starts,        &s->weights,       &s->query_starts,
                                &s->query_terms,   &s->query_weights, &s->result_starts,
                                &s->result_docs,   &s->result_scores, &s->result_counts};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!has_items(words[i], 8)) return 0;
    Py_ssize_t queries = s->result_counts.len / 8;
    if (s->has_bonus && !(has_items(&s->bonus, 8) && s->bonus.len / 8 == s->n_docs && has_items(&s->sizes, 8) &&
                          s->sizes.len / 8 == queries))
        return 0;
    return has_items(&s->docs, 4) && s->starts.len >= 8 && s->docs.len / 4 == s->weights.len / 8 &&
           s->query_starts.len / 8 == queries + 1 && s->result_starts.len / 8 == queries + 1 &&
           s->query_terms.len == s->query_weights.len && s->result_docs.len == s->result_scores.len && s->n_docs >= 0 &&
           s->n_docs <= INT32_MAX;
}

static int search_all(Search *s) {
    Accumulators *acc = calloc(1, sizeof(Accumulators));
    int outcome = acc != NULL;
    for (Py_ssize_t q = 0; outcome == 1 && q < s->result_counts.len / 8; q++) outcome = search_query(s, acc, q);
    if (acc) {
        free(acc->cursors);
        free(acc->best);
        free(acc->scratch);
    }
    free(acc);
    return outcome;
}

static void release_search(Search *s) {
    Py_buffer *all[] = {&s->starts,        &s->docs,        &s->weights,       &s->query_starts,
                        &s->query_terms,   &s->query_weights, &s->bonus,       &s->sizes,
                        &s->result_starts, &s->result_docs, &s->result_scores, &s->result_counts};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->obj) PyBuffer_Release(all[i]);
}

PyDoc_STRVAR(search_doc,
             "search(n_docs, starts, docs, weights, query_starts, query_terms, query_weights, bonus, sizes, "
             "result_starts, result_docs, result_scores, result_counts)\n--\n\n"
             "Write the best documents of each query, their scores and their number into the last three arrays.");

static PyObject *search(PyObject *module, PyObject *args) {
    (void)module;
    Search s;
    memset(&s, 0, sizeof s);
    long long n_docs;
    if (!PyArg_ParseTuple(args, "Ly*y*y*y*y*y*z*z*y*w*w*w*", &n_docs, &s.starts, &s.docs, &s.weights, &s.query_starts,
                          &s.query_terms, &s.query_weights, &s.bonus, &s.sizes, &s.result_starts, &s.result_docs,
                          &s.result_scores, &s.result_counts))
        return NULL; /* PyArg_ParseTuple has released its buffers */
    s.n_docs = n_docs;
    s.has_bonus = s.bonus.buf != NULL;
    int outcome = check_search(&s) ? 1 : -1;
    if (outcome == 1) {
        Py_BEGIN_ALLOW_THREADS
        outcome = search_all(&s);
        Py_END_ALLOW_THREADS
    }
    release_search(&s);
    if (outcome == 0) return PyErr_NoMemory();
    if (outcome < 0) {
        PyErr_SetString(PyExc_ValueError, "the postings and queries do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
