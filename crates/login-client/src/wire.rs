//! Requests and answers, as the server's `openapi.json` describes them.

use base64ct::{Base64UrlUnpadded, Encoding};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// Bytes, in base64url without padding.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Bytes(pub(crate) Zeroizing<Vec<u8>>);

impl Bytes {
    pub(crate) fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Zeroizing::new(bytes.as_ref().to_vec()))
    }

    pub(crate) fn text(&self) -> Zeroizing<String> {
        Zeroizing::new(Base64UrlUnpadded::encode_string(&self.0))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Zeroizing::new(String::deserialize(deserializer)?);
        let bytes =
            Base64UrlUnpadded::decode_vec(&text).map_err(|_| D::Error::custom("expected base64url without padding"))?;
        Ok(Self(Zeroizing::new(bytes)))
    }
}

#[derive(Serialize)]
pub(crate) struct LoginStart<'a> {
    pub(crate) name: &'a str,
    pub(crate) ke1: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) old_hash: Option<Bytes>,
}

#[derive(Deserialize)]
pub(crate) struct LoginStarted {
    pub(crate) state: Bytes,
    pub(crate) ke2: Bytes,
    pub(crate) ksf: Bytes,
    #[serde(default)]
    pub(crate) old_hash: Option<String>,
}

#[derive(Serialize)]
pub(crate) struct LoginFinish<'a> {
    pub(crate) name: &'a str,
    pub(crate) state: Bytes,
    pub(crate) ke3: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<Bytes>,
    pub(crate) label: &'a str,
    pub(crate) remember: bool,
}

#[derive(Serialize)]
pub(crate) struct RegisterStart<'a> {
    pub(crate) name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a str>,
    pub(crate) request: Bytes,
}

#[derive(Deserialize)]
pub(crate) struct RegisterStarted {
    pub(crate) state: Bytes,
    pub(crate) response: Bytes,
    pub(crate) ksf: Bytes,
}

/// The end of a registration, of whatever kind.
#[derive(Serialize)]
pub(crate) struct RegisterFinish<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a str>,
    pub(crate) state: Bytes,
    pub(crate) upload: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recovery_codes: Option<Vec<Bytes>>,
    pub(crate) label: &'a str,
    pub(crate) remember: bool,
}

#[derive(Serialize)]
pub(crate) struct PasswordStart<'a> {
    pub(crate) name: &'a str,
    pub(crate) state: Bytes,
    pub(crate) ke3: Bytes,
    pub(crate) request: Bytes,
}

#[derive(Serialize)]
pub(crate) struct RecoveryOpen<'a> {
    pub(crate) name: &'a str,
    pub(crate) code: Bytes,
}

#[derive(Deserialize)]
pub(crate) struct RecoveryOpened {
    pub(crate) access_token: Bytes,
}

#[derive(Serialize)]
pub(crate) struct RecoveryStart {
    pub(crate) request: Bytes,
}

#[derive(Serialize)]
pub(crate) struct RecoveryCodes<'a> {
    pub(crate) name: &'a str,
    pub(crate) state: Bytes,
    pub(crate) ke3: Bytes,
    pub(crate) codes: Vec<Bytes>,
}

#[derive(Deserialize)]
pub(crate) struct CodesLeft {
    pub(crate) left: u64,
}

#[derive(Deserialize)]
pub(crate) struct SessionOpened {
    pub(crate) session: String,
    pub(crate) access_token: Bytes,
    pub(crate) refresh_token: Bytes,
    pub(crate) access_until: i64,
    pub(crate) ends: i64,
    #[serde(default)]
    pub(crate) device: Option<Bytes>,
}

#[derive(Serialize)]
pub(crate) struct SessionRefresh {
    pub(crate) refresh_token: Bytes,
}

#[derive(Deserialize)]
pub(crate) struct Sessions {
    pub(crate) sessions: Vec<crate::SessionInfo>,
}

/// RFC 9457.
#[derive(Deserialize)]
pub(crate) struct Problem {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) detail: Option<String>,
}
