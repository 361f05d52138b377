/* Loops over gf2x's inlined low-level products, compiled by `cargo xtask peers gf2x` against the tuned source, so that an
   inlined product can be measured against an inlined product. `ring` pairs of operands stand one after the other, and so do
   the products; `count` products are computed, going round. The compiler may do with the products of one ring what it likes, as it
   may with candor's: there is one barrier a ring on both sides. */

#include "gf2x.h"
#include "gf2x/gf2x-small.h"

#define LOOP(n, product)                                                                                                      \
    void candor_gf2x_inlined_rings_##n(unsigned long *c, const unsigned long *a, const unsigned long *b, unsigned long ring,  \
                                       unsigned long count)                                                                   \
    {                                                                                                                         \
        while (count) {                                                                                                       \
            unsigned long pairs = count < ring ? count : ring;                                                                \
            count -= pairs;                                                                                                   \
            for (unsigned long i = 0; i < pairs; i++) {                                                                       \
                unsigned long *to = c + 2 * n * i;                                                                            \
                const unsigned long *x = a + n * i, *y = b + n * i;                                                           \
                product;                                                                                                      \
            }                                                                                                                 \
            __asm__ volatile("" : : : "memory"); /* the products of a ring are written before the next ring begins */         \
        }                                                                                                                     \
    }

LOOP(1, gf2x_mul1(to, *x, *y))
LOOP(2, gf2x_mul2(to, x, y))
LOOP(3, gf2x_mul3(to, x, y))
LOOP(4, gf2x_mul4(to, x, y))
LOOP(5, gf2x_mul5(to, x, y))
LOOP(6, gf2x_mul6(to, x, y))
LOOP(7, gf2x_mul7(to, x, y))
LOOP(8, gf2x_mul8(to, x, y))
LOOP(9, gf2x_mul9(to, x, y))
