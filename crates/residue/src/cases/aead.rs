//! AEADs over SM4: round keys, powers of the hash key, key stream, the authenticator, and messages.

use super::on_each;
use crate::case::Case;
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::aead::{AeadError, Sm4Ccm, Sm4Gcm};

const SM4: [&str; 6] = ["portable", "clmul", "avx2", "vpclmul", "gfni", "avx512"];

/// Every way through the arms: none, a part of a block, some, and more than the widest has in flight.
const LENGTHS: [usize; 6] = [0, 13, 64, 509, 1100, 2701];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = on_each(&SM4, "aead/sm4-gcm", sm4_gcm, &[]);
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

case!(sm4_gcm, Sm4Gcm, key 16, nonce 12);
case!(sm4_ccm, Sm4Ccm, key 16, nonce 12);
