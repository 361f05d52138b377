//! For tests: GCM that begins with any counter block, by RustCrypto's crates.
//!
//! A nonce of 96 bits always begins with counter 1, and no message is long enough for the counter to end. So no call from outside shows what a kernel
//! does at the end of 32 bits.

use ::aes::cipher::consts::{U12, U16};
use ::aes::cipher::{BlockCipherEncrypt, BlockSizeUser, KeyInit, KeyIvInit, KeySizeUser, StreamCipher};
use aes_gcm::AesGcm;
use aes_gcm::aead::AeadInOut;

/// A cipher by RustCrypto, with keys and blocks of 16 bytes.
pub(crate) trait Oracle:
    BlockCipherEncrypt + BlockSizeUser<BlockSize = U16> + KeyInit + KeySizeUser<KeySize = U16>
{
}

impl Oracle for ::aes::Aes128 {}
impl Oracle for ::sm4::Sm4 {}

/// The key of the checks.
pub(crate) const KEY: [u8; 16] = *b"sixteen of bytes";

/// Checks an arm with counters that wrap around after any number of blocks, in messages that are too short for that, as long, and longer. `run`
/// takes a counter block, associated data, the data, room for the tag, and whether to decrypt.
pub(crate) fn check_around_the_end<C: Oracle>(mut run: impl FnMut(&[u8; 16], &[u8], &mut [u8], &mut [u8; 16], bool)) {
    for left in 0..=150_u32 {
        let mut first = [0xff; 16]; // a carry out of the counter would show
        first[12..].copy_from_slice(&(u32::MAX - left).to_be_bytes());
        for length in [0, 16, 200, 1100, 2701] {
            let plain: Vec<u8> = (0..length).map(|n| (n * 7 + n / 251) as u8).collect();
            let aad = &plain[..plain.len().min(left as usize)];
            let (expected, expected_tag) = seal::<C>(&first, aad, &plain);
            let (mut data, mut tag) = (plain.clone(), [0; 16]);
            run(&first, aad, &mut data, &mut tag, false);
            assert!(data == expected && tag == expected_tag, "sealing {length} bytes, {left} counters before the end");
            tag = [0; 16];
            run(&first, aad, &mut data, &mut tag, true);
            assert!(data == plain && tag == expected_tag, "opening {length} bytes, {left} counters before the end");
        }
    }
}

/// Ciphertext and tag (SP 800-38D §7.1, from step 2 on).
fn seal<C: Oracle>(first: &[u8; 16], aad: &[u8], plain: &[u8]) -> (Vec<u8>, [u8; 16]) {
    let cipher = C::new(&KEY.into());
    let masked = |block: &[u8; 16]| {
        let mut mask = (*block).into();
        cipher.encrypt_block(&mut mask);
        u128::from_be_bytes(mask.into())
    };
    let mut begin = *first;
    let count = u32::from_be_bytes([first[12], first[13], first[14], first[15]]);
    begin[12..].copy_from_slice(&count.wrapping_add(1).to_be_bytes());
    let mut sealed = plain.to_vec();
    ctr::Ctr32BE::<C>::new(&KEY.into(), &begin.into()).apply_keystream(&mut sealed);

    // The hash of this ciphertext: AES-GCM gives it under a nonce of its own, if its plaintext is what that nonce decrypts the ciphertext to.
    let nonce = [7; 12];
    let gcm = AesGcm::<C, U12>::new(&KEY.into());
    let mut other = vec![0; sealed.len()];
    let _ = gcm.encrypt_inout_detached(&nonce.into(), b"", other.as_mut_slice().into()).expect("a short message");
    other.iter_mut().zip(&sealed).for_each(|(key, byte)| *key ^= byte);
    let tag = gcm.encrypt_inout_detached(&nonce.into(), aad, other.as_mut_slice().into()).expect("a short message");
    assert!(other == sealed, "the ciphertext is the one that was wanted");
    let mut mask = [0; 16];
    mask[..12].copy_from_slice(&nonce);
    mask[15] = 1;
    let hash = u128::from_be_bytes(tag.into()) ^ masked(&mask);
    (sealed, (hash ^ masked(first)).to_be_bytes())
}
