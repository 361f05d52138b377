//! The block cipher traits of crate `cipher`, through which generic modes take AES-128.

#[cfg(target_arch = "x86_64")]
use super::low;
use super::{Aes128, Aes128Decrypt, Decrypt, Encrypt};
use ::aes::cipher::consts::{U8, U16};
use ::aes::cipher::{
    AlgorithmName, Block, BlockCipherDecBackend, BlockCipherDecClosure, BlockCipherDecrypt, BlockCipherEncBackend,
    BlockCipherEncClosure, BlockCipherEncrypt, BlockSizeUser, InOut, Key, KeyInit, KeySizeUser, ParBlocks,
    ParBlocksSizeUser,
};
use candor_cpu::secret;
use core::fmt;
use zeroize::ZeroizeOnDrop;

/// What both directions have, apart from the calls of the kernels.
macro_rules! block_cipher {
    (
        $cipher:ident, $keys:ident($($other:tt)*), $routine:literal, $name:literal,
        $cipher_trait:ident::$with_backend:ident, $closure:ident, $backend:ident,
        $one:ident, $parallel:ident, $library_many:ident, $kernel_many:ident
    ) => {
        impl BlockSizeUser for $cipher {
            type BlockSize = U16;
        }

        impl KeySizeUser for $cipher {
            type KeySize = U16;
        }

        impl KeyInit for $cipher {
            fn new(key: &Key<Self>) -> Self {
                Self::new(&(*key).into())
            }
        }

        impl AlgorithmName for $cipher {
            fn write_alg_name(f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($name)
            }
        }

        impl ZeroizeOnDrop for $cipher {}

        impl ParBlocksSizeUser for $cipher {
            type ParBlocksSize = U8;
        }

        impl $cipher_trait for $cipher {
            #[inline]
            fn $with_backend(&self, f: impl $closure<BlockSize = U16>) {
                f.call(self);
            }
        }

        impl $backend for $cipher {
            #[inline]
            fn $one(&self, block: InOut<'_, '_, Block<Self>>) {
                Self::$one(self, block.into_out_with_copied_in().as_mut());
            }

            #[inline]
            fn $parallel(&self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
                // In the caller's memory, so that no copy of the blocks stays on the stack.
                let many = blocks.into_out_with_copied_in();
                match &self.0 {
                    #[cfg(target_arch = "x86_64")]
                    $keys::X86(token, $($other)* schedule) => {
                        secret::ran($routine, "aes-ni");
                        let bytes = ::aes::cipher::Array::cast_slice_to_core_mut(many);
                        low::$kernel_many(*token, &schedule.0, bytes.first_chunk_mut().expect("as many as the kernel takes"));
                    }
                    $keys::Library(cipher) => {
                        secret::ran($routine, "library");
                        cipher.$library_many(many);
                    }
                }
            }
        }
    };
}

block_cipher!(
    Aes128,
    Encrypt(_,),
    "aes-128",
    "Aes128",
    BlockCipherEncrypt::encrypt_with_backend,
    BlockCipherEncClosure,
    BlockCipherEncBackend,
    encrypt_block,
    encrypt_par_blocks,
    encrypt_blocks,
    encrypt_many
);
block_cipher!(
    Aes128Decrypt,
    Decrypt(),
    "aes-128-decrypt",
    "Aes128Decrypt",
    BlockCipherDecrypt::decrypt_with_backend,
    BlockCipherDecClosure,
    BlockCipherDecBackend,
    decrypt_block,
    decrypt_par_blocks,
    decrypt_blocks,
    decrypt_many
);
