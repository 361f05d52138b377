//! AEADs: round keys, powers of the hash key, key stream, the authenticator's key, and messages.

use super::on_each;
use crate::case::Case;
use crate::probe::{Generator, Probe, step};
use candor_cpu::Cpu;
use candor_primitives::aead::{
    AeadError, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, RandomNonce, Sm4Ccm, Sm4Gcm, XChaCha20Poly1305,
};
use zeroize::Zeroize;

const SM4: [&str; 6] = ["portable", "clmul", "avx2", "vpclmul", "gfni", "avx512"];
const AES: [&str; 4] = ["portable", "clmul", "vpclmul", "avx512"];
const CHACHA20: [&str; 3] = ["portable", "avx2", "avx512"];

/// Every way through the arms: none, a part of a block, some, and more than the widest has in flight.
const LENGTHS: [usize; 6] = [0, 13, 64, 509, 1100, 2701];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&AES, "aead/aes-128-gcm", aes_128_gcm, &[]);
    cases.extend(on_each(&AES, "aead/aes-256-gcm", aes_256_gcm, &[]));
    cases.extend(on_each(&AES, "aead/random-nonce", random_nonce, &[]));
    cases.extend(on_each(&CHACHA20, "aead/chacha20-poly1305", chacha20_poly1305, &[]));
    cases.extend(on_each(&CHACHA20, "aead/xchacha20-poly1305", xchacha20_poly1305, &[]));
    cases.extend(on_each(&SM4, "aead/sm4-gcm", sm4_gcm, &[]));
    cases.extend(on_each(&SM4, "aead/sm4-ccm", sm4_ccm, &[]));
    cases
}

type Tag = [u8; 16];

macro_rules! case {
    ($name:ident, $type:ident, key $key:literal, nonce $nonce:literal) => {
        fn $name(probe: &mut Probe, cpu: Cpu) {
            type Opened = Result<(), AeadError>;
            let (key, message): ([u8; $key], [u8; 2701]) = (probe.secret("key"), probe.secret("message"));
            let mut made =
                Some(step!(probe, "key", [cpu: Cpu = cpu, key: &[u8; $key] = &key], $type::with_cpu(cpu, key)));
            let cipher = made.as_ref().expect("made above");
            let mut copy = Some(step!(probe, "clone", [cipher: &$type = cipher], cipher.clone()));
            step!(probe, "drop", [copy: &mut Option<$type> = &mut copy], *copy = None);
            for length in LENGTHS {
                let mut data = message[..length].to_vec();
                let sealed = step!(
                    probe,
                    "seal",
                    [cipher: &$type = cipher, data: &mut [u8] = &mut data],
                    cipher.seal_in_place(&[7; $nonce], &[3; 45], data)
                );
                let tag = sealed.expect("a short message");
                let mut wrong = tag;
                wrong[0] ^= 1;
                [&data[..], &tag, &wrong].iter().for_each(|sent| probe.public(sent));
                let mut refused = data.clone();
                for (name, data, tag, opens) in
                    [("refuse", &mut refused, &wrong, false), ("open", &mut data, &tag, true)]
                {
                    let opened: Opened = step!(
                        probe,
                        name,
                        [cipher: &$type = cipher, data: &mut [u8] = data, tag: &Tag = tag],
                        cipher.open_in_place(&[7; $nonce], &[3; 45], data, tag)
                    );
                    assert_eq!(opened.is_ok(), opens, "{name}");
                }
            }
            step!(probe, "drop", [made: &mut Option<$type> = &mut made], *made = None);
        }
    };
}

case!(aes_128_gcm, Aes128Gcm, key 16, nonce 12);
case!(aes_256_gcm, Aes256Gcm, key 32, nonce 12);
case!(chacha20_poly1305, ChaCha20Poly1305, key 32, nonce 12);
case!(xchacha20_poly1305, XChaCha20Poly1305, key 32, nonce 24);
case!(sm4_gcm, Sm4Gcm, key 16, nonce 12);
case!(sm4_ccm, Sm4Ccm, key 16, nonce 12);

/// It copies the message, and makes a place for what it opens.
fn random_nonce(probe: &mut Probe, cpu: Cpu) {
    type Cipher = RandomNonce<Aes256Gcm>;
    type Made = Result<Vec<u8>, AeadError>;
    let (key, message): ([u8; 32], [u8; 2701]) = (probe.secret("key"), probe.secret("message"));
    let mut nonces = probe.public_generator("nonces");
    let new = |key: &[u8; 32]| RandomNonce::new(Aes256Gcm::with_cpu(cpu, key));
    let mut made =
        Some(step!(probe, "key", [new: &dyn Fn(&[u8; 32]) -> Cipher = &new, key: &[u8; 32] = &key], new(key)));
    let cipher = made.as_ref().expect("made above");
    for length in LENGTHS {
        let sealed: Made = step!(
            probe,
            "seal",
            [cipher: &Cipher = cipher, nonces: &mut Generator = &mut nonces, message: &[u8] = &message[..length]],
            cipher.seal_with(nonces, &[3; 45], message)
        );
        let sealed = sealed.expect("a short message");
        let mut wrong = sealed.clone();
        wrong[0] ^= 1;
        [&sealed, &wrong].iter().for_each(|sent| probe.public(sent));
        for (name, sent, opens) in [("refuse", &wrong, false), ("open", &sealed, true)] {
            let mut opened: Made =
                step!(probe, name, [cipher: &Cipher = cipher, sent: &[u8] = sent], cipher.open(&[3; 45], sent));
            assert_eq!(opened.is_ok(), opens, "{name}");
            opened.iter_mut().for_each(Zeroize::zeroize);
        }
    }
    step!(probe, "drop", [made: &mut Option<Cipher> = &mut made], *made = None);
}
