//! Argon2id: addressing, passes, the first blocks and the tag (RFC 9106, section 3).

use super::argon2_mux::{self, Arm};
use super::memory::{Block, Memory};
use super::{KsfError, Params};
use crate::hash::blake2b;
use crate::stack;
use candor_cpu::Cpu;
use candor_cpu::secret::{self, takes};
use zeroize::Zeroize;

/// Version 1.3.
const VERSION: u32 = 0x13;
/// The type byte of Argon2id.
const ID: u32 = 2;
/// Slices of a pass, which are where lanes wait for each other.
const SLICES: usize = 4;

/// Argon2id with its parameters and the CPU arm that it runs on.
#[derive(Clone, Copy)]
pub struct Argon2id {
    params: Params,
    arm: Arm,
}

impl Argon2id {
    /// Argon2id on the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new(params: Params) -> Self {
        Self::with_cpu(Cpu::default(), params)
    }

    /// Argon2id on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu, params: Params) -> Self {
        Self { params, arm: Arm::choose(cpu) }
    }

    /// The arm of the compression function: `portable`, `avx2`, `avx512`, or `simd128` in WebAssembly.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }

    /// The cost parameters.
    #[must_use]
    pub fn params(&self) -> Params {
        self.params
    }

    /// Stretches `password` and `salt` (at least 8 bytes) into `output` (at least 4 bytes). `memory` is wiped before this returns.
    ///
    /// # Errors
    /// [`KsfError::Salt`], [`KsfError::Output`] or [`KsfError::TooLong`] for a length that Argon2 does not take, [`KsfError::WrongMemory`] if
    /// `memory` was made for fewer blocks.
    // ct: argon2/derive
    pub fn derive(&self, password: &[u8], salt: &[u8], memory: &mut Memory, output: &mut [u8]) -> Result<(), KsfError> {
        self.derive_with(password, salt, &[], &[], memory, output)
    }

    /// The same for a caller who wants to know how far it is: `progress` is told after each quarter of a pass how many quarters are done, and of how
    /// many. That depends on the parameters alone.
    ///
    /// # Errors
    /// As for [`derive`](Self::derive).
    // ct: argon2/derive
    pub fn derive_reporting(
        &self,
        password: &[u8],
        salt: &[u8],
        memory: &mut Memory,
        output: &mut [u8],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), KsfError> {
        self.checked([password, salt, &[], &[]], memory, output, progress)
    }

    /// [`derive`](Self::derive) with the optional secret K and associated data X of RFC 9106, section 3.1.
    ///
    /// # Errors
    /// As for [`derive`](Self::derive).
    // ct: argon2/derive
    pub fn derive_with(
        &self,
        password: &[u8],
        salt: &[u8],
        secret: &[u8],
        associated: &[u8],
        memory: &mut Memory,
        output: &mut [u8],
    ) -> Result<(), KsfError> {
        self.checked([password, salt, secret, associated], memory, output, &mut |_, _| ())
    }

    fn checked(
        &self,
        inputs: [&[u8]; 4],
        memory: &mut Memory,
        output: &mut [u8],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), KsfError> {
        let [password, salt, ..] = inputs;
        takes("argon2/derive", password);
        if salt.len() < 8 {
            return Err(KsfError::Salt(salt.len()));
        }
        if output.len() < 4 {
            return Err(KsfError::Output(output.len()));
        }
        stack::clearing::<FRAMES, _>(|| self.run(inputs, memory, output, progress))
    }

    fn run(
        &self,
        inputs: [&[u8]; 4],
        memory: &mut Memory,
        output: &mut [u8],
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), KsfError> {
        let mut seed = first_digest(self.params, inputs, output.len())?;
        let blocks = memory.blocks_mut(self.params)?;
        let fill = Fill { params: self.params, arm: self.arm, lane: self.params.segment() * SLICES };
        fill.first_columns(&mut seed, blocks);
        let all = u64::from(self.params.passes()) * SLICES as u64;
        for pass in 0..self.params.passes() as usize {
            for slice in 0..SLICES {
                for row in 0..self.params.lanes() as usize {
                    fill.segment(blocks, pass, slice, row);
                }
                progress((pass * SLICES + slice + 1) as u64, all);
            }
        }
        fill.tag(blocks, output);
        memory.wipe();
        Ok(())
    }
}

/// Stack that a derivation takes, in bytes.
const FRAMES: usize = 16 << 10;

/// H₀ of section 3.2, with room behind it for the two counters of the first columns.
fn first_digest(params: Params, inputs: [&[u8]; 4], output: usize) -> Result<[u8; 72], KsfError> {
    let counted = |length: usize| u32::try_from(length).map(u32::to_le_bytes).map_err(|_| KsfError::TooLong);
    let numbers = [params.lanes(), params.memory(), params.passes(), VERSION, ID].map(u32::to_le_bytes);
    let [lanes, memory, passes, version, id] = &numbers;
    let [password, salt, secret, associated] = inputs;
    let parts: [&[u8]; 14] = [
        lanes,
        &counted(output)?,
        memory,
        passes,
        version,
        id,
        &counted(password.len())?,
        password,
        &counted(salt.len())?,
        salt,
        &counted(secret.len())?,
        secret,
        &counted(associated.len())?,
        associated,
    ];
    let mut seed = [0; 72];
    blake2b::hash_into(&parts, &mut seed[..64]);
    Ok(seed)
}

/// H′, BLAKE2b stretched to any length (section 3.3).
fn long_hash(input: &[u8], output: &mut [u8]) {
    let length = (output.len() as u32).to_le_bytes();
    if output.len() <= 64 {
        blake2b::hash_into(&[&length, input], output);
        return;
    }
    let (mut digest, mut next) = ([0; 64], [0; 64]);
    blake2b::hash_into(&[&length, input], &mut digest);
    let mut rest = output;
    while rest.len() > 64 {
        let (half, after) = rest.split_at_mut(32);
        half.copy_from_slice(&digest[..32]);
        rest = after;
        blake2b::hash_into(&[&digest], &mut next[..rest.len().min(64)]);
        digest = next;
    }
    rest.copy_from_slice(&digest[..rest.len()]);
    digest.zeroize();
    next.zeroize();
}

/// One call's view of the memory: rows of `lane` blocks, one after the other.
struct Fill {
    params: Params,
    arm: Arm,
    lane: usize,
}

impl Fill {
    /// Blocks 0 and 1 of each lane.
    fn first_columns(&self, seed: &mut [u8; 72], blocks: &mut [Block]) {
        let mut bytes = [0; 1024];
        for row in 0..self.params.lanes() {
            seed[68..].copy_from_slice(&row.to_le_bytes());
            for column in 0..2u32 {
                seed[64..68].copy_from_slice(&column.to_le_bytes());
                long_hash(seed, &mut bytes);
                let block = &mut blocks[row as usize * self.lane + column as usize];
                for (word, bytes) in block.0.iter_mut().zip(bytes.chunks_exact(8)) {
                    *word = u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
                }
            }
        }
        seed.zeroize();
        bytes.zeroize();
    }

    /// A quarter of a lane. In the first half of the first pass the addresses come from a counter, so that
    /// they reveal nothing of the password through the cache; after that from the block before (section 3.4.1.3).
    fn segment(&self, blocks: &mut [Block], pass: usize, slice: usize, row: usize) {
        let begin = if pass == 0 && slice == 0 { 2 } else { 0 };
        let segment = self.params.segment();
        let mut addresses = (pass == 0 && slice < 2).then(|| Addresses::new(self, pass, slice, row));
        let mut random = match &mut addresses {
            Some(addresses) => addresses.at(self.arm, begin),
            None => public(blocks[self.before(slice, row, begin)].0[0]),
        };
        for index in begin..segment {
            let reference = self.reference(pass, slice, row, index, random);
            let current = row * self.lane + slice * segment + index;
            let previous = self.before(slice, row, index);
            let next = addresses.as_mut().map(|addresses| addresses.at(self.arm, (index + 1).min(segment - 1)));
            // What comes next is known before the block is finished: its first word is, and that is enough to fetch ahead.
            let ahead = |first_word: u64| match index + 1 < segment {
                true => self.reference(pass, slice, row, index + 1, next.unwrap_or_else(|| public(first_word))),
                false => reference,
            };
            argon2_mux::fill(self.arm, blocks, previous, reference, current, pass > 0, ahead);
            random = next.unwrap_or_else(|| public(blocks[current].0[0]));
        }
    }

    /// Where the block before the one at `index` stands: lanes are rings.
    fn before(&self, slice: usize, row: usize, index: usize) -> usize {
        let column = slice * self.params.segment() + index;
        row * self.lane + if column == 0 { self.lane - 1 } else { column - 1 }
    }

    /// The block that the block at `index` is mixed with, from 64 pseudo-random bits (section 3.4.2).
    #[inline(always)]
    fn reference(&self, pass: usize, slice: usize, row: usize, index: usize, random: u64) -> usize {
        let segment = self.params.segment();
        let lanes = u64::from(self.params.lanes());
        let from = if pass == 0 && slice == 0 || lanes == 1 { row } else { ((random >> 32) % lanes) as usize };
        let finished = if pass == 0 { slice * segment } else { self.lane - segment };
        let area = if from == row { finished + index - 1 } else { finished - usize::from(index == 0) };
        let x = u64::from(random as u32);
        let y = (x * x) >> 32;
        let back = (area as u64 * y) >> 32;
        let start = if pass == 0 || slice == SLICES - 1 { 0 } else { (slice + 1) * segment };
        let column = start + area - 1 - back as usize;
        from * self.lane + if column >= self.lane { column - self.lane } else { column }
    }

    /// H′ of the XOR of the last column (section 3.2, steps 7 and 8).
    fn tag(&self, blocks: &[Block], output: &mut [u8]) {
        let mut sum = [0u64; 128];
        for lane in blocks.chunks_exact(self.lane) {
            for (sum, word) in sum.iter_mut().zip(&lane[self.lane - 1].0) {
                *sum ^= word;
            }
        }
        let mut bytes = [0; 1024];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(sum) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        long_hash(&bytes, output);
        sum.zeroize();
        bytes.zeroize();
    }
}

/// The address that Argon2id takes from the previous block, except in the first half of the first pass: it shows in the cache.
#[inline(always)]
fn public(word: u64) -> u64 {
    secret::declassified_u64(word, "argon2id-address")
}

/// The counter mode of the data-independent half (section 3.4.1.2): 128 addresses a block.
struct Addresses {
    input: Block,
    block: Block,
    made: usize,
}

impl Addresses {
    fn new(fill: &Fill, pass: usize, slice: usize, row: usize) -> Self {
        let mut input = Block([0; 128]);
        let numbers = [pass, row, slice, fill.params.blocks(), fill.params.passes() as usize, ID as usize];
        for (word, number) in input.0.iter_mut().zip(numbers) {
            *word = number as u64;
        }
        Self { input, block: Block([0; 128]), made: 0 }
    }

    /// The number for the block at `index`; to be asked in ascending order.
    fn at(&mut self, arm: Arm, index: usize) -> u64 {
        while self.made <= index / 128 {
            self.input.0[6] += 1;
            let zero = Block([0; 128]);
            let once = argon2_mux::compress(arm, &zero, &self.input);
            self.block = argon2_mux::compress(arm, &zero, &once);
            self.made += 1;
        }
        self.block.0[index % 128]
    }
}
