//! Key exchange: ML-KEM of our own, and by other people's libraries as this crate wraps them.

use super::{anywhere, on_each};
use crate::case::{Case, Leaves};
use crate::probe::{Probe, step};
use candor_cpu::Cpu;
use candor_primitives::SharedSecret;
use candor_primitives::dh::{self, DiffieHellman};
use candor_primitives::hash::{Digest, Sha3_256};
use candor_primitives::kem::ml_kem as own;
use candor_primitives::kem::{self, DerandomizedKem, Kem};

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![
        anywhere("x25519/dalek", |probe, _| x25519(probe, dh::dalek::X25519), &[]),
        Case { unstable: ADDRESSES, ..anywhere("x25519/aws-lc", |probe, _| x25519(probe, dh::aws_lc::X25519), &[]) },
        anywhere("ml-kem-768/libcrux", |probe, _| ml_kem(probe, kem::libcrux::MlKem768), LIBCRUX),
        Case { unstable: ADDRESSES, ..anywhere("ml-kem-768/aws-lc", decapsulate_aws_lc, AWS_LC) },
    ];
    let tiers = ["portable", "adx", "avx512"];
    cases.extend(on_each(&tiers, "x25519", |probe, cpu| x25519(probe, dh::x25519::X25519::with_cpu(cpu)), &[]));
    let cases_of_many =
        on_each(&tiers, "x25519-many", |probe, cpu| agree_many(probe, dh::x25519::X25519::with_cpu(cpu)), &[]);
    // Generated public keys, which differ from run to run, are freed with the list that they were made in.
    cases.extend(cases_of_many.into_iter().map(|case| Case { unstable: 32 * AT_ONCE, ..case }));
    let tiers = ["portable", "avx2", "avx512"];
    cases.extend(on_each(&tiers, "ml-kem-512", |probe, cpu| ml_kem(probe, own::MlKem512::with_cpu(cpu)), &[]));
    cases.extend(on_each(&tiers, "ml-kem-768", |probe, cpu| ml_kem(probe, own::MlKem768::with_cpu(cpu)), &[]));
    cases.extend(on_each(&tiers, "ml-kem-1024", |probe, cpu| ml_kem(probe, own::MlKem1024::with_cpu(cpu)), &[]));
    let prepared = |probe: &mut Probe, cpu| ml_kem(probe, own::PreparedMlKem1024::with_cpu(cpu));
    cases.extend(on_each(&tiers, "ml-kem-1024-prepared", prepared, &[]));
    let tiers = ["avx2", "avx512"];
    cases.extend(on_each(&tiers, "ml-kem-768-many", |probe, cpu| many(probe, own::MlKem768::with_cpu(cpu)), &[]));
    cases.extend(on_each(&tiers, "ml-kem-1024-many", |probe, cpu| many(probe, own::MlKem1024::with_cpu(cpu)), &[]));
    let prepared = |probe: &mut Probe, cpu| many(probe, own::PreparedMlKem1024::with_cpu(cpu));
    cases.extend(on_each(&tiers, "ml-kem-1024-prepared-many", prepared, &[]));
    cases
}

/// AWS-LC allocates with the system's allocator, whose addresses differ from run to run: 6 bytes of them stay on the stack.
const ADDRESSES: usize = 8;

/// Clearing as much stack as ML-KEM uses would cost several percent of its time; handshakes and logins do it.
const LIBCRUX: &[Leaves] = &[
    Leaves { step: "generate", stack: 21_000, heap: 0, names: &["seed"], why: LIBCRUX_WIPES_NOTHING },
    Leaves {
        step: "encapsulate",
        stack: 25_000,
        heap: 0,
        names: &["coins", "shared secret"],
        why: LIBCRUX_WIPES_NOTHING,
    },
    Leaves {
        step: "decapsulate",
        stack: 24_000,
        heap: 0,
        names: &["seed", "coins", "shared secret"],
        why: LIBCRUX_WIPES_NOTHING,
    },
    Leaves {
        step: "reject",
        stack: 24_000,
        heap: 0,
        names: &["seed", "coins", "shared secret"],
        why: LIBCRUX_WIPES_NOTHING,
    },
];
const LIBCRUX_WIPES_NOTHING: &str = "libcrux wipes nothing: seeds, polynomials of the key, coins, the shared secret";
const AWS_LC: &[Leaves] = &[Leaves {
    step: "decapsulate",
    stack: 2900,
    heap: 0,
    names: &["shared secret"],
    why: "AWS-LC wipes its buffers; registers that its functions put aside stay, and a copy of the shared secret",
}];

fn x25519<D: DiffieHellman>(probe: &mut Probe, dh: D) {
    let scalar: [u8; 32] = probe.secret("scalar");
    let peer = {
        let key = dh.secret_from_bytes(&[9; 32]).expect("any 32 bytes are a key");
        dh.public_of(&key).expect("a public key")
    };
    let mut made = Some(
        step!(probe, "key", [dh: &D = &dh, scalar: &[u8; 32] = &scalar], dh.secret_from_bytes(scalar))
            .expect("any 32 bytes are a key"),
    );
    let key = made.as_ref().expect("made above");
    let public =
        step!(probe, "public key", [dh: &D = &dh, key: &D::Secret = key], dh.public_of(key)).expect("a public key");
    probe.public(&public);
    let shared =
        step!(probe, "agree", [dh: &D = &dh, key: &D::Secret = key, peer: &[u8; 32] = &peer], dh.agree(key, peer))
            .expect("a secret");
    probe.know("shared secret", shared.as_bytes());
    step!(probe, "drop", [made: &mut Option<D::Secret> = &mut made], *made = None);
}

/// How many operations of one kind are done at once: two groups of four lanes and three, or eight lanes and three.
const AT_ONCE: usize = 11;

/// Public keys and agreements at once, and two.
fn agree_many<D: DiffieHellman>(probe: &mut Probe, dh: D) {
    let scalars: [u8; 32 * AT_ONCE] = probe.secret("scalars");
    let scalars = scalars.as_chunks().0;
    let peer = {
        let key = dh.secret_from_bytes(&[9; 32]).expect("any 32 bytes are a key");
        dh.public_of(&key).expect("a public key")
    };
    let mut made: Vec<_> = scalars.iter().map(|scalar| dh.secret_from_bytes(scalar).expect("a key")).collect();
    let keys: Vec<_> = made.iter().collect();
    let publics = step!(probe, "public keys", [dh: &D = &dh, keys: &[&D::Secret] = &keys], dh.public_many(keys));
    publics.expect("public keys").iter().for_each(|public| probe.public(public));
    let pairs: Vec<_> = keys.iter().map(|key| (*key, &peer)).collect();
    let shared =
        step!(probe, "agree", [dh: &D = &dh, pairs: &[(&D::Secret, &[u8; 32])] = &pairs], dh.agree_many(pairs));
    let both = [pairs[0], pairs[1]];
    let two =
        step!(probe, "agree, two", [dh: &D = &dh, both: &[(&D::Secret, &[u8; 32]); 2] = &both], dh.agree_pair(*both));
    for shared in shared.iter().chain(&two) {
        probe.know("shared secret", shared.as_ref().expect("a secret").as_bytes());
    }
    drop((keys, pairs, both));
    step!(probe, "drop", [made: &mut Vec<D::Secret> = &mut made], made.clear());
    let generated = step!(probe, "generate", [dh: &D = &dh], dh.generate_many(AT_ONCE));
    generated.expect("key pairs");
}

fn ml_kem<K: DerandomizedKem>(probe: &mut Probe, kem: K) {
    let (seed, coins): ([u8; 64], [u8; 32]) = (probe.secret("seed"), probe.secret("coins"));
    let (key, public) = step!(probe, "generate", [kem: &K = &kem, seed: &[u8; 64] = &seed], kem.generate_from(seed))
        .expect("a key pair");
    let mut bytes = vec![0; K::PUBLIC];
    kem.public_to_bytes(&public, &mut bytes).expect("as long as a key");
    probe.public(&bytes);
    // A decapsulation key holds the hash of the public key as well (FIPS 203 §7.1).
    probe.public(&Sha3_256::digest(&bytes));
    let mut ciphertext = vec![0; K::CIPHERTEXT];
    let shared = step!(probe, "encapsulate", [kem: &K = &kem, public: &K::Public = &public, coins: &[u8; 32] = &coins, ciphertext: &mut [u8] = &mut ciphertext], {
        kem.encapsulate_from(public, coins, ciphertext)
    }).expect("a ciphertext");
    probe.know("shared secret", shared.as_bytes());
    probe.public(&ciphertext);
    reject(probe, &kem, &key, &ciphertext);
    decapsulate(probe, &kem, key, &ciphertext, &shared);
}

/// A bad ciphertext, whose secret is J of the key's z (implicit rejection).
fn reject<K: Kem>(probe: &mut Probe, kem: &K, key: &K::Secret, good: &[u8]) {
    let mut bad = good.to_vec();
    bad[good.len() / 2] ^= 1;
    let shared = kem.decapsulate(key, &bad).expect("no ciphertext is an error");
    probe.know("shared secret", shared.as_bytes());
    let again =
        step!(probe, "reject", [kem: &K = kem, key: &K::Secret = key, bad: &[u8] = &bad], kem.decapsulate(key, bad));
    assert!(again.expect("no ciphertext is an error") == shared, "the secrets differ");
}

/// All three operations at once.
fn many<K: DerandomizedKem>(probe: &mut Probe, kem: K) {
    let (seeds, coins): ([u8; 64 * AT_ONCE], [u8; 32 * AT_ONCE]) = (probe.secret("seeds"), probe.secret("coins"));
    let (seeds, coins): (Vec<_>, Vec<_>) = (seeds.chunks(64).collect(), coins.chunks(32).collect());
    let made = step!(probe, "generate", [kem: &K = &kem, seeds: &[&[u8]] = &seeds], kem.generate_many_from(seeds));
    let (secrets, publics): (Vec<_>, Vec<_>) = made.expect("key pairs").into_iter().unzip();
    for public in &publics {
        let mut bytes = vec![0; K::PUBLIC];
        kem.public_to_bytes(public, &mut bytes).expect("as long as a key");
        probe.public(&bytes);
        probe.public(&Sha3_256::digest(&bytes));
    }
    let to: Vec<_> = publics.iter().collect();
    let mut ciphertexts = vec![vec![0; K::CIPHERTEXT]; AT_ONCE];
    let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
    let sent = step!(probe, "encapsulate", [kem: &K = &kem, to: &[&K::Public] = &to, coins: &[&[u8]] = &coins, rooms: &mut [&mut [u8]] = &mut rooms], {
        kem.encapsulate_many_from(to, coins, rooms)
    }).expect("ciphertexts");
    for (shared, ciphertext) in sent.iter().zip(&ciphertexts) {
        probe.know("shared secret", shared.as_bytes());
        probe.public(ciphertext);
    }
    let with: Vec<_> = secrets.iter().collect();
    let arrive: Vec<_> = ciphertexts.iter().map(Vec::as_slice).collect();
    let found =
        step!(probe, "decapsulate", [kem: &K = &kem, with: &[&K::Secret] = &with, arrive: &[&[u8]] = &arrive], {
            kem.decapsulate_many(with, arrive)
        })
        .expect("secrets");
    assert!(found == sent, "the secrets differ");
    drop((to, with));
    let mut secrets = Some(secrets);
    step!(probe, "drop", [secrets: &mut Option<Vec<K::Secret>> = &mut secrets], *secrets = None);
}

/// AWS-LC draws its own randomness, so its keys come from another back end.
fn decapsulate_aws_lc(probe: &mut Probe, _: Cpu) {
    let (seed, coins): ([u8; 64], [u8; 32]) = (probe.secret("seed"), probe.secret("coins"));
    let (other, kem) = (kem::libcrux::MlKem768, kem::aws_lc::MlKem768);
    let (key, public) = other.generate_from(&seed).expect("a key pair");
    let mut ciphertext = vec![0; kem::aws_lc::MlKem768::CIPHERTEXT];
    let shared = other.encapsulate_from(&public, &coins, &mut ciphertext).expect("a ciphertext");
    probe.know("shared secret", shared.as_bytes());
    probe.public(&ciphertext);
    let mut bytes = vec![0; kem::aws_lc::MlKem768::PUBLIC];
    other.public_to_bytes(&public, &mut bytes).expect("as long as a key");
    probe.public(&bytes);
    let key = other.secret_to_bytes(&key).expect("the key's bytes");
    // The key holds the hash of the public key as well, before its last 32 bytes (FIPS 203 §7.1).
    probe.public(&key[key.len() - 64..][..32]);
    let key = step!(probe, "key", [kem: &kem::aws_lc::MlKem768 = &kem, key: &[u8] = &key], kem.secret_from_bytes(key))
        .expect("a good key");
    decapsulate(probe, &kem, key, &ciphertext, &shared);
}

fn decapsulate<K: Kem>(probe: &mut Probe, kem: &K, key: K::Secret, ciphertext: &[u8], expected: &SharedSecret) {
    let mut made = Some(key);
    let key = made.as_ref().expect("made above");
    let shared = step!(probe, "decapsulate", [kem: &K = kem, key: &K::Secret = key, ciphertext: &[u8] = ciphertext], kem.decapsulate(key, ciphertext)).expect("a secret");
    assert!(shared == *expected, "the secrets differ");
    step!(probe, "drop", [made: &mut Option<K::Secret> = &mut made], *made = None);
}
