//! Signatures by PKCS#1 v1.5 (RFC 8017 §8.2).

use super::RsaError;
use super::padding::{RsaHash, Sealed, length};
use super::signatures::{Fill, Scheme};
use candor_cpu::Cpu;
use core::marker::PhantomData;

/// RSASSA-PKCS1-v1_5 with a hash. Old and proven unforgeable by nobody, but everywhere; [`Pss`](super::Pss) is for what is new.
#[derive(Clone, Copy, Debug)]
pub struct Pkcs1v15<H>(PhantomData<H>);

impl<H: RsaHash> Sealed for Pkcs1v15<H> {}

impl<H: RsaHash> Scheme for Pkcs1v15<H> {
    type Hash = H;

    fn encode(_: Cpu, digest: &[u8], _: Fill<'_>, to: &mut [u8]) -> Result<(), RsaError> {
        encode::<H>(digest, to);
        Ok(())
    }

    /// Encodes once more and compares all bytes: nothing is parsed that somebody else has written.
    fn is_of(_: Cpu, digest: &[u8], encoded: &mut [u8]) -> bool {
        let mut expected = super::padding::zeros(encoded.len());
        encode::<H>(digest, &mut expected);
        expected == encoded
    }
}

/// 0, 1, bytes 255, 0, and the digest with its name.
fn encode<H: RsaHash>(digest: &[u8], to: &mut [u8]) {
    let (padding, info) = to.split_at_mut(to.len() - H::PREFIX.len() - length::<H>());
    let (prefix, last) = info.split_at_mut(H::PREFIX.len());
    padding.fill(0xff);
    padding[0] = 0;
    padding[1] = 1;
    padding[padding.len() - 1] = 0;
    prefix.copy_from_slice(H::PREFIX);
    last.copy_from_slice(digest);
}
