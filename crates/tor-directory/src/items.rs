//! The form that all documents have (dir-spec, "Document meta-format"): items, each a line with a keyword, arguments, and perhaps an object in Base64 below it.

use crate::Error;
use base64ct::{Base64, Encoding};

/// The most characters of Base64 in an object: an RSA key of 16,384 bits has 2,750.
const MOST_OBJECT: usize = 1 << 13;

/// An item.
#[derive(Clone, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) document: &'static str,
    /// Number of its line, counted from 1.
    pub(crate) line: usize,
    /// Where its line begins in the text.
    pub(crate) start: usize,
    pub(crate) keyword: &'a str,
    /// What stands behind the keyword.
    pub(crate) rest: &'a str,
    /// Name and content of the object.
    object: Option<(&'a str, Vec<u8>)>,
}

impl<'a> Item<'a> {
    /// The arguments.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.rest.split([' ', '\t']).filter(|argument| !argument.is_empty())
    }

    /// The first `N` arguments; there may be more.
    pub(crate) fn first<const N: usize>(&self, expected: &'static str) -> Result<[&'a str; N], Error> {
        let mut arguments = self.arguments();
        let mut found = [""; N];
        for argument in &mut found {
            *argument = arguments.next().ok_or_else(|| self.wrong(expected))?;
        }
        Ok(found)
    }

    /// The content of the object, which must have that name.
    pub(crate) fn object(&self, label: &str, expected: &'static str) -> Result<&[u8], Error> {
        match &self.object {
            Some((found, bytes)) if *found == label => Ok(bytes),
            Some((found, _)) => Err(Error::syntax(self.document, self.line + 1, expected, found)),
            None => Err(Error::syntax(self.document, self.line + 1, expected, "")),
        }
    }

    /// The item is not as expected.
    pub(crate) fn wrong(&self, expected: &'static str) -> Error {
        let space = if self.rest.is_empty() { "" } else { " " };
        Error::syntax(self.document, self.line, expected, &format!("{}{space}{}", self.keyword, self.rest))
    }
}

/// Reads a document item by item.
pub(crate) struct Items<'a> {
    document: &'static str,
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Items<'a> {
    /// The items of a text, which may have so many bytes.
    pub(crate) fn new(document: &'static str, text: &'a str, most: usize) -> Result<Self, Error> {
        if text.len() > most {
            return Err(Error::TooLong { document, got: text.len(), most });
        }
        Ok(Self { document, text, at: 0, line: 0 })
    }

    /// The next line without its end, and where it begins. Every line must have an end.
    fn line(&mut self) -> Result<Option<(usize, &'a str)>, Error> {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.is_empty() {
            return Ok(None);
        }
        self.line += 1;
        let length = rest.find('\n').ok_or_else(|| self.wrong("a line feed at the end of the document", rest))?;
        let line = &rest[..length];
        // Anything else a relay, or one authority, may have had written into a line that it alone is answerable for.
        if line.contains('\0') {
            return Err(self.wrong("a line without zero bytes", line));
        }
        self.at += length + 1;
        Ok(Some((start, line)))
    }

    fn item(&mut self) -> Result<Option<Item<'a>>, Error> {
        let Some((start, line)) = self.line()? else { return Ok(None) };
        let number = self.line;
        let (keyword, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let is_keyword = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if keyword.is_empty() || keyword.starts_with('-') || !keyword.bytes().all(is_keyword) {
            return Err(self.wrong("a keyword of letters, digits and hyphens", line));
        }
        let object = if self.text[self.at..].starts_with("-----BEGIN ") { Some(self.object()?) } else { None };
        Ok(Some(Item { document: self.document, line: number, start, keyword, rest, object }))
    }

    fn object(&mut self) -> Result<(&'a str, Vec<u8>), Error> {
        const BEGIN: &str = "-----BEGIN NAME-----";
        let (_, line) = self.line()?.unwrap_or_default();
        let label = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
        let label = label.filter(|label| !label.is_empty()).ok_or_else(|| self.wrong(BEGIN, line))?;
        let mut digits = String::new();
        loop {
            let next = self.line()?.map(|(_, line)| line);
            let line = next.ok_or_else(|| self.wrong("-----END of the object", ""))?;
            if let Some(end) = line.strip_prefix("-----END ") {
                if end.strip_suffix("-----") != Some(label) {
                    return Err(self.wrong("-----END with the name of -----BEGIN", line));
                }
                break;
            }
            if digits.len() + line.len() > MOST_OBJECT {
                return Err(self.wrong("an object of at most 8192 characters", line));
            }
            digits.push_str(line);
        }
        let bytes = Base64::decode_vec(&digits).map_err(|_| self.wrong("an object in Base64", &digits))?;
        Ok((label, bytes))
    }

    fn wrong(&self, expected: &'static str, found: &str) -> Error {
        Error::syntax(self.document, self.line.max(1), expected, found)
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Result<Item<'a>, Error>;

    /// After an error there is nothing more.
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.item();
        if item.is_err() {
            self.at = self.text.len();
        }
        item.transpose()
    }
}

/// The documents of a text, one behind the other, each of which begins with a line of that keyword.
pub(crate) fn pieces<'a>(document: &'static str, text: &'a str, first: &'static str) -> Result<Vec<&'a str>, Error> {
    let is_first = |rest: &str| rest.strip_prefix(first).is_some_and(|rest| rest.starts_with(['\n', ' ']));
    if !text.is_empty() && !is_first(text) {
        return Err(Error::syntax(document, 1, first, text.lines().next().unwrap_or_default()));
    }
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices('\n') {
        if is_first(&text[at + 1..]) {
            found.push(&text[start..=at]);
            start = at + 1;
        }
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    Ok(found)
}

/// A value that must be there once.
pub(crate) struct Once<T> {
    document: &'static str,
    keyword: &'static str,
    value: Option<T>,
}

impl<T> Once<T> {
    pub(crate) fn new(document: &'static str, keyword: &'static str) -> Self {
        Self { document, keyword, value: None }
    }

    /// Takes the value of an item.
    pub(crate) fn set(&mut self, item: &Item<'_>, value: T) -> Result<(), Error> {
        match self.value.replace(value) {
            None => Ok(()),
            Some(_) => Err(Error::Twice { document: self.document, line: item.line, keyword: self.keyword }),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.value.as_ref()
    }

    pub(crate) fn required(self) -> Result<T, Error> {
        self.value.ok_or(Error::Missing { document: self.document, keyword: self.keyword })
    }
}

/// Bytes in Base64 without `=` behind them, as arguments have them.
pub(crate) fn unpadded<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let read = base64ct::Base64Unpadded::decode(text, &mut bytes).ok()?;
    (read.len() == N).then_some(bytes)
}

/// Bytes in hexadecimal digits.
pub(crate) fn hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let read = base16ct::mixed::decode(text, &mut bytes).ok()?;
    (read.len() == N).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(text: &str) -> Result<Vec<Item<'_>>, Error> {
        Items::new("document", text, 1000).and_then(Iterator::collect)
    }

    #[test]
    fn an_item_is_a_keyword_with_arguments_and_perhaps_an_object() {
        let text = "a 1  two\tthree\nb-2\n-----BEGIN X Y-----\nAAEC\nAwQ=\n-----END X Y-----\nc\n";
        let found = items(text).unwrap();
        assert_eq!(
            found.iter().map(|item| (item.line, item.keyword)).collect::<Vec<_>>(),
            [(1, "a"), (2, "b-2"), (7, "c")]
        );
        assert_eq!(found[0].arguments().collect::<Vec<_>>(), ["1", "two", "three"]);
        assert_eq!(found[0].first::<2>("two").unwrap(), ["1", "two"]);
        assert!(found[0].first::<4>("four").is_err());
        assert_eq!(found[1].object("X Y", "an object").unwrap(), [0, 1, 2, 3, 4]);
        assert!(found[1].object("X", "an object").is_err() && found[2].object("X", "an object").is_err());
        assert_eq!(&text[found[1].start..][..3], "b-2");
    }

    #[test]
    fn what_is_not_of_that_form_is_refused_with_its_line() {
        assert!(items("a\nb\n").is_ok());
        for (text, why) in [
            ("a\nb", "document, line 2: expected a line feed at the end of the document; found `b`"),
            ("a\n\nb\n", "document, line 2: expected a keyword of letters, digits and hyphens; found nothing"),
            ("a\r\n", "document, line 1: expected a keyword of letters, digits and hyphens; found `a\\r`"),
            ("a b\0\n", "document, line 1: expected a line without zero bytes; found `a b\\0`"),
            ("_ 1\n", "document, line 1: expected a keyword of letters, digits and hyphens; found `_ 1`"),
            ("a\n-----BEGIN X-----\nAA\n", "document, line 3: expected -----END of the object; found nothing"),
            (
                "a\n-----BEGIN X-----\n-----END Y-----\n",
                "document, line 3: expected -----END with the name of -----BEGIN; found `-----END Y-----`",
            ),
            ("a\n-----BEGIN X-----\n=\n-----END X-----\n", "document, line 4: expected an object in Base64; found `=`"),
            ("a\n-----BEGIN X\n", "document, line 2: expected -----BEGIN NAME-----; found `-----BEGIN X`"),
        ] {
            assert_eq!(items(text).unwrap_err().to_string(), why, "{text:?}");
        }
        assert!(items(&"a\n".repeat(500)).is_ok());
        assert_eq!(
            items(&"a\n".repeat(501)).unwrap_err(),
            Error::TooLong { document: "document", got: 1002, most: 1000 }
        );
        let object = |lines| {
            let text =
                format!("a\n-----BEGIN X-----\n{}-----END X-----\n", format!("{}\n", "A".repeat(64)).repeat(lines));
            Items::new("document", &text, 1 << 20).unwrap().count_good()
        };
        assert_eq!((object(MOST_OBJECT / 64), object(MOST_OBJECT / 64 + 1)), (1, 0));
    }

    impl Items<'_> {
        fn count_good(self) -> usize {
            self.filter(Result::is_ok).count()
        }
    }
}
