//! What a hash may cost. Nothing beyond the constants is read at all: it is more likely a mistake in a file than a choice. A client, which computes what
//! a server asks it to, has narrower [`CostLimits`](crate::CostLimits).

use std::ops::RangeInclusive;

/// Memory of Argon2 and scrypt, in bytes: 1 GiB.
pub const MEMORY: u64 = 1 << 30;
/// Bytes that Argon2 and scrypt write in all: 16 GiB.
pub const WORK: u64 = 16 << 30;
/// bcrypt's cost, a power of two.
pub const BCRYPT: u32 = 16;
/// PBKDF2's iterations.
pub const PBKDF2: u32 = 10_000_000;
/// Bytes of a salt.
pub const SALT: usize = 64;
/// Bytes of a digest: fewer would not be worth guessing the password for, more are not in use.
pub const DIGEST: RangeInclusive<usize> = 16..=128;
