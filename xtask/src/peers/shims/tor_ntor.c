/* C tor's ntor as plain functions with opaque pointers. */
#include "orconfig.h"

#include "core/crypto/onion_ntor.h"
#include "lib/crypt_ops/crypto_curve25519.h"
#include "lib/crypt_ops/crypto_init.h"
#include "lib/ctime/di_ops.h"
#include "lib/log/log.h"
#include "lib/malloc/malloc.h"

#include <string.h>

struct relay {
    curve25519_keypair_t keys;
    di_digest256_map_t *map;
    uint8_t identity[20];
};

/* Must come first: it also chooses the multiplication of the base point, as tor does when it starts. */
int candor_tor_init(void) {
    init_logging(1);
    return crypto_early_init() == 0;
}

const char *candor_tor_version(void) { return VERSION; }

/* The relay with this onion key and this identity. */
void *candor_tor_relay(const uint8_t *secret, const uint8_t *identity) {
    struct relay *relay = tor_malloc_zero(sizeof *relay);
    memcpy(relay->keys.seckey.secret_key, secret, 32);
    curve25519_public_key_generate(&relay->keys.pubkey, &relay->keys.seckey);
    dimap_add_entry(&relay->map, relay->keys.pubkey.public_key, &relay->keys);
    memcpy(relay->identity, identity, sizeof relay->identity);
    return relay;
}

void candor_tor_relay_free(void *at) {
    struct relay *relay = at;
    dimap_free(relay->map, NULL);
    tor_free(relay);
}

/* The client's first step: what it waits with, or null; 84 bytes are written. */
void *candor_tor_start(const void *at, uint8_t *onionskin) {
    const struct relay *relay = at;
    ntor_handshake_state_t *state = NULL;
    if (onion_skin_ntor_create(relay->identity, &relay->keys.pubkey, &state, onionskin) != 0) return NULL;
    return state;
}

void candor_tor_forget(void *state) { ntor_handshake_state_free_(state); }

/* All that the relay does: 84 bytes are read; 64 and the keys are written. Gives 1. */
int candor_tor_answer(const void *at, const uint8_t *onionskin, uint8_t *reply, uint8_t *keys, size_t length) {
    const struct relay *relay = at;
    return onion_skin_ntor_server_handshake(onionskin, relay->map, NULL, relay->identity, reply, keys, length) == 0;
}

/* The client's last step: 64 bytes are read, the keys are written. Gives 1. */
int candor_tor_finish(const void *state, const uint8_t *reply, uint8_t *keys, size_t length) {
    return onion_skin_ntor_client_handshake(state, reply, keys, length, NULL) == 0;
}
