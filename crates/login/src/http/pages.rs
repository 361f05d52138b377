//! Pages for people: the files of one folder, read at the start and served from memory.
//!
//! A request's path is looked up as it stands, without decoding it, among the paths that reading the folder has made. So no path leads anywhere else on
//! the disk, and a file that is put into the folder later is not served before the next start.

mod folder;

pub(crate) use folder::{Pages, Unusable};

use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use axum::response::IntoResponse;

/// Where password managers ask for the page that changes the password (W3C, "A Well-Known URL for Changing Passwords").
const CHANGE: &str = "/.well-known/change-password";
/// The page it is.
const CHANGE_PAGE: &str = "/change-password";

/// What a page may do: load what this server serves, and ask this server. `form-action 'none'`: a form whose script does not run sends its password nowhere.
/// Scripts get the same policy, since a worker follows that of its own script. `@candor/opaque` names the package's policy for Trusted Types: it makes the
/// address of that worker and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; worker-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types @candor/opaque";

/// What every file is sent with.
static HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    // Browsers keep a file, and ask each time whether it is still the one.
    (header::CACHE_CONTROL, "no-cache"),
    (header::VARY, "Accept-Encoding"),
];

/// A file as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Page {
    content_type: &'static str,
    plain: Form,
    /// The same compressed by gzip, if that was in the folder.
    gzip: Option<Form>,
}

/// Bytes that are sent, and their entity tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    bytes: Bytes,
    tag: HeaderValue,
}

/// What metrics call them.
pub(super) const ROUTE: &str = "pages";

/// Left on the answers that are pages, for metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct IsPage;

impl Pages {
    /// Answers a request that no route of the interface answers.
    pub(super) fn answer<B>(&self, request: &Request<B>) -> Response<Body> {
        let path = request.uri().path();
        let is_change = path == CHANGE;
        let page = self.at(if is_change { CHANGE_PAGE } else { path });
        let Some(page) = page else { return Problem::NoSuchPath.into_response() };
        let is_head = request.method() == Method::HEAD;
        if !is_head && request.method() != Method::GET {
            let mut refused = Problem::NoSuchMethod.into_response();
            refused.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
            return refused;
        }
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(IsPage);
        if is_change {
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_static(CHANGE_PAGE));
            return response;
        }
        page.write(is_head, request.headers(), &mut response);
        response
    }
}

impl Page {
    fn write(&self, is_head: bool, asked: &HeaderMap, response: &mut Response<Body>) {
        let gzip = self.gzip.as_ref().filter(|_| accepts_gzip(asked));
        let form = gzip.unwrap_or(&self.plain);
        let headers = response.headers_mut();
        headers.extend(HEADERS.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))));
        headers.insert(header::ETAG, form.tag.clone());
        if has(asked, &form.tag) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            return;
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::CONTENT_LENGTH, form.bytes.len().into());
        if gzip.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if !is_head {
            *response.body_mut() = Body::from(form.bytes.clone());
        }
    }
}

/// The members of a header's lists.
fn members(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = &str> {
    let texts = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).map(str::trim)
}

/// Whether the client has this already (RFC 9110, section 13.1.2). No tag of ours has a comma in it.
fn has(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    members(asked, header::IF_NONE_MATCH).any(|has| has == "*" || has.trim_start_matches("W/").as_bytes() == tag)
}

/// Whether the client takes gzip (RFC 9110, section 12.5.3). One that names it with any weight but zero does; `*` is not taken at its word.
fn accepts_gzip(asked: &HeaderMap) -> bool {
    members(asked, header::ACCEPT_ENCODING).any(|member| {
        let mut parts = member.split(';').map(str::trim);
        let is_gzip = parts.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        is_gzip && weight.is_none_or(|weight| weight.parse::<f32>().is_ok_and(|weight| weight > 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asking(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).unwrap())])
    }

    #[test]
    fn a_tag_is_found_in_a_list_whether_weak_or_strong() {
        let tag = HeaderValue::from_static("\"abc\"");
        for held in ["\"abc\"", "W/\"abc\"", "*", "\"x\", \"abc\"", "\"x\" ,W/\"abc\" "] {
            assert!(has(&asking(header::IF_NONE_MATCH, held), &tag), "{held}");
        }
        for other in ["", "abc", "\"ab\"", "\"abcd\"", "W/", "\"x\",\"y\"", "w/\"abc\""] {
            assert!(!has(&asking(header::IF_NONE_MATCH, other), &tag), "{other}");
        }
        assert!(!has(&HeaderMap::new(), &tag));
    }

    #[test]
    fn gzip_is_sent_to_whoever_names_it() {
        for takes in ["gzip", "GZIP", "gzip, deflate, br", "br;q=1, gzip;q=0.5", "gzip; q=1"] {
            assert!(accepts_gzip(&asking(header::ACCEPT_ENCODING, takes)), "{takes}");
        }
        for not in ["", "*", "br", "gzip;q=0", "gzip;q=0.000", "gzip;q=much", "x-gzip", "identity"] {
            assert!(!accepts_gzip(&asking(header::ACCEPT_ENCODING, not)), "{not}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }
}
