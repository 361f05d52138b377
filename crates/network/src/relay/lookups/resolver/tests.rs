//! Against a server of our own on loopback, whose messages are written here byte by byte (RFC 1035, section 4).

mod files;

use super::*;
use crate::relay::lookups::{Lookups, MOST, MOST_LARGE};
use crate::relay::payer::Payer;
use crate::relay::payer::tests::{listed, stranger};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::{Builder, Handle};
use tokio::task::{JoinHandle, yield_now};

const A: u16 = 1;
const CNAME: u16 = 5;
const PTR: u16 = 12;
const AAAA: u16 = 28;
/// Flags: an answer without errors, by a server that looks names up.
const FINE: u16 = 0x8180;
const TRUNCATED: u16 = FINE | 0x0200;
const SERVFAIL: u16 = FINE | 2;
const NXDOMAIN: u16 = FINE | 3;
const REFUSED: u16 = FINE | 5;

/// A question, as it came.
struct Asked {
    id: u16,
    /// Name, type and class, as they are sent back.
    question: Vec<u8>,
    name: String,
    kind: u16,
}

impl Asked {
    fn read(message: &[u8]) -> Self {
        let mut labels = Vec::new();
        let mut at = 12;
        while message[at] != 0 {
            let end = at + 1 + usize::from(message[at]);
            labels.push(String::from_utf8_lossy(&message[at + 1..end]).into_owned());
            at = end;
        }
        Self {
            id: u16::from_be_bytes([message[0], message[1]]),
            question: message[12..at + 5].to_vec(),
            name: labels.join(".").to_lowercase(),
            kind: u16::from_be_bytes([message[at + 1], message[at + 2]]),
        }
    }

    /// Records are name, type and data; an empty name stands for the one that was asked for.
    fn answer(&self, flags: u16, records: &[(&str, u16, Vec<u8>)]) -> Vec<u8> {
        let count = u16::try_from(records.len()).unwrap();
        let mut message: Vec<u8> =
            [self.id, flags, 1, count, 0, 0].iter().flat_map(|field| field.to_be_bytes()).collect();
        message.extend(&self.question);
        for (name, kind, data) in records {
            match name.is_empty() {
                true => message.extend([0xC0, 12]),
                false => message.extend(written(name)),
            }
            message.extend(kind.to_be_bytes());
            message.extend([0, 1, 0, 0, 0, 60]);
            message.extend(u16::try_from(data.len()).unwrap().to_be_bytes());
            message.extend(data);
        }
        message
    }
}

fn written(name: &str) -> Vec<u8> {
    let labels = name.split('.').flat_map(|label| [&[u8::try_from(label.len()).unwrap()], label.as_bytes()].concat());
    labels.chain([0]).collect()
}

fn four(last: u8) -> Vec<u8> {
    vec![192, 0, 2, last]
}

fn six(last: u8) -> Vec<u8> {
    let mut address = vec![0x20, 0x01, 0x0D, 0xB8];
    address.resize(15, 0);
    address.push(last);
    address
}

/// What goes back, in order; over TCP too.
type Script = fn(&Asked) -> Vec<Vec<u8>>;

struct Server {
    port: u16,
    asked: Arc<AtomicUsize>,
    asked_by_tcp: Arc<AtomicUsize>,
    tasks: [JoinHandle<()>; 2],
    files: tempfile::TempDir,
}

struct Another {
    task: JoinHandle<()>,
    asked: Arc<AtomicUsize>,
}

impl Another {
    fn asked(&self) -> usize {
        self.asked.swap(0, Ordering::Relaxed)
    }
}

impl Drop for Another {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One payer's way to ask.
struct Client(Lookups);

impl Client {
    const PAYER: Payer = Payer::Circuit { link: 0, circuit: 0 };

    async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, NotFound> {
        self.0.addresses(Self::PAYER, host).await
    }

    async fn name(&self, address: IpAddr) -> Result<String, NotFound> {
        self.0.name(Self::PAYER, address).await
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Server {
    async fn start(datagrams: Script, tcp: Script) -> Self {
        // The same port for both.
        let (listener, socket) = loop {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            if let Ok(socket) = UdpSocket::bind(listener.local_addr().unwrap()).await {
                break (listener, socket);
            }
        };
        let (port, asked, asked_by_tcp) = (listener.local_addr().unwrap().port(), Arc::default(), Arc::default());
        let tasks = [
            tokio::spawn(serve_tcp(listener, tcp, Arc::clone(&asked_by_tcp))),
            tokio::spawn(serve(socket, datagrams, Arc::clone(&asked))),
        ];
        let server = Self { port, asked, asked_by_tcp, tasks, files: tempfile::tempdir().unwrap() };
        server.write("resolv.conf", "search wrong.test\noptions ndots:5\nnameserver 127.0.0.1\n");
        server
    }

    /// Another server, for datagrams, at the same port of another address.
    async fn also(&self, address: &str, script: Script) -> Another {
        let socket = UdpSocket::bind((address, self.port)).await.unwrap();
        let asked = Arc::default();
        Another { task: tokio::spawn(serve(socket, script, Arc::clone(&asked))), asked }
    }

    /// How many datagrams and TCP's messages have come since the last time.
    fn asked(&self) -> [usize; 2] {
        [&self.asked, &self.asked_by_tcp].map(|count| count.swap(0, Ordering::Relaxed))
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.files.path().join(file), text).unwrap();
    }

    /// The same later, by the file's time: a test is quicker than that is exact.
    fn rewrite(&self, file: &str, text: &str, later: u64) {
        self.write(file, text);
        let file = fs::File::options().write(true).open(self.files.path().join(file)).unwrap();
        file.set_modified(SystemTime::now() + Duration::from_secs(later)).unwrap();
    }

    fn lookups(&self) -> Lookups {
        let files = self.files.path();
        Lookups::by(Resolver::new(files.join("resolv.conf"), files.join("hosts"), self.port))
    }

    fn resolver(&self) -> Client {
        Client(self.lookups())
    }
}

async fn serve(socket: UdpSocket, script: Script, asked: Arc<AtomicUsize>) {
    let mut buffer = [0; 512];
    loop {
        let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
        asked.fetch_add(1, Ordering::Relaxed);
        for datagram in script(&Asked::read(&buffer[..length])) {
            let _ = socket.send_to(&datagram, from).await;
        }
    }
}

async fn serve_tcp(listener: TcpListener, script: Script, asked: Arc<AtomicUsize>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let asked = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok(length) = stream.read_u16().await {
                let mut message = vec![0; length.into()];
                stream.read_exact(&mut message).await?;
                asked.fetch_add(1, Ordering::Relaxed);
                for answer in script(&Asked::read(&message)) {
                    stream.write_u16(u16::try_from(answer.len()).unwrap()).await?;
                    stream.write_all(&answer).await?;
                }
            }
            io::Result::Ok(())
        });
    }
}

fn silent(_: &Asked) -> Vec<Vec<u8>> {
    Vec::new()
}

/// A server that behaves well.
fn honest(asked: &Asked) -> Vec<Vec<u8>> {
    vec![match (asked.name.as_str(), asked.kind) {
        ("both.test", A) => asked.answer(FINE, &[("", A, four(1)), ("", A, four(2)), ("", A, four(3))]),
        ("both.test", AAAA) => asked.answer(FINE, &[("", AAAA, six(1)), ("", AAAA, six(2))]),
        ("four.test" | "intranet", A) => asked.answer(FINE, &[("", A, four(4))]),
        ("six.test", AAAA) => asked.answer(FINE, &[("", AAAA, six(6))]),
        ("four.test" | "six.test" | "intranet" | "empty.test", _) => asked.answer(FINE, &[]),
        ("ill.test", _) => asked.answer(SERVFAIL, &[]),
        ("9.2.0.192.in-addr.arpa", PTR) => asked.answer(FINE, &[("", PTR, written("host.test"))]),
        ("8.2.0.192.in-addr.arpa", PTR) => asked.answer(FINE, &[("", PTR, written("a b.test"))]),
        _ => asked.answer(NXDOMAIN, &[]),
    }]
}

fn addresses(found: &[&str]) -> Result<Vec<IpAddr>, NotFound> {
    Ok(found.iter().map(|address| address.parse().unwrap()).collect())
}

const NEVER: NotFound = NotFound { transient: false };
const LATER: NotFound = NotFound { transient: true };

#[tokio::test]
async fn names_and_addresses_are_found_and_what_is_not_there_is_not() {
    let server = Server::start(honest, silent).await;
    let resolver = server.resolver();
    let by_turns = addresses(&["192.0.2.1", "2001:db8::1", "192.0.2.2", "2001:db8::2", "192.0.2.3"]);
    assert_eq!(resolver.addresses("both.test").await, by_turns);
    assert_eq!(resolver.addresses("BOTH.test.").await, by_turns);
    assert_eq!(resolver.addresses("four.test").await, addresses(&["192.0.2.4"]));
    assert_eq!(resolver.addresses("six.test").await, addresses(&["2001:db8::6"]));
    // As it is: clients' names are not completed with the operator's domain.
    assert_eq!(resolver.addresses("intranet").await, addresses(&["192.0.2.4"]));
    for (name, why) in [("none.test", NEVER), ("empty.test", NEVER), ("ill.test", LATER)] {
        assert_eq!(resolver.addresses(name).await, Err(why), "{name}");
    }
    assert_eq!(resolver.name([192, 0, 2, 9].into()).await.as_deref(), Ok("host.test"));
    for last in [7, 8] {
        assert_eq!(resolver.name([192, 0, 2, last].into()).await, Err(NEVER), "none, and one that is no host's");
    }
    // What is no name is not asked for, and neither is what never leaves a machine.
    server.asked();
    let (long_label, long_name) = ("a".repeat(64), vec!["a"; 128].join("."));
    for name in ["", ".", "a..test", &long_label, &long_name, "nobody.invalid", "abc.onion"] {
        assert_eq!(resolver.addresses(name).await, Err(NEVER), "{name}");
    }
    let own = resolver.addresses("localhost").await.unwrap();
    assert!(!own.is_empty() && own.iter().all(IpAddr::is_loopback));
    assert_eq!(resolver.name([127, 0, 0, 1].into()).await.as_deref(), Ok("localhost"));
    assert_eq!(server.asked(), [0, 0]);
    // Nothing is kept.
    assert_eq!(resolver.addresses("both.test").await, by_turns);
    assert_eq!(server.asked(), [2, 0]);
}

#[tokio::test]
async fn chains_of_names_are_followed_and_circles_are_not() {
    fn chains(asked: &Asked) -> Vec<Vec<u8>> {
        let whole =
            [("", CNAME, written("two.test")), ("two.test", CNAME, written("end.test")), ("end.test", A, four(1))];
        vec![match asked.name.as_str() {
            "whole.test" if asked.kind == A => asked.answer(FINE, &whole),
            "five.test" => asked.answer(FINE, &[("", CNAME, written("four.test"))]),
            "four.test" => asked.answer(FINE, &[("", CNAME, written("three.test"))]),
            "three.test" => asked.answer(FINE, &[("", CNAME, written("end.test"))]),
            "end.test" if asked.kind == A => asked.answer(FINE, &[("", A, four(1))]),
            "circle.test" => asked.answer(FINE, &[("", CNAME, written("elcric.test"))]),
            "elcric.test" => asked.answer(FINE, &[("", CNAME, written("circle.test"))]),
            _ => asked.answer(FINE, &[]),
        }]
    }
    let server = Server::start(chains, silent).await;
    let resolver = server.resolver();
    for name in ["whole.test", "five.test", "end.test"] {
        assert_eq!(resolver.addresses(name).await, addresses(&["192.0.2.1"]), "{name}");
    }
    server.asked();
    assert!(resolver.addresses("circle.test").await.is_err());
    assert_eq!(server.asked(), [16, 0], "two questions, each followed seven times");
}

#[tokio::test(start_paused = true)]
async fn lies_are_passed_over() {
    fn lies(asked: &Asked) -> Vec<Vec<u8>> {
        let lie = || asked.answer(FINE, &[("", A, four(66))]);
        let mut id = lie();
        id[1] ^= 1;
        let other = Asked { question: [written("else.test"), vec![0, 1, 0, 1]].concat(), ..Asked::read(&lie()) };
        vec![id, other.answer(FINE, &[("", A, four(66))]), vec![0], Vec::new()]
    }
    fn lies_and_truth(asked: &Asked) -> Vec<Vec<u8>> {
        let mut answers = lies(asked);
        answers.push(asked.answer(FINE, &[("", asked.kind, if asked.kind == A { four(1) } else { six(1) })]));
        answers
    }
    let server = Server::start(lies, silent).await;
    assert_eq!(server.resolver().addresses("lie.test").await, Err(LATER));
    tokio::time::resume();
    let server = Server::start(lies_and_truth, silent).await;
    assert_eq!(server.resolver().addresses("lie.test").await, addresses(&["192.0.2.1", "2001:db8::1"]));
    // Somebody else answers first, and right but for the address.
    let (server, elsewhere) = (Server::start(silent, silent).await, UdpSocket::bind("127.0.0.1:0").await.unwrap());
    server.tasks[1].abort();
    let socket = loop {
        match UdpSocket::bind(("127.0.0.1", server.port)).await {
            Ok(socket) => break socket,
            Err(_) => yield_now().await,
        }
    };
    let task = tokio::spawn(async move {
        let mut buffer = [0; 512];
        loop {
            let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
            let asked = Asked::read(&buffer[..length]);
            let (lie, truth) = if asked.kind == A { (four(66), four(1)) } else { (six(66), six(1)) };
            for (socket, address) in [(&elsewhere, lie), (&socket, truth)] {
                socket.send_to(&asked.answer(FINE, &[("", asked.kind, address)]), from).await.unwrap();
            }
        }
    });
    assert_eq!(server.resolver().addresses("lie.test").await, addresses(&["192.0.2.1", "2001:db8::1"]));
    task.abort();
}

#[tokio::test]
async fn long_answers_come_over_tcp_and_few_of_their_addresses_are_taken() {
    fn truncated(asked: &Asked) -> Vec<Vec<u8>> {
        vec![asked.answer(TRUNCATED, &[])]
    }
    fn long(asked: &Asked) -> Vec<Vec<u8>> {
        let (count, address) = if asked.kind == A { (4000, four(1)) } else { (2000, six(1)) };
        vec![asked.answer(FINE, &vec![("", asked.kind, address); count])]
    }
    /// One datagram of 4,000 bytes, which is more than was asked for.
    fn giant(asked: &Asked) -> Vec<Vec<u8>> {
        vec![asked.answer(FINE, &vec![("", A, four(1)); 250])]
    }
    let server = Server::start(truncated, long).await;
    let found = server.resolver().addresses("long.test").await.unwrap();
    assert_eq!(found, addresses(&["192.0.2.1", "2001:db8::1"]).unwrap().repeat(Resolved::MOST / 2));
    assert_eq!(server.asked(), [2, 2], "each question once either way");
    let server = Server::start(giant, long).await;
    assert_eq!(server.resolver().addresses("giant.test").await, Err(LATER));
    // TCP that says no more, and TCP that promises more than it sends.
    tokio::time::pause();
    // hickory asks again on the same connection if it is the latter.
    for (tcp, count) in [(silent as Script, 2), (|asked| vec![asked.answer(TRUNCATED, &[])], 4)] {
        let server = Server::start(truncated, tcp).await;
        assert_eq!(server.resolver().addresses("long.test").await, Err(LATER));
        assert_eq!(server.asked(), [2, count], "such a server is not asked by datagram again");
    }
}

#[tokio::test(start_paused = true)]
async fn long_answers_that_do_not_come_hold_up_nobody_else_and_end_with_their_streams() {
    fn truncated(asked: &Asked) -> Vec<Vec<u8>> {
        vec![asked.answer(TRUNCATED, &[])]
    }
    fn mute_or_long(asked: &Asked) -> Vec<Vec<u8>> {
        if asked.name.starts_with("mute") { Vec::new() } else { vec![asked.answer(FINE, &[("", A, four(1))])] }
    }
    // While somebody has work to do the clock stands still, and what hangs is not given up.
    let work = tokio::spawn(async {
        loop {
            yield_now().await;
        }
    });
    let server = Server::start(truncated, mute_or_long).await;
    let lookups = Arc::new(server.lookups());
    // The server's two, that one, and the resolver's for datagrams, which stays.
    let tasks = 4;
    // Once with a stranger's many streams, once with many circuits of a listed relay.
    for payer in [(|_| stranger(1)) as fn(usize) -> Payer, |circuit| listed(1, circuit)] {
        let streams: Vec<_> = (0..MOST_LARGE + 2)
            .map(|index| {
                let lookups = Arc::clone(&lookups);
                tokio::spawn(async move { lookups.addresses(payer(index), &format!("mute{index}.test")).await })
            })
            .collect();
        while server.asked.load(Ordering::Relaxed) < 2 * streams.len()
            || server.asked_by_tcp.load(Ordering::Relaxed) < 1
        {
            yield_now().await;
        }
        assert!(lookups.addresses(stranger(2), "long.test").await.is_ok());
        assert_eq!(server.asked(), [2 * streams.len() + 2, 3], "one of those that hang, and the other's two");
        streams.iter().for_each(JoinHandle::abort);
        while Handle::current().metrics().num_alive_tasks() > tasks {
            yield_now().await;
        }
    }
    work.abort();
}

/// Whatever a server sends, there are addresses or an error.
#[tokio::test(start_paused = true)]
async fn damaged_answers_are_survived() {
    fn damaged(asked: &Asked) -> Vec<Vec<u8>> {
        let whole = asked.answer(FINE, &[("", CNAME, written("end.test")), ("end.test", A, four(1))]);
        // Each place by its turn; the name says which.
        let seed: usize = asked.name.trim_end_matches(".test").parse().unwrap_or(0);
        let at = 2 + seed % (whole.len() - 2);
        let mut changed = whole.clone();
        changed[at] ^= 1 << (seed / 7 % 8);
        vec![changed, whole[..at].to_vec(), whole]
    }
    let server = Server::start(damaged, damaged).await;
    let resolver = server.resolver();
    let mut found = 0;
    for seed in 0..400 {
        found += usize::from(resolver.addresses(&format!("{seed}.test")).await.is_ok());
    }
    assert!(found > 40, "{found} of 400: the undamaged message comes last");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_silent_is_asked_again_and_another_as_well() {
    let server = Server::start(silent, silent).await;
    assert_eq!(server.resolver().addresses("both.test").await, Err(LATER));
    assert_eq!(server.asked(), [2 * TRIES, 0], "two questions, one datagram at a time");
    let another = server.also("127.0.0.3", honest).await;
    server.write("resolv.conf", "nameserver 127.0.0.1\nnameserver 127.0.0.3\n");
    assert_eq!(server.resolver().addresses("four.test").await, addresses(&["192.0.2.4"]));
    assert_eq!((server.asked(), another.asked()), ([2, 0], 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_not_there_is_an_answer_and_moves_no_server_from_its_place() {
    fn mute_later(asked: &Asked) -> Vec<Vec<u8>> {
        if asked.name == "four.test" { Vec::new() } else { honest(asked) }
    }
    let server = Server::start(mute_later, silent).await;
    let another = server.also("127.0.0.3", honest).await;
    server.write("resolv.conf", "nameserver 127.0.0.1\nnameserver 127.0.0.3\n");
    let resolver = server.resolver();
    for number in 0..20 {
        // NXDOMAIN, and no records.
        for name in [&format!("none{number}.test"), "empty.test"] {
            assert_eq!(resolver.addresses(name).await, Err(NEVER));
        }
    }
    assert_eq!((server.asked(), another.asked()), ([80, 0], 0));
    for _ in 0..3 {
        // Who is silent for one name, or for many, comes first with the next.
        assert_eq!(resolver.addresses("four.test").await, addresses(&["192.0.2.4"]));
        assert_eq!((server.asked(), another.asked()), ([2, 0], 2));
    }
    assert!(resolver.addresses("both.test").await.is_ok());
    assert_eq!((server.asked(), another.asked()), ([2, 0], 0));
}

#[tokio::test]
async fn a_server_that_can_not_say_is_not_asked_again_but_another_is() {
    fn refusing(asked: &Asked) -> Vec<Vec<u8>> {
        vec![asked.answer(REFUSED, &[])]
    }
    fn ill(asked: &Asked) -> Vec<Vec<u8>> {
        vec![asked.answer(SERVFAIL, &[])]
    }
    for script in [refusing as Script, ill] {
        let server = Server::start(script, silent).await;
        assert_eq!(server.resolver().addresses("four.test").await, Err(LATER));
        assert_eq!(server.asked(), [2, 0]);
        let another = server.also("127.0.0.3", honest).await;
        server.write("resolv.conf", "nameserver 127.0.0.1\nnameserver 127.0.0.3\n");
        assert_eq!(server.resolver().addresses("four.test").await, addresses(&["192.0.2.4"]));
        assert_eq!((server.asked(), another.asked()), ([2, 0], 2));
    }
}

/// No thread but the one that drives them all: not one is started, and the only one that there may be for calls that block is taken.
#[test]
fn a_thousand_look_ups_that_hang_hold_no_threads_and_leave_nothing_behind() {
    let threads = Arc::new(AtomicUsize::new(0));
    let started = Arc::clone(&threads);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .on_thread_start(move || {
            started.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    runtime.block_on(async {
        fn mute_or_honest(asked: &Asked) -> Vec<Vec<u8>> {
            if asked.name.starts_with("mute") { Vec::new() } else { honest(asked) }
        }
        let server = Server::start(mute_or_honest, silent).await;
        let lookups = Arc::new(server.lookups());
        // The connection to the server is made once, and stays.
        assert!(lookups.addresses(listed(0, 0), "four.test").await.is_ok());
        let (tasks, asked) = (Handle::current().metrics().num_alive_tasks(), server.asked.load(Ordering::Relaxed));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let blocked = tokio::task::spawn_blocking(move || held.recv());
        let streams: Vec<_> = (0..1000)
            .map(|index| {
                let lookups = Arc::clone(&lookups);
                // Fewer than take all, so that others may be served.
                let payer = listed(1 + index % 15, index % 60);
                tokio::spawn(async move { lookups.addresses(payer, &format!("mute{index}.test")).await })
            })
            .collect();
        while server.asked.load(Ordering::Relaxed) < asked + 2 * 15 * 16 {
            yield_now().await;
        }
        assert_eq!(lookups.under_way.all.available_permits(), MOST - 15 * 16);
        assert!(lookups.addresses(listed(0, 0), "four.test").await.is_ok(), "others are served");
        assert_eq!(threads.load(Ordering::Relaxed), 1, "that which is taken");
        streams.iter().for_each(JoinHandle::abort);
        for stream in streams {
            assert!(stream.await.unwrap_err().is_cancelled());
        }
        assert_eq!(lookups.under_way.all.available_permits(), MOST);
        assert!(locked(&lookups.under_way.shares).is_empty());
        drop(release);
        let _ = blocked.await;
        while Handle::current().metrics().num_alive_tasks() > tasks {
            yield_now().await;
        }
        assert!(lookups.addresses(listed(1, 1), "four.test").await.is_ok(), "and so is the first");
    });
}
