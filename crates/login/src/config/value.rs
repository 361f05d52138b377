//! The values of settings, from text and to text.

use candor_opaque::KsfParams;
use ipnet::IpNet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Who may register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Registration {
    /// Holders of a registration token, each once.
    #[default]
    Token,
    /// Anybody, as fast as guesses may come. Registering tells which names are taken.
    Open,
    /// Nobody.
    Closed,
}

/// A value of a setting.
pub(super) trait Value: Sized {
    /// Reads it, or says what was expected.
    fn read(text: &str) -> Result<Self, String>;
    /// Writes it.
    fn shown(&self) -> String;
}

macro_rules! parsed {
    ($($type:ty, $expected:literal;)+) => { $(
        impl Value for $type {
            fn read(text: &str) -> Result<Self, String> {
                text.parse().map_err(|_| format!("expected {}, found `{text}`", $expected))
            }
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )+ };
}

parsed! {
    SocketAddr, "an address with a port, such as 127.0.0.1:8470";
    usize, "a whole number";
    u32, "a whole number";
    bool, "true or false";
    IpNet, "a network, such as 192.0.2.0/24";
}

impl Value for PathBuf {
    fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() { Err("expected a path".to_owned()) } else { Ok(text.into()) }
    }

    fn shown(&self) -> String {
        self.display().to_string()
    }
}

impl Value for String {
    fn read(text: &str) -> Result<Self, String> {
        Ok(text.to_owned())
    }

    fn shown(&self) -> String {
        self.clone()
    }
}

impl<V: Value> Value for Option<V> {
    fn read(text: &str) -> Result<Self, String> {
        V::read(text).map(Some)
    }

    fn shown(&self) -> String {
        self.as_ref().map(V::shown).unwrap_or_default()
    }
}

impl<V: Value> Value for Vec<V> {
    fn read(text: &str) -> Result<Self, String> {
        text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(V::read).collect()
    }

    fn shown(&self) -> String {
        self.iter().map(V::shown).collect::<Vec<_>>().join(",")
    }
}

impl Value for Registration {
    fn read(text: &str) -> Result<Self, String> {
        match text {
            "token" => Ok(Self::Token),
            "open" => Ok(Self::Open),
            "closed" => Ok(Self::Closed),
            _ => Err(format!("expected `token`, `open` or `closed`, found `{text}`")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Token => "token",
            Self::Open => "open",
            Self::Closed => "closed",
        }
        .to_owned()
    }
}

impl Value for KsfParams {
    fn read(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u32>> = text.split(':').map(|number| number.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[memory, passes, lanes]) => Self::argon2id(memory, passes, lanes).map_err(|error| error.to_string()),
            _ => Err(format!("expected memory in KiB, passes and lanes, such as 65536:3:1, found `{text}`")),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Argon2id { memory_kib, iterations, parallelism, .. } => {
                format!("{memory_kib}:{iterations}:{parallelism}")
            }
            _ => String::new(),
        }
    }
}

/// The units of time, the largest first.
const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

impl Value for Duration {
    fn read(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a time such as 500ms, 10s, 15m, 8h or 30d, found `{text}`");
        let digits = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
        let (number, unit) = text.split_at(digits);
        let (_, milliseconds) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        let number: u64 = number.parse().map_err(|_| wrong())?;
        // A century is more than anything here needs, and can be added to any time.
        number
            .checked_mul(*milliseconds)
            .filter(|time| *time <= 36_525 * 86_400_000)
            .map(Self::from_millis)
            .ok_or_else(|| format!("expected at most a century, found `{text}`"))
    }

    fn shown(&self) -> String {
        let all = u64::try_from(self.as_millis()).unwrap_or(u64::MAX);
        let (name, unit) = UNITS.iter().find(|(_, unit)| all >= *unit && all % unit == 0).unwrap_or(&("ms", 1));
        format!("{}{name}", all / unit)
    }
}

/// A value of TOML as text.
pub(super) fn text(value: &toml::Value) -> Result<String, &'static str> {
    use toml::Value as V;
    match value {
        V::String(text) => Ok(text.clone()),
        V::Integer(number) => Ok(number.to_string()),
        V::Boolean(flag) => Ok(flag.to_string()),
        V::Array(list) => {
            let parts: Option<Vec<&str>> = list.iter().map(V::as_str).collect();
            Ok(parts.ok_or("expected a list of strings")?.join(","))
        }
        V::Float(_) | V::Datetime(_) | V::Table(_) => {
            Err("expected a string, a whole number, true or false, or a list of strings")
        }
    }
}

/// The known name that is most like this one, if one is.
pub(super) fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let alike = |other: &'static str| (strsim::jaro_winkler(name, other), other);
    let best = known.map(alike).max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_from_their_text() {
        for text in ["1ms", "500ms", "10s", "90s", "15m", "36h", "30d"] {
            assert_eq!(Duration::read(text).unwrap().shown(), text);
        }
        assert_eq!(Duration::read("0s").unwrap(), Duration::ZERO);
        for wrong in ["", "s", "-1s", "1", "1.5s", "1 s", "1w", "40000d"] {
            assert!(Duration::read(wrong).is_err(), "{wrong}");
        }
    }
}
