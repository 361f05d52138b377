/* Every function of the header: what it does, and what it says to whoever calls it wrongly. Runs under AddressSanitizer and valgrind.
 *
 * Arguments: files with the secret keys of RSA-3072 and RSA-4096, which take long to make under valgrind, and one whose first "prime" is none. */
#include <candor.h>

#define MESSAGE candor_message
#include <expect.h>

#include <pthread.h>
#include <string.h>

static const uint8_t *const ABC = (const uint8_t *)"abc";
static const uint8_t OF_ABC[4] = {0xba, 0x78, 0x16, 0xbf};

static void hashes(void) {
    uint8_t *digest = malloc(32), of_abc[32], long_one[100];
    size_t length = 0;
    OK(candor_hash(CANDOR_HASH_SHA256, ABC, 3, digest, 32, &length));
    HOLDS(length == 32 && memcmp(digest, OF_ABC, 4) == 0);
    memcpy(of_abc, digest, 32);
    OK(candor_hash(CANDOR_HASH_SHA256, NULL, 0, digest, 32, NULL));
    IS(CANDOR_NULL, candor_hash(CANDOR_HASH_SHA256, NULL, 3, digest, 32, NULL));
    IS(CANDOR_NULL, candor_hash(CANDOR_HASH_SHA256, ABC, 3, NULL, 32, NULL));
    IS(CANDOR_LENGTH, candor_hash(CANDOR_HASH_SHA256, ABC, SIZE_MAX, digest, 32, NULL));
    IS(CANDOR_ALGORITHM, candor_hash(0, ABC, 3, digest, 32, NULL));
    IS(CANDOR_ALGORITHM, candor_hash(99, ABC, 3, digest, 32, NULL));
    length = 0;
    IS(CANDOR_BUFFER, candor_hash(CANDOR_HASH_SHA256, ABC, 3, digest, 31, &length));
    HOLDS(length == 32);
    OK(candor_hash(CANDOR_HASH_SHAKE128, ABC, 3, long_one, sizeof long_one, &length));
    HOLDS(length == sizeof long_one);
    /* As long a digest as nobody has memory for. */
    IS(CANDOR_MEMORY, candor_hash(CANDOR_HASH_SHAKE128, ABC, 3, long_one, SIZE_MAX, &length));
    IS(CANDOR_BUFFER, candor_hash(CANDOR_HASH_SHAKE128, ABC, 3, NULL, 0, &length));
    HOLDS(length == 32);
    IS(CANDOR_BUFFER, candor_hash(CANDOR_HASH_SHAKE256, ABC, 3, NULL, 0, &length));
    HOLDS(length == 64);
    /* The output over the input, in every way, and beside it. */
    for (size_t shift = 0; shift + 32 <= sizeof long_one; shift++) {
        memcpy(long_one + 40, "abc", 3);
        OK(candor_hash(CANDOR_HASH_SHA256, long_one + 40, 3, long_one + shift, 32, NULL));
        HOLDS(memcmp(long_one + shift, of_abc, 32) == 0);
    }

    for (uint32_t number = CANDOR_HASH_SHA256; number <= CANDOR_HASH_SHAKE256; number++) {
        uint8_t once[64], pieces[64], copied[64];
        candor_handle hash, copy;
        OK(candor_hash(number, ABC, 3, once, 64, &length));
        OK(candor_hash_init(number, &hash));
        OK(candor_hash_update(hash, ABC, 1));
        OK(candor_hash_copy(hash, &copy));
        OK(candor_hash_update(hash, ABC + 1, 2));
        OK(candor_hash_update(copy, ABC + 1, 2));
        IS(CANDOR_NULL, candor_hash_update(hash, NULL, 1));
        /* Asking for the length, which is the usual one, uses nothing up. */
        size_t asked = 0;
        IS(CANDOR_BUFFER, candor_hash_final(hash, NULL, 0, &asked));
        HOLDS(number < CANDOR_HASH_SHAKE128 ? asked == length : asked == 32u * (number - CANDOR_HASH_SHAKE128 + 1));
        OK(candor_hash_final(hash, pieces, length, NULL));
        OK(candor_hash_final(copy, copied, length, NULL));
        HOLDS(memcmp(once, pieces, length) == 0 && memcmp(once, copied, length) == 0);
        OK(candor_free(hash));
        OK(candor_free(copy));
    }

    candor_handle hash, copy = 5;
    OK(candor_hash_init(CANDOR_HASH_SHA256, &hash));
    OK(candor_hash_update(hash, ABC, 3));
    IS(CANDOR_BUFFER, candor_hash_final(hash, digest, 31, &length));
    OK(candor_hash_final(hash, digest, 32, &length)); /* it was not used up */
    HOLDS(memcmp(digest, OF_ABC, 4) == 0);
    IS(CANDOR_FINISHED, candor_hash_final(hash, digest, 32, NULL));
    IS(CANDOR_FINISHED, candor_hash_update(hash, ABC, 3));
    IS(CANDOR_FINISHED, candor_hash_copy(hash, &copy));
    HOLDS(copy == 0);
    OK(candor_free(hash));
    IS(CANDOR_HANDLE, candor_free(hash)); /* freed twice */
    IS(CANDOR_HANDLE, candor_hash_update(hash, ABC, 3)); /* used after it was freed */
    IS(CANDOR_HANDLE, candor_hash_final(hash, digest, 32, NULL));
    IS(CANDOR_HANDLE, candor_hash_copy(hash, &copy));
    /* The next object may take its place, but not its handle. */
    OK(candor_hash_init(CANDOR_HASH_SHA512, &copy));
    HOLDS(copy != hash);
    IS(CANDOR_HANDLE, candor_hash_update(hash, ABC, 3));
    OK(candor_free(copy));
    OK(candor_hash_init(CANDOR_HASH_SHAKE256, &copy));
    IS(CANDOR_MEMORY, candor_hash_final(copy, long_one, SIZE_MAX, NULL));
    OK(candor_hash_final(copy, long_one, sizeof long_one, NULL)); /* it was not used up */
    OK(candor_free(copy));
    IS(CANDOR_NULL, candor_hash_init(CANDOR_HASH_SHA256, NULL));
    IS(CANDOR_ALGORITHM, candor_hash_init(99, &hash));
    HOLDS(hash == 0);
    OK(candor_free(0));
    IS(CANDOR_HANDLE, candor_free(12345));
    IS(CANDOR_HANDLE, candor_free(UINT64_MAX));
    free(digest);
}

static void macs(void) {
    const uint8_t key[32] = {7};
    for (uint32_t number = CANDOR_MAC_HMAC_SHA256; number <= CANDOR_MAC_CMAC_SM4; number++) {
        size_t key_length = number == CANDOR_MAC_CMAC_AES_128 || number == CANDOR_MAC_CMAC_SM4 ? 16 : 32, length;
        uint8_t code[64];
        candor_handle mac, copy, third;
        OK(candor_mac_init(number, key, key_length, &mac));
        OK(candor_mac_update(mac, ABC, 2));
        OK(candor_mac_copy(mac, &copy));
        OK(candor_mac_copy(mac, &third));
        OK(candor_mac_update(mac, ABC + 2, 1));
        OK(candor_mac_update(copy, ABC + 2, 1));
        OK(candor_mac_update(third, ABC + 2, 1));
        IS(CANDOR_BUFFER, candor_mac_final(mac, NULL, 0, &length));
        OK(candor_mac_final(mac, code, sizeof code, &length));
        IS(CANDOR_FINISHED, candor_mac_final(mac, code, sizeof code, NULL));
        OK(candor_mac_verify(copy, code, length));
        IS(CANDOR_FINISHED, candor_mac_verify(copy, code, length));
        code[length - 1] ^= 1;
        IS(CANDOR_AUTHENTICATION, candor_mac_verify(third, code, length));
        OK(candor_free(mac));
        OK(candor_free(copy));
        OK(candor_free(third));
        IS(CANDOR_HANDLE, candor_mac_update(mac, ABC, 1));
    }
    candor_handle mac;
    IS(CANDOR_LENGTH, candor_mac_init(CANDOR_MAC_CMAC_AES_128, key, 15, &mac));
    IS(CANDOR_LENGTH, candor_mac_init(CANDOR_MAC_BLAKE2B_512, key, 0, &mac));
    HOLDS(mac == 0);
    IS(CANDOR_NULL, candor_mac_init(CANDOR_MAC_HMAC_SHA256, NULL, 15, &mac));
    IS(CANDOR_ALGORITHM, candor_mac_init(99, key, 16, &mac));
    OK(candor_mac_init(CANDOR_MAC_HMAC_SHA256, key, 32, &mac));
    IS(CANDOR_KIND, candor_hash_update(mac, ABC, 1)); /* a MAC is no hash */
    OK(candor_free(mac));
}

static void aeads(void) {
    const uint8_t key[32] = {1}, nonce[24] = {2};
    for (uint32_t number = CANDOR_AEAD_AES_128_GCM; number <= CANDOR_AEAD_SM4_CCM; number++) {
        size_t key_length = number == CANDOR_AEAD_AES_128_GCM || number >= CANDOR_AEAD_SM4_GCM ? 16 : 32;
        size_t nonce_length = number == CANDOR_AEAD_XCHACHA20_POLY1305 ? 24 : 12, length;
        uint8_t *sealed = malloc(19), opened[3], inside[64];
        candor_handle aead;
        OK(candor_aead_init(number, key, key_length, &aead));
        OK(candor_aead_seal(aead, nonce, nonce_length, ABC, 2, ABC, 3, sealed, 19, &length));
        HOLDS(length == 19);
        OK(candor_aead_open(aead, nonce, nonce_length, ABC, 2, sealed, 19, opened, 3, &length));
        HOLDS(length == 3 && memcmp(opened, "abc", 3) == 0);
        IS(CANDOR_BUFFER, candor_aead_seal(aead, nonce, nonce_length, NULL, 0, ABC, 3, sealed, 18, &length));
        IS(CANDOR_BUFFER, candor_aead_open(aead, nonce, nonce_length, ABC, 2, sealed, 19, opened, 2, &length));
        IS(CANDOR_LENGTH, candor_aead_open(aead, nonce, nonce_length, ABC, 2, sealed, 15, opened, 3, &length));
        IS(CANDOR_LENGTH, candor_aead_seal(aead, nonce, nonce_length - 1, NULL, 0, ABC, 3, sealed, 19, &length));
        IS(CANDOR_NULL, candor_aead_seal(aead, nonce, nonce_length, NULL, 0, NULL, 3, inside, 64, &length));
        IS(CANDOR_NULL, candor_aead_open(aead, nonce, nonce_length, NULL, 0, NULL, 19, inside, 64, &length));
        IS(CANDOR_LENGTH, candor_aead_seal(aead, nonce, nonce_length, NULL, 0, ABC, SIZE_MAX - 20, inside, 64, &length));
        IS(CANDOR_LENGTH, candor_aead_seal(aead, nonce, nonce_length, NULL, 0, ABC, SIZE_MAX, inside, 64, &length));
        IS(CANDOR_LENGTH, candor_aead_open(aead, nonce, nonce_length, NULL, 0, ABC, SIZE_MAX - 20, inside, 64, &length));
        IS(CANDOR_NULL, candor_aead_seal(aead, nonce, nonce_length, NULL, 1, ABC, 3, inside, 64, &length));
        /* In place, shifted, and with everything in one buffer. */
        memcpy(inside, "abc", 3);
        memcpy(inside + 3, nonce, nonce_length);
        OK(candor_aead_seal(aead, inside + 3, nonce_length, inside, 2, inside, 3, inside + 1, 63, &length));
        OK(candor_aead_open(aead, nonce, nonce_length, ABC, 2, inside + 1, 19, inside, 64, &length));
        HOLDS(memcmp(inside, "abc", 3) == 0);
        /* An empty message has a tag. */
        OK(candor_aead_seal(aead, nonce, nonce_length, NULL, 0, NULL, 0, inside, 64, &length));
        HOLDS(length == 16);
        OK(candor_aead_open(aead, nonce, nonce_length, NULL, 0, inside, 16, NULL, 0, &length));
        HOLDS(length == 0);
        sealed[0] ^= 1;
        IS(CANDOR_AUTHENTICATION, candor_aead_open(aead, nonce, nonce_length, ABC, 2, sealed, 19, opened, 3, &length));
        HOLDS(memcmp(opened, "\0\0\0", 3) == 0);
        OK(candor_free(aead));
        IS(CANDOR_HANDLE, candor_aead_seal(aead, nonce, nonce_length, NULL, 0, ABC, 3, sealed, 19, &length));
        IS(CANDOR_LENGTH, candor_aead_init(number, key, 15, &aead));
        free(sealed);
    }
}

static void keys(void) {
    for (uint32_t number = CANDOR_KEY_P256; number <= CANDOR_KEY_ML_KEM_1024; number++) {
        uint8_t bytes[4096], again[4096] = {0}, pem[8192];
        size_t length, other_length, pem_length;
        candor_handle secret, same, public_key, same_public;
        OK(candor_secret_generate(number, &secret));
        OK(candor_secret_public(secret, &public_key));
        OK(candor_public_to_bytes(public_key, bytes, sizeof bytes, &length));
        OK(candor_public_from_bytes(number, bytes, length, &same_public));
        IS(CANDOR_BUFFER, candor_public_to_bytes(public_key, again, length - 1, &other_length));
        HOLDS(other_length == length);
        OK(candor_free(same_public));
        OK(candor_public_to_pem(public_key, pem, sizeof pem, &pem_length));
        OK(candor_public_from_file(pem, pem_length, &same_public));
        OK(candor_free(same_public));
        IS(CANDOR_INVALID_KEY, candor_secret_from_file(pem, pem_length, &same));
        OK(candor_secret_to_pem(secret, pem, sizeof pem, &pem_length));
        OK(candor_secret_from_file(pem, pem_length, &same));
        OK(candor_free(same));
        OK(candor_secret_to_bytes(secret, again, sizeof again, &other_length));
        OK(candor_secret_from_bytes(number, again, other_length, &same));
        OK(candor_secret_public(same, &same_public));
        OK(candor_public_to_bytes(same_public, again, sizeof again, &other_length));
        HOLDS(length == other_length && memcmp(bytes, again, length) == 0);
        HOLDS(candor_secret_from_bytes(number, bytes, 31, &same_public) != CANDOR_OK && same_public == 0);
        HOLDS(candor_public_from_bytes(number, bytes, 31, &same_public) != CANDOR_OK && same_public == 0);
        IS(CANDOR_KIND, candor_secret_to_bytes(public_key, again, sizeof again, NULL));
        IS(CANDOR_KIND, candor_public_to_bytes(secret, again, sizeof again, NULL));

        int signs = number <= CANDOR_KEY_ED25519, agrees = number <= CANDOR_KEY_SECP256K1 || number == CANDOR_KEY_X25519;
        int refused = signs ? CANDOR_OK : CANDOR_UNSUITABLE;
        IS(refused, candor_sign(secret, 0, NULL, 0, ABC, 3, bytes, sizeof bytes, &length));
        if (signs) {
            OK(candor_verify(public_key, 0, NULL, 0, ABC, 3, bytes, length));
            IS(CANDOR_AUTHENTICATION, candor_verify(public_key, 0, NULL, 0, ABC, 2, bytes, length));
            IS(CANDOR_AUTHENTICATION, candor_verify(public_key, 0, NULL, 0, ABC, 3, bytes, length - 1));
            IS(CANDOR_AUTHENTICATION, candor_verify(public_key, 0, NULL, 0, ABC, 3, NULL, 0));
            IS(CANDOR_NULL, candor_verify(public_key, 0, NULL, 0, ABC, 3, NULL, 64));
            /* Whether there is room does not depend on chance. */
            size_t longest = number == CANDOR_KEY_ED25519 ? 64 : number == CANDOR_KEY_P384 ? 104 : 72;
            IS(CANDOR_BUFFER, candor_sign(secret, 0, NULL, 0, ABC, 3, bytes, longest - 1, &length));
            HOLDS(length == longest);
            OK(candor_sign(secret, 0, NULL, 0, ABC, 3, bytes, longest, &length));
            HOLDS(length <= longest);
        }
        IS(agrees ? CANDOR_OK : CANDOR_UNSUITABLE, candor_agree(secret, public_key, bytes, sizeof bytes, &length));
        IS(CANDOR_KIND, candor_agree(secret, secret, bytes, sizeof bytes, &length));

        int encapsulates = number >= CANDOR_KEY_ML_KEM_512;
        uint8_t shared[2][32];
        IS(encapsulates ? CANDOR_OK : CANDOR_UNSUITABLE,
           candor_kem_encapsulate(public_key, bytes, sizeof bytes, &length, shared[0], 32, NULL));
        if (encapsulates) {
            OK(candor_kem_decapsulate(secret, bytes, length, shared[1], 32, NULL));
            HOLDS(memcmp(shared[0], shared[1], 32) == 0);
            bytes[0] ^= 1;
            OK(candor_kem_decapsulate(secret, bytes, length, shared[1], 32, NULL));
            HOLDS(memcmp(shared[0], shared[1], 32) != 0);
            IS(CANDOR_LENGTH, candor_kem_decapsulate(secret, bytes, length - 1, shared[1], 32, NULL));
            IS(CANDOR_BUFFER, candor_kem_encapsulate(public_key, bytes, length, NULL, shared[0], 31, &other_length));
            HOLDS(other_length == 32);
        }
        int sm2 = number == CANDOR_KEY_SM2;
        IS(sm2 ? CANDOR_OK : CANDOR_UNSUITABLE, candor_sm2_encrypt(public_key, ABC, 3, bytes, sizeof bytes, &length));
        if (sm2) {
            OK(candor_sm2_decrypt(secret, bytes, length, again, sizeof again, &other_length));
            HOLDS(other_length == 3 && memcmp(again, "abc", 3) == 0);
            OK(candor_sm2_decrypt(secret, bytes, length, again, 3, NULL));
            bytes[length - 1] ^= 1;
            IS(CANDOR_AUTHENTICATION, candor_sm2_decrypt(secret, bytes, length, again, 3, NULL));
            /* Whether there is room is looked at before the key works. */
            IS(CANDOR_BUFFER, candor_sm2_decrypt(secret, bytes, length, again, 2, &other_length));
            HOLDS(other_length == 3);
            IS(CANDOR_AUTHENTICATION, candor_sm2_decrypt(secret, bytes, length - 1, again, 0, NULL));
            IS(CANDOR_BUFFER, candor_sm2_encrypt(public_key, ABC, 3, bytes, 118, &length));
            HOLDS(length == 119);
            IS(CANDOR_LENGTH, candor_sm2_encrypt(public_key, NULL, 0, bytes, sizeof bytes, NULL));
            OK(candor_sign(secret, 0, ABC, 3, ABC, 3, bytes, sizeof bytes, &length));
            OK(candor_verify(public_key, 0, ABC, 3, ABC, 3, bytes, length));
            IS(CANDOR_AUTHENTICATION, candor_verify(public_key, 0, ABC, 2, ABC, 3, bytes, length));
        }
        candor_handle all[] = {secret, same, public_key};
        for (int at = 0; at < 3; at++) OK(candor_free(all[at]));
        IS(CANDOR_HANDLE, candor_secret_public(secret, &same));
        IS(CANDOR_HANDLE, candor_agree(secret, public_key, bytes, sizeof bytes, &length));
    }
    candor_handle secret;
    uint8_t bytes[200];
    size_t length;
    IS(CANDOR_ALGORITHM, candor_secret_generate(99, &secret));
    IS(CANDOR_NULL, candor_secret_generate(CANDOR_KEY_P256, NULL));
    IS(CANDOR_INVALID_KEY, candor_secret_from_file(ABC, 3, &secret));
    OK(candor_secret_generate(CANDOR_KEY_P256, &secret));
    OK(candor_sign(secret, CANDOR_HASH_SHA512, NULL, 0, ABC, 3, bytes, sizeof bytes, &length));
    IS(CANDOR_ALGORITHM, candor_sign(secret, 99, NULL, 0, ABC, 3, bytes, sizeof bytes, &length));
    IS(CANDOR_UNSUITABLE, candor_sign(secret, 0, ABC, 3, ABC, 3, bytes, sizeof bytes, &length));
    OK(candor_free(secret));
}

/* Outputs over the inputs: from the same byte, and shifted. */
static void rsa_overlapping(candor_handle secret, candor_handle public_key, size_t size) {
    uint8_t *buffer = malloc(size + 1);
    size_t length;
    for (size_t shift = 0; shift < 2; shift++) {
        for (uint32_t padding = CANDOR_PADDING_PSS; padding <= CANDOR_PADDING_PKCS1V15; padding++) {
            memcpy(buffer, "abc", 3);
            OK(candor_rsa_sign(secret, padding, 0, buffer, 3, buffer + shift, size, &length));
            HOLDS(length == size);
            OK(candor_rsa_verify(public_key, padding, 0, ABC, 3, buffer + shift, size));
        }
        memcpy(buffer, "abc", 3);
        OK(candor_rsa_encrypt(public_key, buffer, 3, buffer + shift, size, &length));
        HOLDS(length == size);
        OK(candor_rsa_decrypt(secret, buffer + shift, size, buffer, size, &length));
        HOLDS(length == 3 && memcmp(buffer, "abc", 3) == 0);
    }
    free(buffer);
}

static void rsa(void) {
    uint8_t bytes[2048], again[2048] = {0}, signature[256];
    size_t length, other_length;
    candor_handle secret, public_key, same, p256;
    OK(candor_secret_generate(CANDOR_KEY_RSA_2048, &secret));
    OK(candor_secret_public(secret, &public_key));
    OK(candor_secret_generate(CANDOR_KEY_P256, &p256));
    OK(candor_secret_to_bytes(secret, bytes, sizeof bytes, &length));
    OK(candor_secret_from_bytes(CANDOR_KEY_RSA_2048, bytes, length, &same));
    OK(candor_free(same));
    IS(CANDOR_LENGTH, candor_secret_from_bytes(CANDOR_KEY_RSA_3072, bytes, length, &same));
    IS(CANDOR_INVALID_KEY, candor_secret_from_bytes(CANDOR_KEY_RSA_2048, bytes, length - 1, &same));
    OK(candor_secret_to_pem(secret, bytes, sizeof bytes, &length));
    OK(candor_secret_from_file(bytes, length, &same));
    OK(candor_free(same));
    OK(candor_public_to_bytes(public_key, bytes, sizeof bytes, &length));
    OK(candor_public_from_bytes(CANDOR_KEY_RSA_2048, bytes, length, &same));
    OK(candor_free(same));
    for (uint32_t padding = CANDOR_PADDING_PSS; padding <= CANDOR_PADDING_PKCS1V15; padding++) {
        OK(candor_rsa_sign(secret, padding, CANDOR_HASH_SHA384, ABC, 3, signature, 256, &length));
        HOLDS(length == 256);
        OK(candor_rsa_verify(public_key, padding, CANDOR_HASH_SHA384, ABC, 3, signature, 256));
        IS(CANDOR_AUTHENTICATION, candor_rsa_verify(public_key, padding, 0, ABC, 3, signature, 256));
        IS(CANDOR_AUTHENTICATION, candor_rsa_verify(public_key, 3 - padding, CANDOR_HASH_SHA384, ABC, 3, signature, 256));
        IS(CANDOR_AUTHENTICATION, candor_rsa_verify(public_key, padding, CANDOR_HASH_SHA384, ABC, 3, signature, 255));
        IS(CANDOR_BUFFER, candor_rsa_sign(secret, padding, 0, ABC, 3, signature, 255, &length));
        HOLDS(length == 256);
    }
    /* PSS with SHA-256 is what `candor_sign` does. */
    OK(candor_sign(secret, 0, NULL, 0, ABC, 3, signature, 256, &length));
    OK(candor_rsa_verify(public_key, CANDOR_PADDING_PSS, 0, ABC, 3, signature, 256));
    OK(candor_rsa_sign(secret, CANDOR_PADDING_PSS, 0, ABC, 3, signature, 256, NULL));
    OK(candor_verify(public_key, 0, NULL, 0, ABC, 3, signature, 256));
    IS(CANDOR_ALGORITHM, candor_rsa_sign(secret, 0, 0, ABC, 3, signature, 256, NULL));
    IS(CANDOR_ALGORITHM, candor_rsa_sign(secret, CANDOR_PADDING_PSS, 99, ABC, 3, signature, 256, NULL));
    IS(CANDOR_UNSUITABLE, candor_rsa_sign(secret, CANDOR_PADDING_PSS, CANDOR_HASH_SM3, ABC, 3, signature, 256, NULL));
    IS(CANDOR_UNSUITABLE, candor_rsa_sign(p256, CANDOR_PADDING_PSS, 0, ABC, 3, signature, 256, NULL));
    IS(CANDOR_KIND, candor_rsa_sign(public_key, CANDOR_PADDING_PSS, 0, ABC, 3, signature, 256, NULL));
    IS(CANDOR_KIND, candor_rsa_verify(secret, CANDOR_PADDING_PSS, 0, ABC, 3, signature, 256));

    OK(candor_rsa_encrypt(public_key, ABC, 3, bytes, sizeof bytes, &length));
    HOLDS(length == 256);
    OK(candor_rsa_decrypt(secret, bytes, length, again, sizeof again, &other_length));
    HOLDS(other_length == 3 && memcmp(again, "abc", 3) == 0);
    bytes[9] ^= 1;
    IS(CANDOR_AUTHENTICATION, candor_rsa_decrypt(secret, bytes, length, again, sizeof again, NULL));
    IS(CANDOR_AUTHENTICATION, candor_rsa_decrypt(secret, bytes, length - 1, again, sizeof again, NULL));
    bytes[9] ^= 1;
    /* Whether there is room does not depend on the message. */
    IS(CANDOR_BUFFER, candor_rsa_decrypt(secret, bytes, length, again, 189, &other_length));
    HOLDS(other_length == 190);
    OK(candor_rsa_decrypt(secret, bytes, length, again, 190, &other_length));
    HOLDS(other_length == 3);
    IS(CANDOR_BUFFER, candor_rsa_encrypt(public_key, ABC, 3, bytes, 255, &other_length));
    HOLDS(other_length == 256);
    OK(candor_rsa_encrypt(public_key, again, 190, bytes, sizeof bytes, &length));
    IS(CANDOR_LENGTH, candor_rsa_encrypt(public_key, again, 191, bytes, sizeof bytes, &length));
    IS(CANDOR_UNSUITABLE, candor_rsa_decrypt(p256, bytes, length, again, sizeof again, NULL));
    IS(CANDOR_UNSUITABLE, candor_sm2_decrypt(secret, bytes, length, again, sizeof again, NULL));
    rsa_overlapping(secret, public_key, 256);
    OK(candor_free(secret));
    OK(candor_free(public_key));
    OK(candor_free(p256));
}

static candor_handle secret_in(const char *path) {
    uint8_t file[4096];
    candor_handle secret;
    FILE *opened = fopen(path, "rb");
    HOLDS(opened != NULL);
    size_t length = fread(file, 1, sizeof file, opened);
    HOLDS(length > 0 && length < sizeof file && fclose(opened) == 0);
    OK(candor_secret_from_file(file, length, &secret));
    return secret;
}

static void larger_rsa(const char *path, uint32_t kind, size_t size) {
    uint8_t bytes[4096], signature[512];
    size_t length;
    candor_handle secret = secret_in(path), public_key, same;
    OK(candor_secret_public(secret, &public_key));
    OK(candor_secret_to_bytes(secret, bytes, sizeof bytes, &length));
    OK(candor_secret_from_bytes(kind, bytes, length, &same));
    OK(candor_free(same));
    IS(CANDOR_LENGTH, candor_secret_from_bytes(CANDOR_KEY_RSA_2048, bytes, length, &same));
    OK(candor_public_to_bytes(public_key, bytes, sizeof bytes, &length));
    OK(candor_public_from_bytes(kind, bytes, length, &same));
    OK(candor_free(same));
    IS(CANDOR_BUFFER, candor_sign(secret, 0, NULL, 0, ABC, 3, signature, size - 1, &length));
    HOLDS(length == size);
    OK(candor_sign(secret, CANDOR_HASH_SHA512, NULL, 0, ABC, 3, signature, size, &length));
    OK(candor_verify(public_key, CANDOR_HASH_SHA512, NULL, 0, ABC, 3, signature, size));
    IS(CANDOR_AUTHENTICATION, candor_verify(public_key, 0, NULL, 0, ABC, 3, signature, size));
    IS(CANDOR_BUFFER, candor_rsa_decrypt(secret, signature, size, NULL, 0, &length));
    HOLDS(length == size - 66);
    rsa_overlapping(secret, public_key, size);
    OK(candor_free(secret));
    OK(candor_free(public_key));
}

/* A key whose parts belong together, though its first "prime" is a product: it is read, and what it signs is discarded. */
static void composite_rsa(const char *path) {
    uint8_t bytes[256], signature[256] = {0};
    size_t length;
    candor_handle secret = secret_in(path), public_key;
    OK(candor_secret_public(secret, &public_key));
    IS(CANDOR_FAULT, candor_sign(secret, 0, NULL, 0, ABC, 3, signature, sizeof signature, &length));
    for (size_t at = 0; at < sizeof signature; at++) HOLDS(signature[at] == 0);
    OK(candor_rsa_encrypt(public_key, ABC, 3, bytes, sizeof bytes, &length));
    IS(CANDOR_FAULT, candor_rsa_decrypt(secret, bytes, length, signature, sizeof signature, &length));
    OK(candor_free(secret));
    OK(candor_free(public_key));
}

static void *hammer(void *argument) {
    candor_handle shared = *(candor_handle *)argument;
    uint8_t digest[32];
    for (int round = 0; round < 500; round++) {
        candor_handle own;
        OK(candor_hash_init(CANDOR_HASH_SHA256, &own));
        OK(candor_hash_update(own, ABC, 3));
        int status = candor_hash_update(shared, ABC, 3); /* some thread frees it */
        HOLDS(status == CANDOR_OK || status == CANDOR_HANDLE);
        if (round == 250) {
            status = candor_free(shared);
            HOLDS(status == CANDOR_OK || status == CANDOR_HANDLE);
        }
        OK(candor_hash_final(own, digest, 32, NULL));
        HOLDS(memcmp(digest, OF_ABC, 4) == 0);
        OK(candor_free(own));
    }
    return NULL;
}

int main(int count, char **arguments) {
    HOLDS(count == 4);
    hashes();
    macs();
    aeads();
    keys();
    rsa();
    larger_rsa(arguments[1], CANDOR_KEY_RSA_3072, 384);
    larger_rsa(arguments[2], CANDOR_KEY_RSA_4096, 512);
    composite_rsa(arguments[3]);
    candor_handle shared;
    OK(candor_hash_init(CANDOR_HASH_SHA3_256, &shared));
    pthread_t threads[4];
    for (int at = 0; at < 4; at++) HOLDS(pthread_create(&threads[at], NULL, hammer, &shared) == 0);
    for (int at = 0; at < 4; at++) HOLDS(pthread_join(threads[at], NULL) == 0);
    IS(CANDOR_HANDLE, candor_free(shared));
    HOLDS(strlen(candor_version()) >= 5 && strcmp(candor_message(CANDOR_OK), "success") == 0);
    HOLDS(strcmp(candor_message(77), candor_message(-1)) == 0 && strcmp(candor_message(CANDOR_MEMORY), "not enough memory") == 0);
    printf("every function did what it should\n");
    return 0;
}
