//! The fuzz bodies on stable: over the committed corpora, and over mutations of them that are the same in every run.

mod codes;
mod gf2;
mod lab;
mod links;
mod login;
mod network;
mod onion;
mod opaque;
mod opaque_ffi;
mod primitives;
mod suite;
mod tor_directory;
