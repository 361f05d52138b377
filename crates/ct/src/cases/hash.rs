//! Hashes of secret messages. Lengths are public.

use candor_cpu::{Cpu, secret};
use candor_primitives::hash::{Batch, Blake2b512, Digest, Sha3_256, Sha256, Sha512, Sm3};

/// Secret bytes in two pieces, so that the buffer, whole blocks and padding all see them. Enough for several blocks at once, since
/// kernels do fewer of them elsewhere.
macro_rules! streamed {
    ($($name:ident, $hash:ident, $length:literal;)+) => {
        $(pub(crate) fn $name(cpu: Cpu) {
            let message: [u8; $length] = core::array::from_fn(|i| i as u8);
            let expected = $hash::digest(message);
            secret::arms();

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
            secret::arms();

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
