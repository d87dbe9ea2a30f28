/* From scores to ranks: the order of the rows of one query, and their groups of equal scores. */
#ifndef CRANFIELD_RANKING_H
#define CRANFIELD_RANKING_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"

typedef enum { TIES_DOC_DESCENDING, TIES_DOC_ASCENDING, TIES_INPUT, TIES_BEST, TIES_WORST } Ties;

/* A retrieved document: its id in a text, or as a Python string. */
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
} Place;

/* The rows of one query and everything that is found out about them. Buffers only grow. */
typedef struct {
    Row *rows;
    size_t n, room;
    Place *places, *scratch; /* in rank order, once `rank_rows` needed to sort */
    size_t places_room;
    int64_t *judged; /* for each row, 1 + its place among the judged documents; 0 if not judged */
    size_t judged_room;
    uint32_t *table; /* from the hash of an id to 1 + row */
    size_t table_room;
    const double *grades; /* of the judged documents */
    CompareDocs compare;
    Ties ties;
    int single;        /* scores count as float32 */
    int falls, strict; /* whether scores never rise, and always fall, in the order given */
    int sorted;        /* whether `places` is in use */
    int64_t tied, single_tied;
} Rows;

static void free_rows(Rows *r) {
    free(r->rows);
    free(r->places);
    free(r->scratch);
    free(r->judged);
    free(r->table);
}

static inline double as_key(const Rows *r, double score) { return r->single ? (double)(float)score : score; }

/* Room for `n` things of a size; 0 where there is no memory. */
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
    r->falls = r->strict = 1;
}

static inline int add_row(Rows *r, const void *doc, size_t size, uint64_t hash, double score) {
    if (UNLIKELY(r->n == r->room) && !make_room((void **)&r->rows, &r->room, r->n + 1, sizeof(Row))) return 0;
    if (r->n) {
        double before = r->rows[r->n - 1].score;
        r->strict &= before > score;
        r->falls &= before >= score;
    }
    r->rows[r->n++] = (Row){doc, size, hash, score};
    return 1;
}

static inline double grade_of(const Rows *r, size_t row) {
    int64_t judged = r->judged[row];
    return judged ? r->grades[judged - 1] : -HUGE_VAL; /* what is not judged counts as the worst */
}

/* Whether a stands before b among equal scores. */
static int stands_before(const Rows *r, const Place *a, const Place *b) {
    if (r->ties == TIES_BEST || r->ties == TIES_WORST) {
        double x = grade_of(r, a->row), y = grade_of(r, b->row);
        if (x != y) return r->ties == TIES_BEST ? x > y : x < y;
    }
    if (r->ties == TIES_INPUT) return a->row < b->row;
    int order = r->compare(&r->rows[a->row], &r->rows[b->row]);
    return r->ties == TIES_DOC_ASCENDING ? order < 0 : order > 0;
}

static int scores_higher(const Rows *r, const Place *a, const Place *b) {
    (void)r;
    return a->score > b->score;
}

/* A stable sort by merging; `before` is known where it is called, so that it can be inlined. */
static inline void merge_sort(const Rows *r, Place *places, Place *scratch, size_t n,
                              int (*before)(const Rows *, const Place *, const Place *)) {
    for (size_t start = 0; start < n; start += 8) {
        size_t stop = start + 8 < n ? start + 8 : n;
        for (size_t i = start + 1; i < stop; i++) {
            Place moving = places[i];
            size_t j = i;
            for (; j > start && before(r, &moving, &places[j - 1]); j--) places[j] = places[j - 1];
            places[j] = moving;
        }
    }
    Place *from = places, *to = scratch;
    for (size_t width = 8; width < n; width *= 2) {
        for (size_t start = 0; start < n; start += 2 * width) {
            size_t i = start, middle = start + width < n ? start + width : n;
            size_t j = middle, stop = start + 2 * width < n ? start + 2 * width : n;
            for (size_t k = start; k < stop; k++)
                to[k] = i < middle && (j == stop || !before(r, &from[j], &from[i])) ? from[i++] : from[j++];
        }
        Place *swap = from;
        from = to;
        to = swap;
    }
    if (from != places) memcpy(places, from, n * sizeof(Place));
}

/* How many rows share their score with another, as doubles or as floats. */
static void count_tied(Rows *r, int single, int64_t *tied) {
    size_t start = 0;
    *tied = 0;
    for (size_t i = 1; i <= r->n; i++) {
        double a = r->sorted ? r->places[start].score : r->rows[start].score;
        double b = i == r->n ? 0 : r->sorted ? r->places[i].score : r->rows[i].score;
        if (i < r->n && (single ? (float)a == (float)b : a == b)) continue;
        if (i - start > 1) *tied += (int64_t)(i - start);
        start = i;
    }
}

/* Whether all scores differ as floats, which is nearly always so and quickly seen. */
static int floats_differ(const Rows *r) {
    int same = 0;
    for (size_t i = 1; i < r->n; i++) same |= (float)r->rows[i - 1].score == (float)r->rows[i].score;
    return !same;
}

/* Put the rows in rank order; `judged` must be known for ties best and worst. 0 where there is no memory. */
static int rank_rows(Rows *r) {
    r->sorted = 0;
    r->tied = r->single_tied = 0;
    if (r->strict && floats_differ(r)) return 1;
    if (r->n > r->places_room) {
        size_t room = r->places_room;
        if (!make_room((void **)&r->places, &room, r->n, sizeof(Place))) return 0;
        if (!make_room((void **)&r->scratch, &r->places_room, r->n, sizeof(Place))) return 0;
    }
    for (size_t i = 0; i < r->n; i++) r->places[i] = (Place){r->rows[i].score, i};
    r->sorted = 1;
    if (!r->falls) merge_sort(r, r->places, r->scratch, r->n, scores_higher);
    int64_t doubles, floats;
    count_tied(r, 0, &doubles);
    count_tied(r, 1, &floats);
    r->tied = r->single ? floats : doubles;
    r->single_tied = floats - doubles;
    for (size_t start = 0, i = 1; i <= r->n; i++) {
        if (i < r->n && as_key(r, r->places[start].score) == as_key(r, r->places[i].score)) continue;
        if (i - start > 1) merge_sort(r, r->places + start, r->scratch, i - start, stands_before);
        start = i;
    }
    return 1;
}

static inline size_t row_at(const Rows *r, size_t place) { return r->sorted ? r->places[place].row : place; }

static inline double key_at(const Rows *r, size_t place) {
    return as_key(r, r->sorted ? r->places[place].score : r->rows[place].score);
}

#endif
