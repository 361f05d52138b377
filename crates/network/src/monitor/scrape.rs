//! Reading what the roles serve.

use crate::http::{self, Url};
use crate::metrics::{Sample, parse};
use crate::proxy::CircuitReading;
use crate::{Error, clock};
use std::io;
use std::str::FromStr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// The longest answer of a role.
pub const MOST_ANSWER: usize = 1 << 20;
/// How long a role may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A role to watch: `NAME=URL`, where the URL is that of its metrics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Its name, for the page.
    pub name: String,
    /// Its metrics.
    pub url: Url,
}

impl FromStr for Watched {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let wrong = |why| Error::Url { url: text.to_owned(), why };
        let (name, url) = text.split_once('=').ok_or(wrong("expected NAME=http://host:port/metrics"))?;
        if name.is_empty() || name.chars().any(char::is_control) {
            return Err(wrong("expected a name before the `=`"));
        }
        Ok(Self { name: name.to_owned(), url: Url::parse(url)? })
    }
}

/// What a role has answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) at: Instant,
    pub(super) samples: Vec<Sample>,
    /// A proxy's.
    pub(super) circuits: Vec<CircuitReading>,
}

/// Asks all of them at once; the answers in their order.
pub(super) async fn all(watched: &[Watched], every: Duration) -> Vec<Result<Answer, String>> {
    let mut asked = JoinSet::new();
    for (index, role) in watched.iter().enumerate() {
        let url = role.url.clone();
        asked.spawn(async move { (index, one(&url, PATIENCE.max(every)).await) });
    }
    let mut answers: Vec<_> = watched.iter().map(|_| Err("was not asked".to_owned())).collect();
    while let Some(joined) = asked.join_next().await {
        if let Ok((index, answer)) = joined {
            answers[index] = answer;
        }
    }
    answers
}

async fn one(url: &Url, patience: Duration) -> Result<Answer, String> {
    let asked = async {
        let text = fetch(url).await?;
        let samples = parse(&text).map_err(|error| error.to_string())?;
        let info = samples.iter().find(|sample| sample.name == "candor_info");
        let circuits = match info.and_then(|info| info.label("role")) {
            Some("proxy") => CircuitReading::parse(&fetch(&url.sibling("/circuits")).await?)?,
            _ => Vec::new(),
        };
        Ok(Answer { at: clock::instant(), samples, circuits })
    };
    let late = |_| format!("did not answer within {} s", patience.as_secs_f32());
    timeout(patience, asked).await.unwrap_or_else(|elapsed| Err(late(elapsed)))
}

/// A document of a role, however long it takes: whoever calls gives up in time.
async fn fetch(url: &Url) -> Result<String, String> {
    let tcp = TcpStream::connect((url.bare_host(), url.port())).await;
    let tcp = tcp.map_err(|error| format!("can't be reached: {error}"))?;
    let mut bytes = Vec::new();
    let answer = http::get(tcp, url, Duration::MAX, |piece| {
        bytes.extend_from_slice(piece);
        match bytes.len() <= MOST_ANSWER {
            true => Ok(()),
            false => Err(io::Error::other(format!("longer than {MOST_ANSWER} bytes"))),
        }
    });
    match answer.await.map_err(|error| error.to_string())?.status {
        200 => String::from_utf8(bytes).map_err(|_| "answered with bytes that are no text".to_owned()),
        status => Err(format!("answered with status {status}; expected 200")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[test]
    fn a_role_to_watch_is_a_name_and_a_url() {
        let watched: Watched = "ada=http://[::1]:90/metrics".parse().unwrap();
        assert_eq!((watched.name.as_str(), watched.url.to_string()), ("ada", "http://[::1]:90/metrics".to_owned()));
        for wrong in ["http://[::1]:90/metrics", "=http://[::1]:90/", "a\n=http://[::1]:90/", "ada=[::1]:90", ""] {
            assert!(wrong.parse::<Watched>().is_err(), "{wrong}");
        }
    }

    /// Answers every connection with the same bytes.
    async fn role(answer: Vec<u8>) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/metrics", listener.local_addr().unwrap())).unwrap();
        tokio::spawn(async move {
            while let Ok((mut tcp, _)) = listener.accept().await {
                let _ = tcp.read(&mut [0; 1 << 10]).await;
                let _ = tcp.write_all(&answer).await;
            }
        });
        url
    }

    #[tokio::test]
    async fn a_role_that_lies_is_late_or_says_too_much_is_an_error_with_its_reason() {
        let page = |status: &str, body: &str| format!("HTTP/1.1 {status}\r\n\r\n{body}").into_bytes();
        let long = "# ".repeat(MOST_ANSWER);
        for (answer, expected) in [
            (page("200 OK", "a 1\n"), None),
            (page("200 OK", "candor_info{role=\"proxy\"} 1\n"), Some("circuits that can't be read")),
            (page("404 Not Found", ""), Some("status 404; expected 200")),
            (page("200 OK", "nonsense\n"), Some("line 1: expected a space")),
            (page("200 OK", &long), Some("longer than")),
            ([page("200 OK", ""), vec![0xFF]].concat(), Some("no text")),
            (b"SSH-2.0\r\n\r\n".to_vec(), Some("is not HTTP")),
        ] {
            let error = one(&role(answer).await, Duration::from_secs(20)).await.err();
            assert_eq!(error.is_some(), expected.is_some(), "{error:?}");
            assert!(expected.is_none_or(|words| error.as_ref().unwrap().contains(words)), "{error:?} {expected:?}");
        }
        let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/metrics", silent.local_addr().unwrap())).unwrap();
        let error = one(&url, Duration::from_millis(50)).await.unwrap_err();
        assert!(error.contains("did not answer within 0.05 s"), "{error}");
    }
}
