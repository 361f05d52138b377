//! Authenticated encryption with associated data: sealing, opening, and the set-up of a key.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use sha2::{Digest, Sha256};
use std::hint::black_box;

// The type, the name in a task, the standard's name, bytes of key and nonce, and the standard.
algorithms! {
    /// An AEAD with tags of 16 bytes.
    Algorithm,
    /// Bytes of a key.
    key: usize,
    /// Bytes of a nonce.
    nonce: usize;
    Aes128Gcm, "aes-128-gcm", "AES-128-GCM", 16, 12, "SP 800-38D";
    Aes256Gcm, "aes-256-gcm", "AES-256-GCM", 32, 12, "SP 800-38D";
    Sm4Gcm, "sm4-gcm", "SM4-GCM", 16, 12, "RFC 8998";
    Sm4Ccm, "sm4-ccm", "SM4-CCM", 16, 12, "RFC 8998";
    ChaCha20Poly1305, "chacha20-poly1305", "ChaCha20-Poly1305", 32, 12, "RFC 8439";
    XChaCha20Poly1305, "xchacha20-poly1305", "XChaCha20-Poly1305", 32, 24, "draft-irtf-cfrg-xchacha-03";
}

/// What is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Encryption under a key that is set.
    Seal,
    /// Decryption of an intact message.
    Open,
    /// The set-up of a key.
    New,
}

impl Op {
    /// As tasks are named.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::Open => "open",
            Self::New => "new",
        }
    }

    /// What the timed call does, in a sentence without its full stop.
    #[must_use]
    pub fn timed(self) -> &'static str {
        match self {
            Self::Seal => {
                "encrypts a message in place and writes its tag, with 13 bytes of associated data, under a key that was set before"
            }
            Self::Open => {
                "decrypts an intact message in place and checks its tag, with 13 bytes of associated data, under a key that was set before"
            }
            Self::New => "sets a key, with all that later messages need of it",
        }
    }
}

/// Bytes of a tag.
pub const TAG: usize = 16;

/// Bytes of associated data: those of a record of TLS 1.2.
const AAD: usize = 13;

/// An AEAD by one library.
pub trait Aead: 'static {
    /// Takes a key.
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal>;

    /// Encrypts `data` but its last [`TAG`] bytes in place, and writes the tag there. `data` is no shorter.
    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]);

    /// Decrypts in place what [`seal`](Self::seal) made, or says that the tag is wrong. The bytes of the tag may change.
    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool;

    /// Where the library comes from and how it was built, and what its call of the operation does.
    fn provenance(&self, op: Op) -> Provenance;
}

/// The entry of a library for messages of `bytes`. `make` opens the library, or says why it can't be had.
pub fn entry<A: Aead>(
    subject: impl Into<String>,
    algorithm: Algorithm,
    op: Op,
    bytes: usize,
    make: impl Fn() -> Result<A, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || {
        Ok(Message {
            aead: make()?,
            algorithm,
            op,
            key: vec![0; algorithm.key()],
            nonce: vec![0; algorithm.nonce()],
            aad: [0; AAD],
            data: vec![0; bytes + TAG],
            tags: [[0; TAG]; 2],
            next: 0,
            witness: Witness::default(),
        })
    })
}

/// A message, and what is needed to seal and open it again and again in place.
struct Message<A> {
    aead: A,
    algorithm: Algorithm,
    op: Op,
    key: Vec<u8>,
    nonce: Vec<u8>,
    aad: [u8; AAD],
    /// The message and room for its tag.
    data: Vec<u8>,
    /// Opening adds the key stream, as sealing does, so opening what was opened restores it. Both are ciphertexts, with these tags; `next` is
    /// the one whose turn it is.
    tags: [[u8; TAG]; 2],
    next: usize,
    witness: Witness,
}

impl<A: Aead> Message<A> {
    fn tag(&self) -> [u8; TAG] {
        *self.data.last_chunk().expect("the data has room for a tag")
    }

    fn set_tag(&mut self, tag: [u8; TAG]) {
        *self.data.last_chunk_mut().expect("the data has room for a tag") = tag;
    }

    fn seal(&mut self) {
        self.aead.seal(&self.nonce, &self.aad, &mut self.data);
    }

    fn open(&mut self) -> bool {
        self.set_tag(self.tags[self.next]);
        self.next ^= 1;
        self.aead.open(&self.nonce, &self.aad, &mut self.data)
    }
}

impl<A: Aead> Subject for Message<A> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let mut stream = Stream::new(seed, self.algorithm.name());
        stream.fill(&mut self.key);
        stream.fill(&mut self.nonce);
        stream.fill(&mut self.aad);
        stream.fill(&mut self.data);
        self.aead.set_key(&self.key)?;
        let end = self.data.len() - TAG;
        let plain = self.data[..end].to_vec();

        self.seal();
        let (sealed, first) = (self.data.clone(), self.tag());
        // The plaintext again, as the ciphertext of the ciphertext.
        self.seal();
        self.tags = [first, self.tag()];
        self.next = 0;
        if self.data[..end] != plain {
            return Err(Refusal::failed("sealing a ciphertext does not give the plaintext"));
        }
        self.data.copy_from_slice(&sealed);
        let opened = self.open() && self.data[..end] == plain;
        if !opened {
            return Err(Refusal::failed("does not open what it sealed"));
        }
        // One bit of the tag, and the message.
        self.data.copy_from_slice(&sealed);
        self.tags[0][0] ^= 1;
        self.next = 0;
        let fooled = self.open();
        self.tags[0][0] ^= 1;
        if fooled {
            return Err(Refusal::failed("opens a message with a wrong tag"));
        }
        self.data.copy_from_slice(&sealed);
        self.next = 0;

        let mut answer = Sha256::digest(&sealed[..end]).to_vec();
        answer.extend(first);
        self.witness = Witness::bytes(answer);
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            match self.op {
                Op::Seal => self.seal(),
                Op::Open => assert!(self.open(), "the message was opened before"),
                Op::New => {
                    self.aead.set_key(black_box(&self.key)).expect("the key was taken before");
                }
            }
            black_box(&mut self.data);
        }
    }

    fn provenance(&self) -> Provenance {
        self.aead.provenance(self.op)
    }
}
