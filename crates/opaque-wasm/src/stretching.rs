//! Key stretching that tells how far it is.

use crate::place::Page;
use candor_opaque::{Argon2id, Error, Ksf, KsfParams, NoStretching};

/// Argon2id, or nothing where the client's limits allow that.
pub(crate) struct Stretching<'a, P: Page>(pub(crate) &'a P);

impl<P: Page> Ksf for Stretching<'_, P> {
    fn stretch(&mut self, params: &KsfParams, input: &[u8; 64], stretched: &mut [u8; 64]) -> Result<(), Error> {
        match params {
            KsfParams::Identity => NoStretching.stretch(params, input, stretched),
            params => Argon2id::new().stretch_reporting(params, input, stretched, &mut |done, all| {
                self.0.progress(done, all);
            }),
        }
    }
}
