/* Parses decimal numbers, correctly rounded. Rare ones that need more precision are left to the caller: NUMBER_HARD. */
#ifndef CRANFIELD_NUMBERS_H
#define CRANFIELD_NUMBERS_H

#include <float.h>
#include <stdint.h>
#include <string.h>

#include "powers.h"
#include "scan.h"

typedef enum { NUMBER_OK, NUMBER_HARD, NUMBER_INVALID } NumberKind;

static const double exact_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* digits * 10^q, rounded: Eisel and Lemire's algorithm (Lemire, "Number parsing at a gigabyte per second", 2021), for
   normal doubles only. */
static inline NumberKind round_product(uint64_t digits, int q, double *value) {
#if defined(__SIZEOF_INT128__)
    if (q < FIRST_POWER || q > LAST_POWER) return NUMBER_HARD;
    const uint64_t *power = powers_of_five[q - FIRST_POWER];
    int zeros = __builtin_clzll(digits);
    uint64_t shifted = digits << zeros;
    unsigned __int128 product = (unsigned __int128)shifted * power[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    if ((high & 0x1ff) == 0x1ff) {
        uint64_t more = (uint64_t)(((unsigned __int128)shifted * power[1]) >> 64);
        low += more;
        if (low < more) high++;
    }
    /* 128 bits may not be enough to round correctly */
    if (low == UINT64_MAX && (q < -27 || q > 55)) return NUMBER_HARD;
    int top = (int)(high >> 63);
    uint64_t mantissa = high >> (top + 9);
    /* floor(q log2 10) + 63, exact in this range, without shifting a negative number */
    int exponent = (int)((217706 * (int64_t)(q + 32768)) / 65536) - 108853 + 63 + top - zeros + 1023;
    if (exponent <= 0 || exponent >= 0x7fe) return NUMBER_HARD;
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && (mantissa << (top + 9)) == high)
        mantissa &= ~(uint64_t)1; /* halfway between two doubles: round to even */
    mantissa += mantissa & 1;
    mantissa >>= 1;
    if (mantissa >= (uint64_t)2 << 52) {
        mantissa = (uint64_t)1 << 52;
        exponent++;
    }
    uint64_t bits = (mantissa & ~((uint64_t)1 << 52)) | ((uint64_t)exponent << 52);
    memcpy(value, &bits, 8);
    return NUMBER_OK;
#else
    (void)digits, (void)q, (void)value;
    return NUMBER_HARD;
#endif
}

static const uint32_t small_tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

/* Append the decimal digits at p to a number. Returns where they end. */
static inline const char *read_digits(const char *p, const char *end, uint64_t *digits) {
#if EIGHT_AT_ONCE
    while (end - p >= 8) {
        uint64_t word = eight_bytes(p) ^ 0x3030303030303030u;
        /* sets the high bit of the first byte above 9; carries into later bytes do not matter */
        uint64_t other = ((word + 0x7676767676767676u) | word) & 0x8080808080808080u;
        int n = other ? __builtin_ctzll(other) >> 3 : 8;
        if (!n) return p;
        word <<= 64 - 8 * n; /* leading zeros */
        word = (word * 2561) >> 8 & 0x00ff00ff00ff00ffu;
        word = (word * 6553601) >> 16 & 0x0000ffff0000ffffu;
        word = (word * 42949672960001u) >> 32;
        *digits = *digits * small_tens[n] + word;
        p += n;
        if (n < 8) return p;
    }
#endif
    for (; p < end && is_digit((unsigned char)*p); p++) *digits = *digits * 10 + (uint64_t)(*p - '0');
    return p;
}

/* Parse [+-]?(digits[.digits*] | .digits)([eE][+-]?digits)? at *at, and move *at past it. */
static inline NumberKind parse_number(const char **at, const char *end, double *value) {
    const char *p = *at;
    int negative = 0, exponent = 0;
    uint64_t digits = 0;
    if (p < end && (*p == '-' || *p == '+')) negative = *p++ == '-';
    const char *start = p;
    p = read_digits(p, end, &digits);
    ptrdiff_t count = p - start, scale = 0;
    if (p < end && *p == '.') {
        const char *point = ++p;
        p = read_digits(p, end, &digits);
        scale = p - point;
        count += scale;
    }
    if (!count) return NUMBER_INVALID;
    if (p < end && (*p == 'e' || *p == 'E')) {
        int down = 0;
        if (++p < end && (*p == '-' || *p == '+')) down = *p++ == '-';
        if (p == end || !is_digit((unsigned char)*p)) return NUMBER_INVALID;
        for (; p < end && is_digit((unsigned char)*p); p++)
            if (exponent < 100000) exponent = exponent * 10 + (*p - '0');
        if (down) exponent = -exponent;
    }
    *at = p;
    if (p < end && !is_space((unsigned char)*p)) return NUMBER_INVALID;
    if (count > 19) return NUMBER_HARD; /* may not fit into 64 bits */
    if (!digits) {
        *value = negative ? -0.0 : 0.0;
        return NUMBER_OK;
    }
    exponent -= (int)scale;
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
    if (digits <= (uint64_t)1 << 53 && exponent >= -22 && exponent <= 22) {
        /* both operands are exact, so one operation rounds correctly (Clinger 1990) */
        double exact = (double)digits;
        exact = exponent < 0 ? exact / exact_tens[-exponent] : exact * exact_tens[exponent];
        *value = negative ? -exact : exact;
        return NUMBER_OK;
    }
#endif
    NumberKind kind = round_product(digits, exponent, value);
    if (kind == NUMBER_OK && negative) *value = -*value;
    return kind;
}

#endif
