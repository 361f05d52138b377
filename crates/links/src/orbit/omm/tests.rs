use crate::orbit::{EXAMPLE, read};
use proptest::prelude::*;

const KVN: &str = "CCSDS_OMM_VERS = 2.0
COMMENT the satellite of document 002
OBJECT_NAME = SATELLITE [1]
OBJECT_ID = 2023-135D
CENTER_NAME = EARTH
REF_FRAME = TEME
TIME_SYSTEM = UTC
MEAN_ELEMENT_THEORY = SGP4

EPOCH = 2025-03-08T18:23:50.015904
MEAN_MOTION = 14.22760140 [rev/day]
ECCENTRICITY = .0014096
INCLINATION = 49.9742 [deg]
RA_OF_ASC_NODE = 310.5414
ARG_OF_PERICENTER = 75.8315
MEAN_ANOMALY = 284.4162
EPHEMERIS_TYPE = 0
NORAD_CAT_ID = 57795
BSTAR = .38421E-3
";

/// The same message as JSON, a field a line, and as XML.
fn json() -> String {
    let fields: Vec<String> = fields().map(|(key, value)| format!("  \"{key}\": \"{value}\"")).collect();
    format!("{{\n{}\n}}", fields.join(",\n"))
}

fn xml() -> String {
    let leaves: String = fields().map(|(key, value)| format!("<{key}>{value}</{key}>\n")).collect();
    format!(
        "<?xml version=\"1.0\"?>\n<ndm>\n<omm id=\"CCSDS_OMM_VERS\" version=\"2.0\">\n<body><segment>\n{leaves}</segment></body>\n</omm></ndm>"
    )
}

/// Without their units, as neither JSON nor XML writes them into the value.
fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    KVN.lines().skip(1).filter_map(|line| line.split_once(" = ")).map(|(key, value)| match key {
        "MEAN_MOTION" | "INCLINATION" => (key, value.split(' ').next().unwrap_or("")),
        _ => (key, value),
    })
}

fn error(text: &str) -> String {
    read(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn all_forms_say_what_the_tle_says() {
    let mut expected = read(EXAMPLE.as_bytes()).unwrap();
    expected[0].name = "SATELLITE [1]".to_owned();
    expected[0].designator = Some("2023-135D".to_owned());
    for text in [KVN, &json(), &xml(), &format!("[{}]", json())] {
        assert_eq!(read(text.as_bytes()).unwrap(), expected, "{text}");
    }
    let numbers = json()
        .replace("\"14.22760140\"", "14.22760140")
        .replace("\"57795\"", "57795")
        .replace("\".38421E-3\"", "3.8421e-4");
    assert_eq!(read(numbers.as_bytes()).unwrap(), expected);
    let twice = [expected[0].clone(), expected[0].clone()];
    for text in [format!("{KVN}\n{KVN}"), format!("[{0},\n{0}]", json())] {
        assert_eq!(read(text.as_bytes()).unwrap(), twice);
    }
}

#[test]
fn each_form_of_the_epoch_is_read() {
    for text in ["2025-067T18:23:50.015904", "2025-03-08T18:23:50.015904Z"] {
        let changed = KVN.replace("2025-03-08T18:23:50.015904", text);
        assert_eq!(read(changed.as_bytes()).unwrap()[0].epoch.to_string(), "2025-03-08T18:23:50.015904Z");
    }
    for text in [
        "2025-366T00:00:00",
        "2025-02-29T00:00:00",
        "2025-03-08",
        "2025-03-08T18:23:50+01:00",
        "now",
        "2025-067T25:00:00",
    ] {
        let changed = KVN.replace("2025-03-08T18:23:50.015904", text);
        assert_eq!(
            error(&changed),
            format!("line 10: EPOCH is `{text}`; expected UTC, as in `2025-03-08T18:23:50.016`")
        );
    }
}

/// Its undamaged twin is read above.
#[test]
fn each_damage_is_named_with_its_line() {
    let cases = [
        (KVN.replace("49.9742 [deg]", "forty"), "line 13: INCLINATION is `forty`; expected a number"),
        (KVN.replace("49.9742", "-1"), "line 13: inclination is -1; expected degrees from 0 to 180"),
        (KVN.replace(".0014096", "1.0"), "line 12: eccentricity is 1; expected at least 0, below 1"),
        (KVN.replace(".0014096", "nan"), "line 12: ECCENTRICITY is `nan`; expected a number"),
        (KVN.replace(".38421E-3", "1e2"), "line 19: B* is 100; expected from -10 to 10 inverse Earth radii"),
        (
            KVN.replace("14.22760140", "18.0"),
            "line 11: orbit has decayed: its perigee is 237 km below the equatorial radius at epoch",
        ),
        (KVN.replace("BSTAR = .38421E-3\n", ""), "line 1: OMM lacks BSTAR"),
        (KVN.replace("SGP4", "DSST"), "line 8: MEAN_ELEMENT_THEORY is `DSST`; only SGP4 is supported"),
        (
            KVN.replace("EPHEMERIS_TYPE = 0", "EPHEMERIS_TYPE = 4"),
            "line 17: EPHEMERIS_TYPE is `4`; only SGP4 (0) is supported",
        ),
        (KVN.replace("EARTH", "MARS"), "line 5: CENTER_NAME is `MARS`; only EARTH is supported"),
        (KVN.replace("57795", "-5"), "line 18: NORAD_CAT_ID is `-5`; expected a whole number"),
        (format!("{KVN}BSTAR = 0\n"), "line 20: BSTAR stands twice in one OMM"),
        (KVN.replace("BSTAR =", "BSTAR"), "line 19: `BSTAR .38421E-3` is not of the form `KEYWORD = value`"),
        (json().replace("49.9742", "forty"), "line 11: INCLINATION is `forty`; expected a number"),
        (json().replace("\"49.9742\"", "[49.9742]"), "line 11: INCLINATION is neither a number nor a string"),
        (json().replace("\"49.9742\",", "\"49.9742\""), "line 12: JSON: expected `,` or `}`"),
        (format!("[\n{},\n{}]", json(), json().replace("\"BSTAR\"", "\"DRAG\"")), "line 20: OMM lacks BSTAR"),
        ("[]".to_owned(), "line 1: file holds no element set; expected a TLE, or an OMM as JSON, KVN or XML"),
        ("{}".to_owned(), "line 1: OMM lacks NORAD_CAT_ID"),
        (xml().replace(">49.9742<", ">forty<"), "line 14: INCLINATION is `forty`; expected a number"),
        (xml().replace("<BSTAR>.38421E-3</BSTAR>\n", ""), "line 3: OMM lacks BSTAR"),
        (
            xml().replace("omm", "opm"),
            "line 1: file holds no element set; expected a TLE, or an OMM as JSON, KVN or XML",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(error(&text), expected, "{text}");
    }
    let unclosed = error(&xml().replace("</BSTAR>", "</STAR>"));
    assert!(unclosed.starts_with("line 20: XML: "), "{unclosed}");
}

/// Entities that expand without end are refused: the library reads no document types.
#[test]
fn xml_with_a_document_type_is_refused() {
    let laughs = xml().replace("<ndm>", "<!DOCTYPE ndm [<!ENTITY a \"&b;&b;\">]>\n<ndm>");
    assert!(error(&laughs).contains("DTD"), "{}", error(&laughs));
}

proptest! {
    #[test]
    fn no_change_of_a_message_panics(form in 0..3usize, at in any::<prop::sample::Index>(), text in "[ -~\n]{0,4}") {
        let message = [KVN.to_owned(), json(), xml()][form].clone();
        let at = at.index(message.len());
        let changed = format!("{}{text}{}", &message[..at], &message[(at + text.len()).min(message.len())..]);
        for elements in read(changed.as_bytes()).unwrap_or_default() {
            prop_assert!(crate::orbit::Satellite::new(&elements).is_ok(), "{elements:?}");
        }
    }
}
