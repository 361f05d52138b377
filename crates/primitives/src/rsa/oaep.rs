//! Encryption by OAEP (RFC 8017 §7.1), with MGF1 of the same hash.

use super::blinding::Pair;
use super::padding::{self, RsaHash, length, mask};
use super::power::public_power;
use super::signatures::Fill;
use super::{FRAMES, PublicKey, RsaError, SecretKey};
use crate::words::{from_bytes, is_below, is_zero_word, to_bytes};
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::secret;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

impl PublicKey {
    /// The longest message that [`encrypt_oaep`](Self::encrypt_oaep) takes, in bytes.
    #[must_use]
    pub fn longest_message<H: RsaHash>(&self) -> usize {
        self.size.bytes() - 2 * length::<H>() - 2
    }

    /// Encrypts a message, and binds it to a label, which both sides must know. Into as many bytes as the modulus has.
    ///
    /// # Errors
    /// [`RsaError::MessageLength`], [`RsaError::Randomness`].
    // ct: rsa/encrypt
    pub fn encrypt_oaep<H: RsaHash>(&self, message: &[u8], label: &[u8]) -> Result<Vec<u8>, RsaError> {
        self.encrypt_by::<H>(message, label, &mut |bytes| Ok(random::fill(bytes)?))
    }

    /// [`encrypt_oaep`](Self::encrypt_oaep) with randomness from `rng`.
    ///
    /// # Errors
    /// [`RsaError::MessageLength`].
    // ct: rsa/encrypt
    pub fn encrypt_oaep_with<H: RsaHash>(
        &self,
        message: &[u8],
        label: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, RsaError> {
        self.encrypt_by::<H>(message, label, &mut |bytes| {
            rng.fill_bytes(bytes);
            Ok(())
        })
    }

    fn encrypt_by<H: RsaHash>(&self, message: &[u8], label: &[u8], fill: Fill<'_>) -> Result<Vec<u8>, RsaError> {
        secret::takes("rsa/encrypt", message);
        secret::ran("RSA", self.rsa.arm());
        if message.len() > self.longest_message::<H>() {
            return Err(RsaError::MessageLength);
        }
        stack::clearing::<FRAMES, _>(|| {
            let cpu = self.rsa.cpu;
            let mut encoded = Zeroizing::new(padding::zeros(self.size.bytes()));
            let (seed, block) = encoded[1..].split_at_mut(length::<H>());
            fill(seed)?;
            let (start, end) = block.split_at_mut(block.len() - message.len());
            start[..seed.len()].copy_from_slice(&padding::digest::<H>(cpu, &[label]));
            start[start.len() - 1] = 1;
            end.copy_from_slice(message);
            mask::<H>(cpu, seed, block);
            mask::<H>(cpu, block, seed);
            // Its first byte is 0, so the number is below any modulus of that length.
            let number = from_bytes(&encoded, self.size.words()).expect("as many bytes as the number has");
            let mut sealed = padding::zeros(self.size.bytes());
            to_bytes(&public_power(&self.modulus, &number, self.exponent), &mut sealed);
            secret::declassify(&sealed, "rsa-ciphertext");
            Ok(sealed)
        })
    }
}

impl SecretKey {
    /// The message of a ciphertext, if it was encrypted with this label.
    ///
    /// # Errors
    /// [`RsaError::Decryption`] whatever is wrong with the ciphertext, after the same work; [`RsaError::Randomness`], of which the blinding takes some
    /// now and then; [`RsaError::Fault`].
    // ct: rsa/decrypt
    pub fn decrypt_oaep<H: RsaHash>(&self, sealed: &[u8], label: &[u8]) -> Result<Zeroizing<Vec<u8>>, RsaError> {
        self.decrypt_by::<H>(sealed, label, &mut |bytes| Ok(random::fill(bytes)?), Pair::Kept)
    }

    /// [`decrypt_oaep`](Self::decrypt_oaep) with randomness from `rng`, in twice the time: a blinding is drawn from it that serves no other operation.
    ///
    /// # Errors
    /// [`RsaError::Decryption`], [`RsaError::Fault`].
    // ct: rsa/decrypt
    pub fn decrypt_oaep_with<H: RsaHash>(
        &self,
        sealed: &[u8],
        label: &[u8],
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Zeroizing<Vec<u8>>, RsaError> {
        let mut fill = |bytes: &mut [u8]| {
            rng.fill_bytes(bytes);
            Ok(())
        };
        self.decrypt_by::<H>(sealed, label, &mut fill, Pair::Own)
    }

    fn decrypt_by<H: RsaHash>(
        &self,
        sealed: &[u8],
        label: &[u8],
        fill: Fill<'_>,
        pair: Pair,
    ) -> Result<Zeroizing<Vec<u8>>, RsaError> {
        secret::takes("rsa/decrypt", &self.secret.primes[0].words[..]);
        let PublicKey { rsa, size, modulus, .. } = &self.public;
        // What is no number below n is so for everybody to see.
        let number = from_bytes(sealed, size.words()).filter(|_| sealed.len() == size.bytes());
        let number = number.filter(|number| is_below(number, &modulus.words) == 1).ok_or(RsaError::Decryption)?;
        stack::clearing::<FRAMES, _>(|| {
            let power = self.private_power(&number, fill, pair)?;
            let mut encoded = Zeroizing::new(padding::zeros(size.bytes()));
            to_bytes(&power, &mut encoded);
            let (first, rest) = encoded.split_at_mut(1);
            let (seed, block) = rest.split_at_mut(length::<H>());
            mask::<H>(rsa.cpu, block, seed);
            mask::<H>(rsa.cpu, seed, block);
            let (of_label, padded) = block.split_at(length::<H>());
            let expected = padding::digest::<H>(rsa.cpu, &[label]);
            let differs = of_label.iter().zip(&expected).fold(first[0], |any, (a, b)| any | (a ^ b));
            let (start, is_padded) = message_start(padded);
            let is_right = is_zero_word(u64::from(differs)) & is_padded;
            if secret::declassified(is_right as u8 & 1, "rsa-decryption") == 0 {
                return Err(RsaError::Decryption);
            }
            let start = secret::declassified_u64(start, "rsa-message-length") as usize;
            Ok(Zeroizing::new(padded[start..].to_vec()))
        })
    }
}

/// Where the message begins behind zeros and a one, and all ones if it does. In the same time for all bytes.
fn message_start(padded: &[u8]) -> (u64, u64) {
    let (mut start, mut looking, mut is_bad) = (0, u64::MAX, 0);
    for (byte, at) in padded.iter().zip(1..) {
        let (is_zero, is_one) = (is_zero_word(u64::from(*byte)), is_zero_word(u64::from(*byte ^ 1)));
        start |= at & looking & is_one;
        is_bad |= looking & !is_zero & !is_one;
        looking &= is_zero;
    }
    (start, !(is_bad | looking))
}
