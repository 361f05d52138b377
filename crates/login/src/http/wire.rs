//! How requests and answers look on the wire: JSON, with bytes as base64url without padding (RFC 4648 §5).

use crate::config::BodyLimits;
use crate::name::UserName;
use crate::problem::Problem;
use axum::body::{Body, Bytes as BodyBytes, HttpBody as _};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use base64ct::{Base64UrlUnpadded, Encoding};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use tokio::time::timeout;
use zeroize::Zeroizing;

/// Exactly `N` bytes.
#[derive(Clone)]
pub(crate) struct Exactly<const N: usize>(pub(crate) Zeroizing<[u8; N]>);

/// Bytes whose number depends on what they are; at most a few hundred.
#[derive(Clone)]
pub(crate) struct Sealed(pub(crate) Vec<u8>);

/// The most bytes of a [`Sealed`].
const MOST_SEALED: usize = 512;

impl<const N: usize> From<[u8; N]> for Exactly<N> {
    fn from(bytes: [u8; N]) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl<const N: usize> Serialize for Exactly<N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Zeroizing::new(Base64UrlUnpadded::encode_string(self.0.as_slice())))
    }
}

impl<'de, const N: usize> Deserialize<'de> for Exactly<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        let mut bytes = Zeroizing::new([0; N]);
        match Base64UrlUnpadded::decode(text.as_bytes(), bytes.as_mut_slice()) {
            Ok(decoded) if decoded.len() == N => Ok(Self(bytes)),
            _ => Err(D::Error::custom(format_args!("expected {N} bytes in base64url without padding"))),
        }
    }
}

impl Serialize for Sealed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl<'de> Deserialize<'de> for Sealed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match Base64UrlUnpadded::decode_vec(&text) {
            Ok(bytes) if bytes.len() <= MOST_SEALED => Ok(Self(bytes)),
            _ => {
                Err(D::Error::custom(format_args!("expected at most {MOST_SEALED} bytes in base64url without padding")))
            }
        }
    }
}

impl<const N: usize> JsonSchema for Exactly<N> {
    fn schema_name() -> Cow<'static, str> {
        format!("Bytes{N}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let digits = (N * 4).div_ceil(3);
        // Bits of the last digit that stand for nothing are zero.
        let pattern = match N % 3 {
            0 => "^[A-Za-z0-9_-]*$",
            1 => "^[A-Za-z0-9_-]*[AQgw]$",
            _ => "^[A-Za-z0-9_-]*[AEIMQUYcgkosw048]$",
        };
        json_schema!({
            "type": "string",
            "description": format!("{N} bytes in base64url without padding"),
            "pattern": pattern,
            "minLength": digits,
            "maxLength": digits,
        })
    }
}

impl JsonSchema for Sealed {
    fn schema_name() -> Cow<'static, str> {
        "SealedState".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "A state of the server's in base64url without padding, to be sent back as it is",
            // Bits of the last digit that stand for nothing are zero.
            "pattern": "^([A-Za-z0-9_-]{4})*([A-Za-z0-9_-][AQgw]|[A-Za-z0-9_-]{2}[AEIMQUYcgkosw048])?$",
            "maxLength": (MOST_SEALED * 4).div_ceil(3),
        })
    }
}

impl<const N: usize> fmt::Debug for Exactly<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{N} bytes")
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

/// The name of an account.
#[derive(Clone, Debug)]
pub(crate) struct Name(UserName);

impl std::ops::Deref for Name {
    type Target = UserName;

    fn deref(&self) -> &UserName {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        UserName::parse(&text).map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Name {
    fn schema_name() -> Cow<'static, str> {
        "Name".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "The name of an account: at most 256 bytes of UTF-8 in RFC 8265's UsernameCaseMapped form, without spaces; upper and lower case, and forms \
                            of Unicode, make no difference",
            "pattern": "^[^\\s\\u0000-\\u001f\\u007f-\\u009f]+$",
            "minLength": 1,
            "maxLength": 256,
        })
    }
}

/// What the owner of an account calls a device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Label(pub(crate) String);

/// The most characters of a [`Label`].
const MOST_LABEL: usize = 128;

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text.chars().count() > MOST_LABEL || text.chars().any(char::is_control) {
            return Err(D::Error::custom(format_args!(
                "expected at most {MOST_LABEL} characters, none of them a control character"
            )));
        }
        Ok(Self(text))
    }
}

impl JsonSchema for Label {
    fn schema_name() -> Cow<'static, str> {
        "Label".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "What the owner of the account calls the device, for the list of sessions",
            "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
            "maxLength": MOST_LABEL,
        })
    }
}

/// A request's body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        if !is_json(request.headers().get(header::CONTENT_TYPE)) {
            return Err(Problem::NotJson);
        }
        let limits = request.extensions().get::<BodyLimits>().copied().unwrap_or_default();
        let body = read(request.into_body(), limits).await?;
        serde_json::from_slice(&body).map(Self).map_err(|error| Problem::Malformed(error.to_string()))
    }
}

/// The whole body, if it is short and comes in time.
async fn read(body: Body, limits: BodyLimits) -> Result<BodyBytes, Problem> {
    // One that says beforehand that it is too long is not waited for.
    if body.size_hint().lower() > limits.bytes as u64 {
        return Err(Problem::TooLarge);
    }
    match timeout(limits.patience, Limited::new(body, limits.bytes).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Problem::TooLarge),
        Ok(Err(_)) => Err(Problem::Malformed("body was cut off".to_owned())),
        Err(_) => Err(Problem::TooSlow),
    }
}

fn is_json(value: Option<&HeaderValue>) -> bool {
    let Some(Ok(value)) = value.map(HeaderValue::to_str) else { return false };
    value.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// A success with a body.
pub(crate) struct Answer<T>(pub(crate) StatusCode, pub(crate) T);

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response<Body> {
        match serde_json::to_vec(&self.1) {
            Ok(body) => {
                let mut response = Response::new(Body::from(body));
                *response.status_mut() = self.0;
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                response
            }
            Err(_) => Problem::Internal.into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(text: &str) -> Result<Exactly<4>, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn bytes_are_exactly_as_many_as_expected() {
        assert_eq!(*read("\"AAECAw\"").unwrap().0, [0, 1, 2, 3]);
        assert_eq!(serde_json::to_string(&Exactly::from([251, 255, 254, 0])).unwrap(), "\"-__-AA\"");
        for wrong in
            ["\"\"", "\"AAEC\"", "\"AAECAwQ\"", "\"AAECAw==\"", "\"AAE+Aw\"", "\"AAECA!\"", "3", "null", "\"AAECAx\""]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(serde_json::from_str::<Sealed>(&format!("\"{}\"", "A".repeat(684))).is_err());
        assert!(serde_json::from_str::<Sealed>(&format!("\"{}\"", "A".repeat(683))).is_ok());
    }

    #[test]
    fn a_label_is_counted_in_characters_as_its_schema_counts() {
        let read = |label: String| serde_json::from_value::<Label>(label.into());
        assert_eq!(read("\u{1f511}".repeat(MOST_LABEL)).unwrap().0.len(), 4 * MOST_LABEL);
        for wrong in ["x".repeat(MOST_LABEL + 1), "a\tb".to_owned(), "\u{85}".to_owned()] {
            assert!(read(wrong).is_err());
        }
    }

    #[test]
    fn a_state_that_the_schema_permits_is_read() {
        let is_read = |text: &str| serde_json::from_value::<Sealed>(text.into()).is_ok();
        for good in ["", "AA", "-_8", "AAAA", "AAAAAg"] {
            assert!(is_read(good), "{good}");
        }
        // One digit, and digits with bits that stand for nothing.
        for wrong in ["A", "AB", "AAB", "AAAAA", "AAAAAB", "AA=="] {
            assert!(!is_read(wrong), "{wrong}");
        }
    }

    #[test]
    fn json_is_told_by_its_content_type() {
        let is = |text: &'static str| is_json(Some(&HeaderValue::from_static(text)));
        assert!(is("application/json") && is("Application/JSON; charset=utf-8"));
        assert!(!is("application/jsonp") && !is("text/plain") && !is("") && !is_json(None));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_long_slow_or_cut_off_is_refused() {
        let limits = BodyLimits { bytes: 8, patience: Duration::from_secs(5) };
        assert_eq!(super::read(Body::from("12345678"), limits).await.unwrap(), "12345678");
        assert_eq!(super::read(Body::from("123456789"), limits).await, Err(Problem::TooLarge));
        assert_eq!(super::read(Body::new(Stuck), limits).await, Err(Problem::TooSlow));
    }

    /// A body that never comes.
    struct Stuck;

    impl hyper::body::Body for Stuck {
        type Data = BodyBytes;
        type Error = std::convert::Infallible;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<BodyBytes>, Self::Error>>> {
            std::task::Poll::Pending
        }
    }
}
