//! Diffie-Hellman (SP 800-56A §5.7.1.2, SEC 1 §3.3.1).

use super::key::Bytes;
use super::{FRAMES, NamedCurve, PublicKey, SecretKey, on_arm};
use crate::curve::words::{Words, to_bytes};
use crate::kept::Kept;
use crate::stack;
use candor_cpu::secret;
use core::fmt;
use zeroize::ZeroizeOnDrop;

/// The x coordinate that both sides share, the highest byte first: 32 bytes, or 48 for P-384. It is not uniform, and must go through a key
/// derivation first. Wiped on drop.
#[derive(Clone)]
pub struct SharedSecret<C: NamedCurve>(Kept<Bytes<C>>);

impl<C: NamedCurve> SecretKey<C> {
    /// The secret shared with the holder of `peer`'s secret key. Both keys are in range and the group's order is prime, so it always exists.
    #[must_use]
    // ct: ec/agree
    pub fn agree(&self, peer: &PublicKey<C>) -> SharedSecret<C> {
        secret::takes("ec/agree", &*self.scalar);
        secret::ran(C::NAME, self.ec.arm());
        stack::clearing::<FRAMES, _>(|| {
            let mut shared = Kept::new(C::W::ZERO_BYTES);
            let point = C::times(self.ec.arm, &self.scalar, &peer.point);
            *shared = on_arm!(self.ec.arm, |group: C| {
                let x = group.x_of(&point);
                to_bytes(&group.field.leave(&x))
            });
            SharedSecret(shared)
        })
    }
}

impl<C: NamedCurve> SharedSecret<C> {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &Bytes<C> {
        &self.0
    }
}

impl<C: NamedCurve> ZeroizeOnDrop for SharedSecret<C> {}

impl<C: NamedCurve> fmt::Debug for SharedSecret<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(..)")
    }
}
