//! Rust source without its comments and literals: what is left is code, at the lines and columns where it stood.
//!
//! The rules look for words such as `unsafe`. In a comment or a message those are only words, so they are blanked here:
//! every character of a comment, string or character literal becomes a space, line ends stay.

/// `source` with comments, strings and character literals blanked; line numbers and columns are kept.
pub(crate) fn strip(source: &str) -> String {
    let mut scanner = Scanner { source: source.chars().collect(), at: 0, out: String::with_capacity(source.len()) };
    scanner.run();
    scanner.out
}

struct Scanner {
    source: Vec<char>,
    at: usize,
    out: String,
}

impl Scanner {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            match c {
                '/' if self.peek(1) == Some('/') => self.blank_line(),
                '/' if self.peek(1) == Some('*') => self.blank_block(),
                '"' => self.blank_string(),
                '\'' => self.quote(),
                c if is_word(c) => self.word(),
                _ => self.keep(),
            }
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).copied()
    }

    fn keep(&mut self) {
        self.out.extend(self.peek(0));
        self.at += 1;
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            match self.peek(0) {
                Some('\n') => self.out.push('\n'),
                Some(_) => self.out.push(' '),
                None => return,
            }
            self.at += 1;
        }
    }

    fn blank_line(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.blank(1);
        }
    }

    /// Block comments nest.
    fn blank_block(&mut self) {
        let mut depth = 0_usize;
        while self.peek(0).is_some() {
            match (self.peek(0), self.peek(1)) {
                (Some('/'), Some('*')) => {
                    depth += 1;
                    self.blank(2);
                }
                (Some('*'), Some('/')) => {
                    depth -= 1;
                    self.blank(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.blank(1),
            }
        }
    }

    fn blank_string(&mut self) {
        self.blank(1);
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.blank(2),
                '"' => return self.blank(1),
                _ => self.blank(1),
            }
        }
    }

    /// `r"…"`, `r#"…"#`: no escapes, ends at a quote with as many hashes as it began with.
    fn blank_raw(&mut self, hashes: usize) {
        self.blank(hashes + 1);
        while let Some(c) = self.peek(0) {
            if c == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                return self.blank(hashes + 1);
            }
            self.blank(1);
        }
    }

    /// A character literal or a lifetime: `'a'` ends with a quote, `'a` does not, `'\…` is always a literal.
    fn quote(&mut self) {
        if self.peek(1) == Some('\\') {
            self.blank(3);
            while self.peek(0).is_some_and(|c| c != '\'' && c != '\n') {
                self.blank(1);
            }
            self.blank(1);
        } else if self.peek(2) == Some('\'') {
            self.blank(3);
        } else {
            self.keep();
        }
    }

    /// A word is code, unless it is the prefix of a literal (`b"…"`, `r#"…"#`, `br"…"`, `c"…"`, `b'…'`).
    fn word(&mut self) {
        let mut end = 0;
        while self.peek(end).is_some_and(is_word) {
            end += 1;
        }
        let word: String = self.source[self.at..self.at + end].iter().collect();
        let raw = matches!(word.as_str(), "r" | "br" | "cr");
        let mut hashes = 0;
        while raw && self.peek(end + hashes) == Some('#') {
            hashes += 1;
        }
        match self.peek(end + hashes) {
            Some('"') if raw => {
                self.blank(end);
                self.blank_raw(hashes);
            }
            Some('"') if word == "b" || word == "c" => {
                self.blank(end);
                self.blank_string();
            }
            Some('\'') if word == "b" => {
                self.blank(end);
                self.quote();
            }
            _ => (0..end).for_each(|_| self.keep()),
        }
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Each place where `word` stands in stripped code as a word of its own (raw identifiers such as `r#unsafe` are not it):
/// its byte offset and its line, counted from one.
pub(crate) fn find_word(code: &str, word: &str) -> Vec<(usize, usize)> {
    code.match_indices(word)
        .filter(|(at, _)| {
            let before = code[..*at].chars().next_back();
            let after = code[at + word.len()..].chars().next();
            !before.is_some_and(|c| is_word(c) || c == '#' && code[..at - 1].ends_with('r'))
                && !after.is_some_and(is_word)
        })
        .map(|(at, _)| (at, line_of(code, at)))
        .collect()
}

/// The line, counted from one, of a byte offset.
pub(crate) fn line_of(code: &str, at: usize) -> usize {
    code[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        strip(source).split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn comments_go_and_code_stays() {
        assert_eq!(words("a // unsafe\nb /* unsafe */ c"), ["a", "b", "c"]);
        assert_eq!(words("a /* x /* unsafe */ y */ b"), ["a", "b"]);
        assert_eq!(words("/// unsafe\nfn f() {}"), ["fn", "f()", "{}"]);
    }

    #[test]
    fn literals_go() {
        assert_eq!(words(r#"f("unsafe \" unsafe") g"#), ["f(", ")", "g"]);
        assert_eq!(words(r##"f(r#"unsafe " unsafe"#) g"##), ["f(", ")", "g"]);
        assert_eq!(words(r#"f(b"unsafe", br"\", c"unsafe") g"#), ["f(", ",", ",", ")", "g"]);
        assert_eq!(words(r"f('\'', '\u{75}', '/', b'\\', '\\') g"), ["f(", ",", ",", ",", ",", ")", "g"]);
    }

    #[test]
    fn a_quote_in_a_character_opens_no_string() {
        assert_eq!(words("let q = '\"'; unsafe"), ["let", "q", "=", ";", "unsafe"]);
    }

    #[test]
    fn lifetimes_and_labels_are_code() {
        assert_eq!(words("fn f<'a>(x: &'a u8) { 'out: loop {} }").join(" "), "fn f<'a>(x: &'a u8) { 'out: loop {} }");
    }

    #[test]
    fn raw_identifiers_are_code_but_not_the_keyword() {
        assert_eq!(words("r#unsafe r#type"), ["r#unsafe", "r#type"]);
        assert!(find_word("r#unsafe", "unsafe").is_empty());
        assert!(find_word("unsafe_code not_unsafe", "unsafe").is_empty());
        assert_eq!(find_word("x\n#[unsafe(no_mangle)]", "unsafe"), [(4, 2)]);
    }

    #[test]
    fn lines_and_columns_are_kept() {
        let source = "\"two\nlines\" /* and\nmore */ unsafe {}\n";
        let code = strip(source);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(find_word(&code, "unsafe"), [(source.find("unsafe").unwrap(), 3)]);
    }

    #[test]
    fn text_that_is_cut_short_does_not_panic() {
        for source in ["\"", "'", "'\\", "/*", "r#\"", "b'", "r#", "/* /*", "\"\\", "b", "//"] {
            strip(source);
        }
    }
}
