//! RSA identities, which C tor's programs have beside their Ed25519 identities and ask of relays: bytes that are passed on, and no RSA.

use super::certificate::RsaCross;
use crate::Error;
use alloc::vec::Vec;
use candor_primitives::hash::Sha256;
use digest::Digest;

/// CERTS type 2: the X.509 certificate of an RSA identity.
pub const RSA_IDENTITY: u8 = 2;

/// A relay's RSA identity, as it shows it on links (tor-spec, "CERTS cells"). All of it is public. Nothing of ours trusts such an identity; C tor makes links with no relay that
/// has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RsaIdentity {
    certificate: Vec<u8>,
    cross: Vec<u8>,
    digest: [u8; 32],
}

impl RsaIdentity {
    /// An identity by its self-signed X.509 certificate in DER and by its certificate for the Ed25519 identity (CERTS types 2 and 7). Whether they are good is for those to
    /// check that they are shown to.
    ///
    /// # Errors
    /// [`Error::RsaIdentity`] if the first holds no RSA key; [`Error::Length`] if the second is not one.
    pub fn new(certificate: Vec<u8>, cross: Vec<u8>) -> Result<Self, Error> {
        RsaCross::decode(&cross)?;
        let digest = digest_of(&certificate).ok_or(Error::RsaIdentity)?;
        Ok(Self { certificate, cross, digest })
    }

    /// The X.509 certificate, in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// The certificate for the Ed25519 identity, for [`RsaCross::decode`].
    pub fn cross_certificate(&self) -> &[u8] {
        &self.cross
    }

    /// SHA-256 of the key, by which AUTHENTICATE names it (CID, SID).
    pub fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

/// SHA-256 of the RSA key (PKCS#1) in an X.509 certificate.
pub(super) fn digest_of(certificate: &[u8]) -> Option<[u8; 32]> {
    rsa_key(certificate).map(|key| Sha256::digest(key).into())
}

/// 1.2.840.113549.1.1.1, rsaEncryption.
const RSA_ENCRYPTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1];
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT_IDENTIFIER: u8 = 0x06;
const SEQUENCE: u8 = 0x30;
/// `[0]`, the version.
const VERSION: u8 = 0xa0;

/// The RSA key in an X.509 certificate (RFC 5280 §4.1): the seventh field of what is signed, or the sixth if there is no version.
fn rsa_key(certificate: &[u8]) -> Option<&[u8]> {
    let whole = &mut &*certificate;
    let signed = &mut element(whole, SEQUENCE)?;
    if !whole.is_empty() {
        return None;
    }
    let fields = &mut element(signed, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        element(fields, VERSION)?;
    }
    // Serial number, algorithm, issuer, validity, subject.
    for tag in [INTEGER, SEQUENCE, SEQUENCE, SEQUENCE, SEQUENCE] {
        element(fields, tag)?;
    }
    let info = &mut element(fields, SEQUENCE)?;
    let algorithm = &mut element(info, SEQUENCE)?;
    if element(algorithm, OBJECT_IDENTIFIER)? != RSA_ENCRYPTION {
        return None;
    }
    let key = element(info, BIT_STRING)?.strip_prefix(&[0])?;
    (element(&mut &*key, SEQUENCE).is_some() && info.is_empty()).then_some(key)
}

/// Takes the next element of DER, which must have that tag: its content.
fn element<'a>(from: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let (head, rest) = from.split_first_chunk::<2>()?;
    let (length, rest) = match head[1] {
        short @ ..=0x7f => (usize::from(short), rest),
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => rest.split_first_chunk::<2>().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *from = rest;
    (head[0] == tag).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    /// An element of DER.
    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap();
        let mut bytes = match length {
            ..0x80 => vec![tag, length as u8],
            0x80..0x100 => vec![tag, 0x81, length as u8],
            _ => [vec![tag, 0x82], length.to_be_bytes().to_vec()].concat(),
        };
        bytes.extend_from_slice(content);
        bytes
    }

    /// A certificate with fields of nothing but a key.
    fn certificate(version: bool, algorithm: &[u8], key: &[u8]) -> Vec<u8> {
        let mut fields = if version { der(VERSION, &der(INTEGER, &[2])) } else { Vec::new() };
        fields.extend(der(INTEGER, &[1]));
        (0..4).for_each(|_| fields.extend(der(SEQUENCE, &[])));
        let info = [der(SEQUENCE, &der(OBJECT_IDENTIFIER, algorithm)), der(BIT_STRING, &[&[0], key].concat())].concat();
        fields.extend(der(SEQUENCE, &info));
        der(SEQUENCE, &der(SEQUENCE, &fields))
    }

    #[test]
    fn the_key_of_a_certificate_is_found_and_nothing_else_is_taken_for_one() {
        let key = der(SEQUENCE, &[7; 200]);
        for version in [true, false] {
            let good = certificate(version, RSA_ENCRYPTION, &key);
            assert_eq!(rsa_key(&good), Some(&key[..]));
            for cut in 0..good.len() {
                assert_eq!(rsa_key(&good[..cut]), None, "{cut} bytes");
            }
            assert_eq!(rsa_key(&[&good[..], &[0]].concat()), None, "more behind it");
        }
        assert_eq!(rsa_key(&certificate(true, &[1, 2, 3], &key)), None, "another algorithm");
        assert_eq!(rsa_key(&certificate(true, RSA_ENCRYPTION, &[2, 1, 1])), None, "no key");
        let cross = [&[9; 36][..], &[2, 5, 5]].concat();
        let good = certificate(true, RSA_ENCRYPTION, &key);
        assert_eq!(RsaIdentity::new(good.clone(), cross.clone()).unwrap().digest(), &digest_of(&good).unwrap());
        assert_eq!(RsaIdentity::new(Vec::new(), cross), Err(Error::RsaIdentity));
        assert!(matches!(RsaIdentity::new(good, vec![9; 36]), Err(Error::Length { .. })));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(SEQUENCE), Just(0x82), Just(INTEGER)], 0..60)) {
            let _ = rsa_key(&bytes);
        }

        #[test]
        fn changed_certificates_give_a_part_of_themselves_or_nothing(at in 0..200_usize, to: u8) {
            let mut bytes = certificate(true, RSA_ENCRYPTION, &der(SEQUENCE, &[7; 130]));
            let at = at % bytes.len();
            bytes[at] = to;
            if let Some(key) = rsa_key(&bytes) {
                prop_assert!(bytes.windows(key.len()).any(|window| window == key));
            }
        }
    }
}
