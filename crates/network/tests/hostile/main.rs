//! Attacks on a relay, each with what it must not cost: an honest client is served meanwhile, and afterwards every counter is back
//! where it was. `crates/network/docs/threats.md` lists them beside the bounds that they show.
//!
//! An attack is some ten lines: a [`Scene`] (three relays, an exit and a target on 127.0.0.1), a [`Raw`] link from any address of
//! 127.0.0.0/8, and what it says there by script.
//!
//! ```ignore
//! let scene = Scene::new(|config| config.limits.circuits = 10).await;
//! let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
//! let mut circuit = raw.open(scene.listed(0)).await;
//! raw.send([circuit.cell(0, RelayCommand::TRUNCATE, 0, &[])]).await;
//! scene.serves().await;
//! drop(raw);
//! scene.is_as_before().await;
//! ```

mod begin_dir;
mod buffers;
mod clients;
mod clocks;
mod directories;
mod dirport;
mod exit;
mod extensions;
mod faults;
mod floods;
mod guards;
mod neighbours;
mod overload;
mod places;
mod probes;
mod proxy;
mod raw;
mod renewals;
mod scene;
mod tor;
#[path = "../town/mod.rs"]
mod town;
mod upgrades;
