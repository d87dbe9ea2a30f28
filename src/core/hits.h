/* The result of a join, as columns: groups (one per query) and hits (the judged documents retrieved). */
#ifndef CRANFIELD_HITS_H
#define CRANFIELD_HITS_H

#include <stdint.h>

#include "ranking.h"

typedef struct {
    int64_t *query, *retrieved, *tied, *single_tied, *starts; /* one per group, and one more in starts */
    size_t groups, groups_room;
    int64_t *rank, *doc, *first, *size; /* one per hit: first rank and size of its group of equal scores */
    double *grade;
    size_t n, room;
    int grouped; /* whether any hit shares its score with another document; otherwise first and size are not needed */
} Hits;

static void free_hits(Hits *h) {
    free(h->query);
    free(h->retrieved);
    free(h->tied);
    free(h->single_tied);
    free(h->starts);
    free(h->rank);
    free(h->doc);
    free(h->first);
    free(h->size);
    free(h->grade);
}

static int make_room_for_hits(Hits *h, size_t n) {
    if (n <= h->room) return 1;
    size_t a = h->room, b = h->room, c = h->room, d = h->room;
    return make_room((void **)&h->rank, &a, n, sizeof(int64_t)) &&
           make_room((void **)&h->doc, &b, n, sizeof(int64_t)) &&
           make_room((void **)&h->first, &c, n, sizeof(int64_t)) &&
           make_room((void **)&h->size, &d, n, sizeof(int64_t)) &&
           make_room((void **)&h->grade, &h->room, n, sizeof(double));
}

static int make_room_for_groups(Hits *h, size_t n) {
    if (n <= h->groups_room) return 1;
    size_t a = h->groups_room, b = h->groups_room, c = h->groups_room, d = h->groups_room;
    return make_room((void **)&h->query, &a, n, sizeof(int64_t)) &&
           make_room((void **)&h->retrieved, &b, n, sizeof(int64_t)) &&
           make_room((void **)&h->tied, &c, n, sizeof(int64_t)) &&
           make_room((void **)&h->single_tied, &d, n, sizeof(int64_t)) &&
           make_room((void **)&h->starts, &h->groups_room, n, sizeof(int64_t));
}

/* Add the hits of a query whose rows are ranked. Returns 0 if memory runs out. */
static int add_group(Hits *h, const Rows *r, int64_t query, size_t found) {
    if (!make_room_for_groups(h, h->groups + 2) || !make_room_for_hits(h, h->n + found)) return 0;
    size_t group = h->groups++;
    h->query[group] = query;
    h->retrieved[group] = (int64_t)r->n;
    h->tied[group] = r->tied;
    h->single_tied[group] = r->single_tied;
    h->starts[group] = (int64_t)h->n;
    h->starts[group + 1] = (int64_t)(h->n + found);
    size_t first = 0, stop = 0, end = h->n + found;
    for (size_t place = 0; h->n < end; place++) {
        int64_t judged = r->judged[row_at(r, place)];
        if (!judged) continue;
        if (!r->sorted) {
            first = place;
            stop = place + 1;
        } else if (place >= stop) {
            double key = key_at(r, place);
            for (first = place; first > 0 && key_at(r, first - 1) == key;) first--;
            for (stop = place + 1; stop < r->n && key_at(r, stop) == key;) stop++;
        }
        h->rank[h->n] = (int64_t)place + 1;
        h->doc[h->n] = judged - 1;
        h->first[h->n] = (int64_t)first + 1;
        h->size[h->n] = (int64_t)(stop - first);
        h->grouped |= stop - first > 1;
        h->grade[h->n++] = r->grades[judged - 1];
    }
    return 1;
}

#endif
