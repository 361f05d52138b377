//! AES-128 and SM4 by themselves: blocks, counter mode, cipher block chaining and CMAC, each tier against RustCrypto's crates, and AWS-LC where it
//! has the same.

use aes::cipher::{
    Array, BlockCipherDecrypt, BlockCipherEncrypt, BlockModeDecrypt, BlockModeEncrypt, KeyInit, KeyIvInit,
    StreamCipher, StreamCipherSeek,
};
use aws_lc_rs::cipher as aws;
use aws_lc_rs::iv::FixedLength;
use candor_cpu::Cpu;
use candor_primitives::aes::{Aes128, Aes128Ctr, Aes128Decrypt};
use candor_primitives::hash::digest::common::InnerInit;
use candor_primitives::mac::{CmacAes128, CmacAes256, CmacSm4, Mac};
use candor_primitives::sm4::{Sm4, Sm4CbcDec, Sm4CbcEnc, Sm4Ctr};

type Blocks = Vec<aes::Block>;

/// On every tier a message gives the same as others make of it: as blocks, encrypted and decrypted, in counter mode from some position on, as a chain,
/// and as a tag. Data: the bits of the first counter block that are near their end (none, 32, 64, 128), how many blocks before it, the position in the
/// key stream (two bytes), the length of pieces, 32 bytes of key, 16 of counter block, the message.
pub fn cipher_messages(data: &[u8]) {
    let Some(([width, before, from @ .., piece], rest)) = data.split_first_chunk::<5>() else { return };
    let Some((key, rest)) = rest.split_first_chunk::<32>() else { return };
    let Some((first, message)) = rest.split_first_chunk::<16>() else { return };
    let counts = match width % 4 {
        0 => 0,
        1 => u128::MAX >> 96,
        2 => u128::MAX >> 64,
        _ => u128::MAX,
    };
    let near_the_end = u128::MAX - u128::from(*before);
    let first = (u128::from_be_bytes(*first) & !counts | near_the_end & counts).to_be_bytes();
    let short = key.first_chunk().expect("32 bytes have a first 16");
    let (from, piece) = (u16::from_le_bytes(*from).into(), usize::from(*piece) + 1);
    Message { long: key, short, first: &first, from, piece, message }.check();
}

struct Message<'a> {
    long: &'a [u8; 32],
    short: &'a [u8; 16],
    /// Counter block or initialisation vector.
    first: &'a [u8; 16],
    /// Position in the key stream.
    from: usize,
    /// Bytes of a piece.
    piece: usize,
    message: &'a [u8],
}

impl Message<'_> {
    fn check(&self) {
        let (key, iv) = (&(*self.short).into(), &(*self.first).into());
        let blocks: Blocks = self.message.as_chunks::<16>().0.iter().map(|block| (*block).into()).collect();
        let (mut aes, mut sm4, mut chain) = (blocks.clone(), blocks.clone(), blocks.clone());
        aes::Aes128::new(key).encrypt_blocks(&mut aes);
        sm4::Sm4::new(key).encrypt_blocks(&mut sm4);
        cbc::Encryptor::<sm4::Sm4>::new(key, iv).encrypt_blocks(&mut chain);
        let aes_stream = self.stream(ctr::Ctr32BE::<aes::Aes128>::new(key, iv), self.message.len().max(1));
        let sm4_stream = self.stream(ctr::Ctr128BE::<sm4::Sm4>::new(key, iv), self.message.len().max(1));
        self.check_with_aws_lc(&aes, &aes_stream);
        let sm4_tag = cmac::Cmac::<sm4::Sm4>::new(key).chain_update(self.message).finalize().into_bytes();

        for tier in Cpu::tiers() {
            let Ok(cpu) = Cpu::named(tier.name) else { continue };
            let tier = tier.name;
            let mut found = blocks.clone();
            Aes128::with_cpu(cpu, self.short).encrypt_blocks(&mut found);
            assert!(found == aes, "AES-128 at {tier} encrypts otherwise");
            Aes128Decrypt::with_cpu(cpu, self.short).decrypt_blocks(&mut found);
            assert!(found == blocks, "AES-128 at {tier} decrypts otherwise");
            let cipher = Sm4::with_cpu(cpu, self.short);
            cipher.encrypt_blocks(&mut found);
            assert!(found == sm4, "SM4 at {tier} encrypts otherwise");
            cipher.decrypt_blocks(&mut found);
            assert!(found == blocks, "SM4 at {tier} decrypts otherwise");

            let stream = self.stream(Aes128Ctr::with_cpu(cpu, self.short, self.first), self.piece);
            assert!(stream == aes_stream, "AES-128 at {tier} has another key stream");
            let stream = self.stream(Sm4Ctr::with_cpu(cpu, self.short, self.first), self.piece);
            assert!(stream == sm4_stream, "SM4 at {tier} has another key stream");

            let (mut encrypts, mut decrypts) =
                (Sm4CbcEnc::with_cpu(cpu, self.short, self.first), Sm4CbcDec::with_cpu(cpu, self.short, self.first));
            for piece in found.chunks_mut(self.piece) {
                encrypts.encrypt_blocks(piece);
            }
            assert!(found == chain, "SM4-CBC at {tier} encrypts otherwise");
            for piece in found.chunks_mut(self.piece) {
                decrypts.decrypt_blocks(piece);
            }
            assert!(found == blocks, "SM4-CBC at {tier} decrypts otherwise");

            let tag = self.tag(CmacSm4::inner_init(cipher));
            assert!(tag == sm4_tag[..], "CMAC with SM4 at {tier} has another tag");
            let tag = self.tag(CmacAes128::inner_init(Aes128::with_cpu(cpu, self.short)));
            assert!(
                tag == self.by_aws_lc(aws_lc_rs::cmac::AES_128, self.short),
                "CMAC with AES-128 at {tier} has another tag"
            );
        }
        let tag = self.tag(CmacAes256::new(&(*self.long).into()));
        assert!(tag == self.by_aws_lc(aws_lc_rs::cmac::AES_256, self.long), "CMAC with AES-256 has another tag");
    }

    /// The message under the key stream from a position on, taken in pieces.
    fn stream(&self, mut cipher: impl StreamCipher + StreamCipherSeek, piece: usize) -> Vec<u8> {
        let mut data = self.message.to_vec();
        cipher.seek(self.from);
        data.chunks_mut(piece).for_each(|piece| cipher.apply_keystream(piece));
        data
    }

    /// AES-128 by AWS-LC: blocks, and counter mode as far as it goes. There the whole counter block counts, here its last 32 bits, and no message
    /// begins at a position.
    fn check_with_aws_lc(&self, blocks: &[aes::Block], stream: &[u8]) {
        let key = || aws::UnboundCipherKey::new(&aws::AES_128, self.short).expect("16 bytes are a key");
        let mut data = self.message[..16 * blocks.len()].to_vec();
        let done = aws::EncryptingKey::ecb(key()).and_then(|key| key.encrypt(&mut data));
        assert!(done.is_ok() && data == Array::cast_slice_to_core(blocks).as_flattened(), "AWS-LC has other blocks");

        let counter = u128::from_be_bytes(*self.first);
        let last = u64::from(counter as u32) + (self.from + self.message.len()) as u64 / 16;
        if last > u32::MAX.into() {
            return;
        }
        let mut data = [vec![0; self.from], self.message.to_vec()].concat();
        let context = aws::EncryptionContext::Iv128(FixedLength::from(*self.first));
        let done = aws::EncryptingKey::ctr(key()).and_then(|key| key.less_safe_encrypt(&mut data, context));
        assert!(done.is_ok() && data[self.from..] == *stream, "AWS-LC has another key stream");
    }

    fn by_aws_lc(&self, algorithm: aws_lc_rs::cmac::Algorithm, key: &[u8]) -> Vec<u8> {
        let key = aws_lc_rs::cmac::Key::new(algorithm, key).expect("a key of its length");
        aws_lc_rs::cmac::sign(&key, self.message).expect("a tag").as_ref().to_vec()
    }

    /// The message's tag, which takes it in pieces.
    fn tag(&self, mut mac: impl Mac) -> Vec<u8> {
        self.message.chunks(self.piece).for_each(|piece| mac.update(piece));
        mac.finalize().into_bytes().to_vec()
    }
}
