//! Nonces, hedged: hashes of fresh randomness and of what else the operation has, so that neither a bad generator nor a repeated input alone
//! repeats a nonce.

use super::{Ec, NamedCurve, on_arm};
use crate::curve::words::{Words, from_bytes};
use crate::hash::{Digest, Sha512};
use zeroize::Zeroizing;

/// What comes of the first of 256 nonces that is not refused. `work` gets its number and 32 bytes from `fill`, of which it makes the nonce. The
/// caller clears the stack behind it.
///
/// # Errors
/// Those of `fill`.
#[inline(always)]
pub(crate) fn first_accepted<R, E>(
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    mut work: impl FnMut(u8, &[u8; 32]) -> Option<R>,
) -> Result<R, E> {
    let mut fresh = Zeroizing::new([0; 32]);
    fill(fresh.as_mut_slice())?;
    let accepted = (0..=u8::MAX).find_map(|count| work(count, &fresh));
    Ok(accepted.expect("one nonce is refused with probability 2^-8 at most, 256 in a row with 2^-2048"))
}

/// A number below n: 512 bits of SHA-512 over a label, the nonce's number and these parts, all but the last of a fixed length, modulo n. That is
/// 2^-128 away from evenly drawn, or less.
pub(crate) fn nonce<C: NamedCurve>(ec: Ec<C>, label: &[u8; 13], count: u8, parts: [&[u8]; 3]) -> Zeroizing<C::W> {
    let mut hash = Sha512::with_cpu(ec.cpu);
    hash.update(label);
    hash.update([count]);
    for part in parts {
        hash.update(part);
    }
    let wide: Zeroizing<[u8; 64]> = Zeroizing::new(hash.finalize().into());
    let [mut high, mut low] = [0; 2].map(|_| Zeroizing::new(<C::W as Words>::ZERO_BYTES));
    let length = low.as_ref().len();
    let (upper, lower) = wide.split_at(wide.len() - length);
    low.as_mut().copy_from_slice(lower);
    high.as_mut()[length - upper.len()..].copy_from_slice(upper);
    let [high, low] = [&high, &low].map(|half| Zeroizing::new(from_bytes::<C::W>(half)));
    Zeroizing::new(on_arm!(ec.arm, |group: C| group.order.reduced_wide(&low, &high)))
}
