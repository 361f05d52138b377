/* OPAQUE (RFC 9807) and its hybrid with ML-KEM-768 for C and C++, client and server. README.md beside it shows how to compile and link.
 *
 * Bytes in, bytes out: sockets, storage and clocks are the caller's. Each step makes an object; candor_opaque_bytes says what is in it.
 *
 * Handles. Every object is a number, and 0 is none. A handle that was freed, or was never made, is answered with CANDOR_OPAQUE_HANDLE: using it, or freeing
 * it again, harms nothing. Each object is freed on its own, also when a step has used it up. Objects may be used and freed by several threads at once. A step
 * that fails writes the handle 0, which every step but `free` answers with CANDOR_OPAQUE_HANDLE.
 *
 * Outputs. Wherever there are `uint8_t *out, size_t room, size_t *written`, the output is written if there is room, and its length goes to `written`,
 * which may be NULL. If there is none, the answer is CANDOR_OPAQUE_BUFFER, the length that is needed goes to `written`, and nothing else has happened; so
 * a call with `room` 0 asks for the length. `out` may overlap inputs; `written` may not. A call that fails writes no output.
 *
 * Inputs. NULL is no bytes where the length is 0, and CANDOR_OPAQUE_NULL otherwise.
 *
 * States are used once. A step that ends a registration or a login uses it up, also if it fails; only null pointers, lengths beyond any object, wrong handles and, for
 * a client, malformed key stretching parameters are noticed before. After that the answer is CANDOR_OPAQUE_FINISHED.
 */
#ifndef CANDOR_OPAQUE_H
#define CANDOR_OPAQUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function but the last two returns. */
enum {
    CANDOR_OPAQUE_OK = 0, /* success */
    CANDOR_OPAQUE_NULL = 1, /* a pointer is null where bytes are expected */
    CANDOR_OPAQUE_HANDLE = 2, /* the handle is not in use: it was freed, or was never made */
    CANDOR_OPAQUE_KIND = 3, /* the handle is that of another kind of object */
    CANDOR_OPAQUE_NUMBER = 4, /* no suite, part, or kind of password has this number */
    CANDOR_OPAQUE_LENGTH = 5, /* an input has a length that is not possible */
    CANDOR_OPAQUE_BUFFER = 6, /* the buffer is too short; the length of the output has been written */
    CANDOR_OPAQUE_INVALID_KEY = 7, /* the bytes are not a valid key, or two keys do not belong together */
    CANDOR_OPAQUE_LOGIN = 9, /* wrong password, user, context, identity or server, no such account, or a message was changed on the way */
    CANDOR_OPAQUE_FINISHED = 10, /* the registration or login has been used up */
    CANDOR_OPAQUE_RANDOMNESS = 11, /* the operating system gave no randomness */
    CANDOR_OPAQUE_INTERNAL = 12, /* a mistake in candor */
    CANDOR_OPAQUE_MEMORY = 13, /* not enough memory */
    CANDOR_OPAQUE_ELEMENT = 32, /* a message holds no valid element of ristretto255: the peer does not follow the protocol */
    CANDOR_OPAQUE_PASSWORD = 33, /* the password is empty or too long, is no UTF-8, or has characters that RFC 8265 refuses */
    CANDOR_OPAQUE_LIMITS = 34, /* the key stretching parameters are weaker or costlier than this client accepts */
    CANDOR_OPAQUE_KSF = 35, /* key stretching parameters that do not exist, or a share of accounts over 1000 per mille or shrinking */
    CANDOR_OPAQUE_STATE = 36, /* a saved state was written by another version, or belongs to another suite */
    CANDOR_OPAQUE_RECORD = 37, /* a stored record is damaged: the user must register again */
    CANDOR_OPAQUE_PART = 38, /* this object has no such part */
    CANDOR_OPAQUE_STALE = 39, /* the account has changed since, so this change must not be stored */
};

/* Suites; the weaker comes before the stronger. Take HYBRID if there is no reason for another. HYBRID_PINNED is experimental: the client holds a KEM key of
 * the server. A record works with the suite of its registration and with every stronger one. */
enum {
    CANDOR_OPAQUE_SUITE_RFC9807 = 1,
    CANDOR_OPAQUE_SUITE_HYBRID_COMPAT = 2,
    CANDOR_OPAQUE_SUITE_HYBRID = 3,
    CANDOR_OPAQUE_SUITE_HYBRID_PINNED = 4,
};

/* What the bytes of a password are. TEXT is UTF-8 and is prepared as RFC 8265 says, so that it is the same however it was typed; BYTES are taken as they are. */
enum {
    CANDOR_OPAQUE_PASSWORD_TEXT = 1,
    CANDOR_OPAQUE_PASSWORD_BYTES = 2,
};

/* Parts of objects, for candor_opaque_bytes; each step says which its object has. */
enum {
    CANDOR_OPAQUE_PART_MESSAGE = 1, /* what goes to the other side */
    CANDOR_OPAQUE_PART_KSF = 2, /* the key stretching parameters that go with it, 13 bytes */
    CANDOR_OPAQUE_PART_STATE = 3, /* the object itself, to be kept and resumed; secret */
    CANDOR_OPAQUE_PART_SESSION_KEY = 4, /* 64 bytes that both sides of a login share; secret */
    CANDOR_OPAQUE_PART_EXPORT_KEY = 5, /* 64 bytes that only the client has, the same after registration and each login; secret */
    CANDOR_OPAQUE_PART_SERVER_PUBLIC_KEY = 6, /* 32 bytes */
    CANDOR_OPAQUE_PART_SERVER_KEM_KEY = 7, /* for clients of HYBRID_PINNED */
    CANDOR_OPAQUE_PART_RECORD = 8, /* what the server stores of an account; secret */
    CANDOR_OPAQUE_PART_CREDENTIAL_HASH = 9, /* 32 bytes that name a record */
    CANDOR_OPAQUE_PART_LOGIN_ID = 10, /* 32 bytes that name a login */
    CANDOR_OPAQUE_PART_BELOW_MINIMUM = 11, /* a byte that is 1 if the record forbids the suite, so that no password opens the answer */
};

typedef uint64_t candor_opaque_handle;

/* What both sides must agree on; it does not travel. The context names the application and its version. Identities that are NULL are the public keys.
 *
 * In RFC9807 and HYBRID_COMPAT no MAC covers the key stretching parameters; the other suites cover them. To have them covered there too, begin the context on both sides
 * with the 13 bytes of the login's KSF. */
typedef struct {
    const uint8_t *context;
    size_t context_length;
    const uint8_t *client;
    size_t client_length;
    const uint8_t *server;
    size_t server_length;
} candor_opaque_parties;

/* What a client accepts of key stretching parameters. Work is memory in KiB times passes. */
typedef struct {
    uint64_t least_work;
    uint64_t most_work;
    uint32_t least_memory_kib;
    uint32_t most_memory_kib;
    uint32_t identity; /* 1 if no stretching at all is fine, in tests only */
} candor_opaque_limits;

/* Key stretching parameters: the encoding of Argon2id's. 64 MiB, 3 passes and 1 lane are what a browser on a phone can do, and the default of servers. */
int candor_opaque_argon2id(uint32_t memory_kib, uint32_t iterations, uint32_t parallelism, uint8_t *out, size_t room, size_t *written);

/* The client. Limits that are NULL are at least 19 MiB with two passes, and at most 2 GiB and 8 GiB of work. The KEM key is for HYBRID_PINNED; others take none.
 *
 * Start: MESSAGE, STATE. Keep the object until the server answers, or its STATE, which is as secret as the password.
 * Resume: STATE. The password is needed again.
 * Finish a registration: MESSAGE, EXPORT_KEY, SERVER_PUBLIC_KEY. Registration must run over a channel that is confidential against quantum computers too.
 * Finish a login: MESSAGE, SESSION_KEY, EXPORT_KEY, SERVER_PUBLIC_KEY. If it fails, send nothing.
 * Finishing stretches the password, which takes the memory and time that the parameters say, on the calling thread. */
int candor_opaque_client_new(uint32_t suite_number, const uint8_t *server_kem_key, size_t server_kem_key_length,
                             const candor_opaque_limits *limits_given, candor_opaque_handle *client);
int candor_opaque_client_start_registration(candor_opaque_handle client, uint32_t password_kind, const uint8_t *password, size_t length,
                                            candor_opaque_handle *registration);
int candor_opaque_client_resume_registration(candor_opaque_handle client, const uint8_t *saved, size_t saved_length, uint32_t password_kind,
                                             const uint8_t *password, size_t length, candor_opaque_handle *registration);
int candor_opaque_client_finish_registration(candor_opaque_handle registration, const uint8_t *response, size_t response_length, const uint8_t *ksf,
                                             size_t ksf_length, const candor_opaque_parties *parties_given, candor_opaque_handle *registered);
int candor_opaque_client_start_login(candor_opaque_handle client, uint32_t password_kind, const uint8_t *password, size_t length,
                                     candor_opaque_handle *login);
int candor_opaque_client_resume_login(candor_opaque_handle client, const uint8_t *saved, size_t saved_length, uint32_t password_kind,
                                      const uint8_t *password, size_t length, candor_opaque_handle *login);
int candor_opaque_client_finish_login(candor_opaque_handle login, const uint8_t *ke2, size_t ke2_length, const uint8_t *ksf, size_t ksf_length,
                                      const candor_opaque_parties *parties_given, candor_opaque_handle *logged_in);

/* The server: one for a deployment, for all its users. STATE, KSF, SERVER_PUBLIC_KEY; in HYBRID_PINNED also SERVER_KEM_KEY. Without `ksf` it takes the default.
 * `from_keys` takes another implementation's, RFC 9807's oprf_seed of 64 bytes and server_private_key of 32, for the accounts of `record_from_upload`; HYBRID_PINNED
 * gets a fresh KEM key. `to_suite` makes one of another suite with the same keys. After `adopt_ksf`, which changes the parameters of new registrations, save the STATE again. */
int candor_opaque_server_generate(uint32_t suite_number, const uint8_t *ksf, size_t ksf_length, candor_opaque_handle *server);
int candor_opaque_server_from_bytes(uint32_t suite_number, const uint8_t *saved, size_t length, candor_opaque_handle *server);
int candor_opaque_server_from_keys(uint32_t suite_number, const uint8_t *oprf_seed, size_t oprf_seed_length, const uint8_t *secret_key, size_t secret_key_length,
                                   const uint8_t *ksf, size_t ksf_length, candor_opaque_handle *server);
int candor_opaque_server_to_suite(candor_opaque_handle server, uint32_t suite_number, candor_opaque_handle *other);
int candor_opaque_server_adopt_ksf(candor_opaque_handle server, const uint8_t *ksf, size_t ksf_length, uint32_t moved_per_mille);

/* Registration. `start_registration` is for a new account; an account that exists registers with `start_registration_again` and the session of a login that has just
 * succeeded. With an identifier of the caller's, for accounts that are shared with another implementation, every call for an existing account is a guess at its
 * password.
 *
 * Start: MESSAGE, KSF, STATE. Resume: STATE. Finish: RECORD, and CREDENTIAL_HASH of the record that it replaces, if it replaces one. A STATE that goes through the
 * client must be sealed: who can change it chooses the account that he registers for. Store the record only if `change_applies_to` the account as it is then:
 * `current` is its stored record, or NULL if the name is free. Ask in the transaction that stores it, and when a record is replaced end the account's other sessions. */
int candor_opaque_server_start_registration(candor_opaque_handle server, const uint8_t *request, size_t length, candor_opaque_handle *registration);
int candor_opaque_server_start_registration_again(candor_opaque_handle server, candor_opaque_handle session, const uint8_t *request, size_t length,
                                                  candor_opaque_handle *registration);
int candor_opaque_server_start_registration_with_id(candor_opaque_handle server, const uint8_t *id, size_t id_length, const uint8_t *request,
                                                    size_t length, candor_opaque_handle *registration);
int candor_opaque_server_resume_registration(const uint8_t *saved, size_t length, candor_opaque_handle *registration);
int candor_opaque_server_finish_registration(candor_opaque_handle registration, const uint8_t *upload, size_t length, candor_opaque_handle *change);
int candor_opaque_change_applies_to(candor_opaque_handle change, const uint8_t *current, size_t length);

/* Records: of an account that another implementation registered; one that is to be used with this suite or a stronger one from now on; and the CREDENTIAL_HASH of a
 * stored record, 32 bytes, by which the record of a session, or the one that a change replaces, is found. */
int candor_opaque_record_from_upload(const uint8_t *upload, size_t upload_length, const uint8_t *ksf, size_t ksf_length, const uint8_t *id,
                                     size_t id_length, uint32_t minimum, uint8_t *out, size_t room, size_t *written);
int candor_opaque_record_credential_hash(const uint8_t *record, size_t length, uint8_t *out, size_t room, size_t *written);
int candor_opaque_record_raise_minimum(const uint8_t *record, size_t length, uint32_t suite_number, uint8_t *out, size_t room, size_t *written);

/* Login. `record` is what is stored for `name`, or no bytes if there is no such account: the answer is made all the same, and nobody can tell. Count the logins that
 * were begun under a name, since each may be a guess.
 *
 * Start: MESSAGE, KSF, STATE, LOGIN_ID, BELOW_MINIMUM. Resume: STATE, LOGIN_ID. A login should expire after a minute or so. A STATE must be used once: delete it when
 * it is read, or, if the client carries it in a sealed cookie, remember each LOGIN_ID until the cookie expires.
 * Finish: SESSION_KEY, CREDENTIAL_HASH. `record` is that of the account that the client is about to be let into. */
int candor_opaque_server_start_login(candor_opaque_handle server, const uint8_t *ke1, size_t ke1_length, const uint8_t *name, size_t name_length,
                                     const uint8_t *record, size_t record_length, const candor_opaque_parties *parties_given,
                                     candor_opaque_handle *login);
int candor_opaque_server_resume_login(candor_opaque_handle server, const uint8_t *saved, size_t length, candor_opaque_handle *login);
int candor_opaque_server_finish_login(candor_opaque_handle login, const uint8_t *ke3, size_t ke3_length, const uint8_t *record, size_t record_length,
                                      candor_opaque_handle *session);

/* The bytes of a part of an object. */
int candor_opaque_bytes(candor_opaque_handle object, uint32_t part_number, uint8_t *out, size_t room, size_t *written);

/* Frees an object and wipes it. The handle 0 is ignored. */
int candor_opaque_free(candor_opaque_handle object);

/* What a status means, and the version of the library: never NULL, never to be freed. */
const char *candor_opaque_message(int status);
const char *candor_opaque_version(void);

#ifdef __cplusplus
}
#endif

#endif
