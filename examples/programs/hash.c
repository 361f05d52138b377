/* OpenSSL's hash functions as a subject of candor, without a library for JSON: candor writes its lines without spaces and its keys in this order.
 *
 *   cc -O2 -o hash-c examples/programs/hash.c -lcrypto
 *   candor run hash/sha256/1k hash/sm3/64k --peer-program ./hash-c
 */
#define _GNU_SOURCE
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TASKS[][2] = {
    {"hash/sha256/", "SHA2-256"}, {"hash/sha384/", "SHA2-384"}, {"hash/sha512/", "SHA2-512"},
    {"hash/sha3-256/", "SHA3-256"}, {"hash/sha3-512/", "SHA3-512"}, {"hash/sm3/", "SM3"},
};

static EVP_MD *md;
static unsigned char *message;
static size_t length;

static unsigned digest(unsigned char out[EVP_MAX_MD_SIZE]) {
    unsigned written = 0;
    if (EVP_Digest(message, length, out, &written, md, NULL) != 1) exit(1);
    return written;
}

/* The hash function of a task. */
static EVP_MD *of_task(const char *task) {
    for (size_t i = 0; i < sizeof TASKS / sizeof *TASKS; i++)
        if (strncmp(task, TASKS[i][0], strlen(TASKS[i][0])) == 0) return EVP_MD_fetch(NULL, TASKS[i][1], NULL);
    return NULL;
}

/* Reads hexadecimal digits up to the closing quotation mark. */
static void read_message(const char *digits) {
    length = strcspn(digits, "\"") / 2;
    free(message);
    message = malloc(length + 1);
    if (message == NULL) exit(1);
    for (size_t i = 0; i < length; i++) {
        char pair[3] = {digits[2 * i], digits[2 * i + 1], 0};
        message[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
}

int main(void) {
    char *line = NULL;
    size_t room = 0;
    unsigned char out[EVP_MAX_MD_SIZE];
    setvbuf(stdout, NULL, _IOFBF, 4096);
    while (getline(&line, &room, stdin) > 0) {
        const char *task = strstr(line, "\"task\":\"");
        const char *digits = strstr(line, "{\"inputs\":{\"message\":\"");
        unsigned long long iterations;
        if (sscanf(line, "{\"run\":%llu}", &iterations) == 1) {
            for (unsigned long long i = 0; i < iterations; i++) digest(out);
            printf("{\"ran\":%llu}\n", iterations);
        } else if (digits != NULL) {
            read_message(digits + strlen("{\"inputs\":{\"message\":\""));
            unsigned written = digest(out);
            printf("{\"answers\":{\"answer\":\"");
            for (unsigned i = 0; i < written; i++) printf("%02x", out[i]);
            printf("\"}}\n");
        } else if (task != NULL && (md = of_task(task + strlen("\"task\":\""))) != NULL) {
            printf("{\"protocol\":1,\"name\":\"openssl\",\"version\":\"%s\",\"timed\":\"hashes one message that is already in memory, from start to digest, "
                   "in one call of EVP_Digest; the call allocates its context\"}\n",
                   OpenSSL_version(OPENSSL_VERSION_STRING));
        } else {
            printf("{\"refused\":\"does hash functions of one message only\"}\n");
        }
        fflush(stdout);
    }
    return 0;
}
