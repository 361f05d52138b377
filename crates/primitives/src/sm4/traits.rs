//! The block cipher traits of crate `cipher`, through which generic modes take SM4.

use super::Sm4;
use ::cipher::consts::{U16, U64};
use ::cipher::{
    AlgorithmName, Array, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt,
    BlockCipherEncBackend, BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut, InOutBuf, Key, KeyInit,
    KeySizeUser, ParBlocks, ParBlocksSizeUser,
};
use core::fmt;
use zeroize::ZeroizeOnDrop;

impl BlockSizeUser for Sm4 {
    type BlockSize = U16;
}

impl KeySizeUser for Sm4 {
    type KeySize = U16;
}

impl KeyInit for Sm4 {
    fn new(key: &Key<Self>) -> Self {
        Self::new(&(*key).into())
    }
}

impl AlgorithmName for Sm4 {
    fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sm4")
    }
}

impl ZeroizeOnDrop for Sm4 {}

/// As many blocks as the widest arm has in flight.
impl ParBlocksSizeUser for Sm4 {
    type ParBlocksSize = U64;
}

impl BlockCipherEncrypt for Sm4 {
    #[inline]
    fn encrypt_with_backend(&self, f: impl BlockCipherEncClosure<BlockSize = U16>) {
        f.call(self);
    }
}

impl BlockCipherDecrypt for Sm4 {
    #[inline]
    fn decrypt_with_backend(&self, f: impl BlockCipherDecClosure<BlockSize = U16>) {
        f.call(self);
    }
}

// In the caller's memory throughout, so that no copy of the blocks stays on the stack.
impl BlockCipherEncBackend for Sm4 {
    #[inline]
    fn encrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        Self::encrypt_block(self, block.into_out_with_copied_in().as_mut());
    }

    #[inline]
    fn encrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.encrypt_each(Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in()));
    }

    #[inline]
    fn encrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.encrypt_each(Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in()));
    }
}

impl BlockCipherDecBackend for Sm4 {
    #[inline]
    fn decrypt_block(&self, block: InOut<'_, '_, Block<Self>>) {
        Self::decrypt_block(self, block.into_out_with_copied_in().as_mut());
    }

    #[inline]
    fn decrypt_par_blocks(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
        self.decrypt_each(Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in()));
    }

    #[inline]
    fn decrypt_tail_blocks(&self, blocks: InOutBuf<'_, '_, Block<Self>>) {
        self.decrypt_each(Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in()));
    }
}
