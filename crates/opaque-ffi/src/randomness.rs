//! The operating system's randomness. The library draws from a generator that can't fail, and the system's can: what was made without it is discarded.

use crate::status::Status;
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

/// Draws from the operating system, and remembers if that ever failed.
pub(crate) struct System {
    fill: fn(&mut [u8]) -> bool,
    failed: bool,
}

/// Does what needs randomness. Nothing of it is given out if there was none.
pub(crate) fn drawing<T, E: Into<Status>>(work: impl FnOnce(&mut System) -> Result<T, E>) -> Result<T, Status> {
    drawing_from(|bytes| getrandom::fill(bytes).is_ok(), work)
}

fn drawing_from<T, E: Into<Status>>(
    fill: fn(&mut [u8]) -> bool,
    work: impl FnOnce(&mut System) -> Result<T, E>,
) -> Result<T, Status> {
    let mut system = System { fill, failed: false };
    let made = work(&mut system);
    if system.failed { Err(Status::Randomness) } else { made.map_err(E::into) }
}

impl TryRng for System {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes).map(|()| u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        if !(self.fill)(out) {
            self.failed = true;
            // Not zeros: who draws until a number is not zero would never end.
            out.fill(0x5a);
        }
        Ok(())
    }
}

impl TryCryptoRng for System {}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_opaque::{Client, DefaultSuite, Error, KsfParams, Password, Server};

    #[test]
    fn what_was_made_without_randomness_is_discarded() {
        let client = Client::<DefaultSuite>::default();
        let password = Password::from_bytes(b"password").unwrap();
        let start = |rng: &mut System| client.start_login(rng, &password);
        assert_eq!(drawing_from(|_| false, start).err(), Some(Status::Randomness));
        assert!(drawing(start).is_ok());
        let generate = |rng: &mut System| Server::generate(DefaultSuite::default(), KsfParams::BROWSER, rng);
        assert_eq!(drawing_from(|_| false, generate).err(), Some(Status::Randomness));
        assert!(drawing(generate).is_ok());
    }

    #[test]
    fn another_error_is_told_as_it_is() {
        assert_eq!(drawing(|_| Err::<(), _>(Error::Login)), Err(Status::Login));
    }
}
