//! In-circuit upgrades with a relay of ours behind relays of C tor's, which know nothing of it.

use crate::client::again;
use crate::programs::Programs;
use crate::{fetch, three_alone};
use candor_network::tor::TorRelayKey;
use candor_network::{
    Circuit, Client, ClientOptions, Crypto, Error, HandshakeType, ListedRelay, Policy, Relay, RelayConfig, RelayKeys,
    RelayList, Target,
};

/// What is fetched through each circuit, in bytes.
const LENGTH: u64 = 1_000_000;

/// A relay of ours that C tor's extend circuits to: it has an RSA identity.
async fn ours(upgrade: bool) -> Relay {
    let keys = TorRelayKey::generate().unwrap().with(RelayKeys::generate().unwrap());
    let mut config = RelayConfig::new("127.0.0.1:0".parse().unwrap());
    config.policy = Policy::parse("127.0.0.0/8:*").unwrap();
    config.limits.circuit.upgrade = upgrade;
    Relay::start(&keys, config).await.unwrap()
}

async fn upgraded(crypto: Crypto, path: [&ListedRelay; 3]) -> Result<(Client, Circuit), Error> {
    let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
    let circuit = again(async || {
        let mut circuit = client.first_hop(path[0], HandshakeType::NtorV3).await?;
        circuit.extend(path[1], HandshakeType::NtorV3).await?;
        circuit.extend_and_upgrade(path[2], HandshakeType::NtorV3).await?;
        Ok(circuit)
    });
    let circuit = circuit.await?;
    Ok((client, circuit))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_of_ours_behind_two_of_c_tors_is_upgraded_and_one_of_c_tors_passes_the_question_over() {
    let Some(programs) = Programs::or_skip() else { return };
    let (theirs, mut lines) = three_alone(&programs).await;
    let relays = [ours(true).await, ours(false).await];
    lines.extend(relays.iter().map(|relay| relay.listed().to_line()));
    let list = RelayList::parse(&lines.join("\n")).unwrap();
    let [guard, middle, last, with, without] = [0, 1, 2, 3, 4].map(|index| &list.relays()[index]);
    let said = || theirs.iter().map(|(_, process)| process.said()).collect::<Vec<_>>().join("---\n");

    let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    for (count, crypto) in [Crypto::Tor1, Crypto::Cgo].into_iter().enumerate() {
        let made = upgraded(crypto, [guard, middle, with]).await;
        let (_client, circuit) = made.unwrap_or_else(|error| panic!("{crypto:?}: {error}\n{}", said()));
        fetch(&circuit, &target, LENGTH).await;
        assert_eq!(relays[0].counts().upgrades, count as u64 + 1);

        // Asked like that, C tor's relay and ours that has none add the hop and answer nothing.
        for refuses in [last, without] {
            match upgraded(crypto, [guard, middle, refuses]).await {
                Err(Error::NoUpgrade { hop: 3, relay }) => assert_eq!(relay, refuses.to_string()),
                Err(error) => panic!("{crypto:?}: {error}\n{}", said()),
                Ok(_) => panic!("{refuses} has no upgrades"),
            }
        }
    }
    assert_eq!(relays[1].counts().upgrades, 0);
}
