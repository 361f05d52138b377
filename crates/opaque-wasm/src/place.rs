//! One registration or login at a time, from the page's requests to the answers it gets.

use crate::refusal::{Code, Refusal};
use crate::request::{Request, Start};
use crate::stretching::Stretching;
use candor_old_hashes::{CostLimits, OldScheme};
use candor_opaque::{Client, ClientLogin, ClientRegistration, DefaultSuite, KsfParams, Limits, Parties, Password};
use core::convert::Infallible;
use rand_core::{TryCryptoRng, TryRng};
use std::ops::RangeInclusive;
use zeroize::Zeroizing;

/// What the module needs of the page that has loaded it.
pub trait Page {
    /// Fills the bytes with random ones.
    fn random(&self, bytes: &mut [u8]);
    /// The text in normalisation form C.
    fn nfc(&self, text: &str) -> Zeroizing<String>;
    /// Hears that so much of all key stretching is done.
    fn progress(&self, done: u64, all: u64);
}

/// Where a registration or login takes place.
#[derive(Default)]
pub struct Place {
    begun: Option<Begun>,
}

/// What has begun, and what it ends with.
struct Begun {
    state: State,
    context: Vec<u8>,
    client: Option<Vec<u8>>,
    server: Option<Vec<u8>>,
}

enum State {
    Registration(Box<ClientRegistration>),
    Login(Box<ClientLogin<DefaultSuite>>),
}

impl Place {
    /// A place where nothing has begun.
    #[must_use]
    pub const fn new() -> Self {
        Self { begun: None }
    }

    /// Does what a request says. The answer is a row of fields, each with its length in four bytes before it, little endian:
    ///
    /// | request | answer |
    /// |---|---|
    /// | start of a registration | request 32 |
    /// | its end | upload 192, export key 64, server's public key 32 |
    /// | start of a login | KE1 1280 |
    /// | its end | KE3 64, session key 64, export key 64, server's public key 32 |
    /// | old hash | OPAQUE's password |
    /// | giving up | nothing |
    ///
    /// # Errors
    /// [`Refusal`]. What had begun is given up.
    pub fn work(&mut self, request: &[u8], page: &impl Page) -> Result<Zeroizing<Vec<u8>>, Refusal> {
        let begun = self.begun.take();
        match Request::parse(request)? {
            Request::StartRegistration(start) => {
                let (client, password) = start.client(page)?;
                let (state, request) = client.start_registration(&mut Random(page), &password)?;
                self.begun = Some(start.begun(State::Registration(Box::new(state))));
                Ok(fields(&[&request]))
            }
            Request::StartLogin(start) => {
                let (client, password) = start.client(page)?;
                let (state, ke1) = client.start_login(&mut Random(page), &password)?;
                self.begun = Some(start.begun(State::Login(Box::new(state))));
                Ok(fields(&[&ke1]))
            }
            Request::Finish { message, ksf } => {
                let begun =
                    begun.ok_or_else(|| Refusal::new(Code::Input, "nothing has begun that could be finished"))?;
                begun.finish(message, &KsfParams::from_bytes(ksf)?, page)
            }
            Request::OldHash { limits, scheme, password } => {
                let scheme = core::str::from_utf8(scheme).map_err(|error| Refusal::new(Code::OldHash, error))?;
                let scheme: OldScheme = scheme.parse()?;
                cost_limits(limits).check(&scheme).map_err(|why| {
                    let scheme = scheme.name_and_cost();
                    Refusal::new(Code::OldHash, format!("server asks for the old password hash {scheme}, which {why}"))
                })?;
                Ok(fields(&[&scheme.opaque_password(password)?]))
            }
            Request::Forget => Ok(Zeroizing::default()),
        }
    }
}

impl Begun {
    fn finish(self, message: &[u8], ksf: &KsfParams, page: &impl Page) -> Result<Zeroizing<Vec<u8>>, Refusal> {
        let parties =
            Parties { context: &self.context, client: self.client.as_deref(), server: self.server.as_deref() };
        match self.state {
            State::Registration(state) => {
                let done = state.finish(&mut Random(page), message, ksf, &mut Stretching(page), &parties)?;
                Ok(fields(&[&done.upload, done.export_key.as_bytes(), &done.server_public_key]))
            }
            State::Login(state) => {
                let done = state.finish(message, ksf, &mut Stretching(page), &parties)?;
                let keys = [done.session_key.as_bytes(), done.export_key.as_bytes()];
                Ok(fields(&[&done.ke3, keys[0], keys[1], &done.server_public_key]))
            }
        }
    }
}

impl Start<'_> {
    fn client(&self, page: &impl Page) -> Result<(Client<DefaultSuite>, Password<'_>), Refusal> {
        let password = if self.text {
            let text = core::str::from_utf8(self.password)
                .map_err(|_| Refusal::new(Code::Password, "password can't be used: it is not UTF-8"))?;
            Password::from_text_with(text, |text| page.nfc(text))?
        } else {
            Password::from_bytes(self.password)?
        };
        let [identity, least_memory, least_work, most_memory, most_work] = self.limits;
        let limits = Limits {
            identity: identity != 0,
            least_memory_kib: clamped(least_memory),
            least_work,
            most_memory_kib: clamped(most_memory),
            most_work,
        };
        Ok((Client::default().with_limits(limits), password))
    }

    fn begun(&self, state: State) -> Begun {
        let owned = |field: Option<&[u8]>| field.map(<[u8]>::to_vec);
        Begun { state, context: self.context.to_vec(), client: owned(self.client), server: owned(self.server) }
    }
}

fn cost_limits([memory, least_work, most_work, bcrypt, most_bcrypt, pbkdf2, most_pbkdf2]: [u64; 7]) -> CostLimits {
    let range = |least, most| -> RangeInclusive<u32> { clamped(least)..=clamped(most) };
    CostLimits {
        memory,
        work: least_work..=most_work,
        bcrypt: range(bcrypt, most_bcrypt),
        pbkdf2: range(pbkdf2, most_pbkdf2),
    }
}

/// A limit that is greater than any cost can be is that: no limit.
fn clamped(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The fields with their lengths before them.
fn fields(parts: &[&[u8]]) -> Zeroizing<Vec<u8>> {
    // Taken at once, so that growing leaves no copies behind.
    let mut all = Zeroizing::new(Vec::with_capacity(parts.iter().map(|part| 4 + part.len()).sum()));
    for part in parts {
        all.extend_from_slice(&(part.len() as u32).to_le_bytes());
        all.extend_from_slice(part);
    }
    all
}

/// The page's generator.
pub struct Random<'a, P: Page>(pub &'a P);

impl<P: Page> TryRng for Random<'_, P> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.0.random(&mut bytes);
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.0.random(&mut bytes);
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.0.random(out);
        Ok(())
    }
}

impl<P: Page> TryCryptoRng for Random<'_, P> {}
