//! How long messages and states are: taken from a registration and a login of the library with itself, and held against the suite.

use super::{Failed, Library, Op, Suite};
use candor_lab::Quantity;

/// Bytes of a registration's messages, which are those of RFC 9807 in every suite: request, response, upload.
const REGISTRATION: [usize; 3] = [32, 64, 192];

/// Bytes of what was sent and of what was kept.
pub(super) struct Sizes {
    /// Request, response, upload.
    registration: [usize; 3],
    /// What the server stores from the upload.
    record: usize,
    /// KE1, KE2, KE3.
    login: [usize; 3],
    server_state: usize,
    client_state: usize,
}

impl Sizes {
    /// The sizes of one registration and one login.
    pub(super) fn of<L: Library>(library: &L) -> Result<Self, Failed> {
        let (registering, request) = library.registration_start()?;
        let response = library.registration_answer(&request)?;
        let upload = library.registration_finish(registering, &response)?;
        let record = library.store(&upload)?;

        let (client, ke1) = library.ke1()?;
        let (server, ke2) = library.ke2(Some(&record), &ke1)?;
        let (server_state, client_state) = (library.server_state(&server), library.save(&client)?.len());
        let done = library.ke3(client, &ke2)?;
        library.finish(server, &done.ke3)?;
        Ok(Self {
            registration: [request.len(), response.len(), upload.len()],
            record: record.len(),
            login: [ke1.len(), ke2.len(), done.ke3.len()],
            server_state,
            client_state,
        })
    }

    /// Checks that each message is as long as the suite says.
    pub(super) fn check(&self, suite: Suite) -> Result<(), Failed> {
        let names = ["registration request", "registration response", "registration upload", "KE1", "KE2", "KE3"];
        let found = self.registration.iter().chain(&self.login);
        let expected = REGISTRATION.into_iter().chain(suite.what().1);
        for ((name, found), expected) in names.into_iter().zip(found).zip(expected) {
            if *found != expected {
                return Err(format!("its {name} is {found} bytes long; expected {expected}"));
            }
        }
        Ok(())
    }

    /// The sizes that belong to an operation.
    pub(super) fn quantities(&self, op: Op) -> Vec<Quantity> {
        let bytes = |name: &str, count: usize| Quantity::count(name, count, "bytes");
        let ([request, response, upload], [ke1, ke2, ke3]) = (self.registration, self.login);
        let messages = |all: [(&str, usize); 3]| {
            let sum = all.iter().map(|(_, count)| count).sum();
            all.into_iter().chain([("messages", sum)]).map(|(name, count)| bytes(name, count)).collect::<Vec<_>>()
        };
        let server_state = bytes("server's state until KE3", self.server_state);
        let client_state = bytes("client's state until KE2", self.client_state);
        match op {
            Op::Register => {
                let sent = messages([("request", request), ("response", response), ("upload", upload)]);
                sent.into_iter().chain([bytes("stored record", self.record)]).collect()
            }
            Op::Login => {
                let sent = messages([("KE1", ke1), ("KE2", ke2), ("KE3", ke3)]);
                sent.into_iter().chain([server_state, client_state]).collect()
            }
            Op::ServerKe2 => vec![bytes("KE1", ke1), bytes("KE2", ke2), server_state],
            Op::ClientStart => vec![bytes("KE1", ke1), client_state],
            Op::ClientFinish => vec![bytes("KE2", ke2), bytes("KE3", ke3)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes() -> Sizes {
        Sizes { registration: REGISTRATION, record: 200, login: [96, 320, 64], server_state: 130, client_state: 100 }
    }

    #[test]
    fn a_message_of_another_length_is_named() {
        assert_eq!(sizes().check(Suite::Rfc9807), Ok(()));
        let longer = Sizes { login: [96, 321, 64], ..sizes() };
        assert_eq!(longer.check(Suite::Rfc9807), Err("its KE2 is 321 bytes long; expected 320".into()));
        assert!(sizes().check(Suite::Hybrid).unwrap_err().contains("KE1"));
    }

    #[test]
    fn the_messages_of_a_login_add_up() {
        let login = sizes().quantities(Op::Login);
        assert_eq!(login.iter().find(|quantity| quantity.name == "messages").map(|sum| sum.value), Some(480.0));
        assert!(login.iter().all(|quantity| quantity.unit == "bytes"));
    }
}
