//! What does not compile. Each pair is one program twice, the second with one mistake, which is then the reason why it fails.
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
//! A server's too:
//!
//! ```
//! # use candor_opaque::*;
//! fn finish<S: Suite>(state: ServerLogin<S>, ke3: &[u8], record: &Record) {
//!     let _ = state.finish(ke3, Some(record));
//! }
//! ```
//! ```compile_fail,E0382
//! # use candor_opaque::*;
//! fn finish<S: Suite>(state: ServerLogin<S>, ke3: &[u8], record: &Record) {
//!     let _ = state.finish(ke3, Some(record));
//!     let _ = state.finish(ke3, Some(record));
//! }
//! ```
//!
//! And that of a registration:
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
//! An account registers again only from a session, and only a login makes one:
//!
//! ```
//! # use candor_opaque::*;
//! fn again<S: Suite>(server: &Server<S>, session: &Session, rng: &mut impl rand_core::CryptoRng, request: &[u8]) {
//!     let _ = server.register_again(rng, session, request);
//! }
//! ```
//! ```compile_fail,E0308
//! # use candor_opaque::*;
//! fn again<S: Suite>(server: &Server<S>, record: &Record, rng: &mut impl rand_core::CryptoRng, request: &[u8]) {
//!     let _ = server.register_again(rng, record, request);
//! }
//! ```
//! ```compile_fail,E0451
//! # use candor_opaque::*;
//! fn forged(session_key: SessionKey, record: &Record) -> Session {
//!     Session { session_key, credential: record.credential_hash(), minimum: record.minimum() }
//! }
//! ```
//!
//! Key stretching parameters can't be made without being checked:
//!
//! ```
//! # use candor_opaque::*;
//! let params: Result<KsfParams, Error> = KsfParams::argon2id(64, 1, 1);
//! ```
//! ```compile_fail,E0639
//! # use candor_opaque::*;
//! let params = KsfParams::Argon2id { memory_kib: 64, iterations: 1, parallelism: 1 };
//! ```
//!
//! Only a client of the suite with a static KEM key pins one, and it can't be made without:
//!
//! ```
//! # use candor_opaque::*;
//! # use candor_primitives::kem::libcrux::MlKem768;
//! let client = Client::pinned(HybridPinned::<MlKem768>::default(), &[0; 1184]);
//! ```
//! ```compile_fail,E0308
//! # use candor_opaque::*;
//! # use candor_primitives::kem::libcrux::MlKem768;
//! let client = Client::pinned(Hybrid::<MlKem768>::default(), &[0; 1184]);
//! ```
//!
//! There is no session key before the messages that lead to it, and a state of one suite does not fit another:
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
//! # use candor_primitives::kem::libcrux::MlKem768;
//! let client = Client::new(Hybrid::<MlKem768>::default());
//! ```
//! ```compile_fail,E0271
//! # use candor_opaque::*;
//! # use candor_primitives::kem::libcrux::MlKem768;
//! let client = Client::new(HybridPinned::<MlKem768>::default());
//! ```
//!
//! Only this crate has suites:
//!
//! ```compile_fail,E0277
//! # use candor_opaque::{Suite, SuiteId, suite::NoKem};
//! #[derive(Clone)]
//! struct Mine;
//! impl Suite for Mine {
//!     type Ephemeral = NoKem;
//!     type Static = NoKem;
//!     const NAME: &'static str = "mine";
//!     const ID: SuiteId = SuiteId::Hybrid;
//!     const ENCRYPTED: bool = false;
//!     fn ephemeral(&self) -> &NoKem { &NoKem }
//!     fn fixed(&self) -> &NoKem { &NoKem }
//! }
//! ```
