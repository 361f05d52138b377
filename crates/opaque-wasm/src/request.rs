//! What the page asks for, as bytes.
//!
//! ```text
//! request   operation 1 | what belongs to it
//! number    8 bytes, little endian
//! field     length 4, little endian | bytes; the length ffffffff stands for a field that is not there
//! ```

use crate::refusal::{Code, Refusal};

/// A request. What it borrows is wiped by whoever holds the bytes.
pub(crate) enum Request<'a> {
    /// Begins a registration.
    StartRegistration(Start<'a>),
    /// Begins a login.
    StartLogin(Start<'a>),
    /// Ends what was begun, with the server's message and the key stretching parameters that came with it.
    Finish { message: &'a [u8], ksf: &'a [u8] },
    /// Computes an old hash.
    OldHash { limits: [u64; 7], scheme: &'a [u8], password: &'a [u8] },
    /// Gives up what was begun.
    Forget,
}

/// How something begins.
pub(crate) struct Start<'a> {
    /// Whether the password is text.
    pub(crate) text: bool,
    /// Limits on key stretching, in the order of [`candor_opaque::Limits`].
    pub(crate) limits: [u64; 5],
    pub(crate) context: &'a [u8],
    pub(crate) client: Option<&'a [u8]>,
    pub(crate) server: Option<&'a [u8]>,
    pub(crate) password: &'a [u8],
}

impl<'a> Request<'a> {
    /// # Errors
    /// A [`Refusal`] with [`Code::Input`] unless the bytes are those of one request.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Refusal> {
        Self::read(bytes).ok_or_else(|| Refusal::new(Code::Input, "module and JavaScript are of different versions"))
    }

    fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let request = match reader.byte()? {
            0 => Self::StartRegistration(Start::read(&mut reader)?),
            1 => Self::StartLogin(Start::read(&mut reader)?),
            2 => Self::Finish { message: reader.field()??, ksf: reader.field()?? },
            3 => Self::OldHash { limits: reader.numbers()?, scheme: reader.field()??, password: reader.field()?? },
            4 => Self::Forget,
            _ => return None,
        };
        reader.0.is_empty().then_some(request)
    }
}

impl<'a> Start<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        Some(Self {
            text: match reader.byte()? {
                0 => false,
                1 => true,
                _ => return None,
            },
            limits: reader.numbers()?,
            context: reader.field()??,
            client: reader.field()?,
            server: reader.field()?,
            password: reader.field()??,
        })
    }
}

/// What is left to be read.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take().map(|[byte]| byte)
    }

    fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = u64::from_le_bytes(self.take()?);
        }
        Some(numbers)
    }

    /// A field, which may not be there.
    fn field(&mut self) -> Option<Option<&'a [u8]>> {
        let length = u32::from_le_bytes(self.take()?);
        if length == u32::MAX {
            return Some(None);
        }
        let (field, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(Some(field))
    }
}
