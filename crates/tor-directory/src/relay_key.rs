//! A relay's RSA identity, of 1,024 bits as all of Tor's are.
//!
//! It is what Tor's consensus, its descriptors and `ntor` name a relay by. Keys of this size can be broken by whoever spends enough, and nothing of ours trusts them: a
//! relay is authenticated by its Ed25519 identity.

use crate::rsa_key::EXPONENT;
use crate::{Error, x509};
use candor_onion::link::RsaIdentity;
use candor_onion::link::certificate::RsaCross;
use candor_primitives::hash::Sha256;
use digest::Digest;
use getrandom::SysRng;
use rsa::pkcs1::{DecodeRsaPrivateKey, EncodeRsaPrivateKey, EncodeRsaPublicKey, LineEnding};
use rsa::rand_core::UnwrapErr;
use rsa::traits::PublicKeyParts;
use rsa::{BoxedUint, Pkcs1v15Sign, RsaPrivateKey};
use sha1::Sha1;
use std::fmt;
use zeroize::Zeroizing;

/// Bits of an identity.
const BITS: usize = 1024;
/// How long a certificate is good for from the day that it is made on.
const LIFETIME: u64 = 365 * 24 * 3600;
const DAY: u64 = 24 * 3600;

/// A relay's secret RSA identity. Wiped on drop.
pub struct RelayKey {
    key: RsaPrivateKey,
    /// PKCS#1's DER of the public key.
    public: Vec<u8>,
    /// A key of the handshake TAP, which nobody uses any more and authorities still want in descriptors, until a parameter of the network says otherwise (`publish-dummy-tap-key`). New at each start,
    /// since it serves nothing.
    tap: RsaPrivateKey,
}

impl RelayKey {
    /// A fresh identity.
    ///
    /// # Errors
    /// [`Error::Key`] if the operating system gives no randomness.
    pub fn generate() -> Result<Self, Error> {
        Self::new(generate()?)
    }

    /// Reads an identity from PEM (PKCS#1).
    ///
    /// # Errors
    /// [`Error::Key`] unless it is an RSA key of 1,024 bits with the exponent 65537.
    pub fn from_pem(pem: &str) -> Result<Self, Error> {
        let key = RsaPrivateKey::from_pkcs1_pem(pem);
        let key = key.map_err(|_| Error::Key("expected a secret key of RSA in PEM, `RSA PRIVATE KEY`".to_owned()))?;
        if *key.e() != BoxedUint::from(EXPONENT) {
            return Err(Error::Key(format!("key has another exponent than {EXPONENT}, which C tor wants")));
        }
        match key.n().bits_vartime() as usize {
            BITS => Self::new(key),
            bits => Err(Error::Key(format!("key has {bits} bits; a relay's identity has {BITS}"))),
        }
    }

    fn new(key: RsaPrivateKey) -> Result<Self, Error> {
        let public = key.as_public_key().to_pkcs1_der().map_err(|error| Error::Key(error.to_string()))?;
        Ok(Self { public: public.as_bytes().to_vec(), key, tap: generate()? })
    }

    /// The identity in PEM (PKCS#1), for a file that its owner alone may read.
    ///
    /// # Errors
    /// [`Error::Key`] if the library fails.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, Error> {
        self.key.to_pkcs1_pem(LineEnding::LF).map_err(|error| Error::Key(error.to_string()))
    }

    /// SHA-1 of the public key, by which the consensus names the relay.
    pub fn fingerprint(&self) -> [u8; 20] {
        Sha1::digest(&self.public).into()
    }

    /// What the relay with that Ed25519 identity shows of this one on links: good for a year from `now`, in seconds since 1970.
    ///
    /// # Errors
    /// [`Error::Key`] if the operating system gives no randomness.
    pub fn for_links(&self, ed25519: &[u8; 32], now: u64) -> Result<RsaIdentity, Error> {
        let until = now.saturating_add(LIFETIME);
        let mut serial = [0; 4];
        getrandom::fill(&mut serial).map_err(|error| Error::Key(error.to_string()))?;
        // A day before now: other clocks may be behind.
        let unsigned = x509::unsigned(&self.public, u32::from_be_bytes(serial), now.saturating_sub(DAY), until);
        let digest = Sha256::digest(&unsigned);
        let certificate = x509::signed(&unsigned, &self.sign(&[x509::DIGEST_INFO, &digest].concat())?);

        let hours = u32::try_from(until / 3600).unwrap_or(u32::MAX);
        let mut cross = [&ed25519[..], &hours.to_be_bytes()].concat();
        let digest = Sha256::new().chain_update(RsaCross::PREFIX).chain_update(&cross).finalize();
        let signature = self.sign(&digest)?;
        cross.push(u8::try_from(signature.len()).map_err(|_| Error::Key("signature is too long".to_owned()))?);
        cross.extend(signature);
        RsaIdentity::new(certificate, cross).map_err(|error| Error::Key(error.to_string()))
    }

    /// The public key, PKCS#1's DER.
    pub(crate) fn public(&self) -> &[u8] {
        &self.public
    }

    /// The public key of TAP, PKCS#1's DER, and its certificate for the relay's identities (dir-spec, `onion-key-crosscert`).
    pub(crate) fn tap(&self, ed25519: &[u8; 32]) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let public = self.tap.as_public_key().to_pkcs1_der().map_err(|error| Error::Key(error.to_string()))?;
        let certificate = sign(&self.tap, &[&self.fingerprint()[..], ed25519].concat())?;
        Ok((public.as_bytes().to_vec(), certificate))
    }

    /// Signs a digest.
    pub(crate) fn sign(&self, digest: &[u8]) -> Result<Vec<u8>, Error> {
        sign(&self.key, digest)
    }
}

impl fmt::Debug for RelayKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RelayKey({})", base16ct::upper::encode_string(&self.fingerprint()))
    }
}

fn generate() -> Result<RsaPrivateKey, Error> {
    RsaPrivateKey::new(&mut randomness()?, BITS).map_err(|error| Error::Key(error.to_string()))
}

/// Signs a digest by PKCS#1 v1.5, without its name unless it stands in front of it.
fn sign(key: &RsaPrivateKey, digest: &[u8]) -> Result<Vec<u8>, Error> {
    let signature = key.sign_with_rng(&mut randomness()?, Pkcs1v15Sign::new_unprefixed(), digest);
    signature.map_err(|error| Error::Key(error.to_string()))
}

/// The operating system's randomness, tried out once: what comes later can't fail then.
fn randomness() -> Result<UnwrapErr<SysRng>, Error> {
    getrandom::fill(&mut [0; 8])
        .map_err(|error| Error::Key(format!("no randomness from the operating system: {error}")))?;
    Ok(UnwrapErr(SysRng))
}
