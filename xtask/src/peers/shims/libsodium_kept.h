/* Memory that Argon2 keeps from call to call, as candor and other peers keep theirs. `cargo xtask peers libsodium` has libsodium's argon2-core.c include
   this behind its own headers: what that file maps and unmaps is then one region a thread, which is mapped once and grows. Nothing else of libsodium
   is changed. */

#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

static __thread void *candor_region;
static __thread size_t candor_size;
static __thread int candor_is_lent;

static void *candor_map(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (candor_is_lent) return mmap(at, size, protection, flags, file, offset);
    if (size > candor_size) {
        if (candor_size) munmap(candor_region, candor_size);
        candor_size = 0;
        candor_region = mmap(at, size, protection, flags, file, offset);
        if (candor_region == MAP_FAILED) return MAP_FAILED;
        candor_size = size;
    }
    candor_is_lent = 1;
    return candor_region;
}

static int candor_unmap(void *region, size_t size)
{
    if (!candor_is_lent || region != candor_region) return munmap(region, size);
    candor_is_lent = 0;
    return 0;
}

#define mmap candor_map
#define munmap candor_unmap
