/* Ranks the rows of one query by score, breaks ties and counts tied documents. */
#ifndef CRANFIELD_RANKING_H
#define CRANFIELD_RANKING_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

typedef enum { TIES_DOC_DESCENDING, TIES_DOC_ASCENDING, TIES_INPUT, TIES_BEST, TIES_WORST } Ties;

/* A retrieved document. Its id points into a text or is a Python string (then without size and hash). */
typedef struct {
    const void *doc;
    size_t size;
    uint64_t hash;
    double score;
} Row;

typedef int (*CompareDocs)(const Row *, const Row *);

typedef struct {
    double score;
    size_t row;
} RankedRow;

/* The rows of one query, with their ranking and judgments. Buffers are reused from query to query. */
typedef struct {
    Row *rows;
    size_t n, room;
    RankedRow *ranked, *scratch; /* in rank order, if `sorted` */
    size_t ranked_room;
    int64_t *judged; /* for each row 1 + its index among the query's judged documents, or 0 if not judged */
    size_t judged_room;
    uint32_t *table; /* hash table: 1 + row for each id */
    size_t table_room;
    const double *grades; /* of the judged documents */
    CompareDocs compare;
    Ties ties;
    int single;                          /* compare scores as float32 */
    int descending, strictly_descending; /* the order of scores in the input */
    int sorted;                          /* whether `ranked` is used; otherwise the rows are in rank order */
    int64_t tied, single_tied;
} Rows;

static void free_rows(Rows *r) {
    free(r->rows);
    free(r->ranked);
    free(r->scratch);
    free(r->judged);
    free(r->table);
}

static inline double score_key(const Rows *r, double score) { return r->single ? (double)(float)score : score; }

/* Make room for n items of a size in a buffer. Returns 0 if memory runs out. */
static int make_room(void **buffer, size_t *room, size_t n, size_t size) {
    if (n <= *room) return 1;
    size_t wanted = *room ? *room : 1024;
    while (wanted < n) {
        if (wanted > SIZE_MAX / 2 / size) return 0;
        wanted *= 2;
    }
    void *bigger = realloc(*buffer, wanted * size);
    if (!bigger) return 0;
    *buffer = bigger;
    *room = wanted;
    return 1;
}

static inline void start_rows(Rows *r) {
    r->n = 0;
    r->descending = r->strictly_descending = 1;
}

static inline int add_row(Rows *r, const void *doc, size_t size, uint64_t hash, double score) {
    if (UNLIKELY(r->n == r->room) && !make_room((void **)&r->rows, &r->room, r->n + 1, sizeof(Row))) return 0;
    if (r->n) {
        double before = r->rows[r->n - 1].score;
        r->strictly_descending &= before > score;
        r->descending &= before >= score;
    }
    r->rows[r->n++] = (Row){doc, size, hash, score};
    return 1;
}

static inline double grade_of(const Rows *r, size_t row) {
    int64_t judged = r->judged[row];
    return judged ? r->grades[judged - 1] : -HUGE_VAL; /* unjudged documents rank below all judged ones */
}

/* Whether a ranks before b, given equal scores. */
static int precedes_tied(const Rows *r, const RankedRow *a, const RankedRow *b) {
    if (r->ties == TIES_BEST || r->ties == TIES_WORST) {
        double x = grade_of(r, a->row), y = grade_of(r, b->row);
        if (x != y) return r->ties == TIES_BEST ? x > y : x < y;
    }
    if (r->ties == TIES_INPUT) return a->row < b->row;
    int order = r->compare(&r->rows[a->row], &r->rows[b->row]);
    return r->ties == TIES_DOC_ASCENDING ? order < 0 : order > 0;
}

static int scores_higher(const Rows *r, const RankedRow *a, const RankedRow *b) {
    (void)r;
    return a->score > b->score;
}

/* A stable merge sort. It is inlined with `before`, which is a constant at each call. */
static inline void merge_sort(const Rows *r, RankedRow *ranked, RankedRow *scratch, size_t n,
                              int (*before)(const Rows *, const RankedRow *, const RankedRow *)) {
    for (size_t start = 0; start < n; start += 8) {
        size_t stop = start + 8 < n ? start + 8 : n;
        for (size_t i = start + 1; i < stop; i++) {
            RankedRow moving = ranked[i];
            size_t j = i;
            for (; j > start && before(r, &moving, &ranked[j - 1]); j--) ranked[j] = ranked[j - 1];
            ranked[j] = moving;
        }
    }
    RankedRow *from = ranked, *to = scratch;
    for (size_t width = 8; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t i = start, middle = start + width < n ? start + width : n;
            size_t j = middle, stop = start + 2 * width < n ? start + 2 * width : n;
            for (size_t k = start; k < stop; k++)
                to[k] = i < middle && (j == stop || !before(r, &from[j], &from[i])) ? from[i++] : from[j++];
        }
        RankedRow *swap = from;
        from = to;
        to = swap;
    }
    if (from != ranked) memcpy(ranked, from, n * sizeof(RankedRow));
}

/* Count the rows that share their score with another, as doubles or as floats. */
static void count_tied(Rows *r, int single, int64_t *tied) {
    size_t start = 0;
    *tied = 0;
    for (size_t i = 1; i <= r->n; i++) {
        double a = r->sorted ? r->ranked[start].score : r->rows[start].score;
        double b = i == r->n ? 0 : r->sorted ? r->ranked[i].score : r->rows[i].score;
        if (i < r->n && (single ? (float)a == (float)b : a == b)) continue;
        if (i - start > 1) *tied += (int64_t)(i - start);
        start = i;
    }
}

/* Whether consecutive scores differ as floats: nearly always true and quickly checked. */
static int have_distinct_floats(const Rows *r) {
    int same = 0;
    for (size_t i = 1; i < r->n; i++) same |= (float)r->rows[i - 1].score == (float)r->rows[i].score;
    return !same;
}

/* Rank the rows. TIES_BEST and TIES_WORST need `judged`. Returns 0 if memory runs out. */
static int rank_rows(Rows *r) {
    r->sorted = 0;
    r->tied = r->single_tied = 0;
    if (r->strictly_descending && have_distinct_floats(r)) return 1;
    if (r->n > r->ranked_room) {
        size_t room = r->ranked_room;
        if (!make_room((void **)&r->ranked, &room, r->n, sizeof(RankedRow))) return 0;
        if (!make_room((void **)&r->scratch, &r->ranked_room, r->n, sizeof(RankedRow))) return 0;
    }
    for (size_t i = 0; i < r->n; i++) r->ranked[i] = (RankedRow){r->rows[i].score, i};
    r->sorted = 1;
    if (!r->descending) merge_sort(r, r->ranked, r->scratch, r->n, scores_higher);
    int64_t doubles, floats;
    count_tied(r, 0, &doubles);
    count_tied(r, 1, &floats);
    r->tied = r->single ? floats : doubles;
    r->single_tied = floats - doubles;
    for (size_t start = 0, i = 1; i <= r->n; i++) {
        if (i < r->n && score_key(r, r->ranked[start].score) == score_key(r, r->ranked[i].score)) continue;
        if (i - start > 1) merge_sort(r, r->ranked + start, r->scratch, i - start, precedes_tied);
        start = i;
    }
    return 1;
}

static inline size_t row_at(const Rows *r, size_t place) { return r->sorted ? r->ranked[place].row : place; }

static inline double key_at(const Rows *r, size_t place) {
    return score_key(r, r->sorted ? r->ranked[place].score : r->rows[place].score);
}

#endif
