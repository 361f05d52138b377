use super::*;
use crate::model::Delay;
use crate::orbit::{Satellite, Site};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::time::Duration;

const GOOD: &str = r#"
title = "three in a row"
source = "test"
[[node]]
name = "a"
kind = "ground"
[[node]]
name = "b"
kind = "satellite"
[[node]]
name = "c"
kind = "server"
[[link]]
between = ["a", "b"]
delay_ms = 2.5
rate_mbit = 10
loss_percent = 1
sets.paper = { rate_mbit = 5 }
[[link]]
between = ["b", "c"]
delay_ms = 1
rate_mbit = 100
back_rate_mbit = 20
[roles]
client = "a"
guard = "b"
middle = "b"
exit = "c"
target = "c"
"#;

fn parse(text: &str) -> Result<Topology, TopologyError> {
    Topology::parse("t", text)
}

#[test]
fn a_topology_is_read() {
    let topology = parse(GOOD).unwrap();
    assert_eq!(topology.nodes.len(), 3);
    let way = topology.way(Role::Client, Role::Exit, None).unwrap();
    assert_eq!(way, [Step { link: 0, back: false }, Step { link: 1, back: false }]);
    assert_eq!(topology.delay(&way, None, Duration::ZERO), Duration::from_micros(3500));
    let back = topology.way(Role::Exit, Role::Client, None).unwrap();
    assert_eq!(back, [Step { link: 1, back: true }, Step { link: 0, back: true }]);
    assert_eq!(topology.way(Role::Guard, Role::Middle, None).unwrap(), []);
    assert_eq!(topology.links[1].ways.clone().map(|way| way.rate), [Some(100_000_000), Some(20_000_000)]);
    assert_eq!(topology.sets(), ["paper"]);
    let profile = &topology.links[0].profiles(Some("paper"))[0];
    assert_eq!((profile.rate, profile.loss), (Some(5_000_000), Loss::Bernoulli(0.01)), "only the rate is another");
    assert_eq!(topology.links[1].profiles(Some("paper")), &topology.links[1].ways);
}

/// Each mistake: what is replaced by what, the line to blame, and what the message says. Without the replacement the text is good.
#[test]
fn a_mistake_is_named_with_its_line() {
    let cases = [
        ("\"ground\"", "\"moon\"", 6, "moon"),
        ("name = \"b\"", "name = \"a\"", 8, "node `a` is there already"),
        ("name = \"b\"", "name = \"\"", 8, "empty"),
        ("between = [\"a\", \"b\"]", "between = [\"a\", \"d\"]", 14, "unknown node `d`; the nodes are: a, b, c"),
        ("between = [\"a\", \"b\"]", "between = [\"a\", \"a\"]", 14, "itself"),
        ("between = [\"b\", \"c\"]", "between = [\"b\", \"a\"]", 20, "second link"),
        ("delay_ms = 2.5", "delay_ms = -2.5", 15, "delay_ms is -2.5; expected 0 to 10000"),
        ("delay_ms = 2.5", "delay_ms = nan", 15, "delay_ms is NaN"),
        ("delay_ms = 2.5", "delay_ms = 1e9", 15, "delay_ms"),
        ("delay_ms = 2.5", "delay_ms = \"2\"", 15, "expected"),
        ("delay_ms = 2.5", "delay = 2.5", 15, "delay"),
        ("rate_mbit = 10\n", "rate_mbit = 0\n", 16, "rate_mbit is 0"),
        ("rate_mbit = 10\n", "rate_mbit = inf\n", 16, "rate_mbit is inf"),
        ("rate_mbit = 100\n", "rate_mbit = 100\nqueue_kib = 0\n", 23, "queue_kib is 0"),
        (
            "rate_mbit = 100\n",
            "rate_mbit = 100\nqueue_kib = 1.1e9\n",
            23,
            "queue_kib is 1100000000; expected 2 to 1000000000",
        ),
        ("rate_mbit = 100\n", "\n", 23, "back_rate_mbit without rate_mbit"),
        ("loss_percent = 1", "loss_percent = 100", 17, "loss_percent is 100; expected 0 to 90"),
        ("{ rate_mbit = 5 }", "{ rate_mbit = -5 }", 18, "rate_mbit is -5"),
        ("{ rate_mbit = 5 }", "{ rat = 5 }", 18, "rat"),
        ("client = \"a\"", "client = \"x\"", 25, "unknown node `x`"),
        ("client = \"a\"\n", "", 24, "client"),
        ("guard = \"b\"", "guard = \"a\"", 26, "client and guard are the same node"),
        ("title = \"three in a row\"", "title = ", 2, ""),
    ];
    assert!(parse(GOOD).is_ok());
    for (from, to, line, says) in cases {
        assert_eq!(GOOD.matches(from).count(), 1, "{from}");
        let error = parse(&GOOD.replace(from, to)).expect_err(to);
        assert_eq!(error.line, Some(line), "{to}: {error}");
        assert!(error.to_string().contains(says), "{to}: {error}");
        assert!(error.to_string().starts_with(&format!("t.toml:{line}: ")), "{error}");
    }
}

/// The same for what a topology says about satellites; the line is that of the text that is replaced.
#[test]
fn a_mistake_about_satellites_is_named_with_its_line() {
    let good = BUILT_IN.iter().find(|built_in| built_in.name == "leo-shell").unwrap().text;
    let cases = [
        ("satellites = \"shell\"", "satellites = \"shells\"", "unknown variant `shells`"),
        ("satellites = \"shell\"", "satellites = 1", "string"),
        ("from = \"2025-03-09T12:00:00Z\"", "from = \"noon\"", "from is `noon`; expected a time such as"),
        ("seconds = 600", "seconds = 0", "seconds is 0; expected 1 to 86400"),
        ("seconds = 600", "seconds = nan", "seconds is NaN"),
        ("seconds = 600", "seconds = 86400\nstep_s = 0.5", "more than 100000 steps"),
        ("slot_s = 15", "slot_s = 0.01", "slot_s is 0.01"),
        ("slot_s = 15", "slots = 15", "slots"),
        ("outage_ms = 30", "outage_ms = 7501", "outage_ms is 7501; expected 0 to 7500"),
        ("latitude = 52.52", "latitude = 91", "latitude is 91; expected -90 to 90"),
        ("longitude = 8.68", "longitude = -181", "longitude is -181"),
        ("longitude = 8.68, mask = 25", "longitude = 8.68, mask = -1", "mask is -1; expected 0 to 90"),
        ("longitude = 8.68", "longitude = 8.68, height_m = 1e6", "height_m is 1000000"),
        ("orbit = \"up\"", "orbit = \"sideways\"", "unknown variant `sideways`"),
        ("orbit = \"up\"", "delay_ms = 1\norbit = \"up\"", "delay_ms and orbit exclude each other"),
        (
            "orbit = \"up\"",
            "orbit = \"up\"\nsets.far = { delay_ms = 3 }",
            "delay_ms in a set of a link that follows the orbit",
        ),
    ];
    assert!(parse(good).is_ok());
    for (from, to, says) in cases {
        assert_eq!(good.matches(from).count(), 1, "{from}");
        let error = parse(&good.replace(from, to)).expect_err(to);
        let line = good.lines().position(|line| line.contains(from)).unwrap() + 1;
        assert!(error.line.is_some_and(|found| (line..=line + 1).contains(&found)), "{to}: {error}");
        assert!(error.to_string().contains(says), "{to}: {error}");
    }
    let without = |what: &str| parse(&good.replace(what, "")).expect_err(what);
    assert!(without("from = \"2025-03-09T12:00:00Z\"\n").what.contains("the shell needs `from`"));
    assert!(without("orbit = \"up\"\n").what.contains("neither delay_ms nor orbit"));
    let nowhere = good.replace("orbit = \"up\"", "delay_ms = 1").replace("orbit = \"down\"", "delay_ms = 1");
    assert!(parse(&nowhere).unwrap_err().what.contains("no link follows the orbit"));
    let between = good.replace("slot_s = 15", "route = \"between-satellites\"");
    assert!(parse(&between).is_ok());
    let error = parse(&between.replace("\"shell\"\nfrom", "\"57795\"\nfrom")).unwrap_err();
    assert!(error.what.contains("no other satellites have links"), "{error}");
    let lone = GOOD.replace("delay_ms = 2.5", "orbit = \"up\"");
    assert!(parse(&lone).unwrap_err().what.contains("there is no table [orbit]"));
}

#[test]
fn as_many_nodes_links_and_bytes_as_are_allowed_are_read_and_one_more_is_refused() {
    assert!(parse(&GOOD.replace("rate_mbit = 100\n", "rate_mbit = 100\nqueue_kib = 1e9\n")).is_ok());
    let (head, roles) = GOOD.split_once("[roles]").unwrap();
    // A star around `c`.
    let star = |nodes: usize, links: usize| {
        let mut text = head.to_owned();
        (3..nodes).for_each(|node| text += &format!("[[node]]\nname = \"{node}\"\nkind = \"server\"\n"));
        (2..links).for_each(|link| text += &format!("[[link]]\nbetween = [\"c\", \"{}\"]\ndelay_ms = 1\n", link + 1));
        parse(&format!("{text}[roles]{roles}"))
    };
    assert_eq!(star(10_000, 9_999).unwrap().nodes.len(), 10_000);
    assert_eq!(star(10_001, 2).unwrap_err().to_string(), "t.toml: more than 10000 nodes or links");
    assert_eq!(star(3, 10_001).unwrap_err().to_string(), "t.toml: more than 10000 nodes or links");
    let long = |bytes: usize| format!("{GOOD}#{}", " ".repeat(bytes - GOOD.len() - 1));
    assert!(parse(&long(MOST_BYTES)).is_ok());
    assert_eq!(parse(&long(MOST_BYTES + 1)).unwrap_err().to_string(), "t.toml: more than 8388608 bytes");
}

#[test]
fn a_cycle_is_refused_unless_it_is_meant() {
    let link = "[[link]]\nbetween = [\"a\", \"c\"]\ndelay_ms = 0.5\n[roles]";
    let cycle = GOOD.replace("[roles]", link);
    let error = parse(&cycle).unwrap_err();
    assert_eq!(error.line, Some(25));
    assert!(error.what.contains("between `a` and `c` closes a cycle"), "{error}");
    let topology = parse(&cycle.replace("source", "routing = \"shortest\"\nsource")).unwrap();
    assert_eq!(topology.way(Role::Client, Role::Exit, None).unwrap(), [Step { link: 2, back: false }]);
    assert_eq!(topology.way(Role::Client, Role::Guard, None).unwrap().len(), 2, "over c: 1.5 ms instead of 2.5");
}

#[test]
fn a_part_without_a_link_is_refused() {
    let missing = GOOD.replace("between = [\"b\", \"c\"]", "between = [\"d\", \"c\"]");
    let missing = missing
        .replace("[[link]]\nbetween = [\"a\"", "[[node]]\nname = \"d\"\nkind = \"uav\"\n[[link]]\nbetween = [\"a\"");
    let error = parse(&missing).unwrap_err();
    assert_eq!(error.line, Some(31));
    assert!(error.what.contains("no links lead from the client, `a`, to the exit, `c`"), "{error}");
    let joined = missing.replace("[roles]", "[[link]]\nbetween = [\"b\", \"d\"]\ndelay_ms = 1\n[roles]");
    assert!(parse(&joined).is_ok());
}

#[test]
fn losses_come_alone_or_in_bursts() {
    let bursts = "bursts = { to_bad = 1, to_good = 20, in_good = 0, in_bad = 80 }";
    let topology = parse(&GOOD.replace("loss_percent = 1", bursts)).unwrap();
    let expected = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.2, in_good: 0.0, in_bad: 0.8 };
    assert_eq!(topology.links[0].ways[1].loss, expected);
    let both = GOOD.replace("loss_percent = 1", &format!("loss_percent = 1\n{bursts}"));
    assert!(parse(&both).unwrap_err().what.contains("exclude each other"));
    let odd = GOOD.replace("loss_percent = 1", &bursts.replace("20", "120"));
    assert!(parse(&odd).unwrap_err().what.contains("to_good is 120"));
}

#[test]
fn what_candor_brings_is_good_and_drawn() {
    for topology in BUILT_IN {
        let topology = Topology::built_in(topology.name).unwrap().unwrap();
        let picture = topology.picture(None);
        assert_eq!(picture.lines().filter(|line| !line.starts_with("unused")).count(), 4, "{picture}");
        for role in Role::ALL {
            assert!(picture.contains(role.name()), "{picture}");
        }
        assert!(topology.links.iter().all(|link| link.ways[0].delay == link.ways[1].delay));
    }
    assert_eq!(BUILT_IN.len(), 19);
    assert!(Topology::built_in("leo").is_none());
}

/// End-to-end values of the original's files, at the client's first way to the satellite.
#[test]
fn the_twelve_have_the_published_values() {
    let topology = |number| Topology::built_in(&format!("sagin-{number:02}")).unwrap().unwrap();
    let one = topology(1);
    let rates = |set| one.links.iter().map(|link| link.profiles(set)[0].rate.unwrap()).collect::<Vec<_>>();
    assert_eq!(rates(None), [11_840_000, 123_890_000]);
    assert_eq!(rates(Some("paper")), [10_270_000, 59_270_000]);
    for number in 1..=12 {
        let topology = topology(number);
        assert_eq!(topology.sets(), ["paper"]);
        let way = topology.way(Role::Client, Role::Exit, None).unwrap();
        let delay = topology.delay(&way, None, Duration::ZERO).as_secs_f64() * 1e3;
        // From the ground to the satellite, or to a UAV below it.
        assert!(delay < 5.5, "{number}: {delay}");
        assert!(topology.links.iter().all(|link| matches!(link.ways[0].delay, Delay::Constant(_))));
    }
}

/// All that the files of the twelve say: a line for each link and set of values, and one for the roles.
#[test]
fn nothing_of_the_twelve_changes_unnoticed() {
    let mut table = String::new();
    for number in 1..=12 {
        let topology = Topology::built_in(&format!("sagin-{number:02}")).unwrap().unwrap();
        for link in &topology.links {
            for set in [None, Some("paper")] {
                let [from, to] = link.between.map(|node| topology.nodes[node].name.as_str());
                let ways = link.profiles(set).each_ref().map(|way| {
                    let Delay::Constant(delay) = way.delay else { panic!("the delays are constant") };
                    format!("{} ns, {:?} bit/s, {:?}", delay.as_nanos(), way.rate, way.loss)
                });
                table += &format!("{number} {from} {to} {set:?}: {}; {}\n", ways[0], ways[1]);
            }
        }
        let roles = Role::ALL.map(|role| topology.nodes[topology.node_of(role)].name.as_str());
        table += &format!("{number}: {}\n", roles.join(" "));
    }
    let digest: String = Sha256::digest(table.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        digest, "f44c015d4140a38c",
        "compare with the published values, then write down the new digest:\n{table}"
    );
}

/// The delay that is typed into the file is that of a geostationary satellite 40° above the horizon.
#[test]
fn the_bent_pipe_over_geo_has_the_delay_of_its_geometry() {
    let (satellite, time) = (Satellite::geostationary("geo", 0.0).unwrap(), "2025-03-09T12:00:00Z".parse().unwrap());
    let look = |latitude| Site::new(latitude, 0.0, 0.0).unwrap().look(&satellite.at(time).unwrap());
    let (mut south, mut north) = (30.0, 60.0);
    for _ in 0..50 {
        let middle = (south + north) / 2.0;
        if look(middle).elevation > 40.0 { south = middle } else { north = middle }
    }
    let geometry = look(south).delay().as_secs_f64() * 1e3;
    let topology = Topology::built_in("geo-bent-pipe").unwrap().unwrap();
    for link in &topology.links[..2] {
        let Delay::Constant(delay) = link.ways[0].delay else { panic!("it does not move") };
        assert_eq!(delay.as_secs_f64() * 1e3, geometry.round(), "{geometry} ms");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,300}") {
        let _ = parse(&text);
    }

    #[test]
    fn no_damage_to_an_orbit_makes_the_reader_panic(at in 0..800usize, length in 0..20usize, with in "[ -~\n]{0,12}") {
        let good = BUILT_IN.iter().find(|built_in| built_in.name == "leo-pass").unwrap().text;
        let begin = good.find("[orbit]").unwrap() + at;
        let mut text = good.to_owned();
        text.replace_range(begin..begin + length, &with);
        if let Ok(topology) = parse(&text) {
            let is_short = topology.orbit.as_ref().is_some_and(|orbit| orbit.length.as_secs_f64() / orbit.step.as_secs_f64() < 1000.0);
            if is_short && let Ok(flown) = topology.fly(None, None) {
                prop_assert!(flown.flight().is_some_and(|flight| flight.link(flight.opens()).is_some()));
            }
        }
    }

    #[test]
    fn no_damage_makes_the_reader_panic(at in 0..GOOD.len(), length in 0..40usize, with in "[ -~\n]{0,12}") {
        let mut text = GOOD.to_owned();
        text.replace_range(at..(at + length).min(GOOD.len()), &with);
        if let Ok(topology) = parse(&text) {
            for pair in Role::ALL.windows(2) {
                prop_assert!(topology.way(pair[0], pair[1], None).is_ok());
            }
        }
    }

    #[test]
    fn trees_of_any_shape_have_one_way_that_leads_there_and_back(parents in prop::collection::vec(0..1000usize, 1..40)) {
        let mut text = String::from("title = \"t\"\nsource = \"s\"\n[[node]]\nname = \"0\"\nkind = \"ground\"\n");
        for index in 0..parents.len() {
            text += &format!("[[node]]\nname = \"{}\"\nkind = \"server\"\n", index + 1);
        }
        for (index, parent) in parents.iter().enumerate() {
            text += &format!("[[link]]\nbetween = [\"{}\", \"{}\"]\ndelay_ms = {}\n", parent % (index + 1), index + 1, index);
        }
        text += &format!("[roles]\nclient = \"0\"\nguard = \"1\"\nmiddle = \"0\"\nexit = \"{0}\"\ntarget = \"{0}\"\n", parents.len());
        let topology = parse(&text).unwrap();
        let way = topology.way(Role::Client, Role::Exit, None).unwrap();
        let mut back = topology.way(Role::Exit, Role::Client, None).unwrap();
        back.reverse();
        prop_assert_eq!(way.len(), back.len());
        prop_assert!(way.iter().zip(&back).all(|(there, back)| there.link == back.link && there.back != back.back));
    }
}
