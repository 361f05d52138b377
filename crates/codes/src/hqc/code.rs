//! The concatenated code: each symbol of a Reed–Solomon codeword becomes a Reed–Muller codeword, several times.

use super::arm_mux::Arm;
use super::parameters::{MOST_SYMBOLS, Parameters};
use super::symbols_mux::Symbols;
use crate::kernels::reed_muller;
use candor_cpu::secret;
use candor_primitives::stack;
use zeroize::Zeroizing;

/// The code of an HQC parameter set, on one arm.
///
/// ```
/// use candor_codes::hqc::Hqc1;
///
/// let code = Hqc1::new().code();
/// let message = [7; 16];
/// let mut word = vec![0; code.words()];
/// code.encode(&message, &mut word);
/// word[..20].fill(u64::MAX); // three symbols of 46, and a part of the fourth
/// let mut decoded = [0; 16];
/// code.decode(&word, &mut decoded);
/// assert_eq!(decoded, message);
/// ```
#[derive(Clone, Copy)]
pub struct Code {
    pub(super) parameters: &'static Parameters,
    pub(super) arm: Arm,
    pub(super) symbols: Symbols,
}

/// Bytes of stack that encoding and decoding use.
const FRAMES: usize = 12 << 10;

impl Code {
    /// Bytes of a message.
    #[must_use]
    pub fn message_bytes(&self) -> usize {
        self.parameters.message
    }

    /// Words of a codeword.
    #[must_use]
    pub fn words(&self) -> usize {
        self.parameters.code_words()
    }

    /// Writes the codeword of `message` into `word`.
    ///
    /// # Panics
    /// If `message` is not [`message_bytes`](Self::message_bytes) long, or `word` not [`words`](Self::words).
    pub fn encode(&self, message: &[u8], word: &mut [u64]) {
        secret::takes("hqc/code/encode", message);
        stack::clearing::<FRAMES, _>(|| self.encode_message(message, word));
    }

    /// Writes the message whose codeword is near to `word` into `message`. A word with too many errors gives some other message.
    ///
    /// # Panics
    /// If `word` is not [`words`](Self::words) long, or `message` not [`message_bytes`](Self::message_bytes).
    pub fn decode(&self, word: &[u64], message: &mut [u8]) {
        secret::takes("hqc/code/decode", word);
        stack::clearing::<FRAMES, _>(|| self.decode_message(word, message, &mut || ()));
    }

    /// [`encode`](Self::encode), where the caller clears the stack.
    pub(super) fn encode_message(&self, message: &[u8], word: &mut [u64]) {
        assert!(word.len() == self.words(), "a codeword has {} words", self.words());
        let mut room = Zeroizing::new([0; MOST_SYMBOLS]);
        let symbols = &mut room[..self.parameters.symbols];
        self.arm.reed_solomon_encode(self.parameters.set, message, symbols);
        for (symbol, copies) in symbols.iter().zip(word.chunks_exact_mut(2 * self.parameters.copies)) {
            let codeword = reed_muller::encode(*symbol);
            copies.as_chunks_mut::<2>().0.fill(codeword);
        }
    }

    /// [`decode`](Self::decode), where the caller clears the stack. `step` is called after each of the two codes.
    pub(super) fn decode_message(&self, word: &[u64], message: &mut [u8], step: &mut impl FnMut()) {
        assert!(word.len() == self.words(), "a codeword has {} words", self.words());
        let mut room = Zeroizing::new([0; MOST_SYMBOLS]);
        let symbols = &mut room[..self.parameters.symbols];
        self.arm.reed_muller_decode(self.parameters.set, word, symbols);
        step();
        self.symbols.correct(self.arm, self.parameters.set, symbols);
        message.copy_from_slice(&symbols[self.parameters.symbols - self.parameters.message..]);
        step();
    }
}

impl core::fmt::Debug for Code {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Code({:?}, {})", self.parameters.set, self.arm.name())
    }
}
