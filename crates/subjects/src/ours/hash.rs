//! candor's hashes, one message after another and in batches, and HMAC and HKDF over them.

use super::{distinct_arms, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Provenance};
use candor_peers::contract::hash::{self, Algorithm, BatchHash, Hash, Shape};
use candor_peers::contract::kdf;
use candor_peers::contract::mac::{self, Keyed};
use candor_peers::linked;
use candor_primitives::hash::{
    Batch, Blake2b512, Digest, ExtendableOutput, Sha3_256, Sha3_512, Sha256, Sha384, Sha512, Shake128, Shake256, Sm3,
    Update, XofReader,
};
use candor_primitives::kdf::HkdfSha256;
use candor_primitives::mac::{HmacSha256, HmacSha512, HmacSm3, KeyInit, Mac};

/// A hash of ours on a CPU: its arm, and the digest of a whole message.
trait OneShot: 'static {
    type Digest: AsRef<[u8]>;
    fn arm(cpu: Cpu) -> &'static str;
    fn digest(cpu: Cpu, message: &[u8]) -> Self::Digest;
}

/// Writes [`OneShot`] for each type and [`singles`] from a list of them.
macro_rules! hashes {
    (fixed $($hash:ident)+; extendable $($xof:ident: $bytes:literal)+;) => {
        $(impl OneShot for $hash {
            type Digest = digest::Output<Self>;
            fn arm(cpu: Cpu) -> &'static str {
                Self::with_cpu(cpu).arm()
            }
            fn digest(cpu: Cpu, message: &[u8]) -> Self::Digest {
                let mut hash = Self::with_cpu(cpu);
                Digest::update(&mut hash, message);
                hash.finalize()
            }
        })+
        $(impl OneShot for $xof {
            type Digest = [u8; $bytes];
            fn arm(cpu: Cpu) -> &'static str {
                Self::with_cpu(cpu).arm()
            }
            fn digest(cpu: Cpu, message: &[u8]) -> Self::Digest {
                let mut output = [0; $bytes];
                let mut xof = Self::with_cpu(cpu);
                xof.update(message);
                xof.finalize_xof().read(&mut output);
                output
            }
        })+

        /// The arm that this process takes by default, then the machine's others.
        pub(crate) fn singles(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
            match algorithm {
                $(Algorithm::$hash => arms::<$hash>(shape),)+
                $(Algorithm::$xof => arms::<$xof>(shape),)+
            }
        }
    };
}

// The types of `candor_primitives::hash`, which have the names of the algorithms; of the others, how many bytes are read.
hashes! {
    fixed Sha256 Sha384 Sha512 Sha3_256 Sha3_512 Blake2b512 Sm3;
    extendable Shake128: 32 Shake256: 64;
}

fn arms<H: OneShot>(shape: Shape) -> Vec<Entry> {
    let entry = |(arm, cpu)| hash::entry(format!("candor@{arm}"), shape, move || Ok(Single::<H>::on(cpu)));
    distinct_arms(H::arm).into_iter().map(entry).collect()
}

struct Single<H> {
    cpu: Cpu,
    hash: std::marker::PhantomData<H>,
}

impl<H> Single<H> {
    fn on(cpu: Cpu) -> Self {
        Self { cpu, hash: std::marker::PhantomData }
    }
}

impl<H: OneShot> Hash for Single<H> {
    type Digest = H::Digest;

    fn digest(&mut self, message: &[u8]) -> H::Digest {
        H::digest(self.cpu, message)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        on_arm(format!("{timed} (with_cpu, update, finalize)"), H::arm(self.cpu))
    }
}

/// Writes [`BATCHES`] and [`batches`] from a table.
macro_rules! batches {
    ($($hash:ident, $messages:literal, $bytes:literal, $method:ident, $arm:ident;)+) => {
        /// The algorithms that have batches, and of how many messages each.
        pub(crate) const BATCHES: &[(Algorithm, usize)] = &[$((Algorithm::$hash, $messages),)+];

        /// Batches on the arm that this process takes by default, then on the machine's others that take messages side by side.
        pub(crate) fn batches(algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
            match (algorithm, shape.messages) {
                $((Algorithm::$hash, $messages) => on_arms::<$messages, $bytes>(
                    shape, |batch| batch.$arm($messages), |batch, messages| batch.$method(messages),
                ),)+
                _ => Vec::new(),
            }
        }
    };
}

// The hash, messages in a batch, bytes of a digest, and the methods of `Batch` that hash them and name the arm.
batches! {
    Sha256, 4, 32, sha256, sha256_arm;
    Sha256, 8, 32, sha256, sha256_arm;
    Sha3_256, 4, 32, sha3_256, keccak_arm;
    Sha3_512, 4, 64, sha3_512, keccak_arm;
    Shake128, 4, 32, shake128, keccak_arm;
    Sm3, 8, 32, sm3, sm3_arm;
}

fn on_arms<const N: usize, const D: usize>(
    shape: Shape,
    arm_of: fn(Batch) -> &'static str,
    digests: Digests<N, D>,
) -> Vec<Entry> {
    let arm = |cpu| arm_of(Batch::with_cpu(cpu));
    // One by one is what the entries of single messages are; only a process that has nothing else needs it here.
    let default = arm(Cpu::default());
    let arms = distinct_arms(arm).into_iter().filter(|(arm, _)| *arm == default || *arm != "one-by-one");
    arms.map(|(arm, cpu)| {
        hash::batch_entry(format!("candor@{arm}+batch"), shape.bytes, move || Ok(AtOnce { cpu, arm, digests }))
    })
    .collect()
}

/// A method of [`Batch`] for `N` messages, with digests of `D` bytes.
type Digests<const N: usize, const D: usize> = fn(Batch, [&[u8]; N]) -> [[u8; D]; N];

struct AtOnce<const N: usize, const D: usize> {
    cpu: Cpu,
    arm: &'static str,
    digests: Digests<N, D>,
}

impl<const N: usize, const D: usize> BatchHash<N, D> for AtOnce<N, D> {
    fn digests(&mut self, messages: [&[u8]; N]) -> [[u8; D]; N] {
        (self.digests)(Batch::with_cpu(self.cpu), messages)
    }

    fn provenance(&self, timed: &str) -> Provenance {
        on_arm(format!("{timed} (Batch::with_cpu)"), self.arm)
    }
}

/// HMAC on the default arm of its hash.
pub(crate) fn hmac(hash: Algorithm, bytes: usize) -> Vec<Entry> {
    match hash {
        Algorithm::Sha256 => vec![hmac_over::<HmacSha256>(Sha256::arm(&Sha256::new()), bytes)],
        Algorithm::Sha512 => vec![hmac_over::<HmacSha512>(Sha512::arm(&Sha512::new()), bytes)],
        Algorithm::Sm3 => vec![hmac_over::<HmacSm3>(Sm3::arm(&Sm3::new()), bytes)],
        _ => Vec::new(),
    }
}

fn hmac_over<M: KeyInit + Mac + Clone + 'static>(arm: &'static str, bytes: usize) -> Entry {
    mac::entry(format!("candor@{arm}"), bytes, move || Ok(Keyed::<M>::new(move |timed| on_arm(timed.to_owned(), arm))))
}

/// HKDF over SHA-256 on its default arm.
pub(crate) fn hkdf() -> Vec<Entry> {
    vec![kdf::entry(format!("candor@{}", Sha256::new().arm()), || Ok(OurHkdf))]
}

struct OurHkdf;

impl kdf::Hkdf for OurHkdf {
    fn derive(&mut self, input: &kdf::Input) -> [u8; 64] {
        let mut keys = [0; 64];
        let hkdf = HkdfSha256::new(Some(&input.salt), &input.secret);
        hkdf.expand(&input.info, &mut keys).expect("64 bytes are not too many");
        keys
    }

    fn provenance(&self, timed: &str) -> Provenance {
        on_arm(timed.to_owned(), Sha256::new().arm())
    }
}

fn on_arm(timed: String, arm: &str) -> Provenance {
    let (version, checksum) = linked::package("sha2");
    // The SHA instructions are crate sha2's to call; what else runs is ours.
    let kept = ["sha", "arm-sha2"].contains(&arm).then(|| linked::package_id("sha2", version, checksum));
    Provenance { arm: Some(arm.to_owned()), commit: kept, ..ours(&timed) }
}
