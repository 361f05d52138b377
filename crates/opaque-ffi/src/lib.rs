//! OPAQUE for C, and for whatever speaks C. `include/candor_opaque.h` is the interface, README.md shows how to use it.
//!
//! Handles are numbers, and `candor-c-abi` says why. It has the table, the turning of pointers into slices, and the wall that no panic crosses.
//!
//! | module | what |
//! |---|---|
//! | `ffi` | the functions of the header: pointers become slices, and then [`client`] or [`server`] does the work |
//! | [`client`], [`server`] | a step each: from handles and bytes to a new object |
//! | [`object`] | what a handle stands for, and the bytes that it can be asked for |
//! | [`suites`] | clients and servers of any suite behind one type |
//! | `randomness` | the operating system's, whose failure is a status and no panic |
//! | [`status`] | what functions return |

pub mod client;
mod ffi;
pub mod object;
mod randomness;
pub mod server;
pub mod status;
pub mod suites;

pub use candor_c_abi::handles::Handle;
pub use ffi::*;
