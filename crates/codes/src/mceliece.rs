//! Classic McEliece: key encapsulation from binary Goppa codes (submission to round 4 of NIST's competition, specification of 2022-10-23).
//!
//! Not public yet: key generation, encapsulation and decapsulation come together here, part by part.
#![allow(dead_code, reason = "the parts land before the interface that uses them")]

mod benes;
mod bitsliced;
mod columns;
mod control;
mod decode;
mod encode;
mod generate;
mod key_mux;
mod parameters;
mod permutation;
mod polynomial;
mod syndrome;
mod systematic;
mod transform;
mod weight;

pub(crate) use crate::kernels::mceliece::field;
