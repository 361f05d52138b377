/* SHA-256 of several messages by Intel's IPsec-MB, as plain functions: its own are fields of `IMB_MGR`. */
#include <intel-ipsec-mb.h>
#include <stdlib.h>

#define MOST 16

struct state {
    IMB_MGR *manager;
    IMB_JOB jobs[MOST];
    unsigned lanes;
};

const char *candor_ipsec_mb_version(void) { return imb_get_version_str(); }

void candor_ipsec_mb_free(void *at) {
    struct state *state = at;
    free_mb_mgr(state->manager);
    free(state);
}

/* The code that the library picks for this CPU, or that for SSE, which has the SHA instructions on CPUs where the other has not. Null if it can't
 * be had. */
void *candor_ipsec_mb_new(int sse) {
    struct state *state = calloc(1, sizeof *state);
    if (state == NULL) return NULL;
    state->manager = alloc_mb_mgr(0);
    if (state->manager == NULL) {
        free(state);
        return NULL;
    }
    if (sse) init_mb_mgr_sse(state->manager);
    else init_mb_mgr_auto(state->manager, NULL);
    if (imb_get_errno(state->manager) != 0 ||
        imb_hash_burst_get_size(state->manager, IMB_AUTH_SHA_256, &state->lanes) != 0) {
        candor_ipsec_mb_free(state);
        return NULL;
    }
    return state;
}

/* How many messages it hashes side by side. */
unsigned candor_ipsec_mb_lanes(const void *at) { return ((const struct state *)at)->lanes; }

/* `CPU ISA: AES, PCLMUL, SSE, SHA-NI`, as the library describes its code. */
const char *candor_ipsec_mb_arm(const void *at) {
    const char *type = "", *what = "";
    imb_get_arch_type_string(((const struct state *)at)->manager, &type, &what);
    return what;
}

/* SHA-256 of `count` messages of `bytes` bytes, the digests one behind another. Gives how many were hashed. */
unsigned candor_ipsec_mb_hash(void *at, const uint8_t *const *messages, size_t bytes, unsigned count, uint8_t *digests) {
    struct state *state = at;
    if (count > MOST) return 0;
    for (unsigned i = 0; i < count; i++) {
        IMB_JOB *job = &state->jobs[i];
        job->src = messages[i];
        job->hash_start_src_offset_in_bytes = 0;
        job->msg_len_to_hash_in_bytes = bytes;
        job->auth_tag_output = digests + 32 * i;
        job->auth_tag_output_len_in_bytes = 32;
        job->hash_alg = IMB_AUTH_SHA_256;
    }
    return IMB_SUBMIT_HASH_BURST_NOCHECK(state->manager, state->jobs, count, IMB_AUTH_SHA_256);
}
