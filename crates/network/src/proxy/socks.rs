//! SOCKS, the server's side: SOCKS 5 (RFC 1928) with user names (RFC 1929), SOCKS 4 and 4a, and Tor's extensions ("Tor's extensions to the
//! SOCKS protocol"): RESOLVE, RESOLVE_PTR, and user names that only isolate.
//!
//! Bytes in, bytes out: [`Handshake::advance`] is given all that has come so far, and says what to answer, or that it needs more. No message is
//! longer than [`MOST`].

use crate::policy::host_address;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest message: version 4a, with a user id and a host of 255 bytes each.
pub const MOST: usize = 8 + 2 * 256;

const VERSION_5: u8 = 5;
const VERSION_4: u8 = 4;
/// Methods of SOCKS 5.
const NO_AUTHENTICATION: u8 = 0;
const USER_NAME: u8 = 2;
const NO_METHOD: u8 = 0xff;
/// The version of RFC 1929's messages.
const USER_NAME_VERSION: u8 = 1;
/// Commands.
const CONNECT: u8 = 1;
const RESOLVE: u8 = 0xf0;
const RESOLVE_PTR: u8 = 0xf1;
/// Types of addresses.
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;
/// User names that begin so are not for isolation alone; the only one that Tor's proxies without RPC know has a 0 behind it.
const EXTENDED: &[u8] = b"<torS0X>";
const EXTENDED_PLAIN: &[u8] = b"<torS0X>0";

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// A stream.
    Connect,
    /// The address of a name (RESOLVE, 0xF0).
    Resolve,
    /// The name of this address (RESOLVE_PTR, 0xF1).
    ResolvePointer(IpAddr),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What for.
    pub ask: Ask,
    /// The host as the client has named it: a name, an IPv4 address, or an IPv6 address in brackets. Nothing was looked up.
    pub host: String,
    /// The port; of no meaning unless a stream is asked for.
    pub port: u16,
    /// Which version the answer must have.
    version: u8,
}

/// The result of a request, as the reply says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[allow(missing_docs)] // they are named in RFC 1928
pub enum Reply {
    Succeeded = 0,
    GeneralFailure = 1,
    NotAllowed = 2,
    NetworkUnreachable = 3,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    TtlExpired = 6,
    CommandNotSupported = 7,
    AddressTypeNotSupported = 8,
}

impl Reply {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Succeeded,
        Self::GeneralFailure,
        Self::NotAllowed,
        Self::NetworkUnreachable,
        Self::HostUnreachable,
        Self::ConnectionRefused,
        Self::TtlExpired,
        Self::CommandNotSupported,
        Self::AddressTypeNotSupported,
    ];
}

/// What follows from the bytes so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// More bytes are needed.
    More,
    /// So many bytes are used up. Send these and go on.
    Answer(usize, Vec<u8>),
    /// So many bytes are used up, and the handshake is over: the client wants this. Answer by [`Request::reply`].
    Ask(usize, Request),
    /// This is no client of ours. Send these, if there are any, and close.
    Refuse(Vec<u8>, &'static str),
}

/// A handshake with a client.
#[derive(Debug, Default)]
pub struct Handshake {
    stage: Stage,
    credentials: Credentials,
}

/// What a client has said of itself. It proves nothing; streams with different ones share no circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Credentials {
    /// The user name of SOCKS 5, or the user id of SOCKS 4.
    pub user: Vec<u8>,
    /// The password.
    pub password: Vec<u8>,
}

#[derive(Debug, Default)]
enum Stage {
    #[default]
    Greeting,
    UserName,
    Request,
}

impl Handshake {
    /// What follows from the `bytes` that have come and are not used up.
    pub fn advance(&mut self, bytes: &[u8]) -> Step {
        let step = match (&self.stage, bytes.first()) {
            (_, None) => return Step::More,
            (Stage::Greeting, Some(&VERSION_5)) => self.greeting(bytes),
            (Stage::Greeting, Some(&VERSION_4)) => self.version_4(bytes),
            (Stage::Greeting, _) => Err(no_answer("expected SOCKS version 4 or 5")),
            (Stage::UserName, _) => self.user_name(bytes),
            (Stage::Request, _) => request(bytes),
        };
        step.unwrap_or_else(|other| other)
    }

    /// The client's credentials, once the handshake is over.
    pub fn into_credentials(self) -> Credentials {
        self.credentials
    }

    /// VER | NMETHODS | METHODS.
    fn greeting(&mut self, bytes: &[u8]) -> Result<Step, Step> {
        let mut parts = Parts(bytes);
        let [_, count] = parts.array()?;
        let methods = parts.slice(count.into())?;
        // A client that can give a user name may want its streams apart.
        let (method, stage) = match () {
            () if methods.contains(&USER_NAME) => (USER_NAME, Stage::UserName),
            () if methods.contains(&NO_AUTHENTICATION) => (NO_AUTHENTICATION, Stage::Request),
            () => return Err(Step::Refuse(vec![VERSION_5, NO_METHOD], "no method that we know was offered")),
        };
        self.stage = stage;
        Ok(Step::Answer(parts.used(bytes), vec![VERSION_5, method]))
    }

    /// VER | ULEN | UNAME | PLEN | PASSWD.
    fn user_name(&mut self, bytes: &[u8]) -> Result<Step, Step> {
        const REFUSED: [u8; 2] = [USER_NAME_VERSION, 1];
        let mut parts = Parts(bytes);
        let [version] = parts.array()?;
        if version != USER_NAME_VERSION {
            return Err(Step::Refuse(REFUSED.to_vec(), "expected user name and password, version 1"));
        }
        let [length] = parts.array()?;
        let user = parts.slice(length.into())?;
        let [length] = parts.array()?;
        let password = parts.slice(length.into())?;
        if user.starts_with(EXTENDED) && user != EXTENDED_PLAIN {
            return Err(Step::Refuse(REFUSED.to_vec(), "the user name asks for an extension that we don't know"));
        }
        self.credentials = Credentials { user: user.to_vec(), password: password.to_vec() };
        self.stage = Stage::Request;
        Ok(Step::Answer(parts.used(bytes), vec![USER_NAME_VERSION, 0]))
    }

    /// VN | CD | DSTPORT | DSTIP | USERID | NUL, and for 4a | HOST | NUL.
    fn version_4(&mut self, bytes: &[u8]) -> Result<Step, Step> {
        let mut parts = Parts(bytes);
        let [_, command] = parts.array()?;
        let port = u16::from_be_bytes(parts.array()?);
        let address = parts.array::<4>()?;
        let user = parts.until_nul()?.to_vec();
        let refuse = |why| Step::Refuse(reply_4(false, None, 0), why);
        // The addresses 0.0.0.x mean that a name follows; that is 4a.
        let host = match address {
            [0, 0, 0, last] if last != 0 => {
                let name = parts.until_nul()?;
                host_name(name).ok_or_else(|| refuse("the host name is empty or not printable ASCII"))?
            }
            address => Ipv4Addr::from(address).to_string(),
        };
        let ask = match command {
            CONNECT => Ask::Connect,
            RESOLVE => Ask::Resolve,
            _ => return Err(refuse("expected CONNECT or RESOLVE")),
        };
        if ask == Ask::Connect && port == 0 {
            return Err(refuse("the port is 0"));
        }
        self.credentials = Credentials { user, password: Vec::new() };
        Ok(Step::Ask(parts.used(bytes), Request { ask, host, port, version: VERSION_4 }))
    }
}

/// VER | CMD | RSV | ATYP | DST.ADDR | DST.PORT.
fn request(bytes: &[u8]) -> Result<Step, Step> {
    let refuse = |reply, why| Step::Refuse(reply_5(reply, None, 0), why);
    let mut parts = Parts(bytes);
    let [version] = parts.array()?;
    if version != VERSION_5 {
        return Err(refuse(Reply::GeneralFailure, "expected a request of SOCKS version 5"));
    }
    let [command] = parts.array()?;
    if ![CONNECT, RESOLVE, RESOLVE_PTR].contains(&command) {
        return Err(refuse(Reply::CommandNotSupported, "expected CONNECT, RESOLVE or RESOLVE_PTR"));
    }
    let [_, kind] = parts.array()?;
    let host = match kind {
        IPV4 => Ipv4Addr::from(parts.array::<4>()?).to_string(),
        IPV6 => format!("[{}]", Ipv6Addr::from(parts.array::<16>()?)),
        NAME => {
            let [length] = parts.array()?;
            let name = parts.slice(length.into())?;
            host_name(name).ok_or(refuse(Reply::GeneralFailure, "the host name is empty or not printable ASCII"))?
        }
        _ => return Err(refuse(Reply::AddressTypeNotSupported, "expected an IPv4 or IPv6 address, or a name")),
    };
    let port = u16::from_be_bytes(parts.array()?);
    let ask = match command {
        CONNECT if port == 0 => return Err(refuse(Reply::GeneralFailure, "the port is 0")),
        CONNECT => Ask::Connect,
        RESOLVE => Ask::Resolve,
        _ => match host_address(&host) {
            Some(address) => Ask::ResolvePointer(address),
            None => return Err(refuse(Reply::AddressTypeNotSupported, "RESOLVE_PTR wants an address")),
        },
    };
    Ok(Step::Ask(parts.used(bytes), Request { ask, host, port, version: VERSION_5 }))
}

/// A host name that can go into BEGIN. IPv6 addresses come in brackets there, and some clients send addresses as names.
fn host_name(bytes: &[u8]) -> Option<String> {
    let is_fit = !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic());
    let name = str::from_utf8(bytes).ok().filter(|_| is_fit)?;
    Some(name.parse::<Ipv6Addr>().map_or_else(|_| name.to_owned(), |address| format!("[{address}]")))
}

fn no_answer(why: &'static str) -> Step {
    Step::Refuse(Vec::new(), why)
}

impl Request {
    /// The reply to a stream's opening, or to any request that failed.
    pub fn reply(&self, reply: Reply) -> Vec<u8> {
        match self.version {
            VERSION_4 => reply_4(reply == Reply::Succeeded, None, 0),
            _ => reply_5(reply, None, 0),
        }
    }

    /// The reply to RESOLVE: one of the addresses, of IPv4 if there is one. SOCKS 4 has no room for IPv6; that is a failure there.
    pub fn resolved(&self, addresses: &[IpAddr]) -> Vec<u8> {
        let address = addresses.iter().find(|address| address.is_ipv4()).or(addresses.first());
        match (self.version, address) {
            (_, None) => self.reply(Reply::HostUnreachable),
            (VERSION_4, Some(IpAddr::V4(address))) => reply_4(true, Some(*address), 0),
            (VERSION_4, Some(IpAddr::V6(_))) => reply_4(false, None, 0),
            (_, Some(IpAddr::V4(address))) => reply_5(Reply::Succeeded, Some((IPV4, &address.octets())), 0),
            (_, Some(IpAddr::V6(address))) => reply_5(Reply::Succeeded, Some((IPV6, &address.octets())), 0),
        }
    }

    /// The reply to RESOLVE_PTR.
    pub fn named(&self, name: &str) -> Vec<u8> {
        let name = &name.as_bytes()[..name.len().min(255)];
        let bytes = [&[name.len() as u8], name].concat();
        reply_5(Reply::Succeeded, Some((NAME, &bytes)), 0)
    }
}

/// VER | REP | RSV | ATYP | BND.ADDR | BND.PORT; where the exit is bound to is nobody's business.
fn reply_5(reply: Reply, address: Option<(u8, &[u8])>, port: u16) -> Vec<u8> {
    let (kind, address) = address.unwrap_or((IPV4, &[0; 4]));
    [&[VERSION_5, reply as u8, 0, kind], address, &port.to_be_bytes()].concat()
}

/// VN | CD | DSTPORT | DSTIP.
fn reply_4(granted: bool, address: Option<Ipv4Addr>, port: u16) -> Vec<u8> {
    let code = if granted { 90 } else { 91 };
    let address = address.unwrap_or(Ipv4Addr::UNSPECIFIED);
    [&[0, code], &port.to_be_bytes()[..], &address.octets()].concat()
}

/// What is left of a message. Where bytes are missing, the step is to wait for more.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Step> {
        let (array, rest) = self.0.split_first_chunk::<N>().ok_or(Step::More)?;
        self.0 = rest;
        Ok(*array)
    }

    fn slice(&mut self, length: usize) -> Result<&'a [u8], Step> {
        let (slice, rest) = self.0.split_at_checked(length).ok_or(Step::More)?;
        self.0 = rest;
        Ok(slice)
    }

    /// A text of at most 255 bytes, and the byte 0 behind it.
    fn until_nul(&mut self) -> Result<&'a [u8], Step> {
        let end = self.0.iter().take(256).position(|byte| *byte == 0);
        let end = end.ok_or_else(|| match self.0.len() {
            ..256 => Step::More,
            _ => Step::Refuse(reply_4(false, None, 0), "a text is longer than 255 bytes"),
        })?;
        let text = self.slice(end)?;
        self.slice(1)?;
        Ok(text)
    }

    /// How many of the message's bytes are used up.
    fn used(&self, bytes: &[u8]) -> usize {
        bytes.len() - self.0.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Everything that is answered, and how it ends, if the bytes come in pieces of `piece`.
    fn talk(bytes: &[u8], piece: usize) -> (Vec<u8>, Step, Credentials) {
        let (mut handshake, mut said, mut start) = (Handshake::default(), Vec::new(), 0);
        let mut end = 0;
        loop {
            match handshake.advance(&bytes[start..end]) {
                Step::More if end == bytes.len() => return (said, Step::More, handshake.into_credentials()),
                Step::More => end = bytes.len().min(end + piece),
                Step::Answer(used, answer) => {
                    start += used;
                    said.extend(answer);
                }
                last => return (said, last, handshake.into_credentials()),
            }
        }
    }

    fn ask(ask: Ask, host: &str, port: u16, version: u8) -> Request {
        Request { ask, host: host.to_owned(), port, version }
    }

    fn name(command: u8, name: &str, port: u16) -> Vec<u8> {
        let head = [5, command, 0, 3, name.len() as u8];
        [&head, name.as_bytes(), &port.to_be_bytes()].concat()
    }

    #[test]
    fn requests_are_read_whole_or_in_pieces() {
        let plain = [5, 1, 0].as_slice();
        let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1, 0, 80]].concat();
        let cases = [
            (name(1, "example.org", 443), ask(Ask::Connect, "example.org", 443, 5)),
            (name(1, "::1", 443), ask(Ask::Connect, "[::1]", 443, 5)),
            (vec![5, 1, 0, 1, 192, 0, 2, 1, 0, 80], ask(Ask::Connect, "192.0.2.1", 80, 5)),
            (v6, ask(Ask::Connect, "[::1]", 80, 5)),
            (name(0xf0, "example.org", 0), ask(Ask::Resolve, "example.org", 0, 5)),
            (
                vec![5, 0xf1, 0, 1, 192, 0, 2, 1, 0, 0],
                ask(Ask::ResolvePointer([192, 0, 2, 1].into()), "192.0.2.1", 0, 5),
            ),
        ];
        for (bytes, wanted) in cases {
            for piece in [1, 3, 1000] {
                let (said, end, credentials) = talk(&[plain, &bytes].concat(), piece);
                assert_eq!((said, end), (vec![5, 0], Step::Ask(bytes.len(), wanted.clone())));
                assert_eq!(credentials, Credentials::default());
            }
        }
        let four = [&[4, 1, 0, 80, 192, 0, 2, 1][..], b"me\0"].concat();
        let (_, end, credentials) = talk(&four, 2);
        assert_eq!(end, Step::Ask(11, ask(Ask::Connect, "192.0.2.1", 80, 4)));
        assert_eq!(credentials, Credentials { user: b"me".to_vec(), password: Vec::new() });
        let four_a = [&[4, 0xf0, 0, 0, 0, 0, 0, 1][..], b"\0example.org\0more"].concat();
        assert_eq!(talk(&four_a, 1000).1, Step::Ask(four_a.len() - 4, ask(Ask::Resolve, "example.org", 0, 4)));
    }

    #[test]
    fn user_names_are_taken_and_kept_apart() {
        let login =
            |user: &[u8], password: &[u8]| [&[1, user.len() as u8], user, &[password.len() as u8], password].concat();
        let words = |user: &[u8], password: &[u8]| {
            let bytes = [&[5, 2, 0, 2][..], &login(user, password), &name(1, "a", 1)].concat();
            let (said, end, credentials) = talk(&bytes, 7);
            (said, matches!(end, Step::Ask(..)), credentials)
        };
        let kept = |user: &[u8], password: &[u8]| Credentials { user: user.to_vec(), password: password.to_vec() };
        for (user, password) in [(&b"ada"[..], &b"pw"[..]), (b"", b""), (&[255; 255], &[0; 255]), (b"<torS0X>0", b"x")]
        {
            assert_eq!(words(user, password), (vec![5, 2, 1, 0], true, kept(user, password)));
        }
        let (said, asked, _) = words(b"<torS0X>1object", b"x");
        assert_eq!((said, asked), (vec![5, 2], false), "an extension that we don't know");
    }

    #[test]
    fn what_is_no_request_is_refused_with_its_reply() {
        let after = |request: &[u8]| match talk(&[&[5, 1, 0], request].concat(), 1000).1 {
            Step::Refuse(answer, _) => answer.get(1).copied(),
            other => panic!("{other:?}"),
        };
        assert_eq!(after(&[5, 2, 0, 1, 1, 2, 3, 4, 0, 1]), Some(7), "BIND");
        assert_eq!(after(&[5, 3, 0, 1, 1, 2, 3, 4, 0, 1]), Some(7), "UDP ASSOCIATE");
        assert_eq!(after(&[5, 1, 0, 2, 1, 2, 3, 4]), Some(8), "an unknown type of address");
        assert_eq!(after(&name(0xf1, "example.org", 0)), Some(8), "no address");
        assert_eq!(after(&name(1, "", 80)), Some(1));
        assert_eq!(after(&name(1, "a b", 80)), Some(1));
        assert_eq!(after(&name(1, "a", 0)), Some(1));
        assert_eq!(after(&[4, 1, 0, 1]), Some(1), "the other version");
        for (bytes, answer) in [
            (&b"GET / HTTP/1.1\r\n"[..], &[][..]),
            (&[0; 64], &[]),
            (&[5, 1, 1], &[5, 0xff]),
            (&[5, 0], &[5, 0xff]),
            (&[5, 1, 2, 9], &[1, 1]),
            (&[4, 2, 0, 1, 1, 2, 3, 4, 0], &[0, 91, 0, 0, 0, 0, 0, 0]),
            (&[4, 1, 0, 0, 1, 2, 3, 4, 0], &[0, 91, 0, 0, 0, 0, 0, 0]),
        ] {
            let Step::Refuse(said, _) = talk(bytes, 1000).1 else { panic!("{bytes:?}") };
            assert_eq!(said, answer, "{bytes:?}");
        }
        let endless = [&[4, 1, 0, 1, 1, 2, 3, 4][..], &[7; 300]].concat();
        assert!(matches!(talk(&endless, 1000).1, Step::Refuse(..)));
    }

    #[test]
    fn replies_are_as_long_as_they_say() {
        let five = ask(Ask::Resolve, "a", 0, 5);
        assert_eq!(five.reply(Reply::TtlExpired), [5, 6, 0, 1, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            five.resolved(&[Ipv6Addr::LOCALHOST.into(), [192, 0, 2, 1].into()]),
            [5, 0, 0, 1, 192, 0, 2, 1, 0, 0]
        );
        assert_eq!(five.resolved(&[Ipv6Addr::LOCALHOST.into()]).len(), 4 + 16 + 2);
        assert_eq!(five.named("ab"), [5, 0, 0, 3, 2, b'a', b'b', 0, 0]);
        assert_eq!(five.named(&"x".repeat(300)).len(), 4 + 1 + 255 + 2);
        let four = ask(Ask::Connect, "a", 0, 4);
        assert_eq!(four.reply(Reply::Succeeded), [0, 90, 0, 0, 0, 0, 0, 0]);
        assert_eq!(four.reply(Reply::HostUnreachable), [0, 91, 0, 0, 0, 0, 0, 0]);
        assert_eq!(four.resolved(&[[192, 0, 2, 1].into()]), [0, 90, 0, 0, 192, 0, 2, 1]);
        assert_eq!(four.resolved(&[Ipv6Addr::LOCALHOST.into()])[1], 91);
        let codes: Vec<u8> = Reply::ALL.iter().map(|reply| *reply as u8).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    }

    proptest! {
        #[test]
        fn what_is_asked_for_is_what_was_named_however_it_comes(
            host in "[!-~]{1,255}",
            port in 1..=u16::MAX,
            (user, password) in (prop::collection::vec(1_u8.., 0..256), prop::collection::vec(any::<u8>(), 0..256)),
            piece in 1..600_usize,
            more in prop::collection::vec(any::<u8>(), 0..8),
        ) {
            prop_assume!(!user.starts_with(EXTENDED) && host.parse::<Ipv6Addr>().is_err());
            let said = |text: &[u8]| [&[text.len() as u8], text].concat();
            let login = [&[1], &said(&user)[..], &said(&password)].concat();
            let five = [&[5, 1, 2][..], &login, &name(CONNECT, &host, port), &more].concat();
            let head = [&[4, CONNECT][..], &port.to_be_bytes(), &[0, 0, 0, 1]].concat();
            let four = [&head[..], &user, &[0], host.as_bytes(), &[0], &more].concat();
            for (bytes, version, password) in [(five, VERSION_5, password), (four, VERSION_4, Vec::new())] {
                let (_, end, credentials) = talk(&bytes, piece);
                let Step::Ask(_, request) = end else { panic!("{end:?}") };
                prop_assert_eq!(request, ask(Ask::Connect, &host, port, version));
                prop_assert_eq!(credentials, Credentials { user: user.clone(), password });
            }
        }
    }
}
