//! The suite by name: MACs, AEADs and keys as they are made, moved and used there, each by what it chooses on this CPU. What the algorithms themselves leave, the other
//! cases look at.

use super::anywhere;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_suite::Error;
use candor_suite::aead::{AeadAlgorithm, Cipher};
use candor_suite::key::{KeyKind, PublicKey, SecretKey};
use candor_suite::key_file::{self, Encoding, Key, SecretForm};
use candor_suite::mac::{Authenticator, MacAlgorithm};
use zeroize::Zeroizing;

pub(super) fn cases() -> Vec<Case> {
    vec![anywhere("suite/mac", mac, &[]), anywhere("suite/aead", aead, &[]), anywhere("suite/key", key, &[])]
}

type Bytes = Result<Zeroizing<Vec<u8>>, Error>;

/// Between pieces of a message the compression function's working words may stay, as in `hash`; the end clears them.
fn mac(probe: &mut Probe, _: Cpu) {
    let secret: [u8; 32] = probe.secret("key");
    for algorithm in MacAlgorithm::ALL.iter().copied() {
        let key = &secret[..algorithm.key_size().unwrap_or(32)];
        let made = step!(probe, "key", [algorithm: MacAlgorithm = algorithm, key: &[u8] = key], {
            Authenticator::new(algorithm, key)
        });
        let mut made = Some(made.expect("a key of the right length"));
        let mac = made.as_ref().expect("made above");
        let [mut first, mut second] =
            [(); 2].map(|()| Some(step!(probe, "copy", [mac: &Authenticator = mac], mac.clone())));
        let code = step!(probe, "code", [mac: &mut Option<Authenticator> = &mut first], {
            mac.take().map(|mut mac| {
                mac.update(&[7; 300]);
                mac.finish()
            })
        });
        let code = code.expect("there was one");
        probe.public(&code);
        let verified = step!(probe, "verify", [mac: &mut Option<Authenticator> = &mut second, code: &[u8] = &code], {
            mac.take().map(|mut mac| {
                mac.update(&[7; 300]);
                mac.verify(code)
            })
        });
        assert_eq!(verified, Some(Ok(())), "{}", algorithm.name());
        step!(probe, "drop", [made: &mut Option<Authenticator> = &mut made], *made = None);
    }
}

fn aead(probe: &mut Probe, _: Cpu) {
    let secret: [u8; 32] = probe.secret("key");
    let message: [u8; 300] = probe.secret("message");
    for algorithm in AeadAlgorithm::ALL.iter().copied() {
        let (key, nonce) = (&secret[..algorithm.key_size()], &[9; 24][..algorithm.nonce_size()]);
        let made = step!(probe, "key", [algorithm: AeadAlgorithm = algorithm, key: &[u8] = key], {
            Cipher::new(algorithm, key)
        });
        let mut made = Some(made.expect("a key of the right length"));
        let cipher = made.as_ref().expect("made above");
        let mut data = message;
        let sealed = step!(
            probe,
            "seal",
            [cipher: &Cipher = cipher, nonce: &[u8] = nonce, data: &mut [u8; 300] = &mut data],
            cipher.seal(nonce, b"aad", data)
        );
        let tag = sealed.expect("a short message");
        probe.public(&data);
        probe.public(&tag);
        let opened = step!(
            probe,
            "open",
            [cipher: &Cipher = cipher, nonce: &[u8] = nonce, data: &mut [u8; 300] = &mut data, tag: &[u8; 16] = &tag],
            cipher.open(nonce, b"aad", data, tag)
        );
        assert!(opened.is_ok() && data == message, "{}", algorithm.name());
        step!(probe, "drop", [made: &mut Option<Cipher> = &mut made], *made = None);
    }
}

/// X25519, whose key files are the suite's own.
fn key(probe: &mut Probe, _: Cpu) {
    const KIND: KeyKind = KeyKind::X25519;
    let secret: [u8; 32] = probe.secret("key");
    let made = step!(probe, "from bytes", [secret: &[u8; 32] = &secret], SecretKey::from_bytes(KIND, secret));
    let mut made = Some(made.expect("any 32 bytes are a key"));
    let key = made.as_ref().expect("made above");
    let public = step!(probe, "public key", [key: &SecretKey = key], key.public_key()).expect("it has one");
    let public = public.to_bytes().expect("a form");
    probe.public(&public);
    let bytes: Bytes = step!(probe, "to bytes", [key: &SecretKey = key], key.to_bytes());
    drop(bytes.expect("a form"));
    let peer = SecretKey::from_bytes(KIND, &[5; 32]).and_then(|key| key.public_key()).expect("a key");
    let agreed: Bytes = step!(probe, "agree", [key: &SecretKey = key, peer: &PublicKey = &peer], key.agree(peer));
    probe.know("secret agreed", &agreed.expect("the peer's key is good"));
    for (write, read, encoding) in [("to DER", "from DER", Encoding::Der), ("to PEM", "from PEM", Encoding::Pem)] {
        let file: Bytes = step!(probe, write, [key: &SecretKey = key, encoding: Encoding = encoding], {
            key.to_file(SecretForm::Pkcs8, encoding)
        });
        let file = file.expect("a form");
        probe.know("key file", &file);
        let mut again = Some(step!(probe, read, [file: &[u8] = &file], key_file::read(file)).expect("a key file"));
        step!(probe, "drop", [again: &mut Option<Key> = &mut again], *again = None);
    }
    step!(probe, "drop", [made: &mut Option<SecretKey> = &mut made], *made = None);
}
