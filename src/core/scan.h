/* Bytes of a text: white space, ends of tokens, hashes of ids. Nothing here depends on Python. */
#ifndef CRANFIELD_SCAN_H
#define CRANFIELD_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define LIKELY(x) (x)
#define UNLIKELY(x) (x)
#endif

/* reading eight bytes at a time depends on their order in a word */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && (defined(__GNUC__) || defined(__clang__))
#define EIGHT_AT_ONCE 1
#else
#define EIGHT_AT_ONCE 0
#endif

/* White space as in Python's bytes.split(): space, \t \n \v \f \r. */
static inline int is_space(unsigned char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* White space within a line. */
static inline int is_gap(unsigned char c) { return c != '\n' && is_space(c); }

static inline int is_digit(unsigned char c) { return (unsigned char)(c - '0') < 10; }

static inline uint64_t eight_bytes(const char *p) {
    uint64_t word;
    memcpy(&word, p, 8);
    return word;
}

/* The first byte of p..end that is white space, or end. */
static inline const char *token_end(const char *p, const char *end) {
#if EIGHT_AT_ONCE
    while (end - p >= 8) {
        uint64_t word = eight_bytes(p);
        /* sets the high bit of each byte below 0x21: white space or another control character */
        uint64_t low = (word - 0x2121212121212121u) & ~word & 0x8080808080808080u;
        if (!low) {
            p += 8;
            continue;
        }
        p += __builtin_ctzll(low) >> 3;
        if (LIKELY(is_space((unsigned char)*p))) return p;
        p++;
    }
#endif
    while (p < end && !is_space((unsigned char)*p)) p++;
    return p;
}

static inline uint64_t mix(uint64_t h) {
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 29;
    return h;
}

static inline uint64_t up_to_eight_bytes(const char *p, size_t size) {
    uint32_t low, high;
    if (size >= 4) {
        memcpy(&low, p, 4);
        memcpy(&high, p + size - 4, 4);
        return (uint64_t)high << 32 | low;
    }
    if (!size) return 0;
    unsigned char first = (unsigned char)p[0], middle = (unsigned char)p[size / 2], last = (unsigned char)p[size - 1];
    return (uint64_t)first | (uint64_t)middle << 8 | (uint64_t)last << 16;
}

/* Differs between processes, so that nobody can craft a file in which all ids have the same hash. */
static uint64_t hash_seed;

/* Equal for equal ids within a process; nothing else is guaranteed. */
static inline uint64_t hash_bytes(const char *p, size_t size) {
    uint64_t h = hash_seed ^ (size * 0xff51afd7ed558ccdu);
    while (size > 8) {
        h = mix((h ^ eight_bytes(p)) * 0x9fb21c651e98df25u);
        p += 8;
        size -= 8;
    }
    return mix((h ^ up_to_eight_bytes(p, size)) * 0x9fb21c651e98df25u);
}

static inline int has_zero_byte(uint64_t word) {
    return ((word - 0x0101010101010101u) & ~word & 0x8080808080808080u) != 0;
}

static inline int has_line_end_byte(uint64_t word) {
    return has_zero_byte(word ^ 0x0a0a0a0a0a0a0a0au) || has_zero_byte(word ^ 0x0d0d0d0d0d0d0d0du);
}

/* Whether a text contains a line end: \n or \r. */
static inline int has_line_end(const char *p, size_t size) {
    for (; size > 8; p += 8, size -= 8)
        if (has_line_end_byte(eight_bytes(p))) return 1;
    return has_line_end_byte(up_to_eight_bytes(p, size));
}

/* Whether two texts are equal. Ids are so short that a call of memcmp would take longer than the comparison. */
static inline int same_bytes(const char *a, const char *b, size_t size) {
    for (; size > 8; a += 8, b += 8, size -= 8)
        if (eight_bytes(a) != eight_bytes(b)) return 0;
    return up_to_eight_bytes(a, size) == up_to_eight_bytes(b, size);
}

#endif
