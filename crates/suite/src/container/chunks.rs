//! The chunks: STREAM of Hoang, Reyhanitabar, Rogaway and Vizár (CRYPTO 2015, §7), whose nonces count the chunks and mark the last.

use super::header::CHUNK_BITS;
use super::{ContainerCipher, ContainerError, Cost, Header};
use crate::aead::{Cipher, TAG};
use crate::key::{PublicKey, SecretKey};
use candor_primitives::stack;
use std::fmt;
use zeroize::Zeroizing;

/// Bytes of plaintext in every chunk but the last.
pub const CHUNK: usize = 1 << CHUNK_BITS;

/// Stack below the making of a container's key that is cleared behind it, in bytes: crates `hkdf` and `hmac` move what they derive from.
const FRAMES: usize = 8192;

/// The cipher and the number of the next chunk.
struct Stream {
    cipher: Cipher,
    next: u64,
}

impl Stream {
    fn new(cipher: ContainerCipher, key: &[u8; 32]) -> Result<Self, ContainerError> {
        Ok(Self { cipher: Cipher::new(cipher.algorithm(), key)?, next: 0 })
    }

    /// Seven zeros, the number of the chunk, and whether it is the last. The key serves one container, so nothing else has to be in it.
    fn nonce(&self, last: bool) -> Result<[u8; 12], ContainerError> {
        let number = u32::try_from(self.next).map_err(|_| ContainerError::TooLong)?;
        let mut nonce = [0; 12];
        nonce[7..11].copy_from_slice(&number.to_be_bytes());
        nonce[11] = u8::from(last);
        Ok(nonce)
    }
}

/// A message that is being encrypted.
pub struct Sealer {
    stream: Stream,
    /// What does not make a chunk yet, or makes one of which it is not known whether it is the last.
    waiting: Zeroizing<Vec<u8>>,
}

impl Sealer {
    /// For the holder of this key, of any kind but Ed25519. Appends the header to `out`.
    ///
    /// # Errors
    /// [`ContainerError::Key`], [`ContainerError::Randomness`].
    pub fn to_key(to: &PublicKey, cipher: ContainerCipher, out: &mut Vec<u8>) -> Result<Self, ContainerError> {
        stack::clearing::<FRAMES, _>(|| {
            let (header, key) = Header::to_key(to, cipher)?;
            out.extend_from_slice(header.as_bytes());
            Self::new(cipher, &key)
        })
    }

    /// For whoever knows this password. Appends the header to `out`.
    ///
    /// # Errors
    /// [`ContainerError::Cost`], [`ContainerError::Memory`], [`ContainerError::Randomness`].
    pub fn to_password(
        password: &[u8],
        cost: Cost,
        cipher: ContainerCipher,
        out: &mut Vec<u8>,
    ) -> Result<Self, ContainerError> {
        stack::clearing::<FRAMES, _>(|| {
            let (header, key) = Header::to_password(password, cost, cipher)?;
            out.extend_from_slice(header.as_bytes());
            Self::new(cipher, &key)
        })
    }

    fn new(cipher: ContainerCipher, key: &[u8; 32]) -> Result<Self, ContainerError> {
        Ok(Self { stream: Stream::new(cipher, key)?, waiting: Zeroizing::new(Vec::with_capacity(CHUNK)) })
    }

    /// The next piece of the message. Appends what is encrypted to `out`.
    ///
    /// # Errors
    /// [`ContainerError::TooLong`].
    pub fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<(), ContainerError> {
        while !piece.is_empty() {
            if self.waiting.len() == CHUNK {
                self.seal(false, out)?;
            }
            let (now, later) = piece.split_at(piece.len().min(CHUNK - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            piece = later;
        }
        Ok(())
    }

    /// The end of the message. Appends the last chunk to `out`.
    ///
    /// # Errors
    /// [`ContainerError::TooLong`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), ContainerError> {
        self.seal(true, out)
    }

    fn seal(&mut self, last: bool, out: &mut Vec<u8>) -> Result<(), ContainerError> {
        let nonce = self.stream.nonce(last)?;
        let tag = self.stream.cipher.seal(&nonce, b"", &mut self.waiting)?;
        out.extend_from_slice(&self.waiting);
        out.extend_from_slice(&tag);
        self.waiting.clear();
        self.stream.next += 1;
        Ok(())
    }
}

/// A container that is being decrypted.
pub struct Opener {
    stream: Stream,
    /// Ciphertext that does not make a chunk yet, or makes one of which it is not known whether it is the last.
    waiting: Zeroizing<Vec<u8>>,
    failed: bool,
}

impl Opener {
    /// With the secret key that the container was encrypted to.
    ///
    /// # Errors
    /// [`ContainerError::OtherRecipient`], [`ContainerError::WrongKey`].
    pub fn with_key(header: &Header, key: &SecretKey) -> Result<Self, ContainerError> {
        stack::clearing::<FRAMES, _>(|| {
            let key = header.opened_by_key(key)?;
            Self::new(header, &key)
        })
    }

    /// With the password.
    ///
    /// # Errors
    /// [`ContainerError::OtherRecipient`], [`ContainerError::WrongKey`], [`ContainerError::Memory`].
    pub fn with_password(header: &Header, password: &[u8]) -> Result<Self, ContainerError> {
        stack::clearing::<FRAMES, _>(|| {
            let key = header.opened_by_password(password)?;
            Self::new(header, &key)
        })
    }

    fn new(header: &Header, key: &[u8; 32]) -> Result<Self, ContainerError> {
        let waiting = Zeroizing::new(Vec::with_capacity(CHUNK + TAG));
        Ok(Self { stream: Stream::new(header.cipher, key)?, waiting, failed: false })
    }

    /// The next piece of what stands behind the header. Appends to `out` what is decrypted and authentic.
    ///
    /// # Errors
    /// [`ContainerError::Changed`]; nothing is decrypted after it.
    pub fn push(&mut self, mut piece: &[u8], out: &mut Vec<u8>) -> Result<(), ContainerError> {
        while !piece.is_empty() {
            // More follows this chunk, so it is not the last.
            if self.waiting.len() == CHUNK + TAG {
                self.open(false, out)?;
            }
            let (now, later) = piece.split_at(piece.len().min(CHUNK + TAG - self.waiting.len()));
            self.waiting.extend_from_slice(now);
            piece = later;
        }
        Ok(())
    }

    /// The end of the container. Appends the last chunk to `out`; without an error the message is complete.
    ///
    /// # Errors
    /// [`ContainerError::Truncated`], [`ContainerError::Changed`].
    pub fn finish(mut self, out: &mut Vec<u8>) -> Result<(), ContainerError> {
        let chunk = self.stream.next;
        if self.waiting.len() < TAG {
            return Err(ContainerError::Truncated { chunks: chunk });
        }
        // A message of whole chunks ends with a whole one, so that each message has one form.
        if self.waiting.len() == TAG && chunk > 0 {
            return Err(ContainerError::Changed { chunk });
        }
        let copy = self.waiting.clone();
        let opened = self.open(true, out);
        if opened.is_ok() || copy.len() < CHUNK + TAG {
            return opened;
        }
        // Is it authentic as a chunk in the middle? Then the rest is missing.
        (self.waiting, self.failed) = (copy, false);
        let mut middle = Zeroizing::new(Vec::new());
        match self.open(false, &mut middle) {
            Ok(()) => Err(ContainerError::Truncated { chunks: chunk + 1 }),
            Err(_) => opened,
        }
    }

    fn open(&mut self, last: bool, out: &mut Vec<u8>) -> Result<(), ContainerError> {
        let changed = ContainerError::Changed { chunk: self.stream.next };
        if self.failed {
            return Err(changed);
        }
        let nonce = self.stream.nonce(last)?;
        let end = self.waiting.len().saturating_sub(TAG);
        let (data, tag) = self.waiting.split_at_mut(end);
        let tag = crate::error::exactly("tag", tag)?;
        if self.stream.cipher.open(&nonce, b"", data, tag).is_err() {
            self.failed = true;
            return Err(changed);
        }
        out.extend_from_slice(data);
        self.waiting.clear();
        self.stream.next += 1;
        Ok(())
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer(chunk {})", self.stream.next)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener(chunk {})", self.stream.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: [u8; 32] = [7; 32];
    const SEALED: usize = CHUNK + TAG;

    fn sealed(message: &[u8], piece: usize) -> Vec<u8> {
        let mut sealer = Sealer::new(ContainerCipher::Aes256Gcm, &KEY).unwrap();
        let mut out = Vec::new();
        message.chunks(piece).for_each(|piece| sealer.push(piece, &mut out).unwrap());
        sealer.finish(&mut out).unwrap();
        out
    }

    fn opened(sealed: &[u8], piece: usize) -> (Vec<u8>, Result<(), ContainerError>) {
        let stream = Stream::new(ContainerCipher::Aes256Gcm, &KEY).unwrap();
        let mut opener = Opener { stream, waiting: Zeroizing::default(), failed: false };
        let mut out = Vec::new();
        let pushed = sealed.chunks(piece).try_for_each(|piece| opener.push(piece, &mut out));
        let ended = pushed.and_then(|()| opener.finish(&mut out));
        (out, ended)
    }

    fn message(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at % 251) as u8 ^ (at >> 16) as u8).collect()
    }

    #[test]
    fn messages_around_whole_chunks_come_back() {
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 5] {
            let message = message(length);
            let sealed = sealed(&message, 1000);
            let chunks = length.div_ceil(CHUNK).max(1);
            assert_eq!(sealed.len(), length + TAG * chunks);
            assert_eq!(opened(&sealed, 777), (message, Ok(())), "{length}");
        }
    }

    #[test]
    fn a_container_that_was_cut_short_is_told_from_a_whole_one_everywhere() {
        let message = message(2 * CHUNK + 5);
        let sealed = sealed(&message, CHUNK);
        for length in
            [0, 1, TAG - 1, TAG, TAG + 1, SEALED - 1, SEALED, SEALED + 1, SEALED + TAG, 2 * SEALED, sealed.len() - 1]
        {
            let (out, ended) = opened(&sealed[..length], SEALED);
            assert!(ended.is_err(), "{length}");
            assert!(message.starts_with(&out), "{length}: nothing that was not written");
        }
        assert_eq!(opened(&sealed[..SEALED], SEALED).1, Err(ContainerError::Truncated { chunks: 1 }));
        assert_eq!(opened(&sealed[..2 * SEALED], SEALED).1, Err(ContainerError::Truncated { chunks: 2 }));
        assert_eq!(opened(&sealed[..2 * SEALED + 3], SEALED).1, Err(ContainerError::Truncated { chunks: 2 }));
        assert_eq!(opened(b"", 1).1, Err(ContainerError::Truncated { chunks: 0 }));
    }

    #[test]
    fn chunks_can_be_neither_moved_nor_repeated_nor_left_out_nor_added() {
        let sealed = sealed(&message(3 * CHUNK), CHUNK);
        let chunk = |at: usize| &sealed[at * SEALED..(at + 1) * SEALED];
        let changed = |chunk| Err(ContainerError::Changed { chunk });
        assert_eq!(opened(&[chunk(1), chunk(0), chunk(2)].concat(), SEALED), (Vec::new(), changed(0)));
        assert_eq!(opened(&[chunk(0), chunk(0), chunk(2)].concat(), SEALED).1, changed(1));
        assert_eq!(opened(&[chunk(0), chunk(2)].concat(), SEALED).1, changed(1));
        assert_eq!(opened(&[&sealed[..], chunk(2)].concat(), SEALED).1, changed(2));
        assert_eq!(opened(&[&sealed[..], &[0]].concat(), SEALED).1, changed(2));
        assert_eq!(opened(&[&sealed[..], &[0; TAG]].concat(), SEALED).1, changed(2));
    }

    #[test]
    fn an_empty_chunk_ends_an_empty_message_alone() {
        // A container that somebody with the key has written, whose last chunk is empty behind a whole one.
        let mut sealer = Sealer::new(ContainerCipher::Aes256Gcm, &KEY).unwrap();
        let mut out = Vec::new();
        sealer.push(&message(CHUNK), &mut out).unwrap();
        sealer.seal(false, &mut out).unwrap();
        sealer.seal(true, &mut out).unwrap();
        assert_eq!(opened(&out, SEALED).1, Err(ContainerError::Changed { chunk: 1 }));
        assert_eq!(opened(&sealed(b"", 1), 1), (Vec::new(), Ok(())));
    }

    #[test]
    fn nothing_is_decrypted_after_a_chunk_that_was_changed() {
        let mut sealed = sealed(&message(2 * CHUNK), CHUNK);
        sealed[5] ^= 1;
        let stream = Stream::new(ContainerCipher::Aes256Gcm, &KEY).unwrap();
        let mut opener = Opener { stream, waiting: Zeroizing::default(), failed: false };
        let mut out = Vec::new();
        assert!(opener.push(&sealed, &mut out).is_err());
        assert!(opener.push(&sealed[SEALED..], &mut out).is_err());
        assert!(opener.finish(&mut out).is_err() && out.is_empty());
    }

    #[test]
    fn numbers_of_chunks_end_before_they_repeat() {
        let mut stream = Stream::new(ContainerCipher::Aes256Gcm, &KEY).unwrap();
        stream.next = u64::from(u32::MAX);
        assert_eq!(stream.nonce(true), Ok([0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 1]));
        stream.next += 1;
        assert_eq!(stream.nonce(false), Err(ContainerError::TooLong));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn pieces_of_any_length_make_the_same_container(length in 0_usize..3 * CHUNK, write in 1_usize..SEALED, read in 1_usize..SEALED) {
            let message = message(length);
            let one = sealed(&message, write);
            prop_assert_eq!(&one, &sealed(&message, CHUNK));
            prop_assert_eq!(opened(&one, read), (message, Ok(())));
        }

        #[test]
        fn no_changed_bit_and_no_missing_byte_goes_unnoticed(length in 0_usize..2 * CHUNK, at: prop::sample::Index, bit in 0_u8..8) {
            let message = message(length);
            let whole = sealed(&message, CHUNK);
            let at = at.index(whole.len());
            let mut changed = whole.clone();
            changed[at] ^= 1 << bit;
            for broken in [&changed[..], &whole[..at]] {
                let (out, ended) = opened(broken, SEALED);
                prop_assert!(ended.is_err());
                prop_assert!(message.starts_with(&out));
            }
        }
    }
}
