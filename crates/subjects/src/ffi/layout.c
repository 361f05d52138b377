/* The kernel of the self-test of code layout: build.rs compiles this file three times, with the same flags and under
 * three names. Two short loops, one inside the other, so that their alignment can matter. Reads only, so that every call
 * does the same. */
#include <stddef.h>
#include <stdint.h>

#ifndef CANDOR_KERNEL
#error "build.rs names the function"
#endif

uint64_t CANDOR_KERNEL(const uint64_t *words, size_t count, uint32_t rounds);

uint64_t CANDOR_KERNEL(const uint64_t *words, size_t count, uint32_t rounds)
{
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < count; i++) {
            state = (state ^ words[i]) * UINT64_C(0xd1342543de82ef95);
            state = (state << 29) | (state >> 35);
        }
        state += round;
    }
    return state;
}
