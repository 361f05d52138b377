/* Hashes, signs and encrypts a message. README.md says how to compile it. */
#include <candor.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(int status, const char *what) {
    if (status != CANDOR_OK) {
        fprintf(stderr, "%s: %s\n", what, candor_message(status));
        exit(1);
    }
}

static void print(const char *name, const uint8_t *bytes, size_t length) {
    printf("%s ", name);
    for (size_t at = 0; at < length; at++) printf("%02x", bytes[at]);
    printf("\n");
}

int main(void) {
    const uint8_t *message = (const uint8_t *)"abc";
    uint8_t buffer[256], shared[2][32], ciphertext[1088];
    size_t length;

    /* A hash, in pieces. */
    candor_handle hash;
    must(candor_hash_init(CANDOR_HASH_SHA256, &hash), "hash");
    must(candor_hash_update(hash, message, 1), "hash");
    must(candor_hash_update(hash, message + 1, 2), "hash");
    must(candor_hash_final(hash, buffer, sizeof buffer, &length), "hash");
    must(candor_free(hash), "hash");
    print("sha256", buffer, length);

    /* A signature. */
    candor_handle secret, public_key;
    must(candor_secret_generate(CANDOR_KEY_ED25519, &secret), "key");
    must(candor_secret_public(secret, &public_key), "key");
    must(candor_sign(secret, 0, NULL, 0, message, 3, buffer, sizeof buffer, &length), "sign");
    must(candor_verify(public_key, 0, NULL, 0, message, 3, buffer, length), "verify");
    buffer[0] ^= 1;
    if (candor_verify(public_key, 0, NULL, 0, message, 3, buffer, length) != CANDOR_AUTHENTICATION) return 1;
    printf("ed25519 verified\n");
    candor_free(public_key);
    candor_free(secret);

    /* A shared secret by ML-KEM-768, and a message under it. */
    must(candor_secret_generate(CANDOR_KEY_ML_KEM_768, &secret), "key");
    must(candor_secret_public(secret, &public_key), "key");
    must(candor_kem_encapsulate(public_key, ciphertext, sizeof ciphertext, NULL, shared[0], 32, NULL), "encapsulate");
    must(candor_kem_decapsulate(secret, ciphertext, sizeof ciphertext, shared[1], 32, NULL), "decapsulate");

    const uint8_t nonce[12] = {0}; /* once: the key is fresh */
    candor_handle ours, theirs;
    must(candor_aead_init(CANDOR_AEAD_AES_256_GCM, shared[0], 32, &ours), "aead");
    must(candor_aead_init(CANDOR_AEAD_AES_256_GCM, shared[1], 32, &theirs), "aead");
    must(candor_aead_seal(ours, nonce, sizeof nonce, NULL, 0, message, 3, buffer, sizeof buffer, &length), "seal");
    must(candor_aead_open(theirs, nonce, sizeof nonce, NULL, 0, buffer, length, buffer, sizeof buffer, &length), "open");
    printf("aes-256-gcm %.*s\n", (int)length, (const char *)buffer);
    candor_free(ours);
    candor_free(theirs);
    candor_free(public_key);
    candor_free(secret);
    return 0;
}
