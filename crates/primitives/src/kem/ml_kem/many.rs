//! Several operations at once: the hashes of all go through the lanes together, so that no lane is idle while one operation waits for another of its
//! own hashes. Arithmetic stays one by one, since a polynomial fills its vectors.
//!
//! Each function takes a group of operations, best as many as [`Lanes::width`](crate::hash::lanes::Lanes::width).

use super::scheme::{Expanded, Noise, PublicBytes, Scheme, SecretBytes};
use super::sponges::Sponge;
use crate::SharedSecret;
use crate::lattice::Factor;
use crate::wipe::wipe;
use alloc::vec::Vec;
use core::iter;
use zeroize::Zeroizing;

/// What an operation keeps between its steps. In groups it is too much for the stack; wiped on drop.
struct Room<const K: usize> {
    m: [u8; 32],
    /// What G gives: ρ and σ of a key pair; otherwise the shared secret and the coins.
    g: [[u8; 32]; 2],
    noise: Noise<K>,
}

impl<const K: usize> Drop for Room<K> {
    fn drop(&mut self) {
        wipe(&mut self.m);
        wipe(self.g.as_flattened_mut());
        self.noise.wipe();
    }
}

/// As much room as `count` operations need.
fn rooms<const K: usize>(count: usize) -> Vec<Room<K>> {
    let room = || Room { m: [0; 32], g: [[0; 32]; 2], noise: Noise::ZERO };
    iter::repeat_with(room).take(count).collect()
}

/// Expanded keys. They are public, but tell which keys they were, so they are wiped on drop.
pub(super) struct Expansions<const K: usize>(pub(super) Vec<Expanded<K>>);

impl<const K: usize> Expansions<K> {
    /// Room for `count`.
    pub(super) fn room(count: usize) -> Self {
        Self(iter::repeat_with(|| Expanded::ZERO).take(count).collect())
    }
}

impl<const K: usize> Drop for Expansions<K> {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Expanded::wipe);
    }
}

/// A key pair to be made: of which d and z, and where to.
pub(super) struct Making<'a, const K: usize> {
    pub(super) d: &'a [u8; 32],
    pub(super) z: &'a [u8; 32],
    pub(super) keys: &'a mut SecretBytes<K>,
    pub(super) expanded: &'a mut Expanded<K>,
}

impl<const K: usize> Scheme<K> {
    /// [`Self::generate`] of each.
    pub(super) fn generate_many(self, pairs: &mut [Making<'_, K>]) {
        let mut rooms = rooms::<K>(pairs.len());
        self.lanes
            .run(rooms.iter_mut().zip(&*pairs).map(|(room, pair)| Sponge::g_of_seed(pair.d, K as u8, &mut room.g)));
        for (room, pair) in rooms.iter().zip(&mut *pairs) {
            pair.keys.begin(&room.g[0], pair.z);
        }
        self.lanes.run(rooms.iter_mut().zip(&mut *pairs).flat_map(|(room, pair)| {
            let matrix = self.matrix(&pair.keys.public.rho, &mut pair.expanded.matrix);
            matrix.chain(room.noise.of_key(&room.g[1]))
        }));
        for (room, pair) in rooms.iter().zip(&mut *pairs) {
            self.key_pair(&room.noise, pair.keys, pair.expanded);
        }
        self.lanes.run(pairs.iter_mut().map(|pair| {
            let SecretBytes { public, hash, .. } = &mut *pair.keys;
            Sponge::h([public.t.as_flattened(), &public.rho], hash)
        }));
    }

    /// [`Self::encapsulate`] of each, into `shared`. There is room for as many expanded keys.
    pub(super) fn encapsulate_many(
        self,
        to: &[&PublicBytes<K>],
        coins: &[&[u8; 32]],
        ciphertexts: &mut [&mut [u8]],
        expanded: &mut [Expanded<K>],
        shared: &mut Vec<SharedSecret>,
    ) {
        let mut hashes = Zeroizing::new(alloc::vec![[0; 32]; to.len()]);
        let long = to.iter().zip(hashes.iter_mut()).map(|(to, hash)| Sponge::h([to.t.as_flattened(), &to.rho], hash));
        self.lanes.run(long.chain(self.matrices(to.iter().copied(), expanded)));
        for (to, expanded) in to.iter().zip(&mut *expanded) {
            self.decode(&to.t, &mut expanded.t);
        }
        let to: Vec<_> = expanded.iter().zip(hashes.iter()).collect();
        self.encapsulate_many_prepared(&to, coins, ciphertexts, shared);
    }

    /// [`Self::encapsulate_prepared`] of each: to an expanded key and its hash.
    pub(super) fn encapsulate_many_prepared(
        self,
        to: &[(&Expanded<K>, &[u8; 32])],
        coins: &[&[u8; 32]],
        ciphertexts: &mut [&mut [u8]],
        shared: &mut Vec<SharedSecret>,
    ) {
        let mut rooms = rooms::<K>(to.len());
        let inputs = rooms.iter_mut().zip(to).zip(coins);
        self.lanes.run(inputs.map(|((room, (_, hash)), m)| Sponge::g(m, hash, &mut room.g)));
        self.lanes.run(rooms.iter_mut().flat_map(|room| room.noise.of_encryption(&room.g[1])));
        for (((room, (to, _)), m), ciphertext) in rooms.iter().zip(to).zip(coins).zip(ciphertexts) {
            self.encrypt(to, &room.noise, m, ciphertext);
            shared.push(room.g[0].into());
        }
    }

    /// [`Self::decapsulate`] of each, into `shared`. There is room for as many expanded keys.
    pub(super) fn decapsulate_many(
        self,
        with: &[&SecretBytes<K>],
        ciphertexts: &[&[u8]],
        expanded: &mut [Expanded<K>],
        shared: &mut Vec<SharedSecret>,
    ) {
        let mut rooms = rooms::<K>(with.len());
        for ((room, with), ciphertext) in rooms.iter_mut().zip(with).zip(ciphertexts) {
            let mut s = [Factor::ZERO; K];
            self.factors(with, &mut s);
            room.m = self.decrypt(&s, ciphertext);
        }
        let mut rejected = Zeroizing::new(alloc::vec![[0; 32]; with.len()]);
        let matrices = self.matrices(with.iter().map(|with| &with.public), expanded);
        self.hash_decapsulations(with, ciphertexts, &mut rooms, &mut rejected, matrices);
        for (with, expanded) in with.iter().zip(&mut *expanded) {
            self.decode(&with.public.t, &mut expanded.t);
        }
        for (((room, rejected), ciphertext), expanded) in rooms.iter().zip(&*rejected).zip(ciphertexts).zip(&*expanded)
        {
            shared.push(self.compared(ciphertext, expanded, &room.noise, &room.m, room.g[0], *rejected));
        }
    }

    /// [`Self::decapsulate_prepared`] of each: with a key, its factors and its expansion.
    pub(super) fn decapsulate_many_prepared(
        self,
        with: &[(&SecretBytes<K>, &[Factor; K], &Expanded<K>)],
        ciphertexts: &[&[u8]],
        shared: &mut Vec<SharedSecret>,
    ) {
        let mut rooms = rooms::<K>(with.len());
        for ((room, (_, s, _)), ciphertext) in rooms.iter_mut().zip(with).zip(ciphertexts) {
            room.m = self.decrypt(s, ciphertext);
        }
        let keys: Vec<_> = with.iter().map(|(keys, ..)| *keys).collect();
        let mut rejected = Zeroizing::new(alloc::vec![[0; 32]; with.len()]);
        self.hash_decapsulations(&keys, ciphertexts, &mut rooms, &mut rejected, iter::empty());
        for (((room, rejected), ciphertext), (.., expanded)) in rooms.iter().zip(&*rejected).zip(ciphertexts).zip(with)
        {
            shared.push(self.compared(ciphertext, expanded, &room.noise, &room.m, room.g[0], *rejected));
        }
    }

    /// Once the messages are there, all other hashes of decapsulations, and `matrices`. What J gives goes to `rejected`.
    fn hash_decapsulations<'a>(
        self,
        with: &'a [&SecretBytes<K>],
        ciphertexts: &'a [&[u8]],
        rooms: &'a mut [Room<K>],
        rejected: &'a mut [[u8; 32]],
        matrices: impl Iterator<Item = Sponge<'a>>,
    ) {
        self.lanes.run(rooms.iter_mut().zip(with).map(|(room, with)| {
            let Room { m, g, .. } = room;
            Sponge::g(m, &with.hash, g)
        }));
        let long = rejected.iter_mut().zip(with).zip(ciphertexts);
        let long = long.map(|((rejected, with), ciphertext)| Sponge::j([&with.z, ciphertext], rejected));
        let noise = rooms.iter_mut().flat_map(|room| room.noise.of_encryption(&room.g[1]));
        // The longest first, so that none is left to go on alone.
        self.lanes.run(long.chain(matrices).chain(noise));
    }

    /// The matrices of all keys.
    fn matrices<'a>(
        self,
        keys: impl Iterator<Item = &'a PublicBytes<K>>,
        expanded: &'a mut [Expanded<K>],
    ) -> impl Iterator<Item = Sponge<'a>> {
        keys.zip(expanded).flat_map(move |(key, expanded)| self.matrix(&key.rho, &mut expanded.matrix))
    }
}
