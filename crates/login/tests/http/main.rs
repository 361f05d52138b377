//! The server over HTTP: what owners, strangers and attackers see.

mod bodies;
mod database;
mod everywhere;
mod faults;
mod flood;
mod guesses;
mod instances;
mod load;
mod migrated;
mod pages;
mod probing;
mod rotation;
mod states;
mod stranger;
mod system;
mod world;
