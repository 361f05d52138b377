//! Nonces without randomness (RFC 6979).

use super::key::Bytes;
use super::{Ec, NamedCurve, on_arm};
use crate::curve::Modulus;
use crate::curve::words::{Words, from_bytes, is_below, is_zero, to_bytes};
use crate::mac::{KeyInit, Mac, WipedHmac};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::marker::PhantomData;
use digest::Digest;
use digest::block_api::BlockSizeUser;
use zeroize::{Zeroize, Zeroizing};

/// The generator of §3.2, whose nonces depend on the key and the digest alone.
pub(super) struct Nonces<C: NamedCurve, H: Digest + BlockSizeUser> {
    key: Zeroizing<Vec<u8>>,
    value: Zeroizing<Vec<u8>>,
    of: PhantomData<(C, H)>,
}

impl<C: NamedCurve, H: Digest + BlockSizeUser + Clone> Nonces<C, H> {
    /// Steps a to g. `digest` is h1, of which `bits2int` has made a number that is not reduced yet.
    pub(super) fn new(ec: Ec<C>, secret: &C::W, digest: &C::W) -> Self {
        let length = <H as Digest>::output_size();
        let mut nonces = Self {
            key: Zeroizing::new(alloc::vec![0; length]),
            value: Zeroizing::new(alloc::vec![1; length]),
            of: PhantomData,
        };
        let reduced = on_arm!(ec.arm, |group: C| group.order.reduced(digest));
        let (secret, digest) = (Zeroizing::new(to_bytes(secret)), to_bytes(&reduced));
        for separator in [0, 1] {
            nonces.renew(&[&[separator], secret.as_ref(), digest.as_ref()]);
        }
        nonces
    }

    /// K becomes HMAC(V ‖ parts), and V HMAC(V).
    fn renew(&mut self, parts: &[&[u8]]) {
        let mut mac = self.mac();
        mac.update(&self.value);
        parts.iter().for_each(|part| mac.update(part));
        keep(mac, &mut self.key);
        self.step();
    }

    fn mac(&self) -> WipedHmac<H> {
        WipedHmac::new_from_slice(&self.key).expect("HMAC takes keys of any length")
    }

    fn step(&mut self) {
        let mut mac = self.mac();
        mac.update(&self.value);
        keep(mac, &mut self.value);
    }

    /// Step h: the next number from 1 to n − 1.
    pub(super) fn next(&mut self) -> Zeroizing<C::W> {
        loop {
            let mut bytes: Zeroizing<Bytes<C>> = Zeroizing::new(C::W::ZERO_BYTES);
            for piece in bytes.as_mut().chunks_mut(self.value.len()) {
                self.step();
                piece.copy_from_slice(&self.value[..piece.len()]);
            }
            let number = Zeroizing::new(from_bytes::<C::W>(&bytes));
            let good = u8::from(is_below(&*number, &C::Order::P)) & (1 ^ is_zero(&*number) as u8 & 1);
            let good = secret::declassified(good, "ecdsa-nonce-range");
            if good == 1 {
                return number;
            }
            self.refuse();
        }
    }

    /// After a nonce that was refused.
    pub(super) fn refuse(&mut self) {
        self.renew(&[&[0]]);
    }
}

fn keep<H: Digest + BlockSizeUser + Clone>(mac: WipedHmac<H>, into: &mut [u8]) {
    let mut bytes = mac.finalize().into_bytes();
    into.copy_from_slice(&bytes);
    bytes.as_mut_slice().zeroize();
}
