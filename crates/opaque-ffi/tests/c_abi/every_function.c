/* Every function of the header: what it does, and what it says to whoever calls it wrongly. Runs under AddressSanitizer and valgrind. */
#include <candor_opaque.h>

#define MESSAGE candor_opaque_message
#include <expect.h>

#include <pthread.h>
#include <string.h>

typedef candor_opaque_handle handle;

/* A buffer that knows how much is in it. On the heap and as long as what it holds, so that the sanitizer sees a step beyond. */
typedef struct {
    uint8_t *at;
    size_t length;
} bytes;

enum {
    RFC9807 = CANDOR_OPAQUE_SUITE_RFC9807,
    HYBRID = CANDOR_OPAQUE_SUITE_HYBRID,
    PINNED = CANDOR_OPAQUE_SUITE_HYBRID_PINNED,
    TEXT = CANDOR_OPAQUE_PASSWORD_TEXT,
    BYTES = CANDOR_OPAQUE_PASSWORD_BYTES,
    KE1 = CANDOR_OPAQUE_PART_MESSAGE,
    MESSAGE_PART = CANDOR_OPAQUE_PART_MESSAGE,
    KSF = CANDOR_OPAQUE_PART_KSF,
    STATE = CANDOR_OPAQUE_PART_STATE,
    SESSION_KEY = CANDOR_OPAQUE_PART_SESSION_KEY,
    EXPORT_KEY = CANDOR_OPAQUE_PART_EXPORT_KEY,
    SERVER_KEY = CANDOR_OPAQUE_PART_SERVER_PUBLIC_KEY,
    KEM_KEY = CANDOR_OPAQUE_PART_SERVER_KEM_KEY,
    RECORD = CANDOR_OPAQUE_PART_RECORD,
    CREDENTIAL = CANDOR_OPAQUE_PART_CREDENTIAL_HASH,
    LOGIN_ID = CANDOR_OPAQUE_PART_LOGIN_ID,
    BELOW_MINIMUM = CANDOR_OPAQUE_PART_BELOW_MINIMUM,
};

#define NAME ((const uint8_t *)"alice"), 5
#define RIGHT ((const uint8_t *)"correct horse"), 13
#define WRONG ((const uint8_t *)"correct house"), 13

static const uint8_t NO_STRETCHING[13] = {0};
static const candor_opaque_limits ANYTHING = {.most_work = UINT64_MAX, .most_memory_kib = UINT32_MAX, .identity = 1};
static const candor_opaque_parties PARTIES = {
    (const uint8_t *)"test 1", 6, (const uint8_t *)"alice@example.org", 17, (const uint8_t *)"example.org", 11,
};

static bytes part(handle object, uint32_t number) {
    bytes found = {NULL, 0};
    size_t written = 0;
    IS(CANDOR_OPAQUE_BUFFER, candor_opaque_bytes(object, number, NULL, 0, &found.length));
    HOLDS((found.at = malloc(found.length)) != NULL);
    memset(found.at, 0xee, found.length);
    IS(CANDOR_OPAQUE_BUFFER, candor_opaque_bytes(object, number, found.at, found.length - 1, &written));
    HOLDS(written == found.length && found.at[0] == 0xee);
    IS(CANDOR_OPAQUE_NULL, candor_opaque_bytes(object, number, NULL, found.length, NULL));
    OK(candor_opaque_bytes(object, number, found.at, found.length, NULL));
    return found;
}

static int same(bytes one, bytes other) {
    return one.length == other.length && memcmp(one.at, other.at, one.length) == 0;
}

static void release(bytes *all, size_t count) {
    for (size_t at = 0; at < count; at++) free(all[at].at);
}

static void discard(const handle *all, size_t count) {
    for (size_t at = 0; at < count; at++) OK(candor_opaque_free(all[at]));
}
#define RELEASE(...) release((bytes[]){__VA_ARGS__}, sizeof((bytes[]){__VA_ARGS__}) / sizeof(bytes))
#define DISCARD(...) discard((handle[]){__VA_ARGS__}, sizeof((handle[]){__VA_ARGS__}) / sizeof(handle))

/* Answers a registration request: with a session that of its account, without one that of a new account. */
static int answer_registration(handle server, handle session, const uint8_t *request, size_t length, handle *answered) {
    if (session == 0) return candor_opaque_server_start_registration(server, request, length, answered);
    return candor_opaque_server_start_registration_again(server, session, request, length, answered);
}

/* Registers with a session or without one; the record. What can go wrong on the way is tried beside what must go right. */
static bytes registered(handle client, handle server, handle session) {
    handle asked, resumed, answered, resumed_server, done, change, none = 7;
    IS(CANDOR_OPAQUE_PASSWORD, candor_opaque_client_start_registration(client, TEXT, NULL, 0, &none));
    IS(CANDOR_OPAQUE_PASSWORD, candor_opaque_client_start_registration(client, TEXT, (const uint8_t *)"\xff", 1, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_client_start_registration(client, TEXT, NULL, 13, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_start_registration(client, BYTES, NO_STRETCHING, SIZE_MAX, &none));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_client_start_registration(client, 0, RIGHT, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_client_start_registration(server, TEXT, RIGHT, &none));
    HOLDS(none == 0);
    IS(CANDOR_OPAQUE_NULL, candor_opaque_client_start_registration(client, TEXT, RIGHT, NULL));
    OK(candor_opaque_client_start_registration(client, TEXT, RIGHT, &asked));
    bytes request = part(asked, MESSAGE_PART), state = part(asked, STATE);
    IS(CANDOR_OPAQUE_PART, candor_opaque_bytes(asked, KSF, NULL, 0, NULL));

    IS(CANDOR_OPAQUE_LENGTH, answer_registration(server, session, request.at, 31, &none));
    IS(CANDOR_OPAQUE_NULL, answer_registration(server, session, NULL, 32, &none));
    IS(CANDOR_OPAQUE_KIND, answer_registration(client, session, request.at, 32, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_start_registration_again(server, client, request.at, 32, &none));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_server_start_registration_again(server, 1, request.at, 32, &none));
    /* 0 is what a login that failed leaves of its session: no new account. */
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_server_start_registration_again(server, 0, request.at, 32, &none));
    HOLDS(none == 0);
    request.at[31] ^= 0x80;
    IS(CANDOR_OPAQUE_ELEMENT, answer_registration(server, session, request.at, 32, &none));
    request.at[31] ^= 0x80;
    OK(answer_registration(server, session, request.at, request.length, &answered));
    bytes response = part(answered, MESSAGE_PART), ksf = part(answered, KSF), server_state = part(answered, STATE);

    /* Both sides from what they saved. */
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_resume_registration(client, state.at, state.length - 1, TEXT, RIGHT, &none));
    IS(CANDOR_OPAQUE_PASSWORD, candor_opaque_client_resume_registration(client, state.at, state.length, TEXT, NULL, 0, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_client_resume_registration(server, state.at, state.length, TEXT, RIGHT, &none));
    OK(candor_opaque_client_resume_registration(client, state.at, state.length, TEXT, RIGHT, &resumed));
    IS(CANDOR_OPAQUE_PART, candor_opaque_bytes(resumed, MESSAGE_PART, NULL, 0, NULL));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_resume_registration(server_state.at, 2, &none));
    server_state.at[0] ^= 1;
    IS(CANDOR_OPAQUE_STATE, candor_opaque_server_resume_registration(server_state.at, server_state.length, &none));
    server_state.at[0] ^= 1;
    OK(candor_opaque_server_resume_registration(server_state.at, server_state.length, &resumed_server));

    IS(CANDOR_OPAQUE_KSF, candor_opaque_client_finish_registration(resumed, response.at, 64, (const uint8_t *)"\2\0\0\0\0\0\0\0\0\0\0\0\0", 13, &PARTIES, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_finish_registration(resumed, response.at, 64, ksf.at, 12, &PARTIES, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_client_finish_registration(resumed, response.at, 64, ksf.at, 13, NULL, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_client_finish_registration(answered, response.at, 64, ksf.at, 13, &PARTIES, &none));
    OK(candor_opaque_client_finish_registration(resumed, response.at, 64, ksf.at, 13, &PARTIES, &done));
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_client_finish_registration(resumed, response.at, 64, ksf.at, 13, &PARTIES, &none));
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_bytes(resumed, STATE, NULL, 0, NULL));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_finish_registration(asked, response.at, 63, ksf.at, 13, &PARTIES, &none));
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_client_finish_registration(asked, response.at, 64, ksf.at, 13, &PARTIES, &none));
    bytes upload = part(done, MESSAGE_PART), export = part(done, EXPORT_KEY), key = part(done, SERVER_KEY), servers = part(server, SERVER_KEY);
    HOLDS(same(key, servers) && upload.length == 192 && export.length == 64);

    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_finish_registration(asked, upload.at, upload.length, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_finish_registration(answered, upload.at, 191, &none));
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_server_finish_registration(answered, upload.at, upload.length, &none));
    HOLDS(none == 0);
    OK(candor_opaque_server_finish_registration(resumed_server, upload.at, upload.length, &change));
    bytes record = part(change, RECORD);
    IS(session == 0 ? CANDOR_OPAQUE_OK : CANDOR_OPAQUE_STALE, candor_opaque_change_applies_to(change, NULL, 0));
    IS(session == 0 ? CANDOR_OPAQUE_PART : CANDOR_OPAQUE_BUFFER, candor_opaque_bytes(change, CREDENTIAL, NULL, 0, NULL));
    IS(CANDOR_OPAQUE_STALE, candor_opaque_change_applies_to(change, record.at, record.length));
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_change_applies_to(change, record.at, 9));
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_change_applies_to(change, record.at, 0)); /* no record, and not NULL for a free name */
    IS(CANDOR_OPAQUE_KIND, candor_opaque_change_applies_to(done, NULL, 0));
    DISCARD(asked, resumed, answered, resumed_server, done, change);
    RELEASE(request, state, response, ksf, server_state, upload, export, key, servers);
    return record;
}

/* What a login ends in. */
typedef struct {
    int client, server;
    handle session;
} outcome;

/* Logs in, each side from what it saved; `record` may be none. */
static outcome login(handle client, handle server, bytes record, const uint8_t *password, size_t length, const candor_opaque_parties *parties) {
    handle started, resumed, answered, resumed_server, done, none = 7;
    outcome end = {0};
    OK(candor_opaque_client_start_login(client, TEXT, password, length, &started));
    bytes ke1 = part(started, KE1), state = part(started, STATE);
    OK(candor_opaque_client_resume_login(client, state.at, state.length, TEXT, password, length, &resumed));
    OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, parties, &answered));
    bytes ke2 = part(answered, MESSAGE_PART), ksf = part(answered, KSF), server_state = part(answered, STATE), id = part(answered, LOGIN_ID);
    OK(candor_opaque_server_resume_login(server, server_state.at, server_state.length, &resumed_server));
    bytes id_again = part(resumed_server, LOGIN_ID);
    HOLDS(same(id, id_again) && id.length == 32);
    end.client = candor_opaque_client_finish_login(resumed, ke2.at, ke2.length, ksf.at, ksf.length, &PARTIES, &done);
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_client_finish_login(resumed, ke2.at, ke2.length, ksf.at, ksf.length, &PARTIES, &none));
    if (end.client == CANDOR_OPAQUE_OK) {
        bytes ke3 = part(done, MESSAGE_PART), key = part(done, SESSION_KEY), export = part(done, EXPORT_KEY), servers = part(done, SERVER_KEY);
        end.server = candor_opaque_server_finish_login(resumed_server, ke3.at, ke3.length, record.at, record.length, &end.session);
        IS(CANDOR_OPAQUE_FINISHED, candor_opaque_server_finish_login(resumed_server, ke3.at, ke3.length, record.at, record.length, &none));
        if (end.server == CANDOR_OPAQUE_OK) {
            bytes theirs = part(end.session, SESSION_KEY), credential = part(end.session, CREDENTIAL);
            HOLDS(same(key, theirs) && key.length == 64 && credential.length == 32 && export.length == 64 && servers.length == 32);
            RELEASE(theirs, credential);
        }
        DISCARD(done);
        RELEASE(ke3, key, export, servers);
    } else {
        HOLDS(done == 0);
        uint8_t nothing[64] = {0};
        end.server = candor_opaque_server_finish_login(resumed_server, nothing, 64, record.at, record.length, &none);
        HOLDS(none == 0);
    }
    DISCARD(started, resumed, answered, resumed_server);
    RELEASE(ke1, state, ke2, ksf, server_state, id, id_again);
    return end;
}

static void expect(outcome end, int status) {
    IS(status, end.client);
    IS(status, end.server);
    OK(candor_opaque_free(end.session));
}

static void suite(uint32_t number) {
    handle client, server, same_server, none = 7;
    bytes nobody = {NULL, 0}, kem_key = {NULL, 0};
    OK(candor_opaque_server_generate(number, NO_STRETCHING, 13, &server));
    if (number == PINNED) {
        kem_key = part(server, KEM_KEY);
        IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_new(number, NULL, 0, &ANYTHING, &none));
        uint8_t before[2] = {kem_key.at[1], kem_key.at[2]};
        kem_key.at[1] = kem_key.at[2] = 0xff; /* a coefficient that is too large */
        IS(CANDOR_OPAQUE_INVALID_KEY, candor_opaque_client_new(number, kem_key.at, kem_key.length, &ANYTHING, &none));
        memcpy(kem_key.at + 1, before, 2);
    } else {
        IS(CANDOR_OPAQUE_PART, candor_opaque_bytes(server, KEM_KEY, NULL, 0, NULL));
        IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_new(number, NO_STRETCHING, 13, &ANYTHING, &none));
    }
    OK(candor_opaque_client_new(number, kem_key.at, kem_key.length, &ANYTHING, &client));
    bytes saved = part(server, STATE);
    OK(candor_opaque_server_from_bytes(number, saved.at, saved.length, &same_server));
    IS(CANDOR_OPAQUE_STATE, candor_opaque_server_from_bytes(number % 4 + 1, saved.at, saved.length, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_from_bytes(number, saved.at, saved.length - 1, &none));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_server_from_bytes(5, saved.at, saved.length, &none));

    bytes record = registered(client, server, 0);
    outcome end = login(client, same_server, record, RIGHT, &PARTIES);
    OK(end.client);
    OK(end.server);
    expect(login(client, server, record, WRONG, &PARTIES), CANDOR_OPAQUE_LOGIN);
    expect(login(client, server, nobody, RIGHT, &PARTIES), CANDOR_OPAQUE_LOGIN);
    candor_opaque_parties other = PARTIES;
    other.client_length--;
    expect(login(client, server, record, RIGHT, &other), CANDOR_OPAQUE_LOGIN);
    if (number == HYBRID) {
        /* The account that has logged in registers again, and logs in by its new record. */
        bytes again = registered(client, server, end.session);
        expect(login(client, server, again, RIGHT, &PARTIES), CANDOR_OPAQUE_OK);
        RELEASE(again);
    }
    DISCARD(client, server, same_server, end.session);
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_client_start_login(client, TEXT, RIGHT, &none));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_server_to_suite(server, number, &none));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_free(client));
    RELEASE(saved, record, kem_key);
}

/* A record that can't be read is the storage's fault: the same status whatever is wrong with it, and whatever the client has sent. */
static void damaged(handle server, bytes ke1, bytes record) {
    handle none = 7, answer;
    const struct {
        size_t at, length;
    } ways[] = {{0, 1}, {0, 20}, {0, record.length}, {1, record.length}, {2, record.length}}; /* cut; another version, suite, function */
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++) {
        size_t at = ways[way].at, length = ways[way].length;
        OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &answer));
        record.at[at] ^= 0x70;
        IS(CANDOR_OPAQUE_RECORD, candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, length, &PARTIES, &none));
        IS(CANDOR_OPAQUE_RECORD, candor_opaque_server_start_login(server, ke1.at, 3, NAME, record.at, length, &PARTIES, &none));
        /* And the login is used up. */
        IS(CANDOR_OPAQUE_RECORD, candor_opaque_server_finish_login(answer, ke1.at, 64, record.at, length, &none));
        record.at[at] ^= 0x70;
        IS(CANDOR_OPAQUE_FINISHED, candor_opaque_server_finish_login(answer, ke1.at, 64, record.at, record.length, &none));
        OK(candor_opaque_free(answer));
    }
    HOLDS(none == 0);
}

/* A server with another implementation's keys; the secret key is 1 here, whose public key is the group's generator. */
static void keys(void) {
    handle server, none = 7;
    const uint8_t seed[64] = {1, 2, 3}, zero[32] = {0}, one[32] = {1};
    const uint8_t generator[32] = {0xe2, 0xf2, 0xae, 0x0a, 0x6a, 0xbc, 0x4e, 0x71, 0xa8, 0x84, 0xa9, 0x61, 0xc5, 0x00, 0x51, 0x5f,
                                   0x58, 0xe3, 0x0b, 0x6a, 0xa5, 0x82, 0xdd, 0x8d, 0xb6, 0xa6, 0x59, 0x45, 0xe0, 0x8d, 0x2d, 0x76};
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_server_from_keys(0, seed, 64, one, 32, NULL, 0, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_from_keys(HYBRID, seed, 63, one, 32, NULL, 0, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_from_keys(HYBRID, seed, 64, one, 31, NULL, 0, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_from_keys(HYBRID, seed, 64, one, 32, seed, 12, &none));
    IS(CANDOR_OPAQUE_INVALID_KEY, candor_opaque_server_from_keys(HYBRID, seed, 64, zero, 32, NULL, 0, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_server_from_keys(HYBRID, NULL, 64, one, 32, NULL, 0, &none));
    HOLDS(none == 0);
    for (uint32_t number = RFC9807; number <= PINNED; number++) {
        OK(candor_opaque_server_from_keys(number, seed, 64, one, 32, NO_STRETCHING, 13, &server));
        bytes key = part(server, SERVER_KEY), ksf = part(server, KSF);
        HOLDS(key.length == 32 && memcmp(key.at, generator, 32) == 0 && memcmp(ksf.at, NO_STRETCHING, 13) == 0);
        IS(number == PINNED ? CANDOR_OPAQUE_BUFFER : CANDOR_OPAQUE_PART, candor_opaque_bytes(server, KEM_KEY, NULL, 0, NULL));
        OK(candor_opaque_free(server));
        RELEASE(key, ksf);
    }
}

static void records(void) {
    handle client, server, stronger, asked, answered, done, session, replacing, change, none = 7;
    uint8_t buffer[512], ksf[13];
    size_t length;
    OK(candor_opaque_argon2id(64, 1, 1, ksf, 13, &length));
    HOLDS(length == 13);
    IS(CANDOR_OPAQUE_BUFFER, candor_opaque_argon2id(64, 1, 1, ksf, 12, &length));
    IS(CANDOR_OPAQUE_KSF, candor_opaque_argon2id(7, 1, 1, ksf, 13, NULL));
    OK(candor_opaque_server_generate(RFC9807, ksf, 13, &server));
    OK(candor_opaque_client_new(RFC9807, NULL, 0, &ANYTHING, &client));

    /* By an identifier of the caller's, and Argon2id. */
    OK(candor_opaque_client_start_registration(client, BYTES, RIGHT, &asked));
    bytes request = part(asked, MESSAGE_PART);
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_start_registration_with_id(client, NAME, request.at, request.length, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_start_registration_with_id(server, NAME, request.at, 31, &none));
    OK(candor_opaque_server_start_registration_with_id(server, NAME, request.at, request.length, &answered));
    bytes response = part(answered, MESSAGE_PART);
    OK(candor_opaque_client_finish_registration(asked, response.at, response.length, ksf, 13, &PARTIES, &done));
    bytes upload = part(done, MESSAGE_PART);
    OK(candor_opaque_server_finish_registration(answered, upload.at, upload.length, &change));
    bytes record = part(change, RECORD);
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_record_from_upload(upload.at, 191, ksf, 13, NAME, RFC9807, buffer, sizeof buffer, &length));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_record_from_upload(upload.at, 192, ksf, 13, NAME, 0, buffer, sizeof buffer, &length));
    upload.at[31] ^= 0x80;
    IS(CANDOR_OPAQUE_ELEMENT, candor_opaque_record_from_upload(upload.at, 192, ksf, 13, NAME, RFC9807, buffer, sizeof buffer, &length));
    upload.at[31] ^= 0x80;
    OK(candor_opaque_record_from_upload(upload.at, 192, ksf, 13, NAME, RFC9807, buffer, sizeof buffer, &length));
    HOLDS(length == record.length && memcmp(buffer, record.at, length) == 0);
    outcome end = login(client, server, record, RIGHT, &PARTIES);
    OK(end.client);
    session = end.session;

    /* A client with limits refuses what stretches too little. */
    handle strict;
    OK(candor_opaque_client_new(RFC9807, NULL, 0, NULL, &strict));
    outcome refused = login(strict, server, record, RIGHT, &PARTIES);
    IS(CANDOR_OPAQUE_LIMITS, refused.client);

    /* A record whose minimum was raised opens in the stronger suite only. */
    handle strong_client;
    OK(candor_opaque_server_to_suite(server, HYBRID, &stronger));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_server_to_suite(server, 0, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_to_suite(client, HYBRID, &none));
    OK(candor_opaque_client_new(HYBRID, NULL, 0, &ANYTHING, &strong_client));
    bytes raised = {malloc(record.length), record.length};
    HOLDS(raised.at != NULL);
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_record_raise_minimum(record.at, record.length, 9, raised.at, raised.length, NULL));
    IS(CANDOR_OPAQUE_BUFFER, candor_opaque_record_raise_minimum(record.at, record.length, HYBRID, raised.at, raised.length - 1, &length));
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_record_raise_minimum(record.at, 10, HYBRID, raised.at, raised.length, &length));
    OK(candor_opaque_record_raise_minimum(record.at, record.length, HYBRID, raised.at, raised.length, &length));
    memcpy(buffer, record.at, record.length); /* in place */
    OK(candor_opaque_record_raise_minimum(buffer, record.length, HYBRID, buffer, sizeof buffer, &length));
    HOLDS(length == raised.length && memcmp(buffer, raised.at, length) == 0);
    expect(login(strong_client, stronger, record, RIGHT, &PARTIES), CANDOR_OPAQUE_OK);
    expect(login(strong_client, stronger, raised, RIGHT, &PARTIES), CANDOR_OPAQUE_OK);
    expect(login(client, server, raised, RIGHT, &PARTIES), CANDOR_OPAQUE_LOGIN);
    record.at[0] ^= 1;
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_record_raise_minimum(record.at, record.length, HYBRID, raised.at, raised.length, &length));
    record.at[0] ^= 1;

    /* What is told to the operator, and what a damaged record or message is answered. */
    handle started, answer, nobody;
    OK(candor_opaque_client_start_login(client, BYTES, RIGHT, &started));
    bytes ke1 = part(started, KE1);
    OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, raised.at, raised.length, &PARTIES, &answer));
    bytes told = part(answer, BELOW_MINIMUM);
    HOLDS(told.length == 1 && told.at[0] == 1);
    OK(candor_opaque_free(answer));
    OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &answer));
    OK(candor_opaque_bytes(answer, BELOW_MINIMUM, told.at, 1, NULL));
    HOLDS(told.at[0] == 0);
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_start_login(server, ke1.at, ke1.length - 1, NAME, record.at, record.length, &PARTIES, &none));
    damaged(server, ke1, record);
    IS(CANDOR_OPAQUE_NULL, candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, NULL, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_server_start_login(server, ke1.at, ke1.length, NULL, 5, record.at, record.length, &PARTIES, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_start_login(client, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &none));
    memset(record.at + 15, 0xff, 32); /* the client's public key */
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &none));
    memcpy(record.at + 15, upload.at, 32);
    OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, 0, &PARTIES, &nobody)); /* no bytes are no account */
    ke1.at[31] ^= 0x80;
    IS(CANDOR_OPAQUE_ELEMENT, candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, NULL, 0, &PARTIES, &none));
    IS(CANDOR_OPAQUE_ELEMENT, candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &none));
    bytes login_state = part(answer, STATE);
    IS(CANDOR_OPAQUE_STATE, candor_opaque_server_resume_login(stronger, login_state.at, login_state.length, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_resume_login(server, login_state.at, login_state.length - 1, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_resume_login(client, login_state.at, login_state.length, &none));
    bytes client_state = part(started, STATE);
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_resume_login(strong_client, client_state.at, client_state.length, TEXT, RIGHT, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_finish_login(started, ke1.at, 64, record.at, record.length, &none));
    IS(CANDOR_OPAQUE_LOGIN, candor_opaque_server_finish_login(nobody, ke1.at, 64, record.at, 0, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_finish_login(answer, ke1.at, 63, record.at, record.length, &none));
    IS(CANDOR_OPAQUE_FINISHED, candor_opaque_server_finish_login(answer, ke1.at, 64, record.at, record.length, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_client_finish_login(started, ke1.at, 3, NO_STRETCHING, 13, &PARTIES, &none));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_client_finish_login(answer, ke1.at, 3, NO_STRETCHING, 13, &PARTIES, &none));

    /* A change from a session applies to the record that logged in, and to no other. */
    handle again;
    OK(candor_opaque_client_start_registration(client, BYTES, RIGHT, &again));
    bytes second = part(again, MESSAGE_PART);
    OK(candor_opaque_server_start_registration_again(server, session, second.at, second.length, &replacing));
    handle replaced, late, replaced_late;
    OK(candor_opaque_server_finish_registration(replacing, upload.at, upload.length, &replaced));
    OK(candor_opaque_change_applies_to(replaced, record.at, record.length));
    bytes named = part(replaced, CREDENTIAL), opened = part(session, CREDENTIAL);
    OK(candor_opaque_record_credential_hash(record.at, record.length, buffer, sizeof buffer, &length));
    HOLDS(length == 32 && memcmp(buffer, named.at, 32) == 0 && memcmp(buffer, opened.at, 32) == 0);
    IS(CANDOR_OPAQUE_RECORD, candor_opaque_record_credential_hash(record.at, 9, buffer, sizeof buffer, &length));
    IS(CANDOR_OPAQUE_BUFFER, candor_opaque_record_credential_hash(record.at, record.length, buffer, 31, &length));
    IS(CANDOR_OPAQUE_STALE, candor_opaque_change_applies_to(replaced, NULL, 0));
    /* And once: a second change from this session does not apply to what the first has stored. */
    bytes stored = part(replaced, RECORD);
    OK(candor_opaque_server_start_registration_again(server, session, second.at, second.length, &late));
    OK(candor_opaque_server_finish_registration(late, upload.at, upload.length, &replaced_late));
    OK(candor_opaque_change_applies_to(replaced_late, record.at, record.length));
    IS(CANDOR_OPAQUE_STALE, candor_opaque_change_applies_to(replaced_late, stored.at, stored.length));

    /* New key stretching parameters. */
    OK(candor_opaque_server_adopt_ksf(server, NO_STRETCHING, 13, 1000));
    IS(CANDOR_OPAQUE_KSF, candor_opaque_server_adopt_ksf(server, ksf, 13, 1001));
    IS(CANDOR_OPAQUE_KSF, candor_opaque_server_adopt_ksf(server, ksf, 13, UINT32_MAX));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_adopt_ksf(server, ksf, 12, 0));
    IS(CANDOR_OPAQUE_KIND, candor_opaque_server_adopt_ksf(client, ksf, 13, 0));
    bytes now = part(server, KSF);
    HOLDS(memcmp(now.at, NO_STRETCHING, 13) == 0);

    DISCARD(client, server, stronger, strict, strong_client, asked, answered, done, change, session, started, answer, nobody, again, replacing,
            replaced, late, replaced_late);
    RELEASE(request, response, upload, record, raised, ke1, told, login_state, client_state, second, named, opened, stored, now);
}

static void numbers_and_nulls(void) {
    handle client, none = 7;
    uint8_t byte;
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_client_new(0, NULL, 0, NULL, &none));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_client_new(5, NULL, 0, NULL, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_client_new(HYBRID, NULL, 0, NULL, NULL));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_server_generate(0, NULL, 0, &none));
    IS(CANDOR_OPAQUE_LENGTH, candor_opaque_server_generate(HYBRID, NO_STRETCHING, 12, &none));
    IS(CANDOR_OPAQUE_NULL, candor_opaque_server_generate(HYBRID, NULL, 13, &none));
    HOLDS(none == 0);
    OK(candor_opaque_client_new(HYBRID, NULL, 0, NULL, &client));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_bytes(client, 0, &byte, 1, NULL));
    IS(CANDOR_OPAQUE_NUMBER, candor_opaque_bytes(client, 12, &byte, 1, NULL));
    IS(CANDOR_OPAQUE_PART, candor_opaque_bytes(client, STATE, &byte, 1, NULL));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_bytes(client + 1, STATE, &byte, 1, NULL));
    OK(candor_opaque_free(client));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_free(client)); /* freed twice */
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_bytes(client, STATE, &byte, 1, NULL)); /* used after it was freed */
    OK(candor_opaque_free(0));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_free(12345));
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_free(UINT64_MAX));
    HOLDS(strlen(candor_opaque_version()) >= 5 && strcmp(candor_opaque_message(CANDOR_OPAQUE_OK), "success") == 0);
    HOLDS(strcmp(candor_opaque_message(77), candor_opaque_message(-1)) == 0);
    HOLDS(strcmp(candor_opaque_message(CANDOR_OPAQUE_PART), "this object has no such part") == 0);
}

/* What threads share: all of them ask it and free it, and one of them does. */
static void *hammer(void *argument) {
    handle *shared = argument, own;
    for (int round = 0; round < 20; round++) {
        OK(candor_opaque_client_new(RFC9807, NULL, 0, &ANYTHING, &own));
        int status = candor_opaque_bytes(*shared, STATE, NULL, 0, NULL);
        HOLDS(status == CANDOR_OPAQUE_BUFFER || status == CANDOR_OPAQUE_HANDLE);
        if (round == 10) {
            status = candor_opaque_free(*shared);
            HOLDS(status == CANDOR_OPAQUE_OK || status == CANDOR_OPAQUE_HANDLE);
        }
        OK(candor_opaque_free(own));
    }
    return NULL;
}

/* A login that several threads finish at once, with the KE3 that is right. */
typedef struct {
    handle answer, session;
    bytes ke3, record;
    int status;
} finisher;

static void *finish(void *argument) {
    finisher *own = argument;
    own->status = candor_opaque_server_finish_login(own->answer, own->ke3.at, own->ke3.length, own->record.at, own->record.length, &own->session);
    return NULL;
}

static void threads(void) {
    handle client, server, started, answer, done, shared;
    pthread_t running[4];
    OK(candor_opaque_client_new(RFC9807, NULL, 0, &ANYTHING, &client));
    OK(candor_opaque_client_start_login(client, BYTES, RIGHT, &shared));
    for (int at = 0; at < 4; at++) HOLDS(pthread_create(&running[at], NULL, hammer, &shared) == 0);
    for (int at = 0; at < 4; at++) HOLDS(pthread_join(running[at], NULL) == 0);
    IS(CANDOR_OPAQUE_HANDLE, candor_opaque_free(shared));

    OK(candor_opaque_server_generate(RFC9807, NO_STRETCHING, 13, &server));
    bytes record = registered(client, server, 0);
    for (int round = 0; round < 10; round++) {
        OK(candor_opaque_client_start_login(client, TEXT, RIGHT, &started));
        bytes ke1 = part(started, KE1);
        OK(candor_opaque_server_start_login(server, ke1.at, ke1.length, NAME, record.at, record.length, &PARTIES, &answer));
        bytes ke2 = part(answer, MESSAGE_PART), ksf = part(answer, KSF);
        OK(candor_opaque_client_finish_login(started, ke2.at, ke2.length, ksf.at, ksf.length, &PARTIES, &done));
        bytes ke3 = part(done, MESSAGE_PART);
        finisher all[4];
        for (int at = 0; at < 4; at++) {
            all[at] = (finisher){answer, 7, ke3, record, -1};
            HOLDS(pthread_create(&running[at], NULL, finish, &all[at]) == 0);
        }
        int sessions = 0;
        for (int at = 0; at < 4; at++) {
            HOLDS(pthread_join(running[at], NULL) == 0);
            HOLDS(all[at].status == CANDOR_OPAQUE_OK || all[at].status == CANDOR_OPAQUE_FINISHED);
            HOLDS((all[at].session != 0) == (all[at].status == CANDOR_OPAQUE_OK));
            sessions += all[at].status == CANDOR_OPAQUE_OK;
            OK(candor_opaque_free(all[at].session));
        }
        HOLDS(sessions == 1);
        DISCARD(started, answer, done);
        RELEASE(ke1, ke2, ksf, ke3);
    }
    DISCARD(client, server);
    RELEASE(record);
}

int main(void) {
    numbers_and_nulls();
    for (uint32_t number = RFC9807; number <= PINNED; number++) suite(number);
    keys();
    records();
    threads();
    printf("every function did what it should\n");
    return 0;
}
