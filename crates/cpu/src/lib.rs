//! What this CPU can do, as proof; and the few tools that keep secrets out of branches.
//!
//! - [`Cpu`]: a small `Copy` value that says which accelerated arms may run. Objects store one when they are made:
//!   `new()` takes [`Cpu::default`], `with_cpu(cpu, …)` the one given, so two tiers of one routine can run in one process.
//! - [`Have…`](HaveAvx2) tokens: a value is proof that the check has happened. An accelerated routine takes its token as an
//!   argument, and that is what makes calling it sound.
//! - [`barrier`]: hides a mask from the optimiser, which would otherwise turn mask arithmetic into branches.
//! - [`secret`]: marks bytes as secret and as public for `cargo xtask ct`; nothing at all in a normal build.
//!
//! ```
//! use candor_cpu::{Cpu, HaveAvx2};
//! let best = Cpu::host();
//! if let Some(token) = HaveAvx2::check(best) {
//!     // sound_because_it_takes_the(token)
//!     let _ = token;
//! }
//! assert!(HaveAvx2::check(Cpu::portable()).is_none());
//! ```
#![cfg_attr(not(any(feature = "std", test)), no_std)]

mod tier;
mod token;

pub mod barrier;
pub mod secret;

pub use tier::{Cpu, TIERS, Tier, TierError};
pub use token::*;
