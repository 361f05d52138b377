//! X25519 of our own (RFC 7748), one agreement at a time, two, or many.
//!
//! ```
//! use candor_primitives::dh::{DhError, DiffieHellman, x25519::X25519};
//! let x25519 = X25519::new();
//! let secret = x25519.secret_from_bytes(&[7; 32])?;
//! let public = x25519.public_of(&secret)?;
//! let shared = x25519.agree(&secret, &public)?;
//! assert_eq!(x25519.agree(&secret, &[0; 32]), Err(DhError::NonContributory));
//!
//! // Two agreements in one pass, and any number of them; each has its own result.
//! let [first, second] = x25519.agree_pair([(&secret, &public), (&secret, &[0; 32])]);
//! assert_eq!((first, second), (Ok(shared), Err(DhError::NonContributory)));
//! # Ok::<(), DhError>(())
//! ```

mod arm_mux;

use super::{DhError, DiffieHellman, KeyPair, SharedSecret};
use crate::x25519::{Quotient, clamped, to_bytes_all};
use crate::{random, stack};
use alloc::vec::Vec;
use arm_mux::Arm;
use candor_cpu::{Cpu, secret};
use core::fmt;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Stack that an operation takes, in bytes: on the arms for one point or two, and on those for eight.
const FRAMES: usize = 4096;
const FRAMES_OF_EIGHT: usize = 12288;
/// Stack on which results of several operations lie on their way to the caller.
const FRAMES_OF_RESULTS: usize = 1024;

/// X25519 (RFC 7748).
#[derive(Clone, Copy)]
pub struct X25519 {
    arm: Arm,
}

/// A secret key: 32 bytes as they came, clamped when they are used. Wiped on drop.
pub struct Secret([u8; 32]);

impl X25519 {
    /// With the fastest code for this CPU.
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// With no instructions but those that `cpu` permits.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { arm: Arm::choose(cpu) }
    }

    /// The arm that runs.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }

    /// Eight agreements, of which the first `pairs.len()` are asked for.
    fn agree_eight(&self, pairs: &[(&Secret, &[u8; 32])], into: &mut Vec<Result<SharedSecret, DhError>>) {
        stack::clearing::<FRAMES_OF_EIGHT, _>(|| {
            let (mut scalars, mut points) = ([[0; 4]; 8], [[0; 32]; 8]);
            for ((scalar, point), (secret, peer)) in scalars.iter_mut().zip(&mut points).zip(pairs) {
                (*scalar, *point) = (clamped(&secret.0), **peer);
            }
            let (mut quotients, mut shared) = ([Quotient::ZERO; 8], [[0; 32]; 8]);
            self.arm.ladder_8(&scalars, &points, &mut quotients);
            to_bytes_all(&quotients, &mut shared);
            into.extend(shared.iter().take(pairs.len()).map(contributory));
        });
    }

    /// Eight public keys, of which the first `secrets.len()` are asked for.
    fn public_eight(&self, secrets: &[&Secret], into: &mut Vec<[u8; 32]>) {
        stack::clearing::<FRAMES_OF_EIGHT, _>(|| {
            let mut scalars = [clamped(&[0; 32]); 8];
            for (scalar, secret) in scalars.iter_mut().zip(secrets) {
                *scalar = clamped(&secret.0);
            }
            let (mut quotients, mut publics) = ([Quotient::ZERO; 8], [[0; 32]; 8]);
            self.arm.base_8(&scalars, &mut quotients);
            to_bytes_all(&quotients, &mut publics);
            into.extend_from_slice(&publics[..secrets.len()]);
        });
    }
}

impl DiffieHellman for X25519 {
    type Secret = Secret;

    fn generate(&self) -> Result<(Secret, [u8; 32]), DhError> {
        let bytes = random::bytes::<32>()?;
        let secret = self.secret_from_bytes(&bytes)?;
        let public = self.public_of(&secret)?;
        Ok((secret, public))
    }

    #[inline]
    fn secret_from_bytes(&self, bytes: &[u8; 32]) -> Result<Secret, DhError> {
        Ok(Secret(*bytes))
    }

    fn secret_to_bytes(&self, secret: &Secret) -> Result<Zeroizing<[u8; 32]>, DhError> {
        Ok(Zeroizing::new(secret.0))
    }

    #[inline]
    fn public_of(&self, secret: &Secret) -> Result<[u8; 32], DhError> {
        secret::ran("X25519", self.arm());
        Ok(stack::clearing::<FRAMES, _>(|| {
            let mut quotient = Quotient::ZERO;
            self.arm.base(&clamped(&secret.0), &mut quotient);
            quotient.to_bytes()
        }))
    }

    #[inline]
    fn agree(&self, secret: &Secret, peer: &[u8; 32]) -> Result<SharedSecret, DhError> {
        secret::ran("X25519", self.arm());
        stack::clearing::<FRAMES, _>(|| {
            let mut quotient = Quotient::ZERO;
            self.arm.ladder(&clamped(&secret.0), peer, &mut quotient);
            contributory(&quotient.to_bytes())
        })
    }

    fn agree_pair(&self, pairs: [(&Secret, &[u8; 32]); 2]) -> [Result<SharedSecret, DhError>; 2] {
        if !self.arm.has_lanes() {
            return stack::clearing::<FRAMES_OF_RESULTS, _>(|| pairs.map(|(secret, peer)| self.agree(secret, peer)));
        }
        secret::ran("X25519", self.arm());
        stack::clearing::<FRAMES, _>(|| {
            let scalars = pairs.map(|(secret, _)| clamped(&secret.0));
            let points = pairs.map(|(_, peer)| *peer);
            let (mut quotients, mut shared) = ([Quotient::ZERO; 2], [[0; 32]; 2]);
            self.arm.ladder_2(&scalars, &points, &mut quotients);
            to_bytes_all(&quotients, &mut shared);
            shared.each_ref().map(contributory)
        })
    }

    fn agree_many(&self, pairs: &[(&Secret, &[u8; 32])]) -> Vec<Result<SharedSecret, DhError>> {
        let mut shared = Vec::with_capacity(pairs.len());
        stack::clearing::<FRAMES_OF_RESULTS, _>(|| {
            for group in pairs.chunks(if self.arm.has_lanes() { 8 } else { 1 }) {
                match *group {
                    [(secret, peer)] => shared.push(self.agree(secret, peer)),
                    [a, b] => shared.extend(self.agree_pair([a, b])),
                    [a, b, (secret, peer)] => {
                        shared.extend(self.agree_pair([a, b]));
                        shared.push(self.agree(secret, peer));
                    }
                    [a, b, c, d] => {
                        shared.extend(self.agree_pair([a, b]));
                        shared.extend(self.agree_pair([c, d]));
                    }
                    _ => {
                        secret::ran("X25519", self.arm());
                        self.agree_eight(group, &mut shared);
                    }
                }
            }
        });
        shared
    }

    fn public_many(&self, secrets: &[&Secret]) -> Result<Vec<[u8; 32]>, DhError> {
        let mut publics = Vec::with_capacity(secrets.len());
        for group in secrets.chunks(if self.arm.has_lanes() { 8 } else { 1 }) {
            // Fewer than four take longer in eight lanes than one by one.
            if group.len() < 4 {
                for secret in group {
                    publics.push(self.public_of(secret)?);
                }
            } else {
                secret::ran("X25519", self.arm());
                self.public_eight(group, &mut publics);
            }
        }
        Ok(publics)
    }

    fn generate_many(&self, count: usize) -> Result<Vec<KeyPair<Secret>>, DhError> {
        // Filled in place: a key that is moved stays behind where it was.
        let mut pairs = Vec::with_capacity(count);
        stack::clearing::<FRAMES_OF_RESULTS, _>(|| {
            pairs.resize_with(count, || (Secret([0; 32]), [0; 32]));
            let mut bytes = Zeroizing::new(alloc::vec![0; count.saturating_mul(32)]);
            random::fill(&mut bytes)?;
            for ((secret, _), bytes) in pairs.iter_mut().zip(bytes.as_chunks().0) {
                secret.0 = *bytes;
            }
            let publics = self.public_many(&pairs.iter().map(|(secret, _)| secret).collect::<Vec<_>>())?;
            for ((_, public), made) in pairs.iter_mut().zip(publics) {
                *public = made;
            }
            Ok::<_, DhError>(())
        })?;
        Ok(pairs)
    }
}

/// The shared secret, unless it is all zero (RFC 7748 §6.1).
#[inline(always)]
fn contributory(shared: &[u8; 32]) -> Result<SharedSecret, DhError> {
    let all_zero = secret::declassified(shared.ct_eq(&[0; 32]).unwrap_u8(), "x25519-all-zero");
    if all_zero != 0 { Err(DhError::NonContributory) } else { Ok(SharedSecret::from(*shared)) }
}

impl Default for X25519 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for X25519 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("X25519").field("arm", &self.arm()).finish()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl Drop for Secret {
    #[inline]
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl ZeroizeOnDrop for Secret {}
