//! ML-KEM on bytes and polynomials: K-PKE (FIPS 203 §5) and what surrounds it (§6).

use super::ParameterSet;
use super::arm_mux::Arm;
use super::sponges::Sponge;
use crate::SharedSecret;
use crate::hash::lanes::Lanes;
use crate::hash::{Digest, Sha3_256, Sha3_512};
use crate::lattice::{Factor, Poly};
use crate::wipe::wipe;
use candor_cpu::{Cpu, barrier, secret};
use core::array;
use core::iter;

/// The scheme of rank `K`: 2, 3 or 4.
#[derive(Clone, Copy)]
pub(super) struct Scheme<const K: usize> {
    pub(super) cpu: Cpu,
    pub(super) arm: Arm,
    pub(super) lanes: Lanes,
}

/// An encapsulation key as bytes.
#[derive(Clone)]
pub(super) struct PublicBytes<const K: usize> {
    pub(super) t: [[u8; 384]; K],
    pub(super) rho: [u8; 32],
}

/// A decapsulation key as bytes, in the order of FIPS 203, algorithm 16.
pub(super) struct SecretBytes<const K: usize> {
    pub(super) s: [[u8; 384]; K],
    pub(super) public: PublicBytes<K>,
    pub(super) hash: [u8; 32],
    pub(super) z: [u8; 32],
}

/// What an encapsulation key stands for.
pub(super) struct Expanded<const K: usize> {
    /// Â, row by row.
    pub(super) matrix: [[Poly; K]; K],
    /// t̂.
    pub(super) t: [Poly; K],
}

impl<const K: usize> PublicBytes<K> {
    pub(super) const ZERO: Self = Self { t: [[0; 384]; K], rho: [0; 32] };

    /// Becomes the other, straight from where it lies.
    pub(super) fn copy(&mut self, other: &Self) {
        self.t.as_flattened_mut().copy_from_slice(other.t.as_flattened());
        self.rho = other.rho;
    }
}

impl<const K: usize> SecretBytes<K> {
    pub(super) const ZERO: Self = Self { s: [[0; 384]; K], public: PublicBytes::ZERO, hash: [0; 32], z: [0; 32] };

    /// What is known first: ρ, which becomes public here, and z.
    pub(super) fn begin(&mut self, rho: &[u8; 32], z: &[u8; 32]) {
        secret::declassify(rho, "ml-kem-rho");
        self.public.rho = *rho;
        self.z = *z;
    }
}

impl<const K: usize> Expanded<K> {
    pub(super) const ZERO: Self = Self { matrix: [[Poly::ZERO; K]; K], t: [Poly::ZERO; K] };

    /// Becomes the other, straight from where it lies.
    pub(super) fn copy(&mut self, other: &Self) {
        for (poly, other) in self.matrix.as_flattened_mut().iter_mut().zip(other.matrix.as_flattened()) {
            *poly = *other;
        }
        for (poly, other) in self.t.iter_mut().zip(&other.t) {
            *poly = *other;
        }
    }

    pub(super) fn wipe(&mut self) {
        for poly in self.matrix.as_flattened_mut().iter_mut().chain(&mut self.t) {
            wipe(&mut poly.0);
        }
    }
}

/// Pseudorandom bytes of the noise: of two vectors, and of one polynomial more.
pub(super) struct Noise<const K: usize> {
    vectors: [[[u8; 192]; K]; 2],
    last: [u8; 128],
}

impl<const K: usize> Noise<K> {
    pub(super) const ZERO: Self = Self { vectors: [[[0; 192]; K]; 2], last: [0; 128] };

    pub(super) fn wipe(&mut self) {
        wipe(self.vectors.as_flattened_mut().as_flattened_mut());
        wipe(&mut self.last);
    }
}

impl<const K: usize> Scheme<K> {
    pub(super) const SET: ParameterSet = match K {
        2 => super::ML_KEM_512,
        3 => super::ML_KEM_768,
        _ => super::ML_KEM_1024,
    };
    pub(super) const NAME: &'static str = match K {
        2 => "ML-KEM-512",
        3 => "ML-KEM-768",
        _ => "ML-KEM-1024",
    };
    /// η₁ of FIPS 203, table 2. η₂ is 2 in all sets.
    const ETA_1: usize = if K == 2 { 3 } else { 2 };

    pub(super) fn with_cpu(cpu: Cpu) -> Self {
        const { assert!(K == 2 || K == 3 || K == 4, "expected a rank of FIPS 203: 2, 3 or 4") }
        Self { cpu, arm: Arm::choose(cpu), lanes: Lanes::choose(cpu) }
    }

    /// For so many operations at once.
    pub(super) fn together(self, count: usize) -> Self {
        Self { lanes: self.lanes.for_operations(count), ..self }
    }

    /// ML-KEM.KeyGen_internal (algorithm 16): the key pair of d and z, and what its public part stands for.
    pub(super) fn generate(self, d: &[u8; 32], z: &[u8; 32], keys: &mut SecretBytes<K>, expanded: &mut Expanded<K>) {
        let mut hash = Sha3_512::with_cpu(self.cpu);
        hash.update(d);
        hash.update([K as u8]);
        let (rho, sigma) = halves(hash);
        keys.begin(&rho, z);
        let mut noise = Noise::<K>::ZERO;
        self.lanes.run(self.matrix(&keys.public.rho, &mut expanded.matrix).chain(noise.of_key(&sigma)));
        self.key_pair(&noise, keys, expanded);
        keys.hash = self.hash_of(&keys.public);
    }

    /// K-PKE.KeyGen (algorithm 13) from its line 8 on, with the matrix and the noise at hand.
    pub(super) fn key_pair(self, noise: &Noise<K>, keys: &mut SecretBytes<K>, expanded: &mut Expanded<K>) {
        let mut s = [Factor::ZERO; K];
        let mut poly = Poly::ZERO;
        for ((s, encoded), bytes) in s.iter_mut().zip(&mut keys.s).zip(&noise.vectors[0]) {
            self.noise_1(bytes, &mut poly);
            self.arm.transform(&mut poly);
            self.arm.factor(&poly, s);
            self.arm.encode(&poly, encoded);
        }
        for (i, t) in expanded.t.iter_mut().enumerate() {
            self.noise_1(&noise.vectors[1][i], &mut poly);
            self.arm.transform(&mut poly);
            let row: [&Poly; K] = array::from_fn(|j| &expanded.matrix[i][j]);
            self.arm.inner_product(&row, &s, t);
            self.arm.add(t, &poly);
            self.arm.encode(t, &mut keys.public.t[i]);
            secret::declassify(&keys.public.t[i], "ml-kem-public-key");
            // The sum as others read it from the key.
            self.arm.decode(&keys.public.t[i], t);
        }
    }

    /// H(ek).
    pub(super) fn hash_of(self, public: &PublicBytes<K>) -> [u8; 32] {
        let mut hash = Sha3_256::with_cpu(self.cpu);
        hash.update(public.t.as_flattened());
        hash.update(public.rho);
        hash.finalize().into()
    }

    /// ML-KEM.Encaps_internal (algorithm 17). `ciphertext` has its length.
    pub(super) fn encapsulate(self, to: &PublicBytes<K>, m: &[u8; 32], ciphertext: &mut [u8]) -> SharedSecret {
        let mut expanded = Expanded::ZERO;
        let mut hash = [0; 32];
        self.expand(to, &mut expanded, &mut hash);
        self.encapsulate_prepared(&expanded, &hash, m, ciphertext)
    }

    /// The matrix of a key, its t̂ and its hash. The hash takes as many permutations as two to four polynomials of the matrix, one after another, and
    /// goes beside them in a lane of its own.
    pub(super) fn expand(self, public: &PublicBytes<K>, expanded: &mut Expanded<K>, hash: &mut [u8; 32]) {
        let h = Sponge::h([public.t.as_flattened(), &public.rho], hash);
        self.lanes.run(iter::once(h).chain(self.matrix(&public.rho, &mut expanded.matrix)));
        self.decode(&public.t, &mut expanded.t);
    }

    /// The same to a key whose hash and expansion are at hand.
    pub(super) fn encapsulate_prepared(
        self,
        to: &Expanded<K>,
        hash: &[u8; 32],
        m: &[u8; 32],
        ciphertext: &mut [u8],
    ) -> SharedSecret {
        let (shared, coins) = self.g(m, hash);
        let mut noise = Noise::<K>::ZERO;
        self.lanes.run(noise.of_encryption(&coins));
        self.encrypt(to, &noise, m, ciphertext);
        shared.into()
    }

    /// ML-KEM.Decaps_internal (algorithm 18). `ciphertext` has its length.
    pub(super) fn decapsulate(self, with: &SecretBytes<K>, ciphertext: &[u8]) -> SharedSecret {
        let mut s = [Factor::ZERO; K];
        self.factors(with, &mut s);
        let m = self.decrypt(&s, ciphertext);
        let (shared, coins) = self.g(&m, &with.hash);
        let (mut expanded, mut noise, mut rejected) = (Expanded::ZERO, Noise::<K>::ZERO, [0; 32]);
        let j = Sponge::j([&with.z, ciphertext], &mut rejected);
        let matrix = self.matrix(&with.public.rho, &mut expanded.matrix);
        self.lanes.run(iter::once(j).chain(matrix).chain(noise.of_encryption(&coins)));
        self.decode(&with.public.t, &mut expanded.t);
        self.compared(ciphertext, &expanded, &noise, &m, shared, rejected)
    }

    /// The same with a key whose factors and expansion are at hand.
    pub(super) fn decapsulate_prepared(
        self,
        with: &SecretBytes<K>,
        s: &[Factor; K],
        expanded: &Expanded<K>,
        ciphertext: &[u8],
    ) -> SharedSecret {
        let m = self.decrypt(s, ciphertext);
        let (shared, coins) = self.g(&m, &with.hash);
        let (mut noise, mut rejected) = (Noise::<K>::ZERO, [0; 32]);
        let j = Sponge::j([&with.z, ciphertext], &mut rejected);
        self.lanes.run(iter::once(j).chain(noise.of_encryption(&coins)));
        self.compared(ciphertext, expanded, &noise, &m, shared, rejected)
    }

    /// ŝ as factors.
    pub(super) fn factors(self, keys: &SecretBytes<K>, factors: &mut [Factor; K]) {
        let mut poly = Poly::ZERO;
        for (bytes, factor) in keys.s.iter().zip(factors) {
            self.arm.decode(bytes, &mut poly);
            self.arm.factor(&poly, factor);
        }
    }

    /// The secret of the message if it encrypts to the ciphertext, and otherwise the other one.
    pub(super) fn compared(
        self,
        ciphertext: &[u8],
        to: &Expanded<K>,
        noise: &Noise<K>,
        m: &[u8; 32],
        accepted: [u8; 32],
        rejected: [u8; 32],
    ) -> SharedSecret {
        let mut again = [0; super::ML_KEM_1024.ciphertext()];
        let again = &mut again[..ciphertext.len()];
        self.encrypt(to, noise, m, again);
        let difference = ciphertext.iter().zip(&*again).fold(0, |seen, (a, b)| seen | (a ^ b));
        // 1 if any bit differs: below zero, the difference borrows.
        let differs = barrier::mask_u64(0_u64.wrapping_sub(difference.into()) >> 63) as u8;
        array::from_fn(|i| accepted[i] & !differs | rejected[i] & differs).into()
    }

    /// Â (algorithm 13, lines 3 to 7).
    pub(super) fn matrix<'a>(
        self,
        rho: &'a [u8; 32],
        matrix: &'a mut [[Poly; K]; K],
    ) -> impl Iterator<Item = Sponge<'a>> {
        let polys = matrix.as_flattened_mut().iter_mut().enumerate();
        polys.map(move |(at, poly)| Sponge::uniform(self.arm, rho, [(at % K) as u8, (at / K) as u8], poly))
    }

    pub(super) fn decode(self, bytes: &[[u8; 384]; K], polys: &mut [Poly; K]) {
        for (bytes, poly) in bytes.iter().zip(polys) {
            self.arm.decode(bytes, poly);
        }
    }

    /// G of the message and the key's hash: the shared secret and the coins.
    fn g(self, m: &[u8; 32], hash: &[u8; 32]) -> ([u8; 32], [u8; 32]) {
        let mut g = Sha3_512::with_cpu(self.cpu);
        g.update(m);
        g.update(hash);
        halves(g)
    }

    /// K-PKE.Encrypt (algorithm 14).
    pub(super) fn encrypt(self, to: &Expanded<K>, noise: &Noise<K>, m: &[u8; 32], ciphertext: &mut [u8]) {
        let mut y = [Factor::ZERO; K];
        let mut poly = Poly::ZERO;
        for (y, bytes) in y.iter_mut().zip(&noise.vectors[0]) {
            self.noise_1(bytes, &mut poly);
            self.arm.transform(&mut poly);
            self.arm.factor(&poly, y);
        }
        let mut sum = Poly::ZERO;
        let (u, v) = ciphertext.split_at_mut(32 * Self::SET.du * K);
        for (i, (bytes, noise)) in u.chunks_exact_mut(32 * Self::SET.du).zip(&noise.vectors[1]).enumerate() {
            let column: [&Poly; K] = array::from_fn(|j| &to.matrix[j][i]);
            self.arm.inner_product(&column, &y, &mut sum);
            self.arm.inverse(&mut sum);
            self.noise_2(noise, &mut poly);
            self.arm.add(&mut sum, &poly);
            match K {
                4 => self.arm.compress_11(&sum, bytes),
                _ => self.arm.compress_10(&sum, bytes),
            }
        }
        self.arm.inner_product(&to.t.each_ref(), &y, &mut sum);
        self.arm.inverse(&mut sum);
        self.arm.binomial_2(&noise.last, &mut poly);
        self.arm.add(&mut sum, &poly);
        self.arm.decompress_1(m, &mut poly);
        self.arm.add(&mut sum, &poly);
        match K {
            4 => self.arm.compress_5(&sum, v),
            _ => self.arm.compress_4(&sum, v),
        }
    }

    /// K-PKE.Decrypt (algorithm 15).
    pub(super) fn decrypt(self, s: &[Factor; K], ciphertext: &[u8]) -> [u8; 32] {
        let (u, v) = ciphertext.split_at(32 * Self::SET.du * K);
        let mut polys = [Poly::ZERO; K];
        for (bytes, poly) in u.chunks_exact(32 * Self::SET.du).zip(&mut polys) {
            match K {
                4 => self.arm.decompress_11(bytes, poly),
                _ => self.arm.decompress_10(bytes, poly),
            }
            self.arm.transform(poly);
        }
        let (mut product, mut sent) = (Poly::ZERO, Poly::ZERO);
        self.arm.inner_product(&polys.each_ref(), s, &mut product);
        self.arm.inverse(&mut product);
        match K {
            4 => self.arm.decompress_5(v, &mut sent),
            _ => self.arm.decompress_4(v, &mut sent),
        }
        self.arm.subtract_from(&mut product, &sent);
        let mut m = [0; 32];
        self.arm.compress_1(&product, &mut m);
        m
    }

    /// Noise of η₁, of which the bytes are the first.
    fn noise_1(self, bytes: &[u8; 192], poly: &mut Poly) {
        match Self::ETA_1 {
            3 => self.arm.binomial_3(bytes, poly),
            _ => self.noise_2(bytes, poly),
        }
    }

    /// The same of η₂.
    fn noise_2(self, bytes: &[u8; 192], poly: &mut Poly) {
        if let Some(bytes) = bytes.first_chunk() {
            self.arm.binomial_2(bytes, poly);
        }
    }
}

impl<const K: usize> Noise<K> {
    /// s and e of a key pair: both of η₁.
    pub(super) fn of_key<'a>(&'a mut self, seed: &'a [u8; 32]) -> impl Iterator<Item = Sponge<'a>> {
        let [s, e] = &mut self.vectors;
        prf(seed, 0, s, Scheme::<K>::ETA_1).chain(prf(seed, K, e, Scheme::<K>::ETA_1))
    }

    /// y of η₁, e₁ and e₂ of η₂.
    pub(super) fn of_encryption<'a>(&'a mut self, seed: &'a [u8; 32]) -> impl Iterator<Item = Sponge<'a>> {
        let [y, e_1] = &mut self.vectors;
        let e_2 = iter::once(Sponge::prf(seed, 2 * K as u8, &mut self.last));
        prf(seed, 0, y, Scheme::<K>::ETA_1).chain(prf(seed, K, e_1, 2)).chain(e_2)
    }
}

/// 64·η pseudorandom bytes for each polynomial of a vector, numbered from `first`.
fn prf<'a>(
    seed: &'a [u8; 32],
    first: usize,
    vector: &'a mut [[u8; 192]],
    eta: usize,
) -> impl Iterator<Item = Sponge<'a>> {
    let job =
        move |(i, bytes): (usize, &'a mut [u8; 192])| Sponge::prf(seed, (first + i) as u8, &mut bytes[..64 * eta]);
    vector.iter_mut().enumerate().map(job)
}

/// A digest of 64 bytes, in two.
fn halves(hash: Sha3_512) -> ([u8; 32], [u8; 32]) {
    let digest: [u8; 64] = hash.finalize().into();
    (array::from_fn(|i| digest[i]), array::from_fn(|i| digest[32 + i]))
}
