//! The key exchange's operations one by one, so that the lab can time them alone. An application has no use for them.

use crate::Error;
use crate::group::{self, Base, ELEMENT, decode, encode_products};
use curve25519_dalek::scalar::Scalar;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// A private key of the key exchange; wiped on drop.
pub struct PrivateKey(Zeroizing<Scalar>);

impl PrivateKey {
    /// A fresh key pair, the public key encoded. Takes 64 bytes from `rng`.
    pub fn generate(rng: &mut (impl CryptoRng + ?Sized)) -> (Self, [u8; ELEMENT]) {
        let secret = group::random_scalar(rng);
        let [public] = encode_products([(&secret, Base::Generator)]);
        (Self(secret), public)
    }

    /// The private key that is in these bytes.
    ///
    /// # Errors
    /// [`Error::Scalar`] if they are no scalar, or zero.
    pub fn from_bytes(bytes: &[u8; ELEMENT]) -> Result<Self, Error> {
        Ok(Self(group::scalar(bytes)?))
    }

    /// One Diffie-Hellman: the product with `public`, encoded.
    ///
    /// # Errors
    /// [`Error::Element`] if that is no element, or the identity.
    pub fn agree(&self, public: &[u8; ELEMENT]) -> Result<Zeroizing<[u8; ELEMENT]>, Error> {
        let point = decode("public key", public)?;
        Ok(Zeroizing::new((point * *self.0).compress().to_bytes()))
    }
}

/// TripleDHIKM of a client (RFC 9807 §6.4.3): its ephemeral and its long-term key with the server's key share and public key. The three
/// are encoded in one batch, as in a login.
///
/// # Errors
/// [`Error::Element`] if share or key is no element, or the identity.
pub fn triple_dh(
    ephemeral: &PrivateKey,
    long_term: &PrivateKey,
    share: &[u8; ELEMENT],
    key: &[u8; ELEMENT],
) -> Result<Zeroizing<[[u8; ELEMENT]; 3]>, Error> {
    let (share, key) = (decode("server's key share", share)?, decode("server's public key", key)?);
    Ok(Zeroizing::new(encode_products([
        (&*ephemeral.0, Base::Point(&share)),
        (&*ephemeral.0, Base::Point(&key)),
        (&*long_term.0, Base::Point(&share)),
    ])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_in_a_batch_are_those_one_by_one() {
        let mut rng = rand_core::UnwrapErr(getrandom::SysRng);
        let ((a, _), (b, share), (c, key)) =
            (PrivateKey::generate(&mut rng), PrivateKey::generate(&mut rng), PrivateKey::generate(&mut rng));
        let batch = triple_dh(&a, &b, &share, &key).unwrap();
        let single = [a.agree(&share).unwrap(), a.agree(&key).unwrap(), b.agree(&share).unwrap()];
        assert_eq!(*batch, single.map(|secret| *secret));
        // Both sides of a pair come to the same.
        assert_eq!(*c.agree(&share).unwrap(), *b.agree(&key).unwrap());
        assert!(a.agree(&[0; 32]).is_err() && triple_dh(&a, &b, &share, &[0xff; 32]).is_err());
    }
}
