//! Onion circuits over sockets.
#![forbid(unsafe_code)]
