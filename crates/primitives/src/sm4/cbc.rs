//! Cipher block chaining (SP 800-38A §6.2, GB/T 17964) by the block mode traits of crate `cipher`.

use super::Sm4;
use crate::stack;
use ::cipher::consts::{U16, U64};
use ::cipher::{
    AlgorithmName, Array, Block, BlockModeDecBackend, BlockModeDecClosure, BlockModeDecrypt, BlockModeEncBackend,
    BlockModeEncClosure, BlockModeEncrypt, BlockSizeUser, InOut, InOutBuf, Iv, IvSizeUser, IvState, Key, KeyIvInit,
    KeySizeUser, ParBlocks, ParBlocksSizeUser, SetIvState,
};
use candor_cpu::Cpu;
use core::fmt;
use core::slice::from_mut;
use zeroize::ZeroizeOnDrop;

/// What both directions have.
macro_rules! mode {
    (
        $(#[$doc:meta])*
        $mode:ident, $name:literal, $mode_trait:ident::$with_backend:ident, $closure:ident, $backend:ident,
        $one:ident, $parallel:ident, $tail:ident, $each:ident
    ) => {
        $(#[$doc])*
        pub struct $mode {
            cipher: Sm4,
            /// The ciphertext block before the next one.
            chain: [u8; 16],
        }

        impl $mode {
            /// A key and an initialisation vector, on the best arm of [`Cpu::default`].
            // ct: sm4/key
            #[must_use]
            pub fn new(key: &[u8; 16], iv: &[u8; 16]) -> Self {
                Self::with_cpu(Cpu::default(), key, iv)
            }

            /// A key and an initialisation vector, on the best arm that `cpu` allows.
            // ct: sm4/key
            #[must_use]
            pub fn with_cpu(cpu: Cpu, key: &[u8; 16], iv: &[u8; 16]) -> Self {
                stack::clearing::<512, _>(|| Self { cipher: Sm4::with_cpu(cpu, key), chain: *iv })
            }

            /// The arm that runs, as [`Sm4::arm`] names it.
            #[must_use]
            pub fn arm(&self) -> &'static str {
                self.cipher.arm()
            }
        }

        impl Clone for $mode {
            fn clone(&self) -> Self {
                stack::clearing::<2048, _>(|| Self { cipher: self.cipher.clone(), chain: self.chain })
            }
        }

        impl KeySizeUser for $mode {
            type KeySize = U16;
        }

        impl IvSizeUser for $mode {
            type IvSize = U16;
        }

        impl BlockSizeUser for $mode {
            type BlockSize = U16;
        }

        /// As many blocks as the widest arm has in flight.
        impl ParBlocksSizeUser for $mode {
            type ParBlocksSize = U64;
        }

        impl KeyIvInit for $mode {
            fn new(key: &Key<Self>, iv: &Iv<Self>) -> Self {
                Self::new(&(*key).into(), &(*iv).into())
            }
        }

        impl IvState for $mode {
            fn iv_state(&self) -> Iv<Self> {
                self.chain.into()
            }
        }

        impl SetIvState for $mode {
            fn set_iv(&mut self, iv: &Iv<Self>) {
                self.chain = (*iv).into();
            }
        }

        impl AlgorithmName for $mode {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }

        impl fmt::Debug for $mode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($mode), "(..)"))
            }
        }

        impl ZeroizeOnDrop for $mode {}

        impl $mode_trait for $mode {
            #[inline]
            fn $with_backend(&mut self, f: impl $closure<BlockSize = U16>) {
                f.call(self);
            }
        }

        // In the caller's memory throughout, so that no copy of the blocks stays on the stack.
        impl $backend for $mode {
            #[inline]
            fn $one(&mut self, block: InOut<'_, '_, Block<Self>>) {
                let block: &mut [u8; 16] = block.into_out_with_copied_in().as_mut();
                self.cipher.0.$each(&mut self.chain, from_mut(block));
            }

            #[inline]
            fn $parallel(&mut self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
                let blocks = Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
                self.cipher.0.$each(&mut self.chain, blocks);
            }

            #[inline]
            fn $tail(&mut self, blocks: InOutBuf<'_, '_, Block<Self>>) {
                let blocks = Array::cast_slice_to_core_mut(blocks.into_out_with_copied_in());
                self.cipher.0.$each(&mut self.chain, blocks);
            }
        }
    };
}

mode!(
    /// SM4-CBC, encryption. A block waits for the one before it, so this is no faster than single blocks. The initialisation vector must be
    /// unpredictable, and CBC alone authenticates nothing: new designs want SM4-GCM. The key is wiped on drop.
    ///
    /// ```
    /// use candor_primitives::sm4::cipher::{BlockModeDecrypt, BlockModeEncrypt};
    /// use candor_primitives::sm4::{Sm4CbcDec, Sm4CbcEnc};
    ///
    /// let mut blocks = [[1; 16].into(), [2; 16].into()];
    /// Sm4CbcEnc::new(&[7; 16], &[9; 16]).encrypt_blocks(&mut blocks);
    /// Sm4CbcDec::new(&[7; 16], &[9; 16]).decrypt_blocks(&mut blocks);
    /// assert_eq!(blocks, [[1; 16], [2; 16]]);
    /// ```
    Sm4CbcEnc,
    "cbc::Encryptor<Sm4>",
    BlockModeEncrypt::encrypt_with_backend,
    BlockModeEncClosure,
    BlockModeEncBackend,
    encrypt_block,
    encrypt_par_blocks,
    encrypt_tail_blocks,
    cbc_encrypt
);
mode!(
    /// SM4-CBC, decryption, many blocks at once. Check the padding only after an authenticator. The key is wiped on drop.
    Sm4CbcDec,
    "cbc::Decryptor<Sm4>",
    BlockModeDecrypt::decrypt_with_backend,
    BlockModeDecClosure,
    BlockModeDecBackend,
    decrypt_block,
    decrypt_par_blocks,
    decrypt_tail_blocks,
    cbc_decrypt
);
