//! The relay's two agreements, which need the client's key X and nothing else: EXP(X, b) with its onion key, and EXP(X, y) with a key pair
//! made for this onionskin. They are computed at the same moment, so that a back end with vector lanes does both in one pass.

use alloc::vec::Vec;
use candor_primitives::SharedSecret;
use candor_primitives::dh::{DhError, DiffieHellman};

/// What a relay has agreed on with the sender of an onionskin.
#[derive(Clone)]
pub(super) struct Exchange {
    /// Y.
    pub(super) y_public: [u8; 32],
    /// EXP(X, b).
    pub(super) xb: SharedSecret,
    /// EXP(X, y).
    pub(super) xy: SharedSecret,
}

/// Answers X with the onion key b.
pub(super) fn exchange<D: DiffieHellman>(dh: &D, b: &D::Secret, x_public: &[u8; 32]) -> Result<Exchange, DhError> {
    let (y, y_public) = dh.generate()?;
    let [xb, xy] = dh.agree_pair([(b, x_public), (&y, x_public)]);
    Ok(Exchange { y_public, xb: xb?, xy: xy? })
}

/// [`exchange`] of each pair of an onion key and X, in one pass. An X of small order does not concern the others.
pub(super) fn exchange_many<D: DiffieHellman>(
    dh: &D,
    asked: &[(&D::Secret, &[u8; 32])],
) -> Vec<Result<Exchange, DhError>> {
    let made = match dh.generate_many(asked.len()) {
        Ok(made) => made,
        Err(error) => return asked.iter().map(|_| Err(error)).collect(),
    };
    let fresh = made.iter().zip(asked).map(|((y, _), (_, x_public))| (y, *x_public));
    let shared = dh.agree_many(&asked.iter().copied().chain(fresh).collect::<Vec<_>>());
    // Copied, not moved: what is moved out of a list stays in its memory, and what stays in the list wipes itself.
    let both = shared[..asked.len()].iter().zip(&shared[asked.len()..]).zip(&made);
    let mut exchanges = Vec::with_capacity(asked.len());
    exchanges.extend(
        both.map(|((xb, xy), (_, y_public))| Ok(Exchange { y_public: *y_public, xb: xb.clone()?, xy: xy.clone()? })),
    );
    exchanges
}
