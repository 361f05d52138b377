//! The curves by RustCrypto, the neutral party of the witnesses: it shares no code with candor's own.

use super::{Curve, Failed};
use crate::seed::Stream;
use signature::hazmat::PrehashSigner;

/// An expression with a curve's crate under one name.
macro_rules! on_curve {
    ($curve:expr, |$library:ident| $body:expr) => {
        match $curve {
            Curve::P256 => {
                use p256 as $library;
                $body
            }
            Curve::P384 => {
                use p384 as $library;
                $body
            }
            Curve::Secp256k1 => {
                use k256 as $library;
                $body
            }
        }
    };
}

/// A key pair: the number, and the public key in SEC1's form, uncompressed.
pub(super) struct Pair {
    curve: Curve,
    pub(super) secret: Vec<u8>,
    pub(super) public: Vec<u8>,
}

impl Pair {
    /// The next pair of a stream. The first bit is 0, so that the number is below the order of any curve here.
    pub(super) fn new(curve: Curve, stream: &mut Stream) -> Self {
        let mut secret = stream.array::<48>()[..curve.bytes()].to_vec();
        secret[0] &= 0x7f;
        Self::of(curve, secret)
    }

    /// The pair of a number that is small enough.
    pub(super) fn of(curve: Curve, secret: Vec<u8>) -> Self {
        let public = on_curve!(curve, |library| {
            use library::elliptic_curve::sec1::ToSec1Point;
            let key = library::SecretKey::from_slice(&secret).expect("a number that small and not 0 is a key");
            key.public_key().to_sec1_point(false).as_bytes().to_vec()
        });
        Self { curve, secret, public }
    }

    /// A signature of a digest, in DER.
    pub(super) fn sign(&self, digest: &[u8]) -> Vec<u8> {
        on_curve!(self.curve, |library| {
            let key = library::ecdsa::SigningKey::from_slice(&self.secret).expect("it was a key");
            let signature: library::ecdsa::Signature =
                key.sign_prehash(digest).expect("a digest of the curve's length");
            signature.to_der().as_bytes().to_vec()
        })
    }

    /// The x coordinate shared with the holder of `public`.
    pub(super) fn agree(&self, public: &[u8]) -> Result<Vec<u8>, Failed> {
        on_curve!(self.curve, |library| {
            let peer = library::PublicKey::from_sec1_bytes(public).map_err(|_| "RustCrypto refuses the public key")?;
            let key = library::SecretKey::from_slice(&self.secret).expect("it was a key");
            Ok(key.diffie_hellman(&peer).raw_secret_bytes().to_vec())
        })
    }
}

/// Verifies a signature in DER. On secp256k1 it must have the smaller s.
#[cfg(test)]
pub(super) fn verify(curve: Curve, public: &[u8], digest: &[u8], signature: &[u8]) -> Result<(), Failed> {
    use signature::hazmat::PrehashVerifier;
    on_curve!(curve, |library| {
        let key = library::ecdsa::VerifyingKey::from_sec1_bytes(public).map_err(|_| "refuses the public key")?;
        let signature = library::ecdsa::Signature::from_der(signature).map_err(|_| "the signature is not DER")?;
        key.verify_prehash(digest, &signature).map_err(|_| "the signature is wrong")
    })
}
