//! Logins by OPAQUE without std and without an operating system's randomness: what a small device does, or a web page.
//!
//! The tests run in the gate. On wasm32 the crate is a module for `run.mjs` beside it (`cargo xtask wasm`).
#![no_std]

extern crate alloc;

#[cfg(target_family = "wasm")]
mod ffi;

use candor_opaque::{Argon2id, Client, Error, Hybrid, KsfParams, Limits, Parties, Password, Server};
use candor_primitives::kem::rustcrypto::MlKem768;
use rand_core::CryptoRng;

/// The password that [`log_in`] registers.
pub const PASSWORD: &[u8] = b"correct horse battery staple";

/// Registers [`PASSWORD`] with the hybrid suite and logs in with `tried`. The message of each side reaches the other as bytes.
///
/// # Errors
/// [`Error::Login`] for another password.
///
/// # Panics
/// When the login succeeds and the keys of both sides differ.
pub fn log_in(tried: &[u8], rng: &mut impl CryptoRng) -> Result<(), Error> {
    let parties = Parties::new(b"candor-bare");
    let mut argon2id = Argon2id::new();
    // Weak and quick: the strength of the stretching is not what is tried here.
    let stretching = KsfParams::argon2id(64, 1, 1)?;
    let client = Client::<Hybrid<MlKem768>>::default().with_limits(Limits::NONE);
    let server = Server::generate(Hybrid::new(MlKem768), stretching, rng)?;

    let (registration, request) = client.start_registration(rng, &Password::from_bytes(PASSWORD)?)?;
    let answer = server.register(rng, &request)?;
    let registered = registration.finish(rng, &answer.response, &answer.ksf, &mut argon2id, &parties)?;
    let record = answer.state.finish(&registered.upload)?.into_record();

    let (login, ke1) = client.start_login(rng, &Password::from_bytes(tried)?)?;
    let answer = server.respond(rng, &ke1, b"alice", Some(&record), &parties)?;
    let done = login.finish(&answer.ke2, &answer.ksf, &mut argon2id, &parties)?;
    let session = answer.state.finish(&done.ke3, Some(&record))?;
    assert!(session.session_key == done.session_key, "the session keys differ");
    assert!(registered.export_key == done.export_key, "the export keys differ");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::convert::Infallible;
    use rand_core::{TryCryptoRng, TryRng};

    /// Counts; as random as a device's generator that was never seeded, and with no operating system behind it.
    struct Counter(u64);

    impl TryRng for Counter {
        type Error = Infallible;

        fn try_next_u32(&mut self) -> Result<u32, Infallible> {
            self.try_next_u64().map(|word| word as u32)
        }

        fn try_next_u64(&mut self) -> Result<u64, Infallible> {
            self.0 += 1;
            Ok(self.0)
        }

        fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
            rand_core::utils::fill_bytes_via_next_word(out, || self.try_next_u64())
        }
    }

    impl TryCryptoRng for Counter {}

    #[test]
    fn the_right_password_logs_in_without_std() {
        let mut rng = Counter(0);
        assert_eq!(log_in(PASSWORD, &mut rng), Ok(()));
        assert!(rng.0 > 0, "the keys come from another generator than the caller's");
    }

    #[test]
    fn another_password_is_refused_without_std() {
        assert_eq!(log_in(b"correct horse battery stapler", &mut Counter(0)), Err(Error::Login));
    }
}
