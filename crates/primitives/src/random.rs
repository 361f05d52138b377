//! The operating system's randomness, for back ends that do not draw their own: straight from it, and for nonces that are hashes of a secret key as
//! well from a store of each thread.
#![cfg_attr(
    not(any(
        feature = "aead",
        feature = "libcrux",
        feature = "ml-kem",
        feature = "rustcrypto",
        feature = "dalek",
        feature = "ec",
        feature = "ed25519",
        feature = "x25519"
    )),
    expect(dead_code)
)]

#[cfg(all(target_os = "linux", feature = "ec", feature = "getrandom", feature = "std"))]
mod store;

/// The message of the errors `Randomness`.
pub(crate) const MISSING: &str = "no randomness from the operating system; enable the feature `getrandom` of candor-primitives, or call the method that takes a generator";

/// No randomness was to be had.
pub(crate) struct Unavailable;

/// `N` fresh random bytes.
#[inline]
pub(crate) fn bytes<const N: usize>() -> Result<zeroize::Zeroizing<[u8; N]>, Unavailable> {
    let mut bytes = zeroize::Zeroizing::new([0; N]);
    fill(bytes.as_mut_slice())?;
    Ok(bytes)
}

/// Fresh random bytes, as many as there is room for, in one call of the system.
#[cfg(feature = "getrandom")]
#[inline]
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), Unavailable> {
    getrandom::fill(bytes).map_err(|_| Unavailable)
}

/// Without the feature there is no operating system to ask.
#[cfg(not(feature = "getrandom"))]
pub(crate) fn fill(_: &mut [u8]) -> Result<(), Unavailable> {
    Err(Unavailable)
}

/// 32 fresh bytes for a nonce that is a hash of these, of a secret key and of what is signed. From a store, which a call of the system fills for
/// sixteen.
///
/// A copy of the store gives the same bytes again. A child that `fork` makes drops its copy. Where the snapshot of a running machine is started twice,
/// or a program clones itself by the bare system call, both go on with theirs, for up to fifteen nonces. A hedged nonce repeats only together with its
/// signature, which gives nothing away unless one of the two is computed with a fault. So these bytes are for such nonces alone, and never for keys.
#[cfg(all(target_os = "linux", feature = "ec", feature = "getrandom", feature = "std"))]
#[inline]
pub(crate) fn fill_hedged(bytes: &mut [u8]) -> Result<(), Unavailable> {
    use crate::low::forks::lineage;
    use core::cell::RefCell;
    use store::{Store, take};

    std::thread_local! {
        static STORE: RefCell<Store> = RefCell::new(Store::new());
    }
    // A thread that ends has no store any more.
    STORE.try_with(|store| take(store, lineage(), bytes, fill)).unwrap_or_else(|_| fill(bytes))
}

/// No store without threads, and none where forks are not counted.
#[cfg(all(feature = "ec", not(all(target_os = "linux", feature = "getrandom", feature = "std"))))]
pub(crate) use fill as fill_hedged;
