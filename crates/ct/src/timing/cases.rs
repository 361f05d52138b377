//! What is timed: each case of the gate whose instructions valgrind can't run, by the same name, and controls.

use crate::measure::{Classes, Timed, Work};
use crate::{controls, keys};
use candor_codes::hqc::Hqc1;
use candor_codes::mceliece::{
    Mceliece, Mceliece348864f, Mceliece6688128f, Mceliece6960119f, ParameterSet, Set348864f, Set6960119f,
};
use candor_cpu::Cpu;
use candor_gf2::Multiplier;
use candor_gf2::field::{Field, Hqc8, McEliece13, Modulus, Nist571, Packed};
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::layer::{Crypto, RelayLayer};
use candor_primitives::aead::{AeadInOut, Aes128Gcm, ChaCha20Poly1305, Nonce, Sm4Ccm, Sm4Gcm};
use candor_primitives::dh::x25519::X25519;
use candor_primitives::dh::{DiffieHellman, aws_lc};
use candor_primitives::hash::{Batch, Blake2b512, Digest, Sha3_256, Sha256, Sha512, Sm3};
use candor_primitives::kem::ml_kem::{MlKem512, MlKem768, MlKem1024};
use candor_primitives::kem::{DerandomizedKem, Kem};
use candor_primitives::ksf::{Argon2id, Memory, Params};
use candor_primitives::rsa::{Rsa, Size};
use candor_primitives::sm4::cipher::{Array, BlockModeDecrypt, BlockModeEncrypt, StreamCipher};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;
use std::hint::black_box;

/// One thing to time.
pub(crate) struct Case {
    /// As in the list of the gate's cases; a control has none there.
    pub(crate) name: &'static str,
    pub(crate) expect: Expect,
    pub(crate) tier: &'static str,
    /// Bytes of secret input.
    pub(crate) secret: usize,
    make: Make,
}

/// How the work is made.
enum Make {
    /// Of the secret alone.
    Plain(fn(Cpu) -> Work),
    /// With something that is made of the secret outside the clock.
    Prepared(fn(Cpu) -> Timed),
}

impl Case {
    pub(crate) fn make(&self, cpu: Cpu) -> Timed {
        match self.make {
            Make::Plain(work) => work(cpu).into(),
            Make::Prepared(timed) => timed(cpu),
        }
    }
}

/// What must be found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    /// No difference.
    Same,
    /// A difference: a planted leak.
    Leak,
    /// No difference, since all classes are the same.
    Null,
}

impl Expect {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Leak => "leak",
            Self::Null => "null",
        }
    }

    pub(crate) fn classes(self) -> Classes {
        if self == Self::Null { Classes::AllRandom } else { Classes::FixedAndRandom }
    }
}

const MESSAGE: usize = 500;
const MANY: usize = 16 * 200;
const CGO: usize = Crypto::Cgo.key_length() + PAYLOAD;
const TOR1: usize = Crypto::Tor1.key_length() + PAYLOAD;
/// A key, and a batch of the widest arm and a few blocks more.
const SM4: usize = 16 + 16 * 83;
/// A key of up to 32 bytes, and a message of several batches and a part of a block.
const AEAD: usize = 32 + 1333;
/// Words of a factor: split, and split again.
const WORDS: usize = 40;
/// Words of the longest factor that some arm multiplies otherwise by itself than among many.
const SHORT: usize = 9;
const ELEMENT: usize = Nist571::MODULUS.words();

/// The controls first.
pub(crate) const ALL: &[Case] = &[
    control("control/same", Expect::Null, controls::clean),
    control("control/look-up", Expect::Leak, controls::look_up),
    control("control/branch", Expect::Leak, controls::branch),
    Case {
        name: "control/rsa-key",
        expect: Expect::Leak,
        tier: "avx512",
        secret: keys::OF_SIGNATURE,
        make: Make::Prepared(keys::leaky),
    },
    arm("sha256@sha", "sha", MESSAGE, hash::<Sha256>),
    arm("sha256-batch@sha", "sha", MANY, |cpu| batch(cpu, |batch, messages| _ = black_box(batch.sha256(messages)))),
    arm("sha256-batch@avx512", "avx512", MANY, |cpu| {
        batch(cpu, |batch, messages| _ = black_box(batch.sha256(messages)))
    }),
    arm("sha512@avx512", "avx512", MESSAGE, hash::<Sha512>),
    arm("sm3@avx512", "avx512", MESSAGE, hash::<Sm3>),
    arm("blake2b@avx512", "avx512", MESSAGE, hash::<Blake2b512>),
    arm("keccak@avx512", "avx512", MESSAGE, hash::<Sha3_256>),
    arm("sm3-batch@avx512", "avx512", MANY, |cpu| batch(cpu, |batch, messages| _ = black_box(batch.sm3(messages)))),
    arm("keccak-batch@avx512", "avx512", MANY, |cpu| {
        batch(cpu, |batch, messages| _ = black_box(batch.sha3_256(messages)))
    }),
    arm("argon2id@avx512", "avx512", 32, argon2id),
    // AWS-LC chooses its arm itself: here the one for ADX.
    arm("x25519/agree/aws-lc@adx", "portable", 32, |_| x25519(aws_lc::X25519)),
    arm("x25519/agree@avx512", "avx512", 32, |cpu| x25519(X25519::with_cpu(cpu))),
    arm("x25519/many@avx512", "avx512", 8 * 32, |cpu| x25519_many(X25519::with_cpu(cpu))),
    arm("sm4/blocks@vpclmul", "vpclmul", SM4, sm4_blocks),
    arm("sm4/key-stream@vpclmul", "vpclmul", SM4, sm4_key_stream),
    arm("sm4/chains@vpclmul", "vpclmul", SM4, sm4_chains),
    arm("sm4/blocks@gfni", "gfni", SM4, sm4_blocks),
    arm("sm4/key-stream@gfni", "gfni", SM4, sm4_key_stream),
    arm("sm4/chains@gfni", "gfni", SM4, sm4_chains),
    arm("sm4/blocks@avx512", "avx512", SM4, sm4_blocks),
    arm("sm4/key-stream@avx512", "avx512", SM4, sm4_key_stream),
    arm("sm4/chains@avx512", "avx512", SM4, sm4_chains),
    arm("aead/aes-gcm@vpclmul", "vpclmul", AEAD, |cpu| aead(cpu, Aes128Gcm::with_cpu)),
    arm("aead/aes-gcm@avx512", "avx512", AEAD, |cpu| aead(cpu, Aes128Gcm::with_cpu)),
    arm("aead/chacha20-poly1305@avx512", "avx512", AEAD, |cpu| aead(cpu, ChaCha20Poly1305::with_cpu)),
    arm("aead/sm4-gcm@vpclmul", "vpclmul", AEAD, |cpu| aead(cpu, Sm4Gcm::with_cpu)),
    arm("aead/sm4-gcm@gfni", "gfni", AEAD, |cpu| aead(cpu, Sm4Gcm::with_cpu)),
    arm("aead/sm4-gcm@avx512", "avx512", AEAD, |cpu| aead(cpu, Sm4Gcm::with_cpu)),
    arm("aead/sm4-ccm@vpclmul", "vpclmul", AEAD, |cpu| aead(cpu, Sm4Ccm::with_cpu)),
    arm("aead/sm4-ccm@gfni", "gfni", AEAD, |cpu| aead(cpu, Sm4Ccm::with_cpu)),
    arm("aead/sm4-ccm@avx512", "avx512", AEAD, |cpu| aead(cpu, Sm4Ccm::with_cpu)),
    arm("layer/cgo/relay/inbound@vpclmul", "vpclmul", CGO, |cpu| layer(cpu, Crypto::Cgo)),
    arm("layer/cgo/relay/inbound@avx512", "avx512", CGO, |cpu| layer(cpu, Crypto::Cgo)),
    arm("layer/tor1/relay/inbound@vpclmul", "vpclmul", TOR1, |cpu| layer(cpu, Crypto::Tor1)),
    arm("layer/tor1/relay/inbound@avx512", "avx512", TOR1, |cpu| layer(cpu, Crypto::Tor1)),
    // Memcheck has passed this one: what it shows is no leak of the code.
    arm("gf2-mul@clmul", "clmul", 16 * WORDS, product),
    arm("gf2-mul@vpclmul", "vpclmul", 16 * WORDS, product),
    arm("gf2-mul@avx512", "avx512", 16 * WORDS, product),
    arm("gf2-mul-short@vpclmul", "vpclmul", 16 * SHORT, short),
    arm("gf2-mul-short@avx512", "avx512", 16 * SHORT, short),
    arm("gf2m-packed@vpclmul", "vpclmul", 16 * WORDS, packed),
    arm("gf2m-packed@avx512", "avx512", 16 * WORDS, packed),
    arm("gf2m@vpclmul", "vpclmul", 16 * ELEMENT, field),
    arm("gf2m@avx512", "avx512", 16 * ELEMENT, field),
    arm("ml-kem-768/encapsulate@avx512", "avx512", COINS, |cpu| encapsulate_to(MlKem768::with_cpu(cpu), 1)),
    arm("ml-kem-768/decapsulate@avx512", "avx512", MlKem768::CIPHERTEXT, |cpu| decapsulate(MlKem768::with_cpu(cpu))),
    arm("ml-kem-512/many@avx512", "avx512", 8 * COINS, |cpu| encapsulate_to(MlKem512::with_cpu(cpu), 8)),
    arm("ml-kem-768/many@avx512", "avx512", 8 * COINS, |cpu| encapsulate_to(MlKem768::with_cpu(cpu), 8)),
    arm("ml-kem-1024/many@avx512", "avx512", 8 * COINS, |cpu| encapsulate_to(MlKem1024::with_cpu(cpu), 8)),
    arm("rsa/encrypt@avx512", "avx512", 64, rsa_encrypt),
    prepared("rsa/sign@avx512", "avx512", keys::OF_SIGNATURE, keys::sign),
    prepared("rsa/decrypt@avx512", "avx512", keys::OF_DECRYPTION, keys::decrypt),
    // Good ciphertexts, which are the class of zeros, and bad ones. Memcheck has passed these.
    arm("hqc-1/decapsulate@avx2", "avx2", Hqc1::CIPHERTEXT, |cpu| decapsulate(Hqc1::with_cpu(cpu))),
    arm("mceliece348864f/decapsulate@avx2", "avx2", Mceliece348864f::CIPHERTEXT, |cpu| {
        decapsulate(Mceliece348864f::with_cpu(cpu))
    }),
    arm("mceliece348864f/generate@avx512", "avx512", 1, generate::<Set348864f>),
    arm("mceliece348864f/encapsulate@avx512", "avx512", ERRORS, encapsulate),
    arm("mceliece348864f/decapsulate@avx512", "avx512", Mceliece348864f::CIPHERTEXT, |cpu| {
        decapsulate(Mceliece348864f::with_cpu(cpu))
    }),
    arm("mceliece6960119f/generate@avx512", "avx512", 1, generate::<Set6960119f>),
    arm("mceliece6960119f/decapsulate@avx512", "avx512", Mceliece6960119f::CIPHERTEXT, |cpu| {
        decapsulate(Mceliece6960119f::with_cpu(cpu))
    }),
    arm("mceliece6688128f/decapsulate@avx512", "avx512", Mceliece6688128f::CIPHERTEXT, |cpu| {
        decapsulate(Mceliece6688128f::with_cpu(cpu))
    }),
];

const fn arm(name: &'static str, tier: &'static str, secret: usize, work: fn(Cpu) -> Work) -> Case {
    Case { name, expect: Expect::Same, tier, secret, make: Make::Plain(work) }
}

const fn prepared(name: &'static str, tier: &'static str, secret: usize, timed: fn(Cpu) -> Timed) -> Case {
    Case { name, expect: Expect::Same, tier, secret, make: Make::Prepared(timed) }
}

const fn control(name: &'static str, expect: Expect, work: fn(Cpu) -> Work) -> Case {
    Case { name, expect, tier: "portable", secret: controls::SECRET, make: Make::Plain(work) }
}

/// A hash whose object can be made for a tier.
trait OnTier: Digest {
    fn on(cpu: Cpu) -> Self;
}

macro_rules! on_tier {
    ($($hash:ident)+) => {
        $(impl OnTier for $hash {
            fn on(cpu: Cpu) -> Self {
                Self::with_cpu(cpu)
            }
        })+
    };
}

on_tier!(Sha256 Sha512 Sha3_256 Sm3 Blake2b512);

fn hash<H: OnTier>(cpu: Cpu) -> Work {
    Box::new(move |message| _ = black_box(H::on(cpu).chain_update(message).finalize()))
}

/// Sixteen messages of the same length, so that the widest lanes are full.
fn batch(cpu: Cpu, hash: fn(Batch, [&[u8]; 16])) -> Work {
    Box::new(move |messages| {
        let (messages, _) = messages.as_chunks::<{ MANY / 16 }>();
        hash(Batch::with_cpu(cpu), std::array::from_fn(|at| messages[at].as_slice()));
    })
}

/// The least memory. Which blocks the second half of the pass refers to depends on the password, as RFC 9106 §3.4.1 lets it; all of them
/// are in the first cache.
fn argon2id(cpu: Cpu) -> Work {
    let params = Params::new(8, 1, 1).expect("good parameters");
    let (ksf, mut memory) = (Argon2id::with_cpu(cpu, params), Memory::new(params).expect("8 KiB"));
    Box::new(move |password| {
        let mut tag = [0; 32];
        ksf.derive(password, &[7; 16], &mut memory, &mut tag).expect("good inputs");
        black_box(tag);
    })
}

/// A public key, and an agreement with that of another key.
fn x25519<D: DiffieHellman + 'static>(dh: D) -> Work {
    let (_, peer) = dh.generate().expect("a key pair");
    Box::new(move |scalar| {
        let scalar = scalar.first_chunk().expect("32 bytes");
        let secret = dh.secret_from_bytes(scalar).expect("any 32 bytes are a key");
        _ = black_box(dh.public_of(&secret).expect("a public key"));
        drop(black_box(dh.agree(&secret, &peer).expect("a secret")));
    })
}

/// Eight public keys, two agreements and eight.
fn x25519_many<D: DiffieHellman + 'static>(dh: D) -> Work {
    let (_, peer) = dh.generate().expect("a key pair");
    Box::new(move |scalars| {
        let secrets: Vec<_> = scalars.as_chunks().0.iter().map(|scalar| dh.secret_from_bytes(scalar)).collect();
        let secrets: Vec<_> = secrets.iter().map(|secret| secret.as_ref().expect("any 32 bytes are a key")).collect();
        let pairs: Vec<_> = secrets.iter().map(|secret| (*secret, &peer)).collect();
        _ = black_box(dh.public_many(&secrets).expect("public keys"));
        _ = black_box(dh.agree_pair([pairs[0], pairs[1]]));
        _ = black_box(dh.agree_many(&pairs));
    })
}

/// A message to a key of 2,048 bits.
fn rsa_encrypt(cpu: Cpu) -> Work {
    let key = Rsa::with_cpu(cpu).generate(Size::Bits2048).expect("a key");
    Box::new(move |message| _ = black_box(key.public_key().encrypt_oaep::<Sha256>(message, b"")).expect("a message"))
}

/// SM4 from its key, and blocks through it.
fn sm4(work: impl Fn(&[u8; 16], &mut [u8]) + 'static) -> Work {
    Box::new(move |secret| {
        let (key, data) = secret.split_first_chunk().expect("a key");
        let mut data: [u8; SM4 - 16] = data.try_into().expect("so many blocks");
        work(key, &mut data);
        black_box(data);
    })
}

fn sm4_blocks(cpu: Cpu) -> Work {
    sm4(move |key, data| {
        let cipher = Sm4::with_cpu(cpu, key);
        cipher.encrypt_each(data.as_chunks_mut().0);
        cipher.decrypt_block(data.first_chunk_mut().expect("a block"));
    })
}

fn sm4_key_stream(cpu: Cpu) -> Work {
    sm4(move |key, data| Sm4Ctr::with_cpu(cpu, key, &[9; 16]).apply_keystream(data))
}

fn sm4_chains(cpu: Cpu) -> Work {
    sm4(move |key, data| {
        let blocks = Array::slice_as_chunks_mut(data).0;
        Sm4CbcEnc::with_cpu(cpu, key, &[5; 16]).encrypt_blocks(blocks);
        Sm4CbcDec::with_cpu(cpu, key, &[7; 16]).decrypt_blocks(blocks);
    })
}

/// An AEAD from its key: a message sealed and opened.
fn aead<A: AeadInOut + 'static, const KEY: usize>(cpu: Cpu, new: fn(Cpu, &[u8; KEY]) -> A) -> Work {
    Box::new(move |secret| {
        let (key, message) = secret.split_last_chunk::<{ AEAD - 32 }>().expect("a key and a message");
        let (cipher, nonce) = (new(cpu, key.first_chunk().expect("a key")), Nonce::<A>::default());
        let mut data = *message;
        let tag = cipher.encrypt_inout_detached(&nonce, &[3; 45], data.as_mut_slice().into()).expect("a short message");
        let data = black_box(&mut data).as_mut_slice();
        cipher.decrypt_inout_detached(&nonce, &[3; 45], data.into(), &tag).expect("the tag that belongs to it");
        black_box(data);
    })
}

/// A layer from its keys, and a cell through it.
fn layer(cpu: Cpu, crypto: Crypto) -> Work {
    Box::new(move |secret| {
        let (keys, cell) = secret.split_at(crypto.key_length());
        let mut layer = RelayLayer::with_cpu(cpu, crypto, keys).expect("key material");
        let mut cell: [u8; PAYLOAD] = *cell.first_chunk().expect("a cell");
        layer.inbound(Command::RELAY, &mut cell);
        black_box(cell);
    })
}

fn words<const N: usize>(bytes: &[u8]) -> [[u64; N]; 2] {
    let (words, _) = bytes.as_chunks::<8>();
    [0, N].map(|from| std::array::from_fn(|at| u64::from_le_bytes(words[from + at])))
}

fn product(cpu: Cpu) -> Work {
    let multiplier = Multiplier::with_cpu(cpu);
    let mut scratch = vec![0; multiplier.scratch_words(WORDS, WORDS)];
    Box::new(move |secret| {
        let ([a, b], mut product) = (words::<WORDS>(secret), [0; 2 * WORDS]);
        multiplier.mul_with_scratch(&mut product, &a, &b, &mut scratch);
        black_box(product);
        multiplier.square(&mut product, &a);
        black_box(product);
    })
}

/// Products of 3, 4, 7, 8 and 9 words, each a factor of the next.
fn short(cpu: Cpu) -> Work {
    let multiplier = Multiplier::with_cpu(cpu);
    Box::new(move |secret| {
        let ([mut a, b], mut product) = (words::<SHORT>(secret), [0; 2 * SHORT]);
        for n in [3, 4, 7, 8, SHORT] {
            multiplier.mul(&mut product[..2 * n], &a[..n], &b[..n]);
            a[..n].copy_from_slice(&product[n..2 * n]);
        }
        black_box(product);
    })
}

/// The products of two fields with slots of different widths.
fn packed(cpu: Cpu) -> Work {
    let (hqc, mceliece) = (Packed::<Hqc8>::with_cpu(cpu), Packed::<McEliece13>::with_cpu(cpu));
    Box::new(move |secret| {
        let (halves, _) = secret.as_chunks::<2>();
        let elements = |below: u16, from: usize| -> [u16; 4 * WORDS] {
            std::array::from_fn(|at| u16::from_le_bytes(halves[from + at]) & (below - 1))
        };
        let mut products = [0; 4 * WORDS];
        hqc.mul_many(&elements(1 << 8, 0), &elements(1 << 8, 4 * WORDS), &mut products);
        black_box(products);
        mceliece.mul_many(&elements(1 << 13, 0), &elements(1 << 13, 4 * WORDS), &mut products);
        black_box(products);
    })
}

/// Reduction, product and squares in GF(2^571). An inverse is a fixed chain of these, and so long that it would hide them.
fn field(cpu: Cpu) -> Work {
    let field = Field::<Nist571>::with_cpu(cpu);
    let zero = *field.zero().words();
    Box::new(move |secret| {
        let [a, b] = words::<ELEMENT>(secret).map(|words| field.reduce(&words, &zero));
        let mut products = [field.zero(); 2];
        field.mul_many(&[a, b], &[b, b], &mut products);
        black_box([products[0], products[1], field.mul(&a, &b), field.square(&a), field.square_times(&b, 5)]);
    })
}

/// A decapsulation of a ciphertext that is good but for the bits that are given.
fn decapsulate<K: DerandomizedKem<Secret: 'static> + 'static>(kem: K) -> Work {
    let (secret, public) = kem.generate_from(&vec![0x3c; K::GENERATE_COINS]).expect("a key pair");
    let (mut good, mut ciphertext) = (vec![0; K::CIPHERTEXT], vec![0; K::CIPHERTEXT]);
    kem.encapsulate_from(&public, &vec![7; K::ENCAPSULATE_COINS], &mut good).expect("an encapsulation");
    Box::new(move |bits| {
        for ((byte, good), bits) in ciphertext.iter_mut().zip(&good).zip(bits) {
            *byte = good ^ bits;
        }
        _ = black_box(kem.decapsulate(&secret, &ciphertext));
    })
}

/// Randomness of an encapsulation.
const COINS: usize = MlKem768::ENCAPSULATE_COINS;

/// Encapsulations to one key, so many at once, and their decapsulations.
fn encapsulate_to<K: DerandomizedKem<Secret: 'static, Public: 'static> + 'static>(kem: K, count: usize) -> Work {
    let (secret, public) = kem.generate_from(&vec![0x3c; K::GENERATE_COINS]).expect("a key pair");
    let mut ciphertexts = vec![vec![0; K::CIPHERTEXT]; count];
    Box::new(move |coins| {
        let coins: Vec<_> = coins.chunks_exact(K::ENCAPSULATE_COINS).collect();
        let mut rooms: Vec<_> = ciphertexts.iter_mut().map(Vec::as_mut_slice).collect();
        _ = black_box(kem.encapsulate_many_from(&vec![&public; count], &coins, &mut rooms).expect("encapsulations"));
        let arrive: Vec<_> = ciphertexts.iter().map(Vec::as_slice).collect();
        _ = black_box(kem.decapsulate_many(&vec![&secret; count], &arrive).expect("no ciphertext is an error"));
    })
}

/// A key pair of Classic McEliece from one of some seeds, all of which give a key at the first attempt: how many it takes is no secret.
fn generate<S: ParameterSet>(cpu: Cpu) -> Work {
    let kem = Mceliece::<S>::with_cpu(cpu);
    let works = |seed: &[u8; 32]| {
        let key = kem.secret_from_seed(seed).expect("a key pair");
        *kem.secret_to_seed(&key).expect("the key's seed") == seed[..]
    };
    let seeds: Vec<[u8; 32]> = (0..=u8::MAX).map(|byte| [byte; 32]).filter(works).take(SEEDS).collect();
    Box::new(move |secret| _ = black_box(kem.generate_from(&seeds[usize::from(secret[0]) % SEEDS])))
}

/// Seeds of keys.
const SEEDS: usize = 16;
/// Positions of an error of 348864.
const ERRORS: usize = 64;

/// An encapsulation whose first numbers are all positions, and differ: how many numbers it takes is no secret.
fn encapsulate(cpu: Cpu) -> Work {
    let kem = Mceliece348864f::with_cpu(cpu);
    let (_, public) = kem.generate_from(&[0x3c; 32]).expect("a key pair");
    let mut ciphertext = vec![0; Mceliece348864f::CIPHERTEXT];
    Box::new(move |secret| {
        let mut numbers = [0; 4 * ERRORS];
        for (i, (bytes, secret)) in numbers.as_chunks_mut().0.iter_mut().zip(secret).enumerate() {
            *bytes = (54 * i as u16 + u16::from(*secret) * 54 / 256).to_le_bytes();
        }
        _ = black_box(kem.encapsulate_with(&mut Numbers(numbers), &public, &mut ciphertext));
    })
}

/// A generator that gives these bytes alone.
struct Numbers([u8; 4 * ERRORS]);

impl TryRng for Numbers {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the KEM takes bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the KEM takes bytes")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.copy_from_slice(&self.0[..bytes.len()]);
        Ok(())
    }
}

impl TryCryptoRng for Numbers {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure;
    use std::time::Duration;

    #[test]
    fn every_case_does_its_work_on_the_secret_that_it_gets() {
        for case in ALL {
            let Ok(cpu) = Cpu::named(case.tier) else { continue };
            let mut work = case.make(cpu);
            work.once(&vec![0; case.secret]);
            work.once(&vec![0xff; case.secret]);
        }
    }

    #[test]
    fn a_measurement_has_every_class() {
        let mut work = ALL[0].make(Cpu::portable());
        let times = measure::measure(&mut work, ALL[0].secret, Classes::FixedAndRandom, Duration::ZERO);
        assert!(times.iter().all(|times| times.len() > 15_000));
    }

    #[test]
    fn names_are_unique_and_there_is_a_control_of_each_kind() {
        for (at, case) in ALL.iter().enumerate() {
            assert!(ALL[..at].iter().all(|other| other.name != case.name), "{}", case.name);
        }
        assert!(ALL.iter().any(|case| case.expect == Expect::Null));
        assert_eq!(ALL.iter().filter(|case| case.expect == Expect::Leak).count(), 3);
    }
}
