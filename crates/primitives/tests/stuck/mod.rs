//! A generator that is broken.

/// A generator that gives one byte for ever.
pub(crate) struct Stuck(pub(crate) u8);

impl rand_core::TryRng for Stuck {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("the crate asks for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        out.fill(self.0);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Stuck {}
