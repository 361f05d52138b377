//! Encryption (GB/T 32918.4).

use super::{FRAMES, PublicKey, SecretKey, Sm2, Sm2Curve, Sm2Error};
use crate::curve::arm::on_arm;
use crate::curve::words::{is_zero, is_zero_word, to_bytes};
use crate::curve::{Affine, Curve};
use crate::ec::der::write_number;
use crate::ec::nonce::{first_accepted, nonce};
use crate::hash::{Digest, Sm3};
use crate::{random, stack};
use alloc::vec::Vec;
use candor_cpu::secret;
use pkcs8::der::asn1::{OctetStringRef, UintRef};
use pkcs8::der::{self, Decode, Encode, Reader, SliceReader};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// How the three parts of a ciphertext lie: the point C1, the encrypted message C2 and the digest C3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The sequence in DER of GM/T 0009 §7.2, with C3 before C2. OpenSSL has this one alone.
    Asn1,
    /// The bytes of C1 (65, the first is 4), C3 and C2 (GB/T 32918.4-2016).
    C1C3C2,
    /// The bytes of C1, C2 and C3, as before GM/T 0003-2012.
    C1C2C3,
}

/// Bytes of a digest, and of a point.
const DIGEST: usize = 32;
const POINT: usize = 65;

/// C1's coordinates, C3 and C2.
type Encrypted = ([[u8; 32]; 2], [u8; DIGEST], Vec<u8>);

/// A point's coordinates in bytes, to be wiped.
type Shared = Zeroizing<[[u8; 32]; 2]>;

impl PublicKey {
    /// Encrypts a message of one byte or more. The nonce is a hash of fresh randomness, the key and the message, so that a generator that repeats
    /// itself gives two messages no common key stream.
    ///
    /// # Errors
    /// [`Sm2Error::Length`], [`Sm2Error::Randomness`].
    // ct: sm2/encrypt
    pub fn encrypt(&self, message: &[u8], format: Format) -> Result<Vec<u8>, Sm2Error> {
        self.encrypt_by(message, format, |fresh| Ok(random::fill(fresh)?))
    }

    /// [`encrypt`](Self::encrypt) with randomness from `rng`.
    ///
    /// # Errors
    /// [`Sm2Error::Length`].
    // ct: sm2/encrypt
    pub fn encrypt_with(
        &self,
        message: &[u8],
        format: Format,
        rng: &mut (impl CryptoRng + ?Sized),
    ) -> Result<Vec<u8>, Sm2Error> {
        self.encrypt_by(message, format, |fresh| {
            rng.fill_bytes(fresh);
            Ok(())
        })
    }

    // ct: sm2/encrypt
    fn encrypt_by(
        &self,
        message: &[u8],
        format: Format,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Sm2Error>,
    ) -> Result<Vec<u8>, Sm2Error> {
        secret::takes("sm2/encrypt", message);
        if !has_counters(message.len()) || !format.holds(message.len()) {
            return Err(Sm2Error::Length);
        }
        stack::clearing::<FRAMES, _>(|| {
            let (point, digest, text) =
                first_accepted(fill, |count, fresh| self.encrypt_once(message, &self.nonce(message, fresh, count)))?;
            Ok(format.write(&point, &digest, &text))
        })
    }

    /// A hash of the key, fresh bytes and the message.
    pub(super) fn nonce(&self, message: &[u8], fresh: &[u8; 32], count: u8) -> Zeroizing<[u64; 4]> {
        nonce(self.ec, b"candor SM2 e ", count, [self.bytes.as_flattened(), fresh, message])
    }

    /// C1, C3 and C2 with this nonce, unless the key stream is zero (§6.1, A5) or the nonce is.
    pub(super) fn encrypt_once(&self, message: &[u8], nonce: &[u64; 4]) -> Option<Encrypted> {
        secret::ran("SM2", self.ec.arm());
        let of_base = Sm2Curve::base(self.ec.arm, nonce);
        let of_key = Sm2Curve::times(self.ec.arm, nonce, &self.point);
        let [point, shared] = on_arm!(self.ec.arm, |group: Sm2Curve| {
            let [first, second] = group.affine_both(&of_base, &of_key);
            let bytes =
                |point: Affine<[u64; 4]>| [point.x, point.y].map(|number| to_bytes(&group.field.leave(&number)));
            [bytes(first), bytes(second)]
        });
        let shared: Shared = Zeroizing::new(shared);
        let mut text = Zeroizing::new(message.to_vec());
        let refused = apply_key_stream(self.ec, &shared, &mut text) | is_zero(nonce);
        if secret::declassified(refused as u8, "sm2-nonce-refused") != 0 {
            return None;
        }
        let digest = digest(self.ec, &shared, message);
        secret::declassify(point.as_flattened(), "sm2-ciphertext");
        secret::declassify(&digest, "sm2-ciphertext");
        secret::declassify(&text, "sm2-ciphertext");
        Some((point, digest, core::mem::take(&mut *text)))
    }
}

impl SecretKey {
    /// The message in a ciphertext.
    ///
    /// # Errors
    /// [`Sm2Error::CiphertextForm`], [`Sm2Error::Ciphertext`].
    // ct: sm2/decrypt
    pub fn decrypt(&self, ciphertext: &[u8], format: Format) -> Result<Zeroizing<Vec<u8>>, Sm2Error> {
        secret::takes("sm2/decrypt", &*self.scalar);
        secret::ran("SM2", self.ec.arm());
        stack::clearing::<FRAMES, _>(|| {
            let (point, expected, text) = format.read(ciphertext).map_err(|_| Sm2Error::CiphertextForm)?;
            let point = self.ec.public_from_bytes(&point).map_err(|_| Sm2Error::CiphertextForm)?.point;
            if !has_counters(text.len()) {
                return Err(Sm2Error::CiphertextForm);
            }
            let mut message = Zeroizing::new(text.to_vec());
            let product = Sm2Curve::times(self.ec.arm, &self.scalar, &point);
            let shared: Shared = Zeroizing::new(on_arm!(self.ec.arm, |group: Sm2Curve| {
                let Affine { x, y } = group.affine(&product);
                [x, y].map(|number| to_bytes(&group.field.leave(&number)))
            }));
            let zero = apply_key_stream(self.ec, &shared, &mut message);
            let same = digest(self.ec, &shared, &message).ct_eq(expected).unwrap_u8();
            let wrong = secret::declassified(zero as u8 & 1 | (1 ^ same), "sm2-ciphertext-refused");
            if wrong == 0 { Ok(message) } else { Err(Sm2Error::Ciphertext) }
        })
    }
}

/// Whether the key derivation has a counter of 32 bits for each digest, and at least one byte to give.
fn has_counters(length: usize) -> bool {
    length != 0 && u32::try_from(length.div_ceil(DIGEST)).is_ok()
}

/// Adds the key derivation function's bytes (§5.4.3) to `text`. All ones if all of them are zero.
fn apply_key_stream(sm2: Sm2, shared: &Shared, text: &mut [u8]) -> u64 {
    // The coordinates are a whole block, which is compressed once.
    let mut start = Sm3::with_cpu(sm2.cpu);
    start.update(shared.as_flattened());
    let mut any = 0;
    for (piece, counter) in text.chunks_mut(DIGEST).zip(1_u32..) {
        let mut hash = start.clone();
        hash.update(counter.to_be_bytes());
        let stream: Zeroizing<[u8; DIGEST]> = Zeroizing::new(hash.finalize().into());
        for (byte, key) in piece.iter_mut().zip(stream.iter()) {
            *byte ^= key;
            any |= key;
        }
    }
    is_zero_word(u64::from(any))
}

/// C3 = SM3(x₂ ‖ M ‖ y₂).
fn digest(sm2: Sm2, shared: &Shared, message: &[u8]) -> [u8; DIGEST] {
    let mut hash = Sm3::with_cpu(sm2.cpu);
    hash.update(shared[0]);
    hash.update(message);
    hash.update(shared[1]);
    hash.finalize().into()
}

/// C1 in SEC1's form, C3 and C2.
type Parts<'a> = ([u8; POINT], &'a [u8; DIGEST], &'a [u8]);

/// The longest that stands in DER beside a message: two integers of 35 bytes, a string of 34, and the heads of another and of the sequence.
const AROUND: usize = 2 * 35 + 34 + 2 * 6;

impl Format {
    /// Whether a ciphertext in this form can have a message of so many bytes.
    pub(super) fn holds(self, length: usize) -> bool {
        let most = u32::MAX as usize - AROUND;
        self != Self::Asn1 || length <= most
    }

    /// How many bytes the message in a ciphertext of this form has. No key is needed, and nothing is decrypted.
    ///
    /// # Errors
    /// [`Sm2Error::CiphertextForm`].
    // ct: public, because ciphertexts are
    pub fn message_length(self, ciphertext: &[u8]) -> Result<usize, Sm2Error> {
        let (_, _, text) = self.read(ciphertext).map_err(|_| Sm2Error::CiphertextForm)?;
        Ok(text.len())
    }

    pub(super) fn write(self, point: &[[u8; 32]; 2], digest: &[u8; DIGEST], text: &[u8]) -> Vec<u8> {
        if self == Self::Asn1 {
            let numbers = point.each_ref().map(|number| UintRef::new(number).expect("32 bytes are an integer"));
            let strings = [digest, text].map(|bytes| OctetStringRef::new(bytes).expect("the length fits"));
            let [x, y] = numbers.map(|number| number.to_der().expect("an integer has a form"));
            let [digest, text] = strings.map(|string| string.to_der().expect("a string has a form"));
            let body = [x, y, digest, text].concat();
            let any = der::AnyRef::new(der::Tag::Sequence, &body).expect("the length fits");
            return any.to_der().expect("a sequence has a form");
        }
        let mut ciphertext = Vec::with_capacity(POINT + DIGEST + text.len());
        ciphertext.push(4);
        ciphertext.extend_from_slice(point.as_flattened());
        let parts = if self == Self::C1C3C2 { [digest.as_slice(), text] } else { [text, digest] };
        parts.iter().for_each(|part| ciphertext.extend_from_slice(part));
        ciphertext
    }

    fn read(self, ciphertext: &[u8]) -> der::Result<Parts<'_>> {
        if self == Self::Asn1 {
            return read_asn1(ciphertext);
        }
        let short = || der::Error::from(der::Tag::OctetString.length_error());
        let (point, rest) = ciphertext.split_first_chunk::<POINT>().ok_or_else(short)?;
        if point[0] != 4 {
            return Err(der::Tag::OctetString.value_error().into());
        }
        let (digest, text) = match self {
            Self::C1C3C2 => rest.split_first_chunk().ok_or_else(short)?,
            _ => rest.split_last_chunk().map(|(text, digest)| (digest, text)).ok_or_else(short)?,
        };
        Ok((*point, digest, text))
    }
}

fn read_asn1(ciphertext: &[u8]) -> der::Result<Parts<'_>> {
    let mut reader = SliceReader::new(ciphertext)?;
    let parts = reader.sequence(|parts| -> der::Result<Parts<'_>> {
        let mut point = [4; POINT];
        for into in point[1..].as_chunks_mut::<32>().0 {
            *into = [0; 32];
            write_number(UintRef::decode(parts)?.as_bytes(), into)?;
        }
        let digest = <&OctetStringRef>::decode(parts)?.as_bytes();
        let digest = digest.try_into().map_err(|_| der::Tag::OctetString.length_error())?;
        Ok((point, digest, <&OctetStringRef>::decode(parts)?.as_bytes()))
    })?;
    reader.finish()?;
    Ok(parts)
}
