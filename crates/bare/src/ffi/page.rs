//! A login for a web page, which brings the random numbers.
#![allow(unsafe_code)]

// For the allocator and the panic handler.
extern crate std;

use crate::{PASSWORD, log_in};
use candor_opaque::Error;
use core::convert::Infallible;
use rand_core::{TryCryptoRng, TryRng};

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// 32 random bits.
    safe fn random() -> u32;
}

/// The page's generator.
struct Page;

impl TryRng for Page {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(random())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from(random()) << 32 | u64::from(random()))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        rand_core::utils::fill_bytes_via_next_word(out, || self.try_next_u32())
    }
}

impl TryCryptoRng for Page {}

/// Registers a user and logs in, with the right password or another. 1: logged in, 0: refused. Everything else traps.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn try_login(right: bool) -> u32 {
    let password = if right { PASSWORD } else { b"correct horse battery stapler" };
    match log_in(password, &mut Page) {
        Ok(()) => 1,
        Err(Error::Login) => 0,
        Err(error) => panic!("{error}"),
    }
}
