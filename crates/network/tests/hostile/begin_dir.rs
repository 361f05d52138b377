//! Clients that would use a relay to get at its authority: by BEGIN_DIR, which a relay in a network of C tor's answers.

use crate::dirport::{Answer, DirPort};
use crate::raw::{Heard, Raw, RawCircuit};
use crate::scene::{Scene, until, until_equal};
use candor_network::RelayConfig;
use candor_onion::relay::RelayCommand;
use candor_onion::relay::message::EndReason;
use std::time::Duration;

/// A scene whose relays have that directory.
async fn scene(directory: &DirPort, change: impl Fn(&mut RelayConfig)) -> Scene {
    Scene::new(|config| {
        config.tor_directory = Some(directory.address);
        change(config);
    })
    .await
}

fn begin(circuit: &mut RawCircuit, stream: u16) -> candor_onion::cell::Cell {
    circuit.cell(0, RelayCommand::BEGIN_DIR, stream, &[])
}

/// Sends a request on a stream of its own, and gives what comes until the stream's end.
async fn ask(raw: &mut Raw, circuit: &mut RawCircuit, stream: u16, request: &str) -> (String, EndReason) {
    let mut cells = vec![begin(circuit, stream)];
    cells.extend(request.as_bytes().chunks(498).map(|piece| circuit.cell(0, RelayCommand::DATA, stream, piece)));
    raw.send(cells).await;
    let mut said = Vec::new();
    loop {
        match raw.hear(circuit).await {
            Heard::Said(0, RelayCommand::CONNECTED, id, _) if id == stream => {}
            Heard::Said(0, RelayCommand::DATA, id, body) if id == stream => said.extend(body),
            Heard::Said(0, RelayCommand::END, id, body) if id == stream => {
                return (String::from_utf8_lossy(&said).into_owned(), EndReason(body[0]));
            }
            Heard::Said(0, RelayCommand::SENDME, ..) => {}
            other => panic!("{request:?}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_anyone_may_read_is_asked_for_in_the_relays_own_words_and_nothing_else_reaches_the_authority() {
    let directory = DirPort::start(|path| {
        Answer::With("Content-Type: text/plain\r\nX-Your-Address-Is: 192.0.2.1", path.repeat(20))
    })
    .await;
    let scene = scene(&directory, |_| {}).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    let endless = format!("GET /tor/server/all HTTP/1.0\r\nX: {}\r\n\r\n", "a".repeat(20_000));
    for (stream, request) in [
        "POST /tor/ HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
        "POST /tor/post/vote HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc",
        "POST /tor/server/all HTTP/1.0\r\nContent-Length: 0\r\n\r\n",
        "GET /tor/post/vote HTTP/1.0\r\n\r\n",
        "GET /tor/status-vote/next/authority HTTP/1.0\r\n\r\n",
        "GET /tor/server/../post/vote HTTP/1.0\r\n\r\n",
        "GET /tor/server/./x HTTP/1.0\r\n\r\n",
        "GET /tor/server/%2e%2e/x HTTP/1.0\r\n\r\n",
        "GET /tor/server/all?x HTTP/1.0\r\n\r\n",
        "GET /tor/bytes.txt HTTP/1.0\r\n\r\n",
        "GET / HTTP/1.0\r\n\r\n",
        "CONNECT 127.0.0.1:22 HTTP/1.0\r\n\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        &endless,
    ]
    .into_iter()
    .enumerate()
    {
        let (said, reason) = ask(&mut raw, &mut circuit, stream as u16 + 1, request).await;
        assert!(said.starts_with("HTTP/1.") && said.contains(" 4") && reason == EndReason::DONE, "{request:?}: {said}");
    }
    assert_eq!(directory.connections(), 0, "{:?}", directory.asked(""));
    // The twins: C tor's requests, of whose words none is passed on.
    for (stream, path) in [
        "/tor/status-vote/current/consensus-microdesc/14C131+27102B.z",
        "/tor/micro/d/ab+c/d-efg.z",
        "/tor/server/d/AB+CD.z",
        "/tor/keys/fp-sk/AB-CD.z",
        "/tor/extra/d/AB",
    ]
    .into_iter()
    .enumerate()
    {
        let request =
            format!("GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nX-Mine: secret\r\nAccept-Encoding: x-zstd\r\n\r\n");
        let (said, reason) = ask(&mut raw, &mut circuit, stream as u16 + 100, &request).await;
        assert_eq!(reason, EndReason::DONE);
        let (head, body) = said.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200") && head.contains("text/plain"), "{head}");
        assert!(body == path.repeat(20) && !head.to_lowercase().contains("x-your-address-is"), "{said}");
        let heads = directory.asked(path);
        assert!(heads.len() == 1 && heads[0].starts_with(&format!("GET {path} HTTP/1.1\r\n")), "{heads:?}");
        assert!(!heads[0].contains("secret") && !heads[0].contains("zstd"), "{heads:?}");
    }
    scene.serves().await;
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn since_when_a_document_is_wanted_is_passed_on_as_a_date_and_as_nothing_else() {
    let directory = DirPort::start(|path| match path.ends_with("old") {
        true => Answer::Unmodified,
        false => Answer::Text("new".into()),
    })
    .await;
    let scene = scene(&directory, |_| {}).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    let date = "Sat, 28 Nov 2026 21:00:00 GMT";
    for (stream, (name, said, passed)) in [
        ("old", date, Some(date)),
        ("plain", date, Some(date)),
        ("ancient", "Saturday, 28-Nov-26 21:00:00 GMT", Some(date)),
        ("marked", "Sat, 28 Nov 2026 21:00:00 GMT; client 7", None),
        ("text", "whoever reads this", None),
        ("before-time", "Mon, 28 Nov 1066 21:00:00 GMT", None),
        ("empty", "", None),
    ]
    .into_iter()
    .enumerate()
    {
        let request = format!("GET /tor/status-vote/current/{name} HTTP/1.0\r\nIf-Modified-Since: {said}\r\n\r\n");
        let (answer, reason) = ask(&mut raw, &mut circuit, stream as u16 + 1, &request).await;
        let status = if name == "old" { " 304 " } else { " 200 " };
        assert!(answer.contains(status) && reason == EndReason::DONE, "{name}: {answer}");
        let heads = directory.asked(&format!("/current/{name} "));
        let of =
            |head: &String| head.lines().find_map(|line| line.strip_prefix("if-modified-since: ").map(str::to_owned));
        assert_eq!((heads.len(), of(&heads[0]).as_deref()), (1, passed), "{name}: {heads:?}");
    }
    drop(raw);
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directory_requests_have_few_places_that_networks_share_and_keep_no_connection_for_long() {
    let directory =
        DirPort::start(|path| if path.ends_with("late") { Answer::Silence } else { Answer::Text("it".into()) }).await;
    let scene = scene(&directory, |config| {
        (config.limits.directory_streams, config.limits.directory_streams_per_payer) = (6, 4);
    })
    .await;
    let mut links = Vec::new();
    for network in 1..=2 {
        let mut raw = scene.raw(0, [127, 1, network, 1]).await;
        let circuit = raw.open(scene.listed(0)).await;
        links.push((raw, circuit));
    }
    // One network has four, whatever is free.
    let late = "GET /tor/server/late HTTP/1.0\r\n\r\n";
    let (raw, circuit) = &mut links[0];
    for stream in 1..=5 {
        let cells = [begin(circuit, stream), circuit.cell(0, RelayCommand::DATA, stream, late.as_bytes())];
        raw.send(cells).await;
    }
    // The refusal may come before the others' first words.
    for _ in 0..5 {
        match raw.hear(circuit).await {
            Heard::Said(0, RelayCommand::CONNECTED, 1..=4, _) => {}
            heard => assert_eq!(heard, Heard::Said(0, RelayCommand::END, 5, vec![EndReason::RESOURCELIMIT.0])),
        }
    }
    until_equal(|| (scene.relay(0).held().streams, directory.connections()), (4, 4)).await;
    // Another, too; when all are taken, whoever has most makes room.
    let (raw, circuit) = &mut links[1];
    for stream in 1..=3 {
        raw.send([begin(circuit, stream)]).await;
        assert!(matches!(raw.hear(circuit).await, Heard::Said(0, RelayCommand::CONNECTED, ..)));
    }
    until_equal(|| scene.relay(0).held().streams, 6).await;
    let (raw, circuit) = &mut links[0];
    let Heard::Said(0, RelayCommand::END, _, reason) = raw.hear(circuit).await else { panic!("one of them ends") };
    assert_eq!(reason, [EndReason::RESOURCELIMIT.0]);
    assert_eq!(directory.connections(), 4, "who says nothing has the authority connected to by nobody");
    // The twin: a third network is served at once, and so are the exit's streams.
    let mut third = scene.raw(0, [127, 1, 3, 1]).await;
    let mut circuit = third.open(scene.listed(0)).await;
    let (said, _) = ask(&mut third, &mut circuit, 1, "GET /tor/server/all HTTP/1.0\r\n\r\n").await;
    assert!(said.ends_with("\r\n\r\nit"), "{said}");
    scene.serves().await;
    drop((links, third));
    scene.is_as_before().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_request_that_is_never_asked_answered_or_read_ends_in_time() {
    let directory = DirPort::start(|path| match path {
        "/tor/server/late" => Answer::Silence,
        "/tor/server/all" => Answer::Endless,
        _ => Answer::Text("it".into()),
    })
    .await;
    let scene = scene(&directory, |config| config.limits.directory_stream = Duration::from_millis(500)).await;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open(scene.listed(0)).await;
    let of = |path: &str| format!("GET /tor/server/{path} HTTP/1.0\r\n\r\n");
    for (stream, request) in [String::new(), "GET /tor".to_owned(), of("late"), of("all")].iter().enumerate() {
        // Of the endless answer as many cells come as a window has.
        let (_, reason) = ask(&mut raw, &mut circuit, stream as u16 + 1, request).await;
        assert!([EndReason::TIMEOUT, EndReason::DONE].contains(&reason), "{request:?}: {reason}");
    }
    until(|| scene.relay(0).held().streams == 0).await;
    // The twin, on the same link; the window of the first circuit is used up.
    let mut circuit = raw.open(scene.listed(0)).await;
    let (said, reason) = ask(&mut raw, &mut circuit, 9, &of("it")).await;
    assert!(said.ends_with("\r\n\r\nit") && reason == EndReason::DONE, "{said}");
    drop(raw);
    scene.is_as_before().await;
}
