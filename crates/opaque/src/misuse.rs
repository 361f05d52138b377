//! What does not compile. Each pair is the same program twice, right and wrong in one place, so that the wrong one fails for that.
//!
//! A client's state is used once:
//!
//! ```
//! # use candor_opaque::*;
//! fn finish<S: Suite>(login: ClientLogin<S>, ke2: &[u8], params: &KsfParams, parties: &Parties<'_>) {
//!     let _ = login.finish(ke2, params, &mut NoStretching, parties);
//! }
//! ```
//! ```compile_fail,E0382
//! # use candor_opaque::*;
//! fn finish<S: Suite>(login: ClientLogin<S>, ke2: &[u8], params: &KsfParams, parties: &Parties<'_>) {
//!     let _ = login.finish(ke2, params, &mut NoStretching, parties);
//!     let _ = login.finish(ke2, params, &mut NoStretching, parties);
//! }
//! ```
//!
//! So is a server's:
//!
//! ```
//! # use candor_opaque::*;
//! fn finish<S: Suite>(state: ServerLogin<S>, ke3: &[u8]) {
//!     let _ = state.finish(ke3);
//! }
//! ```
//! ```compile_fail,E0382
//! # use candor_opaque::*;
//! fn finish<S: Suite>(state: ServerLogin<S>, ke3: &[u8]) {
//!     let _ = state.finish(ke3);
//!     let _ = state.finish(ke3);
//! }
//! ```
//!
//! And a registration's:
//!
//! ```
//! # use candor_opaque::*;
//! fn finish(state: ClientRegistration, rng: &mut impl rand_core::CryptoRng, response: &[u8], parties: &Parties<'_>) {
//!     let _ = state.finish(rng, response, &KsfParams::Identity, &mut NoStretching, parties);
//! }
//! ```
//! ```compile_fail,E0382
//! # use candor_opaque::*;
//! fn finish(state: ClientRegistration, rng: &mut impl rand_core::CryptoRng, response: &[u8], parties: &Parties<'_>) {
//!     let _ = state.finish(rng, response, &KsfParams::Identity, &mut NoStretching, parties);
//!     let _ = state.finish(rng, response, &KsfParams::Identity, &mut NoStretching, parties);
//! }
//! ```
//!
//! States are not copied:
//!
//! ```
//! # use candor_opaque::*;
//! fn twice(record: &Record) -> Record {
//!     record.clone()
//! }
//! ```
//! ```compile_fail,E0599
//! # use candor_opaque::*;
//! fn twice(state: &ServerLogin<Rfc9807>) -> ServerLogin<Rfc9807> {
//!     ServerLogin::<Rfc9807>::clone(state)
//! }
//! ```
//!
//! There is no session key before the messages that lead to it; a state of one suite is none of another; and a pinned client can't be
//! made without the key:
//!
//! ```
//! # use candor_opaque::*;
//! fn expect(_: Answer<Rfc9807>) {}
//! fn answer(answer: Answer<Rfc9807>) {
//!     expect(answer)
//! }
//! ```
//! ```compile_fail,E0308
//! # use candor_opaque::*;
//! fn expect(_: Answer<DefaultSuite>) {}
//! fn answer(answer: Answer<Rfc9807>) {
//!     expect(answer)
//! }
//! ```
//! ```
//! # use candor_opaque::*;
//! # use candor_primitives::kem::aws_lc::MlKem768;
//! let client = Client::new(Hybrid::<MlKem768>::default());
//! ```
//! ```compile_fail,E0271
//! # use candor_opaque::*;
//! # use candor_primitives::kem::aws_lc::MlKem768;
//! let client = Client::new(HybridPinned::<MlKem768>::default());
//! ```
//!
//! Suites are those of this crate:
//!
//! ```compile_fail,E0277
//! # use candor_opaque::{Suite, suite::NoKem};
//! #[derive(Clone)]
//! struct Mine;
//! impl Suite for Mine {
//!     type Ephemeral = NoKem;
//!     type Static = NoKem;
//!     const NAME: &'static str = "mine";
//!     const ID: u8 = 9;
//!     const ENCRYPTED: bool = false;
//!     fn ephemeral(&self) -> &NoKem { &NoKem }
//!     fn fixed(&self) -> &NoKem { &NoKem }
//! }
//! ```
