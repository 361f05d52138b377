//! Hashes, HMAC and HKDF of secrets.

use super::{anywhere, on_each};
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::hash::digest::FixedOutput;
use candor_primitives::hash::digest::consts::U32;
use candor_primitives::hash::{Blake2b512, Digest, Sha3_256, Sha256, Sha512, Sm3};
use candor_primitives::kdf::{HkdfSha256, HkdfSha512};
use candor_primitives::mac::{Blake2bMac, HmacSha256, HmacSha512, KeyInit, Mac};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&["sha"], "hash/sha-256", sha256, &[]);
    cases.extend(on_each(&["portable"], "hash/sha-256", sha256, WORKING_WORDS));
    cases.extend(on_each(&["portable", "avx2", "avx512"], "hash/sha-512", sha512, WORKING_WORDS));
    cases.extend(on_each(&["avx2"], "hash/sm3", sm3, &[]));
    cases.extend(on_each(&["portable"], "hash/sm3", sm3, WORKING_WORDS));
    cases.extend(on_each(&["portable", "avx2", "avx512"], "hash/sha3-256", sha3_256, WORKING_WORDS));
    cases.extend(on_each(&["portable"], "hash/blake2b", blake2b, WORKING_WORDS_AND_BLOCK));
    cases.extend(on_each(&["avx512"], "hash/blake2b", blake2b, &[]));
    cases.extend(on_each(&["portable"], "mac/blake2b", blake2b_mac, WORKING_WORDS));
    cases.extend(on_each(&["avx512"], "mac/blake2b", blake2b_mac, &[]));
    cases.push(anywhere("mac/hmac-sha-256", hmac_sha256, HMAC_256));
    cases.push(anywhere("mac/hmac-sha-512", hmac_sha512, HMAC_512));
    cases.push(anywhere("kdf/hkdf-sha-256", hkdf_sha256, HKDF));
    cases.push(anywhere("kdf/hkdf-sha-512", hkdf_sha512, HKDF_512));
    cases
}

/// Clearing them would cost a short message a tenth of its time.
const WORKING_WORDS: &[Leaves] = &[Leaves {
    step: "*",
    stack: 320,
    heap: 0,
    names: &[],
    why: "the compression function's working words, where they do not fit into registers",
}];
/// BLAKE2b's working words include words of the message.
const WORKING_WORDS_AND_BLOCK: &[Leaves] = &[Leaves { names: &["message"], ..WORKING_WORDS[0] }];
const HMAC_256: &[Leaves] = &[Leaves { stack: 150, names: &["key"], ..HMAC_512[0] }];
const HMAC_512: &[Leaves] = &[Leaves {
    step: "tag",
    stack: 380,
    heap: 0,
    names: &[],
    why: "crate `hmac` moves the padded key and the inner hash",
}];
const HKDF: &[Leaves] = &[Leaves {
    step: "derive",
    stack: 760,
    heap: 0,
    names: &[],
    why: "crates `hkdf` and `hmac` move the key, and blocks of the output",
}];
/// On a CPU with AVX-512 the key that goes in stays too.
const HKDF_512: &[Leaves] = &[Leaves { stack: 1060, names: &["input"], ..HKDF[0] }];

/// A secret message in two pieces, so that both the buffer and whole blocks see it.
macro_rules! streamed {
    ($($name:ident: $hash:ident, $digest:literal;)+) => {$(
        fn $name(probe: &mut Probe, cpu: Cpu) {
            let message: [u8; 700] = probe.secret("message");
            let mut made = Some($hash::with_cpu(cpu));
            let hash = made.as_mut().expect("made above");
            step!(probe, "update", [hash: &mut $hash = hash, message: &[u8; 700] = &message], {
                hash.update(&message[..71]);
                hash.update(&message[71..]);
            });
            let mut digest = [0; $digest];
            step!(probe, "digest", [made: &mut Option<$hash> = &mut made, digest: &mut [u8; $digest] = &mut digest], {
                if let Some(hash) = made {
                    hash.finalize_into_reset(digest.into());
                }
            });
            step!(probe, "drop", [made: &mut Option<$hash> = &mut made], *made = None);
        }
    )+};
}

streamed! {
    sha256: Sha256, 32;
    sha512: Sha512, 64;
    sm3: Sm3, 32;
    sha3_256: Sha3_256, 32;
    blake2b: Blake2b512, 64;
}

fn blake2b_mac(probe: &mut Probe, cpu: Cpu) {
    let key: [u8; 40] = probe.secret("key");
    let mac = step!(probe, "key", [cpu: Cpu = cpu, key: &[u8; 40] = &key], Blake2bMac::<U32>::with_cpu(cpu, key))
        .expect("a good key");
    let mut made = Some(mac);
    let mac = made.as_ref().expect("made above");
    let mut copy = Some(step!(probe, "clone", [mac: &Blake2bMac<U32> = mac], mac.clone()));
    step!(probe, "drop", [copy: &mut Option<Blake2bMac<U32>> = &mut copy], *copy = None);
    let mut tag = [0; 32];
    step!(probe, "tag", [made: &mut Option<Blake2bMac<U32>> = &mut made, tag: &mut [u8; 32] = &mut tag], {
        if let Some(mac) = made {
            mac.update(&[7; 300]);
            mac.clone().finalize_into(tag.into());
        }
    });
    step!(probe, "drop", [made: &mut Option<Blake2bMac<U32>> = &mut made], *made = None);
}

macro_rules! hmacs {
    ($($name:ident: $mac:ident, $tag:literal;)+) => {$(
        fn $name(probe: &mut Probe, _: Cpu) {
            let key: [u8; 40] = probe.secret("key");
            let mut tag = [0; $tag];
            step!(probe, "tag", [key: &[u8; 40] = &key, tag: &mut [u8; $tag] = &mut tag], {
                let mut mac = $mac::new_from_slice(key).expect("a key of any length");
                mac.update(b"a message");
                mac.finalize_into(tag.into());
            });
        }
    )+};
}

hmacs! {
    hmac_sha256: HmacSha256, 32;
    hmac_sha512: HmacSha512, 64;
}

macro_rules! hkdfs {
    ($($name:ident: $hkdf:ident;)+) => {$(
        fn $name(probe: &mut Probe, _: Cpu) {
            let input: [u8; 40] = probe.secret("input");
            let mut output = [0; 150];
            step!(probe, "derive", [input: &[u8; 40] = &input, output: &mut [u8; 150] = &mut output], {
                $hkdf::new(Some(b"salt"), input).expand(b"info", output).expect("a short output");
            });
        }
    )+};
}

hkdfs! {
    hkdf_sha256: HkdfSha256;
    hkdf_sha512: HkdfSha512;
}
