/* Reads the lines of a TREC run or of TREC qrels. A line that is not plain is IRREGULAR and left to Python. */
#ifndef CRANFIELD_LINES_H
#define CRANFIELD_LINES_H

#include <Python.h>
#include <math.h>

#include "numbers.h"
#include "scan.h"

/* A SKIPPED_LINE is blank or a comment. */
typedef enum { LINE, SKIPPED_LINE, END_OF_TEXT, IRREGULAR } LineKind;

typedef struct {
    const char *at, *end;  /* the text not yet read */
    const char *line;      /* start of the current line */
    int64_t number;        /* of the current line, from 1 */
    PyThreadState *thread; /* to take the GIL again, which is released while reading */
    const char *prefix;    /* query and second column of the previous line, with the white space after them */
    size_t prefix_size, query_size;
    const char *tail; /* what followed the score in the previous line, including the line end */
    size_t tail_size;
} Reader;

typedef struct {
    const char *query, *second, *doc;
    size_t query_size, second_size, doc_size;
    double value;
} Fields;

static inline const char *skip_gap(const char *p, const char *end) {
    while (p < end && is_gap((unsigned char)*p)) p++;
    return p;
}

enum { LONGEST_NUMBER = 10000 };

/* Let Python parse a number: it rounds correctly in any locale. */
static int parse_hard_number(Reader *reader, const char *p, const char *end, double *value) {
    char token[LONGEST_NUMBER + 1];
    if (end - p > LONGEST_NUMBER) return 0;
    memcpy(token, p, (size_t)(end - p));
    token[end - p] = 0;
    PyEval_RestoreThread(reader->thread);
    *value = PyOS_string_to_double(token, NULL, NULL);
    int wrong = PyErr_Occurred() != NULL || !isfinite(*value);
    PyErr_Clear();
    reader->thread = PyEval_SaveThread();
    return !wrong;
}

static inline int read_number(Reader *reader, const char **at, double *value) {
    const char *start = *at;
    NumberKind kind = parse_number(at, reader->end, value);
    if (LIKELY(kind == NUMBER_OK)) return 1;
    return kind == NUMBER_HARD && parse_hard_number(reader, start, *at, value);
}

static inline LineKind skip_line(Reader *reader) {
    const char *end = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));
    reader->at = end ? end + 1 : reader->end;
    return SKIPPED_LINE;
}

/* Read the query and the second column. Most lines repeat those of the previous line, which one comparison shows. */
static inline LineKind read_prefix(Reader *reader, Fields *fields, const char **rest) {
    const char *p = reader->at, *end = reader->end;
    if (p == end) return END_OF_TEXT;
    reader->line = p;
    reader->number++;
    size_t size = reader->prefix_size;
    if (size && (size_t)(end - p) > size && same_bytes(p, reader->prefix, size) && !is_space((unsigned char)p[size])) {
        fields->query = p;
        fields->query_size = reader->query_size;
        *rest = p + size;
        return LINE;
    }
    p = skip_gap(p, end);
    if (p == end || *p == '\n' || *p == '#') return skip_line(reader);
    fields->query = p;
    p = token_end(p, end);
    fields->query_size = (size_t)(p - fields->query);
    fields->second = p = skip_gap(p, end);
    p = token_end(p, end);
    fields->second_size = (size_t)(p - fields->second);
    *rest = p = skip_gap(p, end);
    if (p == end || *p == '\n') return IRREGULAR;
    int at_line_start = fields->query == reader->line;
    reader->prefix = reader->line;
    reader->prefix_size = at_line_start ? (size_t)(p - reader->line) : 0;
    reader->query_size = fields->query_size;
    return LINE;
}

/* Skip an integer; NULL if there is none. Ranks are checked and not used. */
static inline const char *skip_rank(const char *p, const char *end) {
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *digits = p;
    while (p < end && is_digit((unsigned char)*p)) p++;
    return p > digits && p - digits <= 18 && p < end && is_gap((unsigned char)*p) ? p : NULL;
}

/* Move to the next line, if nothing but white space is left of this one. */
static inline LineKind finish_line(Reader *reader, const char *p) {
    p = skip_gap(p, reader->end);
    if (p < reader->end && *p != '\n') return IRREGULAR;
    reader->at = p < reader->end ? p + 1 : p;
    return LINE;
}

/* query Q0 doc rank score tag */
static inline LineKind read_run_line(Reader *reader, Fields *fields) {
    const char *p, *end = reader->end;
    LineKind kind = read_prefix(reader, fields, &p);
    if (UNLIKELY(kind != LINE)) return kind;
    fields->doc = p;
    p = token_end(p, end);
    fields->doc_size = (size_t)(p - fields->doc);
    p = skip_rank(skip_gap(p, end), end);
    if (!p) return IRREGULAR;
    p = skip_gap(p, end);
    if (p == end || *p == '\n' || !read_number(reader, &p, &fields->value)) return IRREGULAR;
    size_t size = reader->tail_size;
    if (size && (size_t)(end - p) >= size && same_bytes(p, reader->tail, size)) {
        reader->at = p + size;
        return LINE;
    }
    const char *tail = p;
    p = skip_gap(p, end);
    if (p == end || *p == '\n') return IRREGULAR;
    kind = finish_line(reader, token_end(p, end));
    reader->tail = tail;
    reader->tail_size = kind == LINE && reader->at[-1] == '\n' ? (size_t)(reader->at - tail) : 0;
    return kind;
}

/* query subtopic doc grade */
static inline LineKind read_qrels_line(Reader *reader, Fields *fields) {
    const char *p, *end = reader->end;
    LineKind kind = read_prefix(reader, fields, &p);
    if (kind != LINE) return kind;
    fields->doc = p;
    p = token_end(p, end);
    fields->doc_size = (size_t)(p - fields->doc);
    p = skip_gap(p, end);
    if (p == end || *p == '\n' || !read_number(reader, &p, &fields->value)) return IRREGULAR;
    return finish_line(reader, p);
}

#endif
