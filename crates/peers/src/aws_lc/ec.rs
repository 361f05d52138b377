//! ECDSA and ECDH by AWS-LC's interface for keys on curves (`openssl/ec_key.h`, `ecdsa.h`, `ecdh.h`): it takes digests, and public keys that are
//! ready for agreement, which `aws-lc-rs` keeps as bytes.
#![allow(unsafe_code)] // A C library: every call crosses into it.

use super::{PACKAGE, provenance};
use crate::contract::ec::{self as contract, Bytes, Curve, Ec, Failed, Input, Op};
use crate::linked;
use aws_lc_sys::{
    BIGNUM, BN_bin2bn, BN_clear_free, EC_KEY, EC_KEY_free, EC_KEY_generate_key, EC_KEY_get0_group,
    EC_KEY_get0_public_key, EC_KEY_new_by_curve_name, EC_KEY_set_private_key, EC_KEY_set_public_key, EC_POINT,
    EC_POINT_free, EC_POINT_new, EC_POINT_oct2point, EC_POINT_point2oct, ECDH_compute_key, ECDSA_sign, ECDSA_verify,
    NID_X9_62_prime256v1, NID_secp256k1, NID_secp384r1, point_conversion_form_t,
};
use candor_lab::{Entry, Habit, Provenance};
use std::ffi::{c_int, c_uint};
use std::ptr::{self, NonNull};

pub(super) fn entry(curve: Curve, op: Op) -> Entry {
    let id = match curve {
        Curve::P256 => NID_X9_62_prime256v1,
        Curve::P384 => NID_secp384r1,
        Curve::Secp256k1 => NID_secp256k1,
    };
    contract::entry(linked::subject(PACKAGE), curve, op, move || Ok(AwsLcEc(id)))
}

/// A curve, by its number in `openssl/nid.h`.
struct AwsLcEc(c_int);

/// A key, with or without its secret part.
struct Key(NonNull<EC_KEY>);

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: the key is the library's, and nobody else's.
        unsafe { EC_KEY_free(self.0.as_ptr()) }
    }
}

/// A point, freed when dropped.
struct Point(NonNull<EC_POINT>);

impl Drop for Point {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { EC_POINT_free(self.0.as_ptr()) }
    }
}

/// A secret number, wiped and freed when dropped.
struct Number(NonNull<BIGNUM>);

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { BN_clear_free(self.0.as_ptr()) }
    }
}

impl AwsLcEc {
    /// A key with nothing but its curve.
    fn empty(&self) -> Result<Key, Failed> {
        // SAFETY: any number will do; the call returns null for those that are no curve's.
        let key = unsafe { EC_KEY_new_by_curve_name(self.0) };
        Ok(Key(NonNull::new(key).ok_or("EC_KEY_new_by_curve_name failed")?))
    }
}

impl Key {
    fn set_public(&self, public: &[u8]) -> Result<(), Failed> {
        // SAFETY: a live key with a curve, whose group lives as long.
        let group = unsafe { EC_KEY_get0_group(self.0.as_ptr()) };
        // SAFETY: that group.
        let point = Point(NonNull::new(unsafe { EC_POINT_new(group) }).ok_or("EC_POINT_new failed")?);
        // SAFETY: a live point of that group; the calls read as many bytes as said and copy the point.
        let set = unsafe {
            EC_POINT_oct2point(group, point.0.as_ptr(), public.as_ptr(), public.len(), ptr::null_mut()) == 1
                && EC_KEY_set_public_key(self.0.as_ptr(), point.0.as_ptr()) == 1
        };
        if set { Ok(()) } else { Err("EC_POINT_oct2point refuses the public key") }
    }

    /// The public part, which a key has that is used for it.
    fn point(&self) -> *const EC_POINT {
        // SAFETY: a live key, which keeps the point.
        unsafe { EC_KEY_get0_public_key(self.0.as_ptr()) }
    }

    fn agree(&self, peer: &Key) -> Result<Bytes, Failed> {
        Bytes::filled(|room| {
            // SAFETY: live keys of one curve; the call writes at most as many bytes as said, and says how many. Without a derivation they are
            // the x coordinate.
            let written =
                unsafe { ECDH_compute_key(room.as_mut_ptr().cast(), room.len(), peer.point(), self.0.as_ptr(), None) };
            usize::try_from(written).map_err(|_| "ECDH_compute_key failed")
        })
    }
}

impl Ec for AwsLcEc {
    type Pair = Key;
    type Encoded = Bytes;
    type Secret = Key;
    type Public = Key;
    type Signature = Bytes;
    type Shared = Bytes;

    fn keygen(&self) -> Result<(Key, Bytes), Failed> {
        let key = self.empty()?;
        // SAFETY: a live key with a curve.
        if unsafe { EC_KEY_generate_key(key.0.as_ptr()) } != 1 {
            return Err("EC_KEY_generate_key failed");
        }
        let public = Bytes::filled(|room| {
            let form = point_conversion_form_t::POINT_CONVERSION_UNCOMPRESSED;
            // SAFETY: a live key with its public part, and room for as many bytes as said.
            let written = unsafe {
                let group = EC_KEY_get0_group(key.0.as_ptr());
                EC_POINT_point2oct(group, key.point(), form, room.as_mut_ptr(), room.len(), ptr::null_mut())
            };
            if written > 0 { Ok(written) } else { Err("EC_POINT_point2oct failed") }
        })?;
        Ok((key, public))
    }

    fn ecdh_fresh(&self, pair: Key, peer: &Key) -> Result<Bytes, Failed> {
        pair.agree(peer)
    }

    fn secret(&self, secret: &[u8], public: &[u8]) -> Result<Key, Failed> {
        let key = self.empty()?;
        // SAFETY: the call reads as many bytes as said into a new number.
        let number = unsafe { BN_bin2bn(secret.as_ptr(), secret.len(), ptr::null_mut()) };
        let number = Number(NonNull::new(number).ok_or("BN_bin2bn failed")?);
        // SAFETY: a live key with a curve and a live number, which is copied.
        if unsafe { EC_KEY_set_private_key(key.0.as_ptr(), number.0.as_ptr()) } != 1 {
            return Err("EC_KEY_set_private_key refuses the secret key");
        }
        key.set_public(public)?;
        Ok(key)
    }

    fn public(&self, public: &[u8]) -> Result<Key, Failed> {
        let key = self.empty()?;
        key.set_public(public)?;
        Ok(key)
    }

    fn sign(&self, secret: &Key, input: &Input) -> Result<Bytes, Failed> {
        let digest = &input.digest;
        Bytes::filled(|room| {
            let mut written: c_uint = 0;
            // SAFETY: a live key; the call reads as many bytes as said; no signature of these curves is longer than the room (ECDSA_size).
            let done = unsafe {
                ECDSA_sign(0, digest.as_ptr(), digest.len(), room.as_mut_ptr(), &raw mut written, secret.0.as_ptr())
            };
            if done == 1 { Ok(written as usize) } else { Err("ECDSA_sign failed") }
        })
    }

    fn verify(&self, public: &Key, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let digest = &input.digest;
        // SAFETY: a live key; the call reads as many bytes as said.
        let done = unsafe {
            ECDSA_verify(0, digest.as_ptr(), digest.len(), signature.as_ptr(), signature.len(), public.0.as_ptr())
        };
        if done == 1 { Ok(()) } else { Err("ECDSA_verify says no") }
    }

    fn ecdh(&self, secret: &Key, peer: &Key) -> Result<Bytes, Failed> {
        secret.agree(peer)
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => "EC_KEY_generate_key and EC_POINT_point2oct",
            Op::Sign => "ECDSA_sign",
            Op::Verify => "ECDSA_verify",
            Op::Ecdh => "ECDH_compute_key, which copies the peer's point and checks it",
        };
        let reads = (op == Op::Ecdh).then_some(Habit::ReadsKey);
        provenance(&format!("{} ({how}, through aws-lc-sys)", op.timed())).with(reads)
    }
}
