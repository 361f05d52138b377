//! Hashes of secret messages. Lengths are public.

use candor_cpu::{Cpu, secret};
use candor_primitives::hash::digest::consts::U32;
use candor_primitives::hash::{Batch, Blake2b512, Digest, Sha3_256, Sha256, Sha512, Sm3};
use candor_primitives::mac::{Blake2bMac, Mac};

/// Secret bytes in two pieces, so that the buffer, whole blocks and padding all see them. Enough for several blocks at once, since
/// kernels do fewer of them elsewhere.
macro_rules! streamed {
    ($($name:ident, $hash:ident, $length:literal;)+) => {
        $(pub(crate) fn $name(cpu: Cpu) {
            let message: [u8; $length] = core::array::from_fn(|i| i as u8);
            let expected = $hash::digest(message);
            secret::reset();

            let poisoned = message;
            secret::poison(&poisoned);
            let mut hash = $hash::with_cpu(cpu);
            hash.update(&poisoned[..71]);
            hash.update(&poisoned[71..]);
            let digest = hash.finalize();
            secret::declassify(&digest, "result");
            assert_eq!(digest, expected, "the result is wrong, so whatever ran was not the hash");
        })+
    };
}

streamed! {
    sha256, Sha256, 200;
    sha512, Sha512, 500;
    sha3_256, Sha3_256, 500;
    blake2b, Blake2b512, 500;
    sm3, Sm3, 1500;
}

/// Nine secret messages of different lengths, which are public.
macro_rules! many {
    ($($name:ident, $of:ident, $hash:ident;)+) => {
        $(pub(crate) fn $name(cpu: Cpu) {
            let message: [u8; 900] = core::array::from_fn(|i| i as u8);
            let lengths: [usize; 9] = core::array::from_fn(|n| 100 * n + n);
            let expected = lengths.map(|length| $hash::digest(&message[..length]));
            secret::reset();

            let poisoned = message;
            secret::poison(&poisoned);
            let digests = Batch::with_cpu(cpu).$of(lengths.map(|length| &poisoned[..length]));
            secret::declassify(digests.as_flattened(), "result");
            for (digest, expected) in digests.iter().zip(&expected) {
                assert_eq!(digest[..], expected[..], "the result is wrong, so whatever ran was not the hash");
            }
            // The last messages go alone, by an arm that has a case of its own.
            let alone = secret::arms();
            for (routine, arm) in alone.into_iter().filter(|(routine, _)| routine.ends_with("-batch")) {
                secret::ran(routine, arm);
            }
        })+
    };
}

many! {
    sha256_batch, sha256, Sha256;
    sha3_256_batch, sha3_256, Sha3_256;
    sm3_batch, sm3, Sm3;
}

/// BLAKE2b with a secret key over a secret message.
pub(crate) fn blake2b_mac(cpu: Cpu) {
    let tag = |cpu, key: &[u8], message: &[u8]| -> [u8; 32] {
        let mac = Blake2bMac::<U32>::with_cpu(cpu, key).expect("a key of 40 bytes");
        mac.chain_update(message).finalize().into_bytes().into()
    };
    let (key, message): ([u8; 40], [u8; 300]) = (core::array::from_fn(|i| i as u8), [7; 300]);
    let expected = tag(Cpu::portable(), &key, &message);
    secret::reset();

    secret::poison(&key);
    secret::poison(&message);
    let found = tag(cpu, &key, &message);
    secret::declassify(&found, "result");
    assert_eq!(found, expected, "the result is wrong, so whatever ran was not the MAC");
}
