/* GF(2^8) with x^8 + x^4 + x^3 + x^2 + 1, in the ways that document 004 and the reference implementation reduce. Each takes a polynomial of degree
 * at most 14. */
#include <stdint.h>

/* Twice: what stands above x^8 comes back at the taps 4, 3, 2 and 0. */
__attribute__((unused)) static uint16_t by_folds(uint64_t x) {
    for (int i = 0; i < 2; i++) {
        uint64_t high = x >> 8;
        x = (x & 0xff) ^ high ^ high << 2 ^ high << 3 ^ high << 4;
    }
    return (uint16_t)x;
}

/* First what of the high part comes back into the high part, then all of it at the taps, once. The mask is not in document 004's listing. */
__attribute__((unused)) static uint16_t by_feedback(uint64_t x) {
    uint64_t high = x >> 8;
    high ^= high >> 4 ^ high >> 5 ^ high >> 6;
    return (uint16_t)((x ^ high ^ high << 2 ^ high << 3 ^ high << 4) & 0xff);
}

#ifdef __PCLMUL__
#include <wmmintrin.h>

__attribute__((unused)) static uint16_t by_clmul(uint16_t a, uint16_t b) {
    __m128i product = _mm_clmulepi64_si128(_mm_cvtsi32_si128(a), _mm_cvtsi32_si128(b), 0);
    return by_feedback((uint32_t)_mm_cvtsi128_si32(product));
}
#endif
