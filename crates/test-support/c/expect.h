/* Expectations of the programs that call every function of a library. Before this is included, MESSAGE is the function that says what a status means. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdio.h>
#include <stdlib.h>

#define IS(expected, call)                                                                          \
    do {                                                                                            \
        int got_ = (call);                                                                          \
        if (got_ != (expected)) {                                                                   \
            fprintf(stderr, "line %d: %s is %d (%s), expected %s\n", __LINE__, #call, got_, MESSAGE(got_), #expected); \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)
#define OK(call) IS(0, call)
#define HOLDS(condition) IS(1, !!(condition))

#endif
