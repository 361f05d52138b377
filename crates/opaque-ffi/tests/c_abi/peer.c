/* A client or a server that speaks with whoever started it: a command a line, bytes in hexadecimal digits, "-" for none. tests/peer says what they are. */
#include <candor_opaque.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 14, WORDS = 6 };

typedef struct {
    uint8_t bytes[MOST];
    size_t length;
    int none;
} word;

static word words[WORDS];
static char line[2 * MOST * 2];

static int digit(char c) {
    const char *digits = "0123456789abcdef", *found = c == '\0' ? NULL : strchr(digits, c);
    if (found == NULL) exit(2);
    return (int)(found - digits);
}

static void decode(const char *text, word *to) {
    to->none = strcmp(text, "-") == 0;
    to->length = to->none ? 0 : strlen(text) / 2;
    if (to->length > MOST) exit(2);
    for (size_t at = 0; at < to->length; at++) to->bytes[at] = (uint8_t)(digit(text[2 * at]) << 4 | digit(text[2 * at + 1]));
}

/* Reads a command; its words are in `words`. Returns its name, or NULL at the end. */
static const char *command(void) {
    if (fgets(line, sizeof line, stdin) == NULL) return NULL;
    char *name = strtok(line, " \n");
    for (int at = 0; at < WORDS; at++) {
        char *next = strtok(NULL, " \n");
        decode(next == NULL ? "-" : next, &words[at]);
    }
    return name;
}

static void say(candor_opaque_handle object, uint32_t part) {
    static uint8_t bytes[MOST];
    size_t length;
    int status = candor_opaque_bytes(object, part, bytes, sizeof bytes, &length);
    if (status == CANDOR_OPAQUE_PART) {
        printf(" -");
        return;
    }
    if (status != CANDOR_OPAQUE_OK) exit(3);
    printf(" ");
    for (size_t at = 0; at < length; at++) printf("%02x", bytes[at]);
}

/* Ends an answer: the status first, then the parts that `say` has printed. */
static int answered(int status, candor_opaque_handle object, const uint32_t *parts, size_t count) {
    if (status == CANDOR_OPAQUE_OK) printf("ok");
    else printf("refused %s", candor_opaque_message(status));
    for (size_t at = 0; status == CANDOR_OPAQUE_OK && at < count; at++) say(object, parts[at]);
    printf("\n");
    fflush(stdout);
    return status;
}
#define ANSWERED(status, object, ...) \
    answered(status, object, (uint32_t[]){__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* Context and identities of a command, from this word on. */
static candor_opaque_parties parties(int from) {
    static word kept[3];
    memcpy(kept, words + from, sizeof kept);
    candor_opaque_parties made = {
        kept[0].bytes, kept[0].length,
        kept[1].none ? NULL : kept[1].bytes, kept[1].length,
        kept[2].none ? NULL : kept[2].bytes, kept[2].length,
    };
    return made;
}

static int client(uint32_t suite, const char *kem_key) {
    const candor_opaque_limits anything = {.most_work = UINT64_MAX, .most_memory_kib = UINT32_MAX, .identity = 1};
    candor_opaque_handle client, state = 0, done;
    candor_opaque_parties agreed = {0};
    decode(kem_key, &words[0]);
    if (candor_opaque_client_new(suite, words[0].bytes, words[0].length, &anything, &client) != CANDOR_OPAQUE_OK) return 4;
    for (const char *name; (name = command()) != NULL;) {
        int begins = strcmp(name, "register") == 0 || strcmp(name, "login") == 0;
        if (begins) {
            candor_opaque_free(state);
            agreed = parties(1);
            int status = (name[0] == 'r' ? candor_opaque_client_start_registration : candor_opaque_client_start_login)(
                client, CANDOR_OPAQUE_PASSWORD_BYTES, words[0].bytes, words[0].length, &state);
            ANSWERED(status, state, CANDOR_OPAQUE_PART_MESSAGE);
            continue;
        }
        int registers = strcmp(name, "response") == 0;
        if (!registers && strcmp(name, "ke2") != 0) return 5;
        int status = (registers ? candor_opaque_client_finish_registration : candor_opaque_client_finish_login)(
            state, words[0].bytes, words[0].length, words[1].bytes, words[1].length, &agreed, &done);
        ANSWERED(status, done, CANDOR_OPAQUE_PART_MESSAGE, CANDOR_OPAQUE_PART_EXPORT_KEY, CANDOR_OPAQUE_PART_SERVER_PUBLIC_KEY,
                 CANDOR_OPAQUE_PART_SESSION_KEY);
        candor_opaque_free(done);
    }
    candor_opaque_free(state);
    return candor_opaque_free(client);
}

static int server(uint32_t suite) {
    static uint8_t record[1024];
    size_t record_length = 0;
    candor_opaque_handle server = 0, state = 0, done;
    for (const char *name; (name = command()) != NULL;) {
        if (strcmp(name, "setup") == 0) {
            int status = candor_opaque_server_generate(suite, words[0].bytes, words[0].length, &server);
            ANSWERED(status, server, CANDOR_OPAQUE_PART_SERVER_PUBLIC_KEY, CANDOR_OPAQUE_PART_SERVER_KEM_KEY);
        } else if (strcmp(name, "request") == 0 || strcmp(name, "ke1") == 0) {
            candor_opaque_free(state);
            candor_opaque_parties agreed = parties(1);
            int status = name[0] == 'r'
                             ? candor_opaque_server_start_registration(server, words[0].bytes, words[0].length, &state)
                             : candor_opaque_server_start_login(server, words[0].bytes, words[0].length, (const uint8_t *)"alice", 5,
                                                                record_length == 0 ? NULL : record, record_length, &agreed, &state);
            ANSWERED(status, state, CANDOR_OPAQUE_PART_MESSAGE, CANDOR_OPAQUE_PART_KSF);
        } else if (strcmp(name, "upload") == 0) {
            int status = candor_opaque_server_finish_registration(state, words[0].bytes, words[0].length, &done);
            if (status == CANDOR_OPAQUE_OK) status = candor_opaque_bytes(done, CANDOR_OPAQUE_PART_RECORD, record, sizeof record, &record_length);
            ANSWERED(status, done, CANDOR_OPAQUE_PART_SESSION_KEY);
            candor_opaque_free(done);
        } else if (strcmp(name, "ke3") == 0) {
            int status = candor_opaque_server_finish_login(state, words[0].bytes, words[0].length, record_length == 0 ? NULL : record,
                                                           record_length, &done);
            ANSWERED(status, done, CANDOR_OPAQUE_PART_SESSION_KEY);
            candor_opaque_free(done);
        } else {
            return 5;
        }
    }
    candor_opaque_free(state);
    return candor_opaque_free(server);
}

int main(int count, char **arguments) {
    if (count != 4) return 1;
    uint32_t suite = (uint32_t)atoi(arguments[2]);
    return strcmp(arguments[1], "client") == 0 ? client(suite, arguments[3]) : server(suite);
}
