//! GCM over a cipher of RustCrypto's traits, with GHASH by crate `polyval`: for CPUs that no kernel of ours runs on. Both crates use the
//! instructions of AArch64, and code without tables where there are none.

use crate::wipe::wipe;
use ::aes::cipher::{Array, BlockCipherEncrypt, BlockSizeUser, consts::U16};
use candor_cpu::barrier::mask_u64;
use polyval::universal_hash::UniversalHash;
use polyval::{Block, Polyval};

/// The key of GHASH as a key of POLYVAL (RFC 8452, Appendix A).
pub(super) fn hash_key<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>>(cipher: &C) -> Polyval {
    let mut h = Block::default();
    cipher.encrypt_block(&mut h);
    let bits = u128::from_be_bytes(h.0);
    let carry = u128::from(mask_u64((bits >> 127) as u64));
    let carry = carry << 64 | carry;
    h.0 = (bits << 1 ^ carry & (0xc2 << 120 | 1)).to_le_bytes();
    let hash = Polyval::new(&h);
    wipe(&mut h);
    hash
}

/// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
pub(super) fn run<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>, const OPEN: bool>(
    cipher: &C,
    hash: &Polyval,
    nonce: &[u8; 12],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    run_from::<C, OPEN>(cipher, hash, &block(nonce, 1), aad, data, tag);
}

/// The same with any counter block, J_0 in SP 800-38D §7, whose last four bytes count modulo 2^32.
fn run_from<C: BlockCipherEncrypt + BlockSizeUser<BlockSize = U16>, const OPEN: bool>(
    cipher: &C,
    hash: &Polyval,
    first: &[u8; 16],
    aad: &[u8],
    data: &mut [u8],
    tag: &mut [u8; 16],
) {
    let (fixed, count) = first.split_first_chunk::<12>().expect("16 bytes have a first 12");
    let mut count = u32::from_be_bytes(count.try_into().expect("and 4 more"));
    let mut hash = hash.clone();
    let lengths = (aad.len() as u128 * 8) << 64 | (data.len() as u128 * 8);
    absorb(&mut hash, aad);
    // The first block of the key stream masks the tag.
    *tag = *first;
    cipher.encrypt_block(tag.into());
    for data in data.chunks_mut(16 * BATCH) {
        if OPEN {
            absorb(&mut hash, data);
        }
        let mut blocks = [Block::default(); BATCH];
        let blocks = &mut blocks[..data.len().div_ceil(16)];
        for room in &mut *blocks {
            count = count.wrapping_add(1);
            room.0 = block(fixed, count);
        }
        cipher.encrypt_blocks(blocks);
        let stream = Array::cast_slice_to_core(blocks).as_flattened();
        data.iter_mut().zip(stream).for_each(|(byte, key)| *byte ^= key);
        if !OPEN {
            absorb(&mut hash, data);
        }
        wipe(Array::cast_slice_to_core_mut(blocks).as_flattened_mut());
    }
    // In POLYVAL's order of bytes, as all blocks.
    hash.update(&[lengths.to_le_bytes().into()]);
    let mut sum = hash.finalize();
    tag.iter_mut().zip(sum.iter().rev()).for_each(|(byte, hash)| *byte ^= hash);
    wipe(&mut sum);
}

/// Blocks that the cipher gets at once.
const BATCH: usize = 32;

/// A counter block.
fn block(fixed: &[u8; 12], count: u32) -> [u8; 16] {
    let mut block = [0; 16];
    block[..12].copy_from_slice(fixed);
    block[12..].copy_from_slice(&count.to_be_bytes());
    block
}

/// Hashes `bytes`, which are padded with zeros to whole blocks.
fn absorb(hash: &mut Polyval, bytes: &[u8]) {
    for bytes in bytes.chunks(16 * BATCH) {
        let mut blocks = [Block::default(); BATCH];
        let blocks = &mut blocks[..bytes.len().div_ceil(16)];
        for (block, bytes) in blocks.iter_mut().zip(bytes.chunks(16)) {
            block[..bytes.len()].copy_from_slice(bytes);
            block.reverse();
        }
        hash.update(blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aead::reference;
    use ::aes::cipher::KeyInit;

    #[test]
    fn the_counter_wraps_around_after_2_32_blocks_and_leaves_the_nonce_alone() {
        let cipher = ::aes::Aes128Enc::new(&reference::KEY.into());
        let hash = hash_key(&cipher);
        reference::check_around_the_end::<::aes::Aes128>(|first, aad, data, tag, open| {
            if open {
                run_from::<_, true>(&cipher, &hash, first, aad, data, tag);
            } else {
                run_from::<_, false>(&cipher, &hash, first, aad, data, tag);
            }
        });
    }
}
