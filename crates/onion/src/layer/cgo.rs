//! Counter Galois Onion (prop 359; Degabriele, Melloni, Münch, Stam, "Counter Galois Onion", 2025), with AES-128.
//!
//! Names are the proposal's. A cell is `T 16 | C 493`. It is encrypted by UIV+, a tweakable cipher over the whole cell:
//!
//! ```text
//! ENC((J,S), H, X_L|X_R):  Y_L = ET(J, H|X_R, X_L);  Y_R = X_R ^ PRF(S, Y_L, 0)
//! ET((K,U), T, M)        = h ^ AES(K, M ^ h)           with h = POLYVAL(U, T)
//! PRF((K,B), T, t)       = AES-CTR(K, POLYVAL(B, T) with its low six bits cleared, + 31 t)
//! UPDATE((J,S), N)       = PRF(S, N, 1): fresh J, S and N
//! ```
//!
//! The tweak H contains the tag T' of the last cell and the cell's command, so a changed, missing or repeated cell
//! turns itself and all later cells into noise. Relays encrypt and clients decrypt, in both directions, since it is
//! encryption that resists tampering. A cell is for this end if its tag equals the nonce N; then the keys are replaced.

use super::{Tag, Way};
use crate::cell::{Command, PAYLOAD};
use alloc::boxed::Box;
use candor_cpu::secret;
use candor_primitives::Cpu;
use candor_primitives::aes::{Aes128, Aes128Decrypt};
use candor_primitives::polyval::Polyval;
use candor_primitives::stack;
use core::slice::from_ref;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

const BLOCK: usize = 16;
/// Length of X_R in bytes.
const RIGHT: usize = PAYLOAD - BLOCK;
/// Length of the keys of one direction: J = (K, U), S = (K, B), N.
pub(super) const SEED: usize = 5 * BLOCK;
/// First block of PRF with t = 1; with t = 0 it gives 493 bytes, which is 31 blocks.
const SECOND_STREAM: u8 = 31;

/// Powers that POLYVAL stores for ET's tweak of 32 blocks. Storing all 32 passes cells on no faster (measured on Zen 5)
/// and makes replacing keys slower.
const POWERS: usize = 16;

/// The keys of UIV+. `B` is AES in the direction that this end needs for ET. The powers of U lie at the beginning of a line of the cache.
#[repr(C, align(64))]
struct Uiv<B> {
    u: Polyval<POWERS>,
    et: B,
    prf: Aes128,
    b: Polyval<1>,
    #[cfg(test)]
    cpu: Cpu,
}

/// AES in one of its directions.
trait BlockCipher {
    fn with_cpu(cpu: Cpu, key: &[u8; BLOCK]) -> Self;
    fn set_key(&mut self, key: &[u8; BLOCK]);
}

impl BlockCipher for Aes128 {
    fn with_cpu(cpu: Cpu, key: &[u8; BLOCK]) -> Self {
        Self::with_cpu(cpu, key)
    }

    fn set_key(&mut self, key: &[u8; BLOCK]) {
        self.set_key(key);
    }
}

impl BlockCipher for Aes128Decrypt {
    fn with_cpu(cpu: Cpu, key: &[u8; BLOCK]) -> Self {
        Self::with_cpu(cpu, key)
    }

    fn set_key(&mut self, key: &[u8; BLOCK]) {
        self.set_key(key);
    }
}

/// The tweak: T' and the cell's command.
type Tweak<'a> = (&'a [u8; BLOCK], Command);

impl<B: BlockCipher> Uiv<B> {
    fn new(cpu: Cpu, keys: &[[u8; BLOCK]; 4]) -> Self {
        Self {
            u: Polyval::with_cpu(cpu, &keys[1]),
            et: B::with_cpu(cpu, &keys[0]),
            prf: Aes128::with_cpu(cpu, &keys[2]),
            b: Polyval::with_cpu(cpu, &keys[3]),
            #[cfg(test)]
            cpu,
        }
    }

    /// h of ET: POLYVAL over T' | command | X_R, padded with zeros to whole blocks. All but three of the blocks are
    /// read in place.
    #[inline]
    fn tweak_hash(&self, (tag, command): Tweak<'_>, right: &[u8; RIGHT], work: &mut Workspace) {
        let (front, rest) = right.split_at(BLOCK - 1);
        let (whole, end) = rest.as_chunks::<BLOCK>();
        let [first, second] = &mut work.head;
        *first = *tag;
        second[0] = command.0;
        second[1..].copy_from_slice(front);
        work.end[0][..end.len()].copy_from_slice(end);
        self.u.hash_into([&work.head, whole, &work.end], &mut work.hash);
    }

    /// PRF's counter: POLYVAL over one block.
    #[inline]
    fn counter(&self, tweak: &[u8; BLOCK], work: &mut Workspace) {
        self.b.hash_into([from_ref(tweak)], &mut work.counter);
        work.counter[15] &= 0xC0;
    }

    /// XORs PRF with t = 0 into X_R. The low six bits of the counter are clear, so counting never carries.
    #[inline]
    fn stream(&self, tweak: &[u8; BLOCK], right: &mut [u8; RIGHT], work: &mut Workspace) {
        self.counter(tweak, work);
        self.prf.apply_counter_mode(&work.counter, right);
    }

    /// UPDATE: replaces the keys and the nonce.
    fn update(&mut self, nonce: &mut [u8; BLOCK], work: &mut Workspace) {
        self.counter(nonce, work);
        work.counter[15] |= SECOND_STREAM;
        let mut seed = Zeroizing::new([[0; BLOCK]; SEED / BLOCK]);
        self.prf.apply_counter_mode(&work.counter, seed.as_flattened_mut());
        // In place: keys that are moved leave a copy behind.
        let [et, u, prf, b, next] = &*seed;
        self.et.set_key(et);
        self.u.set_key(u);
        self.prf.set_key(prf);
        self.b.set_key(b);
        *nonce = *next;
    }
}

impl Uiv<Aes128> {
    #[inline]
    fn encrypt(&self, tweak: Tweak<'_>, cell: &mut [u8; PAYLOAD], work: &mut Workspace) {
        let (left, right) = halves(cell);
        self.tweak_hash(tweak, right, work);
        xor(left, &work.hash);
        self.et.encrypt_block(left);
        xor(left, &work.hash);
        self.stream(left, right, work);
    }
}

impl Uiv<Aes128Decrypt> {
    #[inline]
    fn decrypt(&self, tweak: Tweak<'_>, cell: &mut [u8; PAYLOAD], work: &mut Workspace) {
        let (left, right) = halves(cell);
        self.stream(left, right, work);
        self.tweak_hash(tweak, right, work);
        xor(left, &work.hash);
        self.et.decrypt_block(left);
        xor(left, &work.hash);
    }
}

/// X_L and X_R.
#[inline]
fn halves(cell: &mut [u8; PAYLOAD]) -> (&mut [u8; BLOCK], &mut [u8; RIGHT]) {
    let (left, right) = cell.split_at_mut(BLOCK);
    (left.try_into().expect("a block"), right.try_into().expect("the rest"))
}

#[inline]
fn xor(block: &mut [u8; BLOCK], with: &[u8; BLOCK]) {
    *block = (u128::from_ne_bytes(*block) ^ u128::from_ne_bytes(*with)).to_ne_bytes();
}

/// Where what lies between the steps of UIV+ is kept: with the keys, and not on the stack, so that it is wiped with them.
#[derive(Default)]
struct Workspace {
    /// The first two blocks of the tweak.
    head: [[u8; BLOCK]; 2],
    /// The last one, padded with zeros.
    end: [[u8; BLOCK]; 1],
    /// ET's h.
    hash: [u8; BLOCK],
    /// PRF's counter.
    counter: [u8; BLOCK],
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.head.as_flattened_mut().zeroize();
        self.end.as_flattened_mut().zeroize();
        self.hash.zeroize();
        self.counter.zeroize();
    }
}

/// One direction of a layer. Its keys are expanded for the first cell: some directions of a circuit carry none for long, and expanded keys take ten
/// times the room of the seed.
enum Direction<B> {
    /// The seed, for keys on this CPU.
    Waiting(Cpu, Box<Zeroizing<[u8; SEED]>>),
    Ready(Box<Half<B>>),
}

impl<B: BlockCipher> Direction<B> {
    fn new(cpu: Cpu, material: &[u8]) -> Self {
        // Written where it stays: a seed that is moved leaves a copy behind.
        let mut seed = Box::new(Zeroizing::new([0; SEED]));
        seed.copy_from_slice(material);
        Self::Waiting(cpu, seed)
    }

    #[inline]
    fn half(&mut self) -> &mut Half<B> {
        if let Self::Waiting(cpu, seed) = self {
            *self = Self::Ready(expand(*cpu, seed));
        }
        match self {
            Self::Ready(half) => half,
            Self::Waiting(..) => unreachable!("it was just expanded"),
        }
    }
}

#[cold]
#[inline(never)]
fn expand<B: BlockCipher>(cpu: Cpu, seed: &[u8; SEED]) -> Box<Half<B>> {
    stack::clearing::<FRAMES, _>(|| Box::new(Half::new(cpu, seed)))
}

/// Stack that expanding the keys of a direction takes, in bytes: they are moved into their box.
const FRAMES: usize = 5 << 10;

/// The keys of a direction, the nonce N and the last tag T'.
struct Half<B> {
    uiv: Uiv<B>,
    nonce: [u8; BLOCK],
    tag: [u8; BLOCK],
    /// The tag to come: here and not on the stack, since a cell that the client makes begins with the nonce.
    next: [u8; BLOCK],
    work: Workspace,
}

impl<B: BlockCipher> Half<B> {
    fn new(cpu: Cpu, seed: &[u8; SEED]) -> Self {
        let (blocks, _) = seed.as_chunks::<BLOCK>();
        let (keys, rest) = blocks.split_first_chunk().expect("the seed has five blocks");
        Self { uiv: Uiv::new(cpu, keys), nonce: rest[0], tag: [0; BLOCK], next: [0; BLOCK], work: Workspace::default() }
    }

    /// UPDATE. Seldom enough to clear the stack behind it.
    fn update(&mut self) {
        let Self { uiv, nonce, work, .. } = self;
        stack::clearing::<512, _>(|| uiv.update(nonce, work));
    }

    fn put_nonce(&self, cell: &mut [u8; PAYLOAD]) {
        cell[..BLOCK].copy_from_slice(&self.nonce);
    }
}

impl<B> Drop for Half<B> {
    fn drop(&mut self) {
        // The ciphers and hashes wipe themselves.
        self.nonce.zeroize();
        self.tag.zeroize();
        self.next.zeroize();
    }
}

fn first_block(cell: &[u8; PAYLOAD]) -> [u8; BLOCK] {
    *cell.first_chunk().expect("a cell is longer than a block")
}

/// Whether a cell is for this end. The answer is public: a relay passes the cell on, or keeps it.
#[inline]
fn recognized(tag: &[u8; BLOCK], nonce: &[u8; BLOCK]) -> bool {
    secret::declassified(tag.ct_eq(nonce).unwrap_u8(), "cell-recognized") == 1
}

fn tag(bytes: [u8; BLOCK]) -> Tag {
    let mut tag = Tag { bytes: [0; 20], length: BLOCK as u8 };
    tag.bytes[..BLOCK].copy_from_slice(&bytes);
    tag
}

impl Half<Aes128> {
    #[inline]
    fn encrypt(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        self.uiv.encrypt((&self.tag, command), cell, &mut self.work);
        self.tag = first_block(cell);
    }
}

impl Half<Aes128Decrypt> {
    #[inline]
    fn decrypt(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        self.next = first_block(cell);
        self.uiv.decrypt((&self.tag, command), cell, &mut self.work);
        self.tag = self.next;
    }
}

/// The key material of each direction.
pub(super) fn cut(material: &[u8]) -> [[&[u8]; 2]; 2] {
    let (outbound, inbound) = material.split_at(SEED);
    [[outbound, &[]], [inbound, &[]]]
}

pub(super) struct Relay {
    outbound: Direction<Aes128>,
    inbound: Direction<Aes128>,
}

impl Relay {
    pub(super) fn new(cpu: Cpu, material: &[u8]) -> Self {
        let (outbound, inbound) = material.split_at(SEED);
        Self { outbound: Direction::new(cpu, outbound), inbound: Direction::new(cpu, inbound) }
    }

    pub(super) fn replace(&mut self, cpu: Cpu, way: Way, material: &[u8]) {
        match way {
            Way::Out => self.outbound = Direction::new(cpu, material),
            Way::In => self.inbound = Direction::new(cpu, material),
        }
    }

    #[inline]
    pub(super) fn outbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Option<Tag> {
        let half = self.outbound.half();
        let received = first_block(cell);
        half.encrypt(command, cell);
        if !recognized(&half.tag, &half.nonce) {
            return None;
        }
        half.update();
        Some(tag(received))
    }

    #[inline]
    pub(super) fn inbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        self.inbound.half().encrypt(command, cell);
    }

    pub(super) fn originate(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Tag {
        let half = self.inbound.half();
        half.put_nonce(cell);
        half.encrypt(command, cell);
        half.nonce = half.tag;
        half.update();
        tag(half.tag)
    }
}

pub(super) struct Client {
    outbound: Direction<Aes128Decrypt>,
    inbound: Direction<Aes128Decrypt>,
}

impl Client {
    pub(super) fn new(cpu: Cpu, material: &[u8]) -> Self {
        let (outbound, inbound) = material.split_at(SEED);
        Self { outbound: Direction::new(cpu, outbound), inbound: Direction::new(cpu, inbound) }
    }

    pub(super) fn replace(&mut self, cpu: Cpu, way: Way, material: &[u8]) {
        match way {
            Way::Out => self.outbound = Direction::new(cpu, material),
            Way::In => self.inbound = Direction::new(cpu, material),
        }
    }

    pub(super) fn originate(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Tag {
        let half = self.outbound.half();
        half.put_nonce(cell);
        half.decrypt(command, cell);
        half.update();
        tag(first_block(cell))
    }

    #[inline]
    pub(super) fn outbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) {
        self.outbound.half().decrypt(command, cell);
    }

    #[inline]
    pub(super) fn inbound(&mut self, command: Command, cell: &mut [u8; PAYLOAD]) -> Option<Tag> {
        let half = self.inbound.half();
        half.decrypt(command, cell);
        let received = half.tag;
        if !recognized(cell.first_chunk().expect("a cell is longer than a block"), &half.nonce) {
            return None;
        }
        half.nonce = received;
        half.update();
        Some(tag(received))
    }
}

/// The state that vectors set and compare: J and S of a direction, its nonce and its last tag.
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

    impl<B: BlockCipher> Half<B> {
        fn from_state(cpu: Cpu, state: &State) -> Self {
            let mut seed = [0; SEED];
            seed[..4 * BLOCK].copy_from_slice(&state.keys);
            seed[4 * BLOCK..].copy_from_slice(&state.nonce);
            let mut half = Self::new(cpu, &seed);
            half.tag = state.tag;
            half
        }
    }

    impl<B: BlockCipher> Direction<B> {
        fn from_state(cpu: Cpu, state: &State) -> Self {
            Self::Ready(Box::new(Half::from_state(cpu, state)))
        }

        fn ready(&self) -> &Half<B> {
            match self {
                Self::Ready(half) => half,
                Self::Waiting(..) => panic!("no cell has come"),
            }
        }
    }

    /// Keys can't be read back, so two states count as equal if they encrypt alike.
    fn assert_same<B: BlockCipher>(
        half: &Half<B>,
        expected: &State,
        crypt: impl Fn(&Uiv<B>, &mut [u8; PAYLOAD], &mut Workspace),
    ) {
        assert_eq!((half.nonce, half.tag), (expected.nonce, expected.tag));
        let probe = std::array::from_fn(|index| index as u8);
        let (mut ours, mut theirs) = (probe, probe);
        crypt(&half.uiv, &mut ours, &mut Workspace::default());
        crypt(&Half::<B>::from_state(half.uiv.cpu, expected).uiv, &mut theirs, &mut Workspace::default());
        assert_eq!(ours, theirs);
    }

    impl Relay {
        pub(in crate::layer) fn from_states(cpu: Cpu, outbound: &State, inbound: &State) -> Self {
            Self { outbound: Direction::from_state(cpu, outbound), inbound: Direction::from_state(cpu, inbound) }
        }

        pub(in crate::layer) fn assert_state(&self, inbound: bool, expected: &State) {
            let half = if inbound { self.inbound.ready() } else { self.outbound.ready() };
            assert_same(half, expected, |uiv, cell, work| uiv.encrypt((&[7; BLOCK], Command::RELAY), cell, work));
        }
    }

    impl Client {
        pub(in crate::layer) fn from_states(cpu: Cpu, outbound: &State, inbound: &State) -> Self {
            Self { outbound: Direction::from_state(cpu, outbound), inbound: Direction::from_state(cpu, inbound) }
        }

        pub(in crate::layer) fn assert_state(&self, inbound: bool, expected: &State) {
            let half = if inbound { self.inbound.ready() } else { self.outbound.ready() };
            assert_same(half, expected, |uiv, cell, work| uiv.decrypt((&[7; BLOCK], Command::RELAY), cell, work));
        }
    }

    pub(in crate::layer) fn uiv_for_vectors(
        cpu: Cpu,
        encrypt: bool,
        keys: &[u8; 64],
        tweak: &[u8; 17],
        cell: &mut [u8; PAYLOAD],
    ) {
        let (blocks, []) = keys.as_chunks::<BLOCK>() else { unreachable!("four blocks") };
        let keys = blocks.first_chunk().expect("four blocks");
        let (tag, command) = (tweak.first_chunk().expect("17 bytes"), Command(tweak[16]));
        match encrypt {
            true => Uiv::<Aes128>::new(cpu, keys).encrypt((tag, command), cell, &mut Workspace::default()),
            false => Uiv::<Aes128Decrypt>::new(cpu, keys).decrypt((tag, command), cell, &mut Workspace::default()),
        }
    }
}
