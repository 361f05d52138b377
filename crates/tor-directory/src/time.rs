//! Times of the documents: `2026-11-27 19:31:35`, in UTC.

/// Seconds by which a document may begin in the future: clocks differ.
pub(crate) const SKEW: u64 = 3600;

/// Seconds since 1970 of a date and a time of day.
pub(crate) fn parse(date: &str, time: &str) -> Option<u64> {
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    // A leap second counts as the one before.
    let fits = year >= 1970 && (1..=12).contains(&month) && hour < 24 && minute < 60 && second <= 60;
    if !fits || day < 1 || day > days_of(year, month) {
        return None;
    }
    Some(days_before(year, month, day) * 86400 + hour * 3600 + minute * 60 + second.min(59))
}

/// A date and a time of day, with a space between.
pub(crate) fn print(seconds: u64) -> String {
    let (mut days, rest) = (seconds / 86400, seconds % 86400);
    let (mut year, mut month) = (1970, 1);
    while days >= days_before(year + 1, 1, 1) - days_before(year, 1, 1) {
        days -= days_before(year + 1, 1, 1) - days_before(year, 1, 1);
        year += 1;
    }
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02} {:02}:{:02}:{:02}", days + 1, rest / 3600, rest / 60 % 60, rest % 60)
}

/// Numbers of exactly so many digits.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (number, digits) in found.iter_mut().zip(digits) {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit()))?;
        *number = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    years + (1..month).map(|month| days_of(year, month)).sum::<u64>() + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_times() {
        // By GNU date.
        for (text, seconds) in [
            ("1970-01-01 00:00:00", 0),
            ("2000-02-29 23:59:59", 951_868_799),
            ("2026-11-27 19:31:35", 1_795_807_895),
            ("2038-01-01 00:00:00", 2_145_916_800),
            ("2100-03-01 00:00:00", 4_107_542_400),
        ] {
            let (date, time) = text.split_once(' ').unwrap();
            assert_eq!((parse(date, time), print(seconds).as_str()), (Some(seconds), text));
        }
        for (date, time) in [
            ("2026-02-29", "00:00:00"),
            ("2026-13-01", "00:00:00"),
            ("2026-00-01", "00:00:00"),
            ("2026-01-00", "00:00:00"),
            ("1969-12-31", "00:00:00"),
            ("2026-1-01", "00:00:00"),
            ("2026-01-01-01", "00:00:00"),
            ("2026-01-01", "24:00:00"),
            ("2026-01-01", "00:60:00"),
            ("2026-01-01", "00:00:61"),
            ("2026-01-01", "00:00:+1"),
        ] {
            assert_eq!(parse(date, time), None, "{date} {time}");
        }
    }

    proptest! {
        #[test]
        fn every_second_prints_as_it_reads(seconds in 0..253_402_300_800_u64) {
            let text = print(seconds);
            let (date, time) = text.split_once(' ').unwrap();
            prop_assert_eq!(parse(date, time), Some(seconds));
        }

        #[test]
        fn no_text_makes_it_panic(date in "[0-9-]{0,12}", time in "[0-9:]{0,9}") {
            let _ = parse(&date, &time);
        }
    }
}
