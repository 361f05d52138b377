//! Key exchange (GB/T 32918.3).

use super::{FRAMES, PublicKey, SecretKey, Sm2Curve, Sm2Error};
use crate::curve::arm::on_arm;
use crate::curve::words::{from_bytes, is_zero, to_bytes};
use crate::curve::{Affine, Curve};
use crate::ec::key::FRAMES_OF_BYTES;
use crate::hash::{Digest, Sm3};
use crate::kept::Kept;
use crate::stack;
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use subtle::ConstantTimeEq;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Who begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one that sends the first message: A in the standard.
    Initiator,
    /// The one that answers: B.
    Responder,
}

/// One side of an exchange, which has a long-term key, an identity and a key for this exchange alone.
///
/// ```
/// use candor_primitives::sm2::{DEFAULT_ID, Exchange, Role, Sm2};
///
/// let (alice, bob) = (Sm2::new().secret_from_bytes(&[1; 32])?, Sm2::new().secret_from_bytes(&[2; 32])?);
/// # #[cfg(feature = "getrandom")] {
/// let a = Exchange::new(Role::Initiator, &alice, b"alice@example.com")?;
/// let b = Exchange::new(Role::Responder, &bob, b"bob@example.com")?;
/// // Each sends `ephemeral()` to the other, with the long-term public key and the identity if the other lacks them.
/// let (to_b, to_a) = (a.ephemeral().clone(), b.ephemeral().clone());
/// let a = a.agree(bob.public_key(), b"bob@example.com", &to_a, 32)?;
/// let b = b.agree(alice.public_key(), b"alice@example.com", &to_b, 32)?;
/// // Then each sends `confirmation()`, and has the key when the other's is right.
/// let (from_a, from_b) = (*a.confirmation(), *b.confirmation());
/// assert_eq!(a.confirmed_by(&from_b)?, b.confirmed_by(&from_a)?);
/// # }
/// # Ok::<(), candor_primitives::sm2::Sm2Error>(())
/// ```
pub struct Exchange {
    role: Role,
    secret: SecretKey,
    identity: [u8; 32],
    ephemeral: SecretKey,
}

/// What both sides have computed, if both are who they say.
pub struct Agreement {
    key: Zeroizing<Vec<u8>>,
    ours: Kept<[u8; 32]>,
    theirs: Kept<[u8; 32]>,
}

impl Exchange {
    /// Begins, with a fresh key from the operating system's randomness.
    ///
    /// # Errors
    /// [`Sm2Error::Identity`], [`Sm2Error::Randomness`].
    // ct: sm2/exchange
    pub fn new(role: Role, secret: &SecretKey, id: &[u8]) -> Result<Self, Sm2Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| Self::with_ephemeral(role, secret, id, secret.ec.generate()?))
    }

    /// Begins with this key for the exchange, which must be fresh: for callers that have a generator of their own.
    ///
    /// # Errors
    /// [`Sm2Error::Identity`].
    // ct: sm2/exchange
    pub fn with_ephemeral(role: Role, secret: &SecretKey, id: &[u8], ephemeral: SecretKey) -> Result<Self, Sm2Error> {
        stack::clearing::<FRAMES_OF_BYTES, _>(|| {
            let identity = secret.public_key().identity_digest(id)?;
            Ok(Self { role, secret: secret.clone(), identity, ephemeral })
        })
    }

    /// R, the public key for this exchange.
    #[must_use]
    pub fn ephemeral(&self) -> &PublicKey {
        self.ephemeral.public_key()
    }

    /// The shared key of this many bytes, with the peer's long-term key, identity and key for this exchange.
    ///
    /// # Errors
    /// [`Sm2Error::Exchange`] if the peer's keys cancel out, [`Sm2Error::Identity`], [`Sm2Error::Length`] if no byte is asked for.
    // ct: sm2/exchange
    pub fn agree(
        self,
        peer: &PublicKey,
        peer_id: &[u8],
        peer_ephemeral: &PublicKey,
        length: usize,
    ) -> Result<Agreement, Sm2Error> {
        secret::takes("sm2/exchange", &*self.secret.scalar);
        secret::ran("SM2", self.secret.ec.arm());
        if length == 0 || u32::try_from(length.div_ceil(32)).is_err() {
            return Err(Sm2Error::Length);
        }
        stack::clearing::<FRAMES, _>(|| {
            let peer_identity = peer.identity_digest(peer_id)?;
            let shared = self.shared(peer, peer_ephemeral)?;
            Ok(self.derive(&shared, &peer_identity, peer_ephemeral, length))
        })
    }

    /// U = t·(P + x̄·R), in bytes.
    fn shared(&self, peer: &PublicKey, peer_ephemeral: &PublicKey) -> Result<Zeroizing<[[u8; 32]; 2]>, Sm2Error> {
        on_arm!(self.secret.ec.arm, |group: Sm2Curve| {
            let n = group.order;
            let public = Sm2Curve::times_vartime(self.secret.ec.arm, &folded(peer_ephemeral), &peer_ephemeral.point);
            let public = group.plus_affine_vartime(&public, &peer.point);
            if public.z == [0; 4] {
                return Err(Sm2Error::Exchange);
            }
            // t = d + x̄·r.
            let product = n.product(&n.enter(&folded(self.ephemeral())), &self.ephemeral.scalar);
            let t = Zeroizing::new(n.sum(&self.secret.scalar, &product));
            if secret::declassified(is_zero(&*t) as u8, "sm2-exchange-zero") != 0 {
                return Err(Sm2Error::Exchange);
            }
            let Affine { x, y } = group.affine(&Sm2Curve::times(self.secret.ec.arm, &t, &group.affine(&public)));
            let bytes = [x, y].map(|number| to_bytes(&group.field.leave(&number)));
            Ok(Zeroizing::new(bytes))
        })
    }

    fn derive(&self, shared: &[[u8; 32]; 2], peer: &[u8; 32], peer_ephemeral: &PublicKey, length: usize) -> Agreement {
        let cpu = self.secret.ec.cpu;
        let ours = (&self.identity, &self.ephemeral().bytes);
        let theirs = (peer, &peer_ephemeral.bytes);
        let (a, b) = if self.role == Role::Initiator { (ours, theirs) } else { (theirs, ours) };
        let mut start = Sm3::with_cpu(cpu);
        start.update(shared.as_flattened());
        start.update(a.0);
        start.update(b.0);
        let mut key = Zeroizing::new(alloc::vec![0; length]);
        for (piece, counter) in key.chunks_mut(32).zip(1_u32..) {
            let mut hash = start.clone();
            hash.update(counter.to_be_bytes());
            let bytes: Zeroizing<[u8; 32]> = Zeroizing::new(hash.finalize().into());
            piece.copy_from_slice(&bytes[..piece.len()]);
        }
        let mut inner = Sm3::with_cpu(cpu);
        inner.update(shared[0]);
        for part in [a.0, b.0, &a.1[0], &a.1[1], &b.1[0], &b.1[1]] {
            inner.update(part);
        }
        let inner: [u8; 32] = inner.finalize().into();
        let confirmation = |tag: u8| {
            let mut hash = Sm3::with_cpu(cpu);
            hash.update([tag]);
            hash.update(shared[1]);
            hash.update(inner);
            let mut confirmation = Kept::new([0; 32]);
            *confirmation = hash.finalize().into();
            confirmation
        };
        // The responder's has 2, the initiator's 3 (§6.1, B9 and A10).
        let (ours, theirs) = if self.role == Role::Initiator { (3, 2) } else { (2, 3) };
        Agreement { key, ours: confirmation(ours), theirs: confirmation(theirs) }
    }
}

/// x̄ = 2^127 + (x mod 2^127).
pub(super) fn folded(public: &PublicKey) -> [u64; 4] {
    let [a, b, ..]: [u64; 4] = from_bytes(&public.bytes[0]);
    [a, b | 1 << 63, 0, 0]
}

impl Agreement {
    /// What the peer expects as proof that we have the key: S_A or S_B.
    #[must_use]
    pub fn confirmation(&self) -> &[u8; 32] {
        &self.ours
    }

    /// The key, if the peer's proof is right.
    ///
    /// # Errors
    /// [`Sm2Error::Exchange`].
    // ct: sm2/exchange
    pub fn confirmed_by(self, confirmation: &[u8; 32]) -> Result<Zeroizing<Vec<u8>>, Sm2Error> {
        let same = self.theirs.ct_eq(confirmation).unwrap_u8();
        if secret::declassified(same, "sm2-confirmation") == 1 { Ok(self.key) } else { Err(Sm2Error::Exchange) }
    }

    /// The key without a proof, for protocols that bring their own.
    #[must_use]
    pub fn unconfirmed(self) -> Zeroizing<Vec<u8>> {
        self.key
    }
}

impl ZeroizeOnDrop for Agreement {}

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agreement(..)")
    }
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("role", &self.role).finish_non_exhaustive()
    }
}
