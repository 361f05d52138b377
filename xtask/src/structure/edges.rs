//! Which crate may use which: the diagram of ARCHITECTURE.md as a table.

use super::Violation;
use crate::Failure;
use crate::workspace::{Dependency, Kind, Member, Workspace};
use std::path::Path;
use toml::{Table, Value};

/// One room of the house.
struct Room {
    /// The crate's name without `candor-`.
    name: &'static str,
    place: Place,
    /// Rooms that it may use.
    may_use: &'static [&'static str],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// What users build on, by layer: its tests may use any product of a lower layer.
    Product(u8),
    /// What measures, runs or checks the products; no product may know it.
    Above,
    /// Shared by tests: the tests of every room may use it.
    ForTests,
}

const EVERY_PRODUCT: &[&str] = &[
    "cpu",
    "primitives",
    "suite",
    "c-abi",
    "ffi",
    "gf2",
    "codes",
    "opaque",
    "opaque-wasm",
    "opaque-ffi",
    "onion",
    "links",
    "tor-directory",
    "network",
    "old-hashes",
    "login",
    "login-client",
];

/// The whole diagram, with the rooms that are not built yet. If you change an arrow, change ARCHITECTURE.md as well.
const ROOMS: &[Room] = &[
    Room { name: "cpu", place: Place::Product(0), may_use: &[] },
    Room { name: "primitives", place: Place::Product(1), may_use: &["cpu"] },
    Room { name: "gf2", place: Place::Product(1), may_use: &["cpu"] },
    // Algorithms by name, and what files are made of: for the commands and the C interface.
    Room { name: "suite", place: Place::Product(2), may_use: &["primitives"] },
    // `primitives` to clear the stack behind calls that move secrets.
    Room { name: "c-abi", place: Place::Product(2), may_use: &["primitives"] },
    Room { name: "ffi", place: Place::Product(3), may_use: &["suite", "c-abi"] },
    Room { name: "codes", place: Place::Product(2), may_use: &["gf2", "primitives", "cpu"] },
    // `cpu` for the marks of the constant-time gate: its curve is a library of its own and no primitive of ours.
    Room { name: "opaque", place: Place::Product(2), may_use: &["primitives", "cpu"] },
    // `cpu` likewise: layers and handshakes compare what others must not see.
    Room { name: "onion", place: Place::Product(2), may_use: &["primitives", "cpu"] },
    // `primitives` for the KEM that its suites are made of.
    Room { name: "opaque-ffi", place: Place::Product(3), may_use: &["opaque", "c-abi", "primitives"] },
    // `old-hashes` for accounts that were taken over; its tests log in at no server: those of the package do.
    Room { name: "opaque-wasm", place: Place::Product(3), may_use: &["opaque", "old-hashes"] },
    // Circuits in virtual time are `onion`'s state machines; `primitives` for the traits that their stand-ins for cryptography implement.
    Room { name: "links", place: Place::Product(3), may_use: &["onion", "primitives"] },
    // Carries the packets of real processes by the model of `links`.
    Room { name: "testbed", place: Place::Above, may_use: &["links"] },
    // `onion` for certificates of Ed25519 keys.
    Room { name: "tor-directory", place: Place::Product(3), may_use: &["onion", "primitives"] },
    // `primitives` for the keys that a relay keeps in its file, as bytes.
    Room { name: "network", place: Place::Product(4), may_use: &["onion", "links", "tor-directory", "primitives"] },
    // What others have stored, and nothing that candor would choose.
    Room { name: "old-hashes", place: Place::Product(0), may_use: &[] },
    // `primitives` for the hashes of tokens.
    Room { name: "login", place: Place::Product(3), may_use: &["opaque", "primitives", "old-hashes"] },
    // What an application adds; its tests use the server. `primitives` for the keys of a recovery code.
    Room { name: "login-client", place: Place::Product(4), may_use: &["opaque", "primitives", "old-hashes"] },
    // Knows no cryptography and none of ours, so that it can't measure itself with what it measures.
    Room { name: "lab", place: Place::Above, may_use: &[] },
    // `primitives` for its trait of KEMs and Argon2's parameters, `key-schedules` for the judge of handshakes; no protocol of ours, and no task:
    // those stand on it.
    Room { name: "peers", place: Place::Above, may_use: &["lab", "primitives", "key-schedules"] },
    // `ffi` and `suite` for what a call through the C interface costs.
    Room {
        name: "subjects",
        place: Place::Above,
        may_use: &[
            "lab",
            "peers",
            "cpu",
            "primitives",
            "suite",
            "ffi",
            "gf2",
            "codes",
            "opaque",
            "onion",
            "links",
            "network",
            "login",
        ],
    },
    // `cpu` for the names of the tiers that it lists and sets.
    Room {
        name: "candor",
        place: Place::Above,
        may_use: &["subjects", "lab", "cpu", "links", "testbed", "network", "login", "login-client", "opaque", "suite"],
    },
    Room { name: "ct", place: Place::Above, may_use: EVERY_PRODUCT },
    Room {
        name: "residue",
        place: Place::Above,
        may_use: &["cpu", "primitives", "suite", "gf2", "codes", "onion", "opaque", "test-support"],
    },
    // Reads binaries and knows none of ours.
    Room { name: "scan", place: Place::Above, may_use: &[] },
    Room {
        name: "fuzz-bodies",
        place: Place::Above,
        may_use: &[
            "cpu",
            "primitives",
            "suite",
            "gf2",
            "codes",
            "opaque",
            "opaque-ffi",
            "onion",
            "links",
            "tor-directory",
            "network",
            "old-hashes",
            "login",
            "login-client",
            "lab",
            "test-support",
        ],
    },
    // What the examples of the README and of the book show.
    Room { name: "book", place: Place::Above, may_use: &["primitives", "gf2", "codes", "opaque", "onion", "lab"] },
    Room { name: "bare", place: Place::Above, may_use: &["opaque", "primitives"] },
    Room { name: "xtask", place: Place::Above, may_use: &[] },
    // An oracle: whatever it shared with the products, it could not judge.
    Room { name: "key-schedules", place: Place::ForTests, may_use: &[] },
    // `primitives` for the traits of the back ends that it twists.
    Room { name: "test-support", place: Place::ForTests, may_use: &["primitives"] },
];

/// The manifest whose features are the list of peers.
const PEERS: &str = "crates/peers/Cargo.toml";

/// Peers that a product wraps all the same, as one of its back ends. Another one has to be argued for here.
const BACK_ENDS: &[&str] = &["aws-lc-rs", "libcrux-ml-kem"];

/// What no product builds on although no feature names it: the loader of peers in C, and what our cells are compared with.
const NOT_FOR_PRODUCTS: &[&str] = &["libloading", "arti-client", "tor-cell", "tor-cert", "tor-netdoc"];

/// Libraries that do what `primitives` does, our own or wrapped. The other products take the operation from `primitives`, so that what they
/// run is what is measured and checked; in tests these libraries are oracles.
const FROM_PRIMITIVES: &[&str] =
    &["argon2", "blake2", "hkdf", "hmac", "ml-kem", "polyval", "sha2", "sha3", "shake", "sm3", "x25519-dalek"];

/// Libraries that we are measured against: what the features `peer-…` of the crate `peers` bring in. A product that used one would lean on
/// what it claims to better; as an oracle in a product's tests they are welcome.
fn peers(manifest: &str) -> Result<Vec<String>, Failure> {
    let table: Table = manifest.parse().map_err(|error| format!("{PEERS}: {error}"))?;
    let features =
        table.get("features").and_then(Value::as_table).ok_or_else(|| format!("{PEERS} has no [features]"))?;
    let of_peers = features.iter().filter(|(name, _)| name.starts_with("peer-"));
    let parts = of_peers.flat_map(|(_, parts)| parts.as_array().into_iter().flatten()).filter_map(Value::as_str);
    let libraries = parts.filter_map(|part| part.strip_prefix("dep:")).chain(NOT_FOR_PRODUCTS.iter().copied());
    Ok(libraries.filter(|name| !BACK_ENDS.contains(name)).map(str::to_owned).collect())
}

/// Every edge of the workspace against the table. `read` gives a manifest's text, to name the line.
pub(crate) fn check(
    workspace: &Workspace,
    read: &dyn Fn(&Path) -> Result<String, Failure>,
) -> Result<Vec<Violation>, Failure> {
    let mut found = Vec::new();
    let has_peers = workspace.members.iter().any(|member| member.room() == "peers");
    let peers = if has_peers { peers(&read(&workspace.root.join(PEERS))?)? } else { Vec::new() };
    for member in &workspace.members {
        let path = member.folder.join("Cargo.toml");
        let shown = workspace.show(&path);
        let manifest = read(&path)?;
        for (dependency, what) in judge(member, &workspace.members, &peers) {
            found.push(Violation::new(&shown, dependency.map_or(1, |name| line_of(&manifest, name)), what));
        }
    }
    Ok(found)
}

/// What is wrong with one member's edges: the dependency at fault (none if it is the member itself) and the message.
fn judge<'a>(member: &'a Member, members: &[Member], peers: &[String]) -> Vec<(Option<&'a str>, String)> {
    let Some(room) = room(member.room()) else {
        return Vec::from([(
            None,
            format!(
                "the crate `{}` is not in the table: add it to ROOMS in xtask/src/structure/edges.rs and to the diagram in \
                 ARCHITECTURE.md",
                member.name
            ),
        )]);
    };
    let mut found = Vec::new();
    for dependency in &member.dependencies {
        let why = match members.iter().find(|other| other.name == dependency.name) {
            Some(other) => own_edge(room, other.room(), dependency.kind),
            None => foreign_edge(room, dependency, peers),
        };
        found.extend(why.map(|why| (Some(dependency.name.as_str()), why)));
    }
    found
}

fn room(name: &str) -> Option<&'static Room> {
    ROOMS.iter().find(|room| room.name == name)
}

fn own_edge(from: &Room, to: &str, kind: Kind) -> Option<String> {
    if from.may_use.contains(&to) || from.name == to {
        return None;
    }
    let target = room(to).map(|room| room.place);
    match (from.place, target, kind) {
        (Place::Product(from), Some(Place::Product(to)), Kind::Dev) if to < from => None,
        (_, Some(Place::ForTests), Kind::Dev) => None,
        (Place::Product(_), Some(Place::ForTests), _) => Some(format!(
            "`{}` is a product and may use `{to}` in its tests only: write it under [dev-dependencies]",
            from.name
        )),
        (Place::Product(_), Some(Place::Above), _) => Some(format!(
            "`{}` is a product and must not know `{to}`, not even in its tests: products do not know who measures or runs them",
            from.name
        )),
        _ => Some(format!(
            "`{}` may not use `{to}` (it may use {}): arrows point one way; move the shared part into a lower crate",
            from.name,
            match from.may_use {
                [] => "none of our crates".to_owned(),
                some => some.join(", "),
            }
        )),
    }
}

fn foreign_edge(from: &Room, dependency: &Dependency, peers: &[String]) -> Option<String> {
    if dependency.is_path {
        return Some(format!(
            "`{}` is a path outside the workspace: make it a member, so that these rules hold for it too",
            dependency.name
        ));
    }
    // What others have stored is computed by others' crates, peers among them.
    let product = matches!(from.place, Place::Product(_)) && from.name != "old-hashes";
    if product
        && from.name != "primitives"
        && dependency.kind != Kind::Dev
        && FROM_PRIMITIVES.contains(&dependency.name.as_str())
    {
        return Some(format!(
            "`{}` bypasses `primitives` with `{}`: use candor-primitives instead (an oracle for tests may be a dev-dependency)",
            from.name, dependency.name
        ));
    }
    (product && dependency.kind != Kind::Dev && peers.contains(&dependency.name)).then(|| {
        format!(
            "`{}` is a peer, and `{}` is a product: peers belong in crates/peers (an oracle for tests may be a dev-dependency)",
            dependency.name, from.name
        )
    })
}

/// The line that names the dependency; the first, if it is renamed out of sight.
fn line_of(manifest: &str, name: &str) -> usize {
    let names = |line: &str| {
        let line = line.trim_start().trim_matches(['"', '\'']);
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
            || line.starts_with('[') && line.trim_end_matches([']', ' ']).ends_with(&format!(".{name}"))
    };
    manifest.lines().position(names).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(room: &str, dependencies: &[(&str, Kind)]) -> Member {
        Member {
            name: named(room),
            version: "0.1.0".to_owned(),
            published: true,
            folder: Default::default(),
            roots: Vec::new(),
            targets: Vec::new(),
            dependencies: dependencies
                .iter()
                .map(|&(name, kind)| Dependency {
                    name: name.to_owned(),
                    kind,
                    is_path: false,
                    versions: "*".to_owned(),
                })
                .collect(),
        }
    }

    fn named(room: &str) -> String {
        if matches!(room, "xtask" | "candor") { room.to_owned() } else { format!("candor-{room}") }
    }

    /// May a crate `from` have this edge to our crate `to`?
    fn may(from: &str, to: &str, kind: Kind) -> bool {
        let members = [member(from, &[(&named(to), kind)]), member(to, &[])];
        judge(&members[0], &members, &[]).is_empty()
    }

    #[test]
    fn arrows_of_the_diagram_are_allowed() {
        for (from, to) in [("primitives", "cpu"), ("codes", "gf2"), ("onion", "primitives"), ("network", "links")] {
            assert!(may(from, to, Kind::Normal), "{from} → {to}");
        }
        for (from, to) in [("subjects", "network"), ("candor", "lab"), ("ct", "primitives"), ("subjects", "lab")] {
            assert!(may(from, to, Kind::Normal), "{from} → {to}");
        }
        for product in ["opaque", "onion", "network", "lab"] {
            assert!(may("fuzz-bodies", product, Kind::Normal), "fuzz-bodies → {product}");
        }
    }

    #[test]
    fn any_other_arrow_is_refused() {
        for (from, to) in
            [("cpu", "primitives"), ("onion", "codes"), ("lab", "cpu"), ("xtask", "lab"), ("gf2", "primitives")]
        {
            assert!(!may(from, to, Kind::Normal), "{from} → {to}");
        }
        for from in ["candor", "subjects", "ct"] {
            assert!(!may(from, "fuzz-bodies", Kind::Normal), "{from} ships the fuzz bodies");
        }
        for (from, to) in [("primitives", "lab"), ("onion", "subjects"), ("gf2", "candor"), ("onion", "fuzz-bodies")] {
            for kind in [Kind::Normal, Kind::Build, Kind::Dev] {
                assert!(!may(from, to, kind), "{from} → {to} {kind:?}");
            }
        }
    }

    #[test]
    fn tests_of_a_product_may_use_lower_products_only() {
        assert!(may("onion", "gf2", Kind::Dev));
        assert!(!may("onion", "gf2", Kind::Normal));
        assert!(!may("onion", "codes", Kind::Dev));
        assert!(!may("primitives", "onion", Kind::Dev));
    }

    #[test]
    fn products_use_what_tests_share_in_tests_only() {
        for from in ["primitives", "gf2", "onion", "lab", "subjects"] {
            assert!(may(from, "test-support", Kind::Dev), "{from}");
        }
        for from in ["primitives", "gf2", "onion", "lab", "candor", "peers", "subjects"] {
            assert!(!may(from, "test-support", Kind::Normal), "{from}");
            assert!(!may(from, "test-support", Kind::Build), "{from}");
        }
        assert!(!may("test-support", "onion", Kind::Dev));
    }

    #[test]
    fn no_product_leans_on_a_peer_except_as_an_oracle() {
        let peers = peers("[features]\npeers = [\"peer-ring\"]\npeer-ring = [\"dep:ring\", \"peer-x\"]\n").unwrap();
        let faults = |from, kind| judge(&member(from, &[("ring", kind)]), &[], &peers).len();
        assert_eq!(faults("primitives", Kind::Normal), 1);
        assert_eq!(faults("primitives", Kind::Build), 1);
        assert_eq!(faults("primitives", Kind::Dev), 0);
        assert_eq!(faults("peers", Kind::Normal), 0);
        assert_eq!((faults("login", Kind::Normal), faults("old-hashes", Kind::Normal)), (1, 0));
    }

    #[test]
    fn a_back_end_is_no_peer_to_products_and_the_loader_is() {
        let peers = peers("[features]\npeer-aws-lc = [\"dep:aws-lc-rs\"]\npeer-openssl = []\n").unwrap();
        assert_eq!(peers, NOT_FOR_PRODUCTS);
        assert!(super::peers("[dependencies]\n").is_err());
    }

    #[test]
    fn the_other_products_hash_by_way_of_primitives() {
        let faults = |from, kind| judge(&member(from, &[("sha2", kind)]), &[], &[]).len();
        assert_eq!(faults("onion", Kind::Normal), 1);
        assert_eq!(faults("onion", Kind::Dev), 0);
        assert_eq!(faults("primitives", Kind::Normal), 0);
        assert_eq!(faults("peers", Kind::Normal), 0);
    }

    #[test]
    fn a_crate_outside_the_workspace_is_no_way_round_the_table() {
        let mut member = member("peers", &[("bridge", Kind::Normal)]);
        assert!(judge(&member, &[], &[]).is_empty());
        member.dependencies[0].is_path = true;
        assert_eq!(judge(&member, &[], &[]).len(), 1);
    }

    #[test]
    fn peers_know_no_task_and_no_protocol_of_ours() {
        assert!(may("subjects", "peers", Kind::Normal) && may("peers", "lab", Kind::Normal));
        for to in ["subjects", "onion", "opaque", "network", "gf2", "candor"] {
            assert!(!may("peers", to, Kind::Normal), "peers → {to}");
        }
        for from in ["primitives", "onion", "lab", "candor"] {
            assert!(!may(from, "peers", Kind::Normal), "{from} → peers");
        }
    }

    #[test]
    fn an_unknown_crate_must_be_entered_in_the_table() {
        assert!(judge(&member("attic", &[]), &[], &[])[0].1.contains("ARCHITECTURE.md"));
    }

    #[test]
    fn the_line_of_the_edge_is_named() {
        let manifest = "[dependencies]\n# Why.\ncandor-lab.workspace = true\n[dependencies.candor-cpu]\n";
        assert_eq!(line_of(manifest, "candor-lab"), 3);
        assert_eq!(line_of(manifest, "candor-cpu"), 4);
        assert_eq!(line_of(manifest, "candor"), 1);
    }

    #[test]
    fn the_table_has_no_circle_and_no_unknown_name() {
        for (index, from) in ROOMS.iter().enumerate() {
            for to in from.may_use {
                let target = ROOMS.iter().position(|room| room.name == *to).expect("a name that is in the table");
                assert!(target != index);
                assert!(!room(to).unwrap().may_use.contains(&from.name), "{} and {to} use each other", from.name);
            }
        }
    }
}
