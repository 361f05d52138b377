//! Diffie-Hellman secrets do not stay on the heap: an allocator looks for them in all memory that is given back.
#![allow(unsafe_code)] // an allocator

use candor_opaque::oprf::Key;
use candor_opaque::{
    Client, CredentialId, KsfParams, Limits, NoStretching, Parties, Password, Record, Rfc9807, Server, SuiteId,
};
use candor_test_support::back_ends::Script;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::scalar::Scalar;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Secrets to look for, each as four words; those that are zero are not looked for.
static SECRETS: [[AtomicU64; 4]; 3] = [const { [const { AtomicU64::new(0) }; 4] }; 3];
static LOOKING: AtomicBool = AtomicBool::new(false);
static FOUND: AtomicUsize = AtomicUsize::new(0);

struct Watching;

impl Watching {
    /// Counts the blocks in which a secret stands.
    ///
    /// # Safety
    /// `block` is an allocated block of `length` bytes.
    unsafe fn look(block: *const u8, length: usize) {
        if !LOOKING.load(Ordering::Relaxed) {
            return;
        }
        for secret in &SECRETS {
            let secret = secret.each_ref().map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
            let stands = |at: usize| {
                // SAFETY: `at + index` stays below `length`; a volatile read takes whatever byte is there.
                let byte = |index: usize| unsafe { block.add(at + index).read_volatile() };
                secret.as_flattened().iter().enumerate().all(|(index, expected)| byte(index) == *expected)
            };
            if secret.as_flattened() != [0; 32] && (0..(length + 1).saturating_sub(32)).any(stands) {
                FOUND.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

// SAFETY: all calls are passed on to the system's allocator, with the arguments that they came with.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are the ones that are asked for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back a block that was allocated with this layout.
        unsafe {
            Self::look(block, layout.size());
            System.dealloc(block, layout);
        }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// How often a secret stands in memory that is given back while `work` runs.
fn left_behind(secrets: [[u8; 32]; 3], work: impl FnOnce()) -> usize {
    for (place, secret) in SECRETS.iter().zip(secrets) {
        for (place, word) in place.iter().zip(secret.as_chunks::<8>().0) {
            place.store(u64::from_ne_bytes(*word), Ordering::Relaxed);
        }
    }
    FOUND.store(0, Ordering::Relaxed);
    LOOKING.store(true, Ordering::Relaxed);
    work();
    LOOKING.store(false, Ordering::Relaxed);
    FOUND.load(Ordering::Relaxed)
}

fn product(secret: &[u8; 32], element: &[u8]) -> [u8; 32] {
    let element = CompressedRistretto::from_slice(element).unwrap().decompress().unwrap();
    (element * Scalar::from_canonical_bytes(*secret).unwrap()).compress().to_bytes()
}

#[test]
fn a_login_leaves_no_diffie_hellman_secret_on_the_heap() {
    const DERIVE: &[u8] = b"OPAQUE-DeriveDiffieHellmanKeyPair";
    let mut server_key = [0; 32];
    server_key[0] = 5;
    let server = Server::from_keys(Rfc9807, KsfParams::Identity, &[1; 64], &server_key).unwrap();
    let client = Client::new(Rfc9807).with_limits(Limits::NONE);
    let (password, parties) = (Password::from_bytes(b"password").unwrap(), Parties::default());
    let mut rng = Script::of([&[2; 64], &[3; 32]]);
    let (registration, request) = client.start_registration(&mut rng, &password).unwrap();
    let id = CredentialId::imported(b"id").unwrap();
    let answer = server.register_with_id(id.clone(), &request).unwrap();
    let done =
        registration.finish(&mut rng, &answer.response, &KsfParams::Identity, &mut NoStretching, &parties).unwrap();
    let record = Record::from_upload(&done.upload, &KsfParams::Identity, id, SuiteId::Rfc9807).unwrap();

    let (login, ke1) = client.start_login(&mut Script::of([&[4; 64], &[5; 32], &[6; 32]]), &password).unwrap();
    let server_share = Key::derive(&[9; 32], DERIVE).unwrap().to_bytes();
    let secrets = [
        product(&server_share, &ke1[64..96]),
        product(&server_key, &ke1[64..96]),
        product(&server_share, &done.upload[..32]),
    ];
    let mut done = None;
    let left = left_behind(secrets, || {
        let mut rng = Script::of([&[7; 32], &[8; 32], &[9; 32]]);
        let answer = server.respond(&mut rng, &ke1, b"name", Some(&record), &parties).unwrap();
        let client = login.finish(&answer.ke2, &answer.ksf, &mut NoStretching, &parties).unwrap();
        done = Some(answer.state.finish(&client.ke3, Some(&record)).unwrap().session_key == client.session_key);
    });
    assert_eq!((left, done), (0, Some(true)));
    // The twin: a secret that is not wiped is found.
    assert_eq!(left_behind(secrets, || drop(std::hint::black_box(secrets[1].to_vec()))), 1);
}
