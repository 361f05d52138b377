use super::*;
use crate::orbit::EXAMPLE;
use proptest::prelude::*;

const ONE: &str = "1 57795U 23135D   25067.76655111  .00000709  00000-0  38421-3 0  9996";
const TWO: &str = "2 57795  49.9742 310.5414 0014096  75.8315 284.4162 14.22760140 78354";

/// The line with other columns (counted from 1) and the checksum that belongs to it.
fn with(line: &str, column: usize, text: &str) -> String {
    let body = format!("{}{text}{}", &line[..column - 1], &line[column - 1 + text.len()..68]);
    let sum: u32 = body.bytes().map(weight).sum();
    format!("{body}{}", sum % 10)
}

fn read_text(text: &str) -> Result<Vec<Elements>, String> {
    read(text.as_bytes()).map_err(|error| error.to_string())
}

fn one_set(text: &str) -> Elements {
    let mut found = read_text(text).unwrap();
    assert_eq!(found.len(), 1);
    found.remove(0)
}

#[test]
fn the_fields_are_where_the_format_has_them() {
    let found = one_set(EXAMPLE);
    assert_eq!((found.name.as_str(), found.number), ("57795", 57795));
    assert_eq!(found.designator.as_deref(), Some("23135D"));
    // 0.76655111 days are 66230.015904 s.
    assert_eq!(found.epoch.to_string(), "2025-03-08T18:23:50.015904Z");
    let angles = [found.inclination, found.right_ascension, found.argument_of_perigee, found.mean_anomaly];
    assert_eq!(angles, [49.9742, 310.5414, 75.8315, 284.4162]);
    assert_eq!((found.mean_motion, found.eccentricity, found.drag), (14.2276014, 0.0014096, 0.00038421));
    assert!((found.perigee() - 806.0).abs() < 5.0, "{}", found.perigee());
}

#[test]
fn names_blank_lines_comments_and_carriage_returns_are_read() {
    let named = format!("# a list\r\n\r\n0 SATELLITE ONE\r\n{ONE}\r\n{TWO}  \r\n\nSecond\n{ONE}\n{TWO}\n{ONE}\n{TWO}");
    let found = read_text(&named).unwrap();
    assert_eq!(
        found.iter().map(|elements| elements.name.as_str()).collect::<Vec<_>>(),
        ["SATELLITE ONE", "Second", "57795"]
    );
}

#[test]
fn alpha_5_numbers_are_read() {
    for (text, number) in [("00005", 5), ("    5", 5), ("A0001", 100001), ("Z9999", 339999), ("J0000", 180000)] {
        let lines = format!("{}\n{}", with(ONE, 3, text), with(TWO, 3, text));
        assert_eq!(one_set(&lines).number, number);
    }
}

#[test]
fn each_damage_is_named_with_its_line() {
    let set = |one: &str, two: &str| format!("name\n{one}\n{two}\n");
    assert!(read_text(&set(ONE, TWO)).is_ok());
    let cases = [
        (
            set(&ONE.replace("57795U", "57796U"), TWO),
            "line 2: checksum in column 69 is `6`; the other columns sum to 7",
        ),
        (set(ONE, &TWO.replace("78354", "7835x")), "line 3: checksum in column 69 is `x`; the other columns sum to 4"),
        (set(ONE, &TWO[..68]), "line 3: line of elements is 68 columns long; expected 69"),
        (set(&format!("{ONE}0"), TWO), "line 2: line of elements is 70 columns long; expected 69"),
        (
            set(ONE, &TWO.replace("49.9742", "49.97é2")),
            "line 3: column 15 holds byte 0xc3, which is not printable ASCII",
        ),
        (
            set(&ONE.replace("  38421", "\t 38421"), TWO),
            "line 2: column 53 holds byte 0x09, which is not printable ASCII",
        ),
        (set(&with(ONE, 53, "+"), TWO), "line 2: column 53 holds `+`; expected a space"),
        (set(ONE, &with(TWO, 3, "57796")), "line 3: second line is of satellite 57796, first line of 57795"),
        (
            set(&with(ONE, 3, "I0000"), TWO),
            "line 2: catalogue number (columns 3-7) is `I0000`; expected a number, or Alpha-5",
        ),
        (set(&with(ONE, 63, "4"), TWO), "line 2: ephemeris type (column 63) is `4`; only SGP4 (0) is supported"),
        (
            set(&with(ONE, 21, "000"), TWO),
            "line 2: epoch (columns 19-32) is `25000.76655111`; expected a year and a day, as in `25067.76655111`",
        ),
        (
            set(&with(ONE, 21, "366"), TWO),
            "line 2: epoch (columns 19-32) is `25366.76655111`; expected a year and a day, as in `25067.76655111`",
        ),
        (
            set(&with(ONE, 24, "x"), TWO),
            "line 2: epoch (columns 19-32) is `25067x76655111`; expected a year and a day, as in `25067.76655111`",
        ),
        (
            set(&with(ONE, 34, "       nan"), TWO),
            "line 2: derivative of mean motion (columns 34-43) is `       nan`; expected a number",
        ),
        (
            set(&with(ONE, 54, " 3842x-3"), TWO),
            "line 2: B* (columns 54-61) is ` 3842x-3`; expected digits and an exponent, as in ` 38421-3`",
        ),
        (set(&with(ONE, 54, " 38421+9"), TWO), "line 2: B* is 384210000; expected from -10 to 10 inverse Earth radii"),
        (set(ONE, &with(TWO, 9, "     inf")), "line 3: inclination (columns 9-16) is `     inf`; expected a number"),
        (set(ONE, &with(TWO, 9, "180.0001")), "line 3: inclination is 180.0001; expected degrees from 0 to 180"),
        (set(ONE, &with(TWO, 18, "360.0001")), "line 3: right ascension is 360.0001; expected degrees from 0 to 360"),
        (set(ONE, &with(TWO, 27, "00140.6")), "line 3: eccentricity (columns 27-33) is `00140.6`; expected digits"),
        (
            set(ONE, &with(TWO, 53, " 0.00000000")),
            "line 3: mean motion is 0; expected revolutions a day from 0.05 to 20",
        ),
        (
            set(ONE, &with(TWO, 53, "17.50000000")),
            "line 3: orbit has decayed: its perigee is 120 km below the equatorial radius at epoch",
        ),
        (
            set(ONE, &with(TWO, 64, "x")),
            "line 3: revolution number (columns 64-68) is `x7835`; expected a whole number",
        ),
        (format!("{TWO}\n"), "line 1: second line of an element set without its first"),
        (format!("{ONE}\n"), "line 1: first line of an element set without its second"),
        (format!("{ONE}\n{ONE}\n{TWO}\n"), "line 1: first line of an element set without its second"),
        (
            format!("{ONE}\n{TWO}\nname\n"),
            "line 3: expected a line of elements that begins with `1 ` after the name, but found none",
        ),
        (
            "one\ntwo\n".to_owned(),
            "line 1: expected a line of elements that begins with `1 ` after the name, but found none",
        ),
        (
            "\n# nothing\n".to_owned(),
            "line 1: file holds no element set; expected a TLE, or an OMM as JSON, KVN or XML",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read_text(&text).unwrap_err(), expected, "{text}");
    }
}

/// What the values that are refused above are next to.
#[test]
fn the_edges_of_each_range_are_accepted() {
    for two in [
        with(TWO, 9, "180.0000"),
        with(TWO, 9, "  0.0000"),
        with(TWO, 18, "360.0000"),
        with(TWO, 27, "0000000"),
        with(TWO, 53, " 0.06000000"),
        with(TWO, 53, "17.00000000"),
        with(TWO, 64, "     "),
    ] {
        assert_eq!(one_set(&format!("{ONE}\n{two}")).number, 57795);
    }
    for one in [
        with(ONE, 21, "001"),
        with(ONE, 19, "24366"),
        with(ONE, 63, " "),
        with(ONE, 54, "-38421-3"),
        with(ONE, 10, "        "),
    ] {
        assert_eq!(one_set(&format!("{one}\n{TWO}")).number, 57795);
    }
}

/// Both are in the files of the program that document 002 describes, and made up: the facts list them.
#[test]
fn the_documents_made_up_lines_are_refused() {
    let starlink = "1 44713U 19074A   25316.50000000  .00001845  00000-0  13857-3 0  9998\n\
                    2 44713  53.0542 123.4567 0001234  90.1234 269.8765 15.05123456234567\n";
    let o3b = "1 38867U 12049A   25316.50000000  .00000045  00000-0  00000+0 0  9990\n\
               2 38867   0.0358 201.2345 0001845 123.4567 236.5432 12.76543210345678\n";
    for (text, expected) in [
        (starlink, "line 1: checksum in column 69 is `8`; the other columns sum to 7"),
        (o3b, "line 1: checksum in column 69 is `0`; the other columns sum to 8"),
    ] {
        assert_eq!(read_text(text).unwrap_err(), expected);
        let summed: Vec<String> = text.lines().map(|line| with(line, 69, "")).collect();
        assert!(read_text(&summed.join("\n")).is_ok(), "nothing else is wrong with it");
    }
}

/// Lines with random values in every field and the right checksum.
fn lines() -> impl Strategy<Value = (String, String)> {
    let one = (0..100000u32, 0..100u32, 1..366u32, 0..100000000u32, -99999..100000i32, 0..10u32);
    let two = (0..1800000u32, 0..3600000u32, 0..9999999u32, 0..3600000u32, 0..3600000u32, 100000000..1600000000u32);
    (one, two).prop_map(|((number, year, day, part, drag, power), (inclination, node, shape, perigee, anomaly, motion))| {
        let sign = if drag < 0 { '-' } else { ' ' };
        let drag = drag.unsigned_abs();
        let angle = |value: u32| format!("{:8.4}", f64::from(value) / 1e4);
        let one = format!("1 {number:05}U 25001A   {year:02}{day:03}.{part:08}  .00000709  00000-0 {sign}{drag:05}-{power} 0  9990");
        let two = format!(
            "2 {number:05} {} {} {shape:07} {} {} {:11.8} 78350",
            angle(inclination),
            angle(node),
            angle(perigee),
            angle(anomaly),
            f64::from(motion) / 1e8
        );
        (with(&one, 69, ""), with(&two, 69, ""))
    })
}

proptest! {
    #[test]
    fn what_is_read_is_what_the_sgp4_crates_parser_reads((one, two) in lines()) {
        let theirs = sgp4::Elements::from_tle(None, one.as_bytes(), two.as_bytes()).unwrap();
        match read(format!("{one}\n{two}").as_bytes()) {
            Ok(ours) => {
                let ours = &ours[0];
                prop_assert_eq!(ours.number, theirs.norad_id);
                prop_assert_eq!(ours.mean_motion, theirs.mean_motion);
                prop_assert!((ours.eccentricity - theirs.eccentricity).abs() < 1e-15);
                prop_assert_eq!(ours.inclination, theirs.inclination);
                prop_assert_eq!(ours.right_ascension, theirs.right_ascension);
                prop_assert_eq!(ours.argument_of_perigee, theirs.argument_of_perigee);
                prop_assert_eq!(ours.mean_anomaly, theirs.mean_anomaly);
                prop_assert!((ours.drag - theirs.drag_term).abs() <= 1e-15 + theirs.drag_term.abs() * 1e-14);
                // They compute the fraction of the day in floating point.
                let epoch = theirs.datetime.and_utc();
                let apart = ours.epoch.as_microsecond() - epoch.timestamp_micros();
                prop_assert!(apart.abs() <= 1, "{} {}", ours.epoch, epoch);
            }
            // Nothing but the perigee is out of range in these.
            Err(error) => prop_assert!(error.to_string().starts_with("line 2: orbit has decayed"), "{error}"),
        }
    }

    /// No text does anything but be read or be refused, whether it looks like elements or not.
    #[test]
    fn no_text_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = crate::orbit::read(&bytes);
    }

    /// One byte of a good file is another one: refused, or the change is in a column that the checksum can't see.
    #[test]
    fn a_changed_byte_is_refused_or_harmless((one, two) in lines(), at in 0..139usize, byte in any::<u8>()) {
        let mut bytes = format!("{one}\n{two}").into_bytes();
        bytes[at] = byte;
        for elements in crate::orbit::read(&bytes).unwrap_or_default() {
            prop_assert!(elements.check().is_ok());
            let satellite = crate::orbit::Satellite::new(&elements);
            if let Ok(satellite) = satellite {
                let _ = satellite.at(elements.epoch);
                let _ = satellite.at(elements.epoch + SignedDuration::from_hours(1000));
            }
        }
    }
}

#[test]
fn a_file_of_more_than_32_mib_is_refused_and_one_of_as_many_is_read() {
    use crate::orbit::{MOST_BYTES, read};
    let mut bytes = EXAMPLE.as_bytes().to_vec();
    bytes.resize(MOST_BYTES, b' ');
    assert_eq!(read(&bytes).map(|elements| elements.len()), Ok(1));
    bytes.push(b'\n');
    let error = read(&bytes).unwrap_err().to_string();
    assert_eq!(error, "size of the file in bytes is 33554433; expected at most 33554432");
}
