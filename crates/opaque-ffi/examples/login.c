/* Registers an account and logs in, with client and server in one program. README.md says how to compile it. */
#include <candor_opaque.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status, const char *what) {
    if (status != CANDOR_OPAQUE_OK) {
        fprintf(stderr, "%s: %s\n", what, candor_opaque_message(status));
        exit(1);
    }
}

/* A part of an object, in memory that is the caller's to free. */
static uint8_t *part(candor_opaque_handle object, uint32_t number, size_t *length) {
    if (candor_opaque_bytes(object, number, NULL, 0, length) != CANDOR_OPAQUE_BUFFER) exit(1);
    uint8_t *bytes = malloc(*length);
    if (bytes == NULL) exit(1);
    must(candor_opaque_bytes(object, number, bytes, *length, length), "bytes");
    return bytes;
}

/* Wipes memory and frees it. The pointer is volatile, so that no compiler leaves the writes out because nobody reads them. */
static void wipe_and_free(uint8_t *bytes, size_t length) {
    volatile uint8_t *at = bytes;
    while (length-- > 0) *at++ = 0;
    free(bytes);
}

/* Whether two keys are equal, in a time that does not depend on where they differ, as memcmp's would. */
static int equal_keys(const uint8_t *one, const uint8_t *other, size_t length) {
    uint8_t different = 0;
    for (size_t at = 0; at < length; at++) different |= one[at] ^ other[at];
    return different == 0;
}

/* What a program has read from a keyboard: in memory that can be wiped. */
static uint8_t *typed(const char *password, size_t *length) {
    *length = strlen(password);
    uint8_t *bytes = malloc(*length);
    if (bytes == NULL) exit(1);
    memcpy(bytes, password, *length);
    return bytes;
}

/* Logs in: what a client and a server would send each other. Returns whether it succeeded. */
static int login(candor_opaque_handle client, candor_opaque_handle server, const uint8_t *record, size_t record_length,
                 const candor_opaque_parties *parties, const char *password) {
    candor_opaque_handle started, answered, done, session;
    size_t length, ksf_length, mine, theirs;
    uint8_t *secret = typed(password, &length);
    must(candor_opaque_client_start_login(client, CANDOR_OPAQUE_PASSWORD_TEXT, secret, length, &started), "start");
    wipe_and_free(secret, length); /* the object has what it needs of it */
    uint8_t *ke1 = part(started, CANDOR_OPAQUE_PART_MESSAGE, &length);
    must(candor_opaque_server_start_login(server, ke1, length, (const uint8_t *)"alice", 5, record, record_length, parties, &answered), "answer");
    uint8_t *ke2 = part(answered, CANDOR_OPAQUE_PART_MESSAGE, &length);
    uint8_t *ksf = part(answered, CANDOR_OPAQUE_PART_KSF, &ksf_length);
    int status = candor_opaque_client_finish_login(started, ke2, length, ksf, ksf_length, parties, &done);
    free(ke1);
    free(ke2);
    free(ksf);
    if (status != CANDOR_OPAQUE_OK) {
        printf("%s\n", candor_opaque_message(status));
        candor_opaque_free(started);
        candor_opaque_free(answered);
        return 0;
    }
    uint8_t *ke3 = part(done, CANDOR_OPAQUE_PART_MESSAGE, &length);
    must(candor_opaque_server_finish_login(answered, ke3, length, record, record_length, &session), "finish");
    uint8_t *key = part(done, CANDOR_OPAQUE_PART_SESSION_KEY, &mine), *same = part(session, CANDOR_OPAQUE_PART_SESSION_KEY, &theirs);
    int equal = mine == theirs && equal_keys(key, same, mine);
    free(ke3);
    wipe_and_free(key, mine);
    wipe_and_free(same, theirs);
    candor_opaque_handle all[] = {started, answered, done, session};
    for (int at = 0; at < 4; at++) candor_opaque_free(all[at]);
    return equal;
}

int main(void) {
    const char *context = "example.org login 1", *password = "correct horse";
    const candor_opaque_parties parties = {.context = (const uint8_t *)context, .context_length = strlen(context)};
    candor_opaque_handle client, server, asked, answered, registered, change;
    size_t length, ksf_length, upload_length, record_length;
    must(candor_opaque_server_generate(CANDOR_OPAQUE_SUITE_HYBRID, NULL, 0, &server), "server");
    must(candor_opaque_client_new(CANDOR_OPAQUE_SUITE_HYBRID, NULL, 0, NULL, &client), "client");

    /* Once: the client's upload becomes the record that the server stores. */
    uint8_t *secret = typed(password, &length);
    must(candor_opaque_client_start_registration(client, CANDOR_OPAQUE_PASSWORD_TEXT, secret, length, &asked), "register");
    wipe_and_free(secret, length);
    uint8_t *request = part(asked, CANDOR_OPAQUE_PART_MESSAGE, &length);
    must(candor_opaque_server_start_registration(server, request, length, &answered), "register");
    uint8_t *response = part(answered, CANDOR_OPAQUE_PART_MESSAGE, &length), *ksf = part(answered, CANDOR_OPAQUE_PART_KSF, &ksf_length);
    must(candor_opaque_client_finish_registration(asked, response, length, ksf, ksf_length, &parties, &registered), "register");
    uint8_t *upload = part(registered, CANDOR_OPAQUE_PART_MESSAGE, &upload_length);
    must(candor_opaque_server_finish_registration(answered, upload, upload_length, &change), "register");
    must(candor_opaque_change_applies_to(change, NULL, 0), "register");
    uint8_t *record = part(change, CANDOR_OPAQUE_PART_RECORD, &record_length);
    printf("registered: a record of %zu bytes\n", record_length);

    /* At every login: KE1, KE2, KE3. */
    if (!login(client, server, record, record_length, &parties, password)) return 1;
    printf("logged in: both sides have the same key\n");
    if (login(client, server, record, record_length, &parties, "wrong horse")) return 1;

    free(request);
    free(response);
    free(ksf);
    wipe_and_free(upload, upload_length); /* whoever has it or the record can try passwords on it */
    wipe_and_free(record, record_length);
    candor_opaque_handle all[] = {client, server, asked, answered, registered, change};
    for (int at = 0; at < 6; at++) candor_opaque_free(all[at]);
    return 0;
}
