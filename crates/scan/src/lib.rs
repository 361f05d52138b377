//! Reads the kernels of a release binary, instruction by instruction: the answer for instructions that no emulator runs.
//!
//! [`kernels`] finds the functions and says which arm each belongs to, [`flow`] follows the data through one function, [`frames`] compares what each uses of the stack with what is cleared behind it, and
//! [`twins`] compares the kernels of two binaries, and [`digest`] those of one with what somebody wrote down. `cargo xtask ct` runs the program; SOUNDNESS.md says what it proves and what it doesn't.

pub mod binary;
pub mod digest;
pub mod flow;
pub mod frames;
pub mod kernels;
mod lanes;
mod state;
pub mod twins;
