//! Counter Galois Onion (prop 359; Degabriele, Melloni, Münch, Stam, "Counter Galois Onion", 2025), with AES-128.
//!
//! The names are the proposal's. A cell is `T 16 | C 493`. Under it lies UIV+, a tweakable cipher over the whole cell:
//!
//! ```text
//! ENC((J,S), H, X_L|X_R):  Y_L = ET(J, H|X_R, X_L);  Y_R = X_R ^ PRF(S, Y_L, 0)
//! ET((K,U), T, M)        = h ^ AES(K, M ^ h)           with h = POLYVAL(U, T)
//! PRF((K,B), T, t)       = AES-CTR(K, POLYVAL(B, T) with its low six bits cleared, + 31 t)
//! UPDATE((J,S), N)       = PRF(S, N, 1): fresh J, S and N
//! ```
//!
//! The tweak H holds the last cell's tag T' and the cell's command, so a cell that is changed, left out or repeated makes noise
//! of itself and of all that follow. Relays encrypt and clients decrypt, in both directions: encryption is what can't be
//! tampered with. A cell is its addressee's own if its tag comes out as the nonce N; then the keys are replaced.

use super::Tag;
use crate::cell::{Command, PAYLOAD};
use aes::cipher::{Block, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use aes::{Aes128Dec, Aes128Enc};
use polyval::Polyval;
use polyval::universal_hash::UniversalHash;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

const BLOCK: usize = 16;
/// Bytes of a direction's keys: J = (K, U), S = (K, B), N.
pub(super) const SEED: usize = 5 * BLOCK;
/// PRF's first block with t = 1; with t = 0 it gives 493 bytes, which is 31 blocks.
const SECOND_STREAM: u8 = 31;

/// The keys of UIV+. `B` is AES in the direction that this end needs for ET.
struct Uiv<B> {
    et: B,
    u: Polyval,
    prf: Aes128Enc,
    b: Polyval,
}

/// T' and the cell's command.
type Tweak<'a> = (&'a [u8; BLOCK], Command);

impl<B: KeyInit> Uiv<B> {
    fn new(keys: &[[u8; BLOCK]; 4]) -> Self {
        Self {
            et: B::new_from_slice(&keys[0]).expect("16 bytes"),
            u: Polyval::new(&keys[1].into()),
            prf: Aes128Enc::new(&keys[2].into()),
            b: Polyval::new(&keys[3].into()),
        }
    }

    /// h of ET: POLYVAL over T' | command | X_R, filled up with zeros to whole blocks. All but three of the blocks are read
    /// where they stand.
    #[inline]
    fn tweak_hash(&self, (tag, command): Tweak<'_>, right: &[u8]) -> [u8; BLOCK] {
        let (front, rest) = right.split_at(BLOCK - 1);
        let (whole, end) = rest.as_chunks::<BLOCK>();
        let (mut second, mut last) = ([0; BLOCK], [0; BLOCK]);
        second[0] = command.0;
        second[1..].copy_from_slice(front);
        last[..end.len()].copy_from_slice(end);
        let mut hash = self.u.clone();
        hash.update(&[(*tag).into(), second.into()]);
        hash.update(polyval::Block::cast_slice_from_core(whole));
        hash.update(&[last.into()]);
        hash.finalize().into()
    }

    /// PRF's counter: POLYVAL over one block.
    #[inline]
    fn counter(&self, tweak: &[u8; BLOCK]) -> [u8; BLOCK] {
        let mut hash = self.b.clone();
        hash.update(&[(*tweak).into()]);
        let mut counter: [u8; BLOCK] = hash.finalize().into();
        counter[15] &= 0xC0;
        counter
    }

    /// XORs PRF with t = 0 into X_R. The counter's low six bits are clear, so counting never carries.
    #[inline]
    fn stream(&self, tweak: &[u8; BLOCK], right: &mut [u8]) {
        let counter = u128::from_be_bytes(self.counter(tweak));
        let mut counters: [Block<Aes128Enc>; 31] =
            std::array::from_fn(|index| (counter | index as u128).to_be_bytes().into());
        self.prf.encrypt_blocks(&mut counters);
        let stream = Block::<Aes128Enc>::cast_slice_to_core(&counters).as_flattened();
        right.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
    }

    /// UPDATE: replaces the keys and the nonce.
    fn update(&mut self, nonce: &mut [u8; BLOCK]) {
        let mut blocks = [Block::<Aes128Enc>::from(self.counter(nonce)); 5];
        blocks.iter_mut().enumerate().for_each(|(index, block)| block[15] |= SECOND_STREAM + index as u8);
        self.prf.encrypt_blocks(&mut blocks);
        let seed = Zeroizing::new(blocks.map(<[u8; BLOCK]>::from));
        let (keys, next) = seed.split_first_chunk().expect("five blocks hold four");
        *self = Self::new(keys);
        *nonce = next[0];
    }
}

impl Uiv<Aes128Enc> {
    #[inline]
    fn encrypt(&self, tweak: Tweak<'_>, cell: &mut [u8; PAYLOAD]) {
        let (left, right) = cell.split_first_chunk_mut::<BLOCK>().expect("a cell is longer");
        let hash = self.tweak_hash(tweak, right);
        xor(left, &hash);
        self.et.encrypt_block(left.into());
        xor(left, &hash);
        self.stream(left, right);
    }
}

impl Uiv<Aes128Dec> {
    #[inline]
    fn decrypt(&self, tweak: Tweak<'_>, cell: &mut [u8; PAYLOAD]) {
        let (left, right) = cell.split_first_chunk_mut::<BLOCK>().expect("a cell is longer");
        self.stream(left, right);
        let hash = self.tweak_hash(tweak, right);
        xor(left, &hash);
        self.et.decrypt_block(left.into());
        xor(left, &hash);
    }
}

#[inline]
fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*with)).to_ne_bytes();
}

/// One direction of a layer: its keys, its nonce N and the last tag T'.
struct Half<B> {
    uiv: Uiv<B>,
    nonce: [u8; BLOCK],
    tag: [u8; BLOCK],
}

impl<B: KeyInit> Half<B> {
    fn new(seed: &[u8]) -> Self {
        let (blocks, _) = seed.as_chunks::<BLOCK>();
        let (keys, rest) = blocks.split_first_chunk().expect("the seed has five blocks");
        Self { uiv: Uiv::new(keys), nonce: rest[0], tag: [0; BLOCK] }
    }

    fn put_nonce(&self, cell: &mut [u8; PAYLOAD]) {
        cell[..BLOCK].copy_from_slice(&self.nonce);
    }
}

impl<B> Drop for Half<B> {
    fn drop(&mut self) {
        self.nonce.zeroize();
        self.tag.zeroize();
    }
}

/// The ciphers and hashes wipe themselves.
const _: () = {
    const fn wipes<T: ZeroizeOnDrop>() {}
    wipes::<Aes128Enc>();
    wipes::<Aes128Dec>();
};

fn first_block(cell: &[u8; PAYLOAD]) -> [u8; BLOCK] {
    *cell.first_chunk().expect("a cell is longer")
}

/// The branch that every relay shows: it passes the cell on, or keeps it.
#[inline(never)]
fn recognized(tag: &[u8; BLOCK], nonce: &[u8; BLOCK]) -> bool {
    tag.ct_eq(nonce).into()
}

fn tag(bytes: [u8; BLOCK]) -> Tag {
    let mut tag = Tag { bytes: [0; 20], length: BLOCK as u8 };
    tag.bytes[..BLOCK].copy_from_slice(&bytes);
    tag
}

pub(super) struct Relay {
    outbound: Half<Aes128Enc>,
    inbound: Half<Aes128Enc>,
}

impl Relay {
    pub(super) fn new(material: &[u8]) -> Self {
        Self { outbound: Half::new(&material[..SEED]), inbound: Half::new(&material[SEED..]) }
    }

    #[inline]
    pub(super) fn outbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Option<Tag> {
        let half = &mut self.outbound;
        let received = first_block(cell);
        half.uiv.encrypt((&half.tag, command), cell);
        half.tag = first_block(cell);
        if !recognized(&half.tag, &half.nonce) {
            return None;
        }
        half.uiv.update(&mut half.nonce);
        Some(tag(received))
    }

    #[inline]
    pub(super) fn inbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        let half = &mut self.inbound;
        half.uiv.encrypt((&half.tag, command), cell);
        half.tag = first_block(cell);
    }

    pub(super) fn originate(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Tag {
        self.inbound.put_nonce(cell);
        self.inbound(command, cell);
        let half = &mut self.inbound;
        half.nonce = half.tag;
        half.uiv.update(&mut half.nonce);
        tag(half.tag)
    }
}

pub(super) struct Client {
    outbound: Half<Aes128Dec>,
    inbound: Half<Aes128Dec>,
}

impl Client {
    pub(super) fn new(material: &[u8]) -> Self {
        Self { outbound: Half::new(&material[..SEED]), inbound: Half::new(&material[SEED..]) }
    }

    pub(super) fn originate(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Tag {
        self.outbound.put_nonce(cell);
        self.outbound(command, cell);
        let half = &mut self.outbound;
        half.uiv.update(&mut half.nonce);
        tag(first_block(cell))
    }

    #[inline]
    pub(super) fn outbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        let half = &mut self.outbound;
        let next = first_block(cell);
        half.uiv.decrypt((&half.tag, command), cell);
        half.tag = next;
    }

    #[inline]
    pub(super) fn inbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Option<Tag> {
        let half = &mut self.inbound;
        let received = first_block(cell);
        half.uiv.decrypt((&half.tag, command), cell);
        half.tag = received;
        if !recognized(&first_block(cell), &half.nonce) {
            return None;
        }
        half.nonce = received;
        half.uiv.update(&mut half.nonce);
        Some(tag(received))
    }
}

/// What vectors set and compare: a direction's J and S, its nonce and its last tag.
#[cfg(test)]
pub(super) struct State {
    pub(super) keys: [u8; 4 * BLOCK],
    pub(super) nonce: [u8; BLOCK],
    pub(super) tag: [u8; BLOCK],
}

#[cfg(test)]
pub(super) use for_vectors::uiv_for_vectors;

#[cfg(test)]
mod for_vectors {
    use super::*;

    impl State {
        pub(in crate::layer) const ZERO: Self = Self { keys: [0; 4 * BLOCK], nonce: [0; BLOCK], tag: [0; BLOCK] };
    }

    impl<B: KeyInit> Half<B> {
        fn from_state(state: &State) -> Self {
            let mut half = Self::new(&[&state.keys[..], &state.nonce].concat());
            half.tag = state.tag;
            half
        }
    }

    /// Keys can't be read back, so two states are the same if they encrypt alike.
    fn assert_same<B: KeyInit>(half: &Half<B>, expected: &State, crypt: impl Fn(&Uiv<B>, &mut [u8; PAYLOAD])) {
        assert_eq!((half.nonce, half.tag), (expected.nonce, expected.tag));
        let probe = std::array::from_fn(|index| index as u8);
        let (mut ours, mut theirs) = (probe, probe);
        crypt(&half.uiv, &mut ours);
        crypt(&Half::<B>::from_state(expected).uiv, &mut theirs);
        assert_eq!(ours, theirs);
    }

    impl Relay {
        pub(in crate::layer) fn from_states(outbound: &State, inbound: &State) -> Self {
            Self { outbound: Half::from_state(outbound), inbound: Half::from_state(inbound) }
        }

        pub(in crate::layer) fn assert_state(&self, inbound: bool, expected: &State) {
            let half = if inbound { &self.inbound } else { &self.outbound };
            assert_same(half, expected, |uiv, cell| uiv.encrypt((&[7; BLOCK], Command::RELAY), cell));
        }
    }

    impl Client {
        pub(in crate::layer) fn from_states(outbound: &State, inbound: &State) -> Self {
            Self { outbound: Half::from_state(outbound), inbound: Half::from_state(inbound) }
        }

        pub(in crate::layer) fn assert_state(&self, inbound: bool, expected: &State) {
            let half = if inbound { &self.inbound } else { &self.outbound };
            assert_same(half, expected, |uiv, cell| uiv.decrypt((&[7; BLOCK], Command::RELAY), cell));
        }
    }

    pub(in crate::layer) fn uiv_for_vectors(
        encrypt: bool,
        keys: &[u8; 64],
        tweak: &[u8; 17],
        cell: &mut [u8; PAYLOAD],
    ) {
        let (blocks, []) = keys.as_chunks::<BLOCK>() else { unreachable!("four blocks") };
        let keys = blocks.first_chunk().expect("four blocks");
        let (tag, command) = (tweak.first_chunk().expect("17 bytes"), Command(tweak[16]));
        match encrypt {
            true => Uiv::<Aes128Enc>::new(keys).encrypt((tag, command), cell),
            false => Uiv::<Aes128Dec>::new(keys).decrypt((tag, command), cell),
        }
    }
}
