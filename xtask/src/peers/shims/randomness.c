/* Bytes for other people's KEMs, under the names by which they ask for randomness: first those that the lab has handed over, then SplitMix64 from
 * a state, eight at a time and the rest of a word lost, as candor-peers' Stream does it. Every library is thus given the same ones. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static __thread const uint8_t *given;
static __thread size_t left;
static __thread uint64_t state;

/* `coins` must stay where they are until they are drawn. */
void candor_randomness(const uint8_t *coins, size_t length, uint64_t word) {
    given = coins;
    left = length;
    state = word;
}

static uint64_t next(void) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void draw(uint8_t *to, size_t length) {
    size_t first = length < left ? length : left;
    if (first > 0) {
        memcpy(to, given, first);
        given += first;
        left -= first;
    }
    for (size_t at = first; at < length; at += 8) {
        uint64_t word = next();
        memcpy(to + at, &word, length - at < 8 ? length - at : 8);
    }
}

/* librandombytes */
void randombytes_internal_void_voidstar_longlong(void *to, long long length) {
    draw(to, (size_t)length);
}

/* PQClean, and PQClean inside the package pqcrypto-internals */
int PQCLEAN_randombytes(uint8_t *to, size_t length) {
    draw(to, length);
    return 0;
}

int PQCRYPTO_RUST_randombytes(uint8_t *to, size_t length) {
    draw(to, length);
    return 0;
}
