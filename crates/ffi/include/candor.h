/* The primitive suite of candor for C and C++. README.md beside it shows how to compile and link.
 *
 * Handles. Every object is a number, and 0 is none. A handle that was freed, or was never made, is answered with CANDOR_HANDLE: using it, or
 * freeing it again, harms nothing. Objects may be used and freed by several threads at once.
 *
 * Outputs. Wherever there are `uint8_t *out, size_t room, size_t *written`, the output is written if there is room, and its length goes to `written`,
 * which may be NULL. If there is none, the answer is CANDOR_BUFFER, the length that is needed goes to `written`, and nothing else has happened; so a
 * call with `room` 0 asks for the length. `out` may overlap inputs; `written` may not. A call that fails writes no output, but for AEADs, see there.
 *
 * Inputs. NULL is no bytes where the length is 0, and CANDOR_NULL otherwise.
 */
#ifndef CANDOR_H
#define CANDOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function but the last two returns. */
enum {
    CANDOR_OK = 0, /* success */
    CANDOR_NULL = 1, /* a pointer is null where bytes are expected */
    CANDOR_HANDLE = 2, /* the handle is not in use: it was freed, or was never made */
    CANDOR_KIND = 3, /* the handle is that of another kind of object */
    CANDOR_ALGORITHM = 4, /* no algorithm has this number */
    CANDOR_LENGTH = 5, /* an input has a length that the algorithm does not take */
    CANDOR_BUFFER = 6, /* the buffer is too short; the length of the output has been written */
    CANDOR_INVALID_KEY = 7, /* the bytes are not a valid key */
    CANDOR_UNSUITABLE = 8, /* keys of this kind do not do that, or the two keys are of different kinds */
    CANDOR_AUTHENTICATION = 9, /* tag, code, signature or ciphertext does not match this key and message */
    CANDOR_FINISHED = 10, /* the hash or MAC has been finished */
    CANDOR_RANDOMNESS = 11, /* the operating system gave no randomness */
    CANDOR_INTERNAL = 12, /* a mistake in candor */
    CANDOR_MEMORY = 13, /* not enough memory */
    CANDOR_FAULT = 14, /* a secret computation went wrong, by a fault of the machine or a key whose "prime" is none; its result was discarded */
};

/* Hashes. SHAKE's digests are as long as the room for them; with `room` 0 the answer is CANDOR_BUFFER and its usual length, 32 bytes for SHAKE128 and
 * 64 for SHAKE256. Others have their own length. */
enum {
    CANDOR_HASH_SHA256 = 1,
    CANDOR_HASH_SHA384 = 2,
    CANDOR_HASH_SHA512 = 3,
    CANDOR_HASH_SHA3_256 = 4,
    CANDOR_HASH_SHA3_512 = 5,
    CANDOR_HASH_BLAKE2B_256 = 6,
    CANDOR_HASH_BLAKE2B_512 = 7,
    CANDOR_HASH_SM3 = 8,
    CANDOR_HASH_SHAKE128 = 9,
    CANDOR_HASH_SHAKE256 = 10,
};

/* Message authentication codes. HMAC takes keys of any length, BLAKE2b of 1 to 64 bytes, CMAC those of its cipher. */
enum {
    CANDOR_MAC_HMAC_SHA256 = 1,
    CANDOR_MAC_HMAC_SHA384 = 2,
    CANDOR_MAC_HMAC_SHA512 = 3,
    CANDOR_MAC_HMAC_SHA3_256 = 4,
    CANDOR_MAC_HMAC_SHA3_512 = 5,
    CANDOR_MAC_HMAC_BLAKE2B_512 = 6,
    CANDOR_MAC_HMAC_SM3 = 7,
    CANDOR_MAC_BLAKE2B_512 = 8,
    CANDOR_MAC_CMAC_AES_128 = 9,
    CANDOR_MAC_CMAC_AES_256 = 10,
    CANDOR_MAC_CMAC_SM4 = 11,
};

/* AEADs. Nonces have 12 bytes, for XChaCha20-Poly1305 24; tags have 16. */
enum {
    CANDOR_AEAD_AES_128_GCM = 1,
    CANDOR_AEAD_AES_256_GCM = 2,
    CANDOR_AEAD_CHACHA20_POLY1305 = 3,
    CANDOR_AEAD_XCHACHA20_POLY1305 = 4,
    CANDOR_AEAD_SM4_GCM = 5,
    CANDOR_AEAD_SM4_CCM = 6,
};

/* Kinds of keys. The bytes of a secret key: its number, the highest byte first; 32 bytes of Ed25519 and X25519; the seed of ML-KEM, 64 bytes, or its
 * expanded key. Those of a public key: a point in SEC1's form, 32 bytes, or ML-KEM's encapsulation key. RSA's are the DER of PKCS #1. */
enum {
    CANDOR_KEY_P256 = 1,
    CANDOR_KEY_P384 = 2,
    CANDOR_KEY_SECP256K1 = 3,
    CANDOR_KEY_SM2 = 4,
    CANDOR_KEY_ED25519 = 5,
    CANDOR_KEY_X25519 = 6,
    CANDOR_KEY_ML_KEM_512 = 7,
    CANDOR_KEY_ML_KEM_768 = 8,
    CANDOR_KEY_ML_KEM_1024 = 9,
    CANDOR_KEY_RSA_2048 = 10,
    CANDOR_KEY_RSA_3072 = 11,
    CANDOR_KEY_RSA_4096 = 12,
};

/* Paddings of RSA's signatures: PSS with a salt as long as the digest, and PKCS #1 v1.5. */
enum {
    CANDOR_PADDING_PSS = 1,
    CANDOR_PADDING_PKCS1V15 = 2,
};

typedef uint64_t candor_handle;

/* A hash in one call, and in pieces. `candor_hash_final` ends the hash, but does not free it. */
int candor_hash(uint32_t algorithm_number, const uint8_t *data, size_t length, uint8_t *out, size_t room, size_t *written);
int candor_hash_init(uint32_t algorithm_number, candor_handle *hash);
int candor_hash_update(candor_handle hash, const uint8_t *data, size_t length);
int candor_hash_final(candor_handle hash, uint8_t *out, size_t room, size_t *written);
int candor_hash_copy(candor_handle hash, candor_handle *copy);

/* A MAC in pieces. `candor_mac_final` and `candor_mac_verify` end it, but do not free it. Codes are compared in constant time. */
int candor_mac_init(uint32_t algorithm_number, const uint8_t *key, size_t key_length, candor_handle *mac);
int candor_mac_update(candor_handle mac, const uint8_t *data, size_t length);
int candor_mac_final(candor_handle mac, uint8_t *out, size_t room, size_t *written);
int candor_mac_verify(candor_handle mac, const uint8_t *code, size_t length);
int candor_mac_copy(candor_handle mac, candor_handle *copy);

/* AEADs. What is sealed is the message and behind it the tag. Never use a nonce twice under one key. If what is opened is not authentic, the output is
 * zeros, also where it lies over the input, and so is that of a message that is too long to seal. */
int candor_aead_init(uint32_t algorithm_number, const uint8_t *key, size_t key_length, candor_handle *aead);
int candor_aead_seal(candor_handle aead, const uint8_t *nonce, size_t nonce_length, const uint8_t *aad, size_t aad_length,
                     const uint8_t *message, size_t message_length, uint8_t *out, size_t room, size_t *written);
int candor_aead_open(candor_handle aead, const uint8_t *nonce, size_t nonce_length, const uint8_t *aad, size_t aad_length,
                     const uint8_t *sealed, size_t sealed_length, uint8_t *out, size_t room, size_t *written);

/* Keys. Files are PEM or DER: PKCS#8, SEC1's form of secret keys on curves, PKCS#1's of RSA's secret and public keys, SubjectPublicKeyInfo. PEM that is
 * written is PKCS#8 or SubjectPublicKeyInfo, and has no zero behind it. */
int candor_secret_generate(uint32_t kind_number, candor_handle *secret);
int candor_secret_from_bytes(uint32_t kind_number, const uint8_t *data, size_t length, candor_handle *secret);
int candor_secret_from_file(const uint8_t *data, size_t length, candor_handle *secret);
int candor_secret_to_bytes(candor_handle secret, uint8_t *out, size_t room, size_t *written);
int candor_secret_to_pem(candor_handle secret, uint8_t *out, size_t room, size_t *written);
int candor_secret_public(candor_handle secret, candor_handle *public_key);
int candor_public_from_bytes(uint32_t kind_number, const uint8_t *data, size_t length, candor_handle *public_key);
int candor_public_from_file(const uint8_t *data, size_t length, candor_handle *public_key);
int candor_public_to_bytes(candor_handle public_key, uint8_t *out, size_t room, size_t *written);
int candor_public_to_pem(candor_handle public_key, uint8_t *out, size_t room, size_t *written);

/* Signatures: ECDSA (DER), SM2 (DER), Ed25519 (64 bytes), RSA (PSS). `hash_number` is a hash for ECDSA or RSA, or 0 for the key's own: SHA-256, for P-384
 * SHA-384; RSA takes SHA-256, SHA-384 and SHA-512. `id` is the identity of SM2's signer, or NULL for the usual one. A signature in DER is a few bytes
 * shorter by chance; there must always be room for the longest: 72 bytes, for P-384 104. Those of RSA have 256, 384 or 512 bytes, as the modulus. */
int candor_sign(candor_handle secret, uint32_t hash_number, const uint8_t *id, size_t id_length, const uint8_t *message, size_t length,
                uint8_t *out, size_t room, size_t *written);
int candor_verify(candor_handle public_key, uint32_t hash_number, const uint8_t *id, size_t id_length, const uint8_t *message, size_t length,
                  const uint8_t *signature, size_t signature_length);

/* RSA: signatures with a padding of choice, as long as the modulus; hash 0 is SHA-256, and SHA-384 and SHA-512 are there as well. Encryption is OAEP
 * with SHA-256 and no label. A message has at most 190, 318 or 446 bytes for RSA-2048, RSA-3072 and RSA-4096, and to decrypt there must always be room
 * for that. */
int candor_rsa_sign(candor_handle secret, uint32_t padding_number, uint32_t hash_number, const uint8_t *message, size_t length, uint8_t *out,
                    size_t room, size_t *written);
int candor_rsa_verify(candor_handle public_key, uint32_t padding_number, uint32_t hash_number, const uint8_t *message, size_t length,
                      const uint8_t *signature, size_t signature_length);
int candor_rsa_encrypt(candor_handle public_key, const uint8_t *message, size_t length, uint8_t *out, size_t room, size_t *written);
int candor_rsa_decrypt(candor_handle secret, const uint8_t *ciphertext, size_t length, uint8_t *out, size_t room, size_t *written);

/* ECDH and X25519: both sides get the same bytes, which are not uniform: derive keys from them. */
int candor_agree(candor_handle secret, candor_handle public_key, uint8_t *out, size_t room, size_t *written);

/* ML-KEM: both sides get the same 32 bytes. A ciphertext that was made for another key gives another secret, and no error. */
int candor_kem_encapsulate(candor_handle public_key, uint8_t *ciphertext, size_t room, size_t *written, uint8_t *shared, size_t shared_room,
                           size_t *shared_written);
int candor_kem_decapsulate(candor_handle secret, const uint8_t *ciphertext, size_t length, uint8_t *out, size_t room, size_t *written);

/* SM2 encryption in the form of GM/T 0009, which OpenSSL has as well. A message has at least one byte. A ciphertext is at most 116 bytes
 * longer, and there must always be room for that. */
int candor_sm2_encrypt(candor_handle public_key, const uint8_t *message, size_t length, uint8_t *out, size_t room, size_t *written);
int candor_sm2_decrypt(candor_handle secret, const uint8_t *ciphertext, size_t length, uint8_t *out, size_t room, size_t *written);

/* Frees an object and wipes it. The handle 0 is ignored. */
int candor_free(candor_handle handle);

/* What a status means, and the version of the library: never NULL, never to be freed. */
const char *candor_message(int status);
const char *candor_version(void);

#ifdef __cplusplus
}
#endif

#endif
