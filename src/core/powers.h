/* The leading 128 bits of 5^q. They are computed exactly when the module is imported, in some 40 microseconds. */
#ifndef CRANFIELD_POWERS_H
#define CRANFIELD_POWERS_H

#include <stdint.h>

#define FIRST_POWER (-342)
#define LAST_POWER 308

/* high word and low word of each power */
static uint64_t powers_of_five[LAST_POWER - FIRST_POWER + 1][2];

/* An integer of 1024 bits, lowest word first: enough for 2^128 * 5^309 and for 2^1023. */
enum { WIDE = 32 };

static void multiply_by_five(uint32_t wide[WIDE]) {
    uint64_t carry = 0;
    for (int i = 0; i < WIDE; i++) {
        carry += (uint64_t)wide[i] * 5;
        wide[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

/* Rounds down. Repeated divisions give the same as one division by a power of five. */
static void divide_by_five(uint32_t wide[WIDE]) {
    uint64_t rest = 0;
    for (int i = WIDE - 1; i >= 0; i--) {
        rest = rest << 32 | wide[i];
        wide[i] = (uint32_t)(rest / 5);
        rest %= 5;
    }
}

/* The leading 128 bits of a number of at least 129 bits. */
static void take_leading_bits(const uint32_t wide[WIDE], uint64_t bits[2]) {
    int top = WIDE - 1, zeros = 0;
    while (!wide[top]) top--;
    while (!(wide[top] << zeros >> 31)) zeros++;
    for (int i = 0; i < 2; i++, top -= 2) {
        uint64_t word = (uint64_t)wide[top] << 32 | wide[top - 1];
        bits[i] = zeros ? word << zeros | wide[top - 2] >> (32 - zeros) : word;
    }
}

/* Rounded down, except that 5^-27 to 5^-1 are rounded up, as Eisel and Lemire's algorithm expects. */
static void compute_powers_of_five(void) {
    uint32_t wide[WIDE] = {[4] = 1};
    for (int q = 0; q <= LAST_POWER; q++, multiply_by_five(wide))
        take_leading_bits(wide, powers_of_five[q - FIRST_POWER]);
    for (int i = 0; i < WIDE; i++) wide[i] = 0;
    wide[WIDE - 1] = (uint32_t)1 << 31;
    for (int q = -1; q >= FIRST_POWER; q--) {
        divide_by_five(wide);
        take_leading_bits(wide, powers_of_five[q - FIRST_POWER]);
        if (q >= -27) powers_of_five[q - FIRST_POWER][1]++; /* none of them overflows */
    }
}

#endif
