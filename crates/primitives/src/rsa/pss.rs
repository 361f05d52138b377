//! Signatures by PSS (RFC 8017 §8.1).

use super::RsaError;
use super::padding::{self, RsaHash, Sealed, length, mask};
use super::signatures::{Fill, Scheme};
use candor_cpu::Cpu;
use core::marker::PhantomData;

/// RSASSA-PSS with a hash, MGF1 with the same hash, and a salt as long as a digest.
#[derive(Clone, Copy, Debug)]
pub struct Pss<H>(PhantomData<H>);

/// The last byte.
const TRAILER: u8 = 0xbc;

impl<H: RsaHash> Sealed for Pss<H> {}

impl<H: RsaHash> Scheme for Pss<H> {
    type Hash = H;

    fn encode(cpu: Cpu, digest: &[u8], fill: Fill<'_>, to: &mut [u8]) -> Result<(), RsaError> {
        let length = length::<H>();
        let (block, rest) = to.split_at_mut(to.len() - length - 1);
        let (padding, salt) = block.split_at_mut(block.len() - length);
        fill(salt)?;
        let seed = padding::digest::<H>(cpu, &[&[0; 8], digest, salt]);
        padding.fill(0);
        padding[padding.len() - 1] = 1;
        mask::<H>(cpu, &seed, block);
        // One bit less than the modulus has.
        block[0] &= 0x7f;
        rest[..length].copy_from_slice(&seed);
        rest[length] = TRAILER;
        Ok(())
    }

    fn is_of(cpu: Cpu, digest: &[u8], encoded: &mut [u8]) -> bool {
        let length = length::<H>();
        let (block, rest) = encoded.split_at_mut(encoded.len() - length - 1);
        let (seed, trailer) = rest.split_at(length);
        if trailer != [TRAILER] || block[0] & 0x80 != 0 {
            return false;
        }
        mask::<H>(cpu, seed, block);
        block[0] &= 0x7f;
        let (padding, salt) = block.split_at(block.len() - length);
        let (one, zeros) = padding.split_last().expect("a modulus is longer than two digests");
        *one == 1
            && zeros.iter().all(|byte| *byte == 0)
            && padding::digest::<H>(cpu, &[&[0; 8], digest, salt])[..] == *seed
    }
}
