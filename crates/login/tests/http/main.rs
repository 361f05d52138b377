//! The server over HTTP: what owners, strangers and attackers see.

mod bodies;
mod database;
mod flood;
mod guesses;
mod instances;
mod load;
mod migrated;
mod probing;
mod states;
mod stranger;
mod world;
