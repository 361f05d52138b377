//! What candor's libraries for C share.
//!
//! # Why handles are numbers
//!
//! An object is an entry of a table, and its handle is a number: the entry's place, and how often that place has been used before. A handle that was
//! freed, was never made, or was freed twice finds nothing, and the call answers with a status; a pointer would have to be trusted. The price is a lock
//! that is held while the table is read, and not while the object works. An object that one thread frees while another uses it lives until that use
//! ends. Each object knows what it is, so that a handle of one kind given as that of another is noticed; and each table has a tag, so that the handle of another
//! library is.
//!
//! # What the caller still has to get right
//!
//! Pointers and lengths: C has no way to check that a buffer is as long as it is said to be. Null is refused where a length is not 0. Outputs may overlap
//! inputs in any way, since inputs are read before outputs are written.
//!
//! # Where things are
//!
//! | module | what |
//! |---|---|
//! | [`handles`] | the table of objects |
//! | [`memory`] | pointers as slices, and outputs: all `unsafe` blocks of the libraries stand there |
//! | [`status`] | a library's status codes, from [`statuses!`], and the wall that no panic crosses |
//!
//! Each library has a table and statuses of its own, so that a program may load several.

mod ffi;
pub mod handles;
pub mod status;

pub use ffi::memory;
pub use status::Fault;
