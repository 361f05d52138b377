/* liboqs's SHAKE128 of four messages at once, which the shared library keeps to itself. */
#include <oqs/oqsconfig.h>
#include <oqs/common.h>
#include <sha3x4.h>

const char *candor_oqs_version(void) { return OQS_VERSION_TEXT; }

/* It asks which instructions there are; must come first. */
void candor_oqs_init(void) { OQS_init(); }

/* Four digests of 32 bytes, one behind another. */
void candor_oqs_shake128_x4(uint8_t *digests, const uint8_t *const *messages, size_t bytes) {
    OQS_SHA3_shake128_x4(digests, digests + 32, digests + 64, digests + 96, 32, messages[0], messages[1], messages[2],
                         messages[3], bytes);
}
