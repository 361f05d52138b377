//! Nonces, hedged: hashes of fresh randomness and of what else the operation has, so that neither a bad generator nor a repeated input alone
//! repeats a nonce.

use super::Sm2;
use super::arm::on_arm;
use crate::curve::{Words, from_bytes};
use crate::hash::{Digest, Sha512};
use zeroize::Zeroizing;

/// What comes of the first of 256 nonces that is not refused. `work` gets its number and 32 bytes from `fill`, of which it makes the nonce. The
/// caller clears the stack behind it.
///
/// # Errors
/// Those of `fill`.
#[inline(always)]
pub(super) fn first_accepted<R, E>(
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    mut work: impl FnMut(u8, &[u8; 32]) -> Option<R>,
) -> Result<R, E> {
    let mut fresh = Zeroizing::new([0; 32]);
    fill(fresh.as_mut_slice())?;
    let accepted = (0..=u8::MAX).find_map(|count| work(count, &fresh));
    Ok(accepted.expect("one nonce is refused with probability 2^-8 at most, 256 in a row with 2^-2048"))
}

/// A number below n: 512 bits of SHA-512 over a label, the nonce's number and these parts, all but the last of a fixed length, modulo n.
pub(super) fn nonce(sm2: Sm2, label: &[u8; 13], count: u8, parts: [&[u8]; 3]) -> Zeroizing<Words> {
    let mut hash = Sha512::with_cpu(sm2.cpu);
    hash.update(label);
    hash.update([count]);
    for part in parts {
        hash.update(part);
    }
    let wide: Zeroizing<[u8; 64]> = Zeroizing::new(hash.finalize().into());
    let [high, low] = [0, 32].map(|at| Zeroizing::new(from_bytes(wide[at..at + 32].try_into().expect("32 bytes"))));
    Zeroizing::new(on_arm!(sm2.arm, |group| group.order.reduced_wide(&low, &high)))
}
