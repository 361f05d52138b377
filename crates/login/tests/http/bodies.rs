//! Bodies that are cut short, too long, of the wrong type; paths and methods that there are not. Each with its undamaged twin.

use crate::world::{World, ke1, parse, raw, request, text};
use serde_json::{Value, json};

#[tokio::test]
async fn a_body_must_be_exactly_what_the_route_takes() {
    let world = World::new(&[]).await;
    let good = json!({ "name": "alice", "ke1": ke1("pw").1 });
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut body = good.clone();
        change(&mut body);
        body
    };
    let bad = [
        changed(&|body| body["ke1"] = "".into()),
        changed(&|body| body["ke1"] = text(&[1; 1279]).into()),
        changed(&|body| body["ke1"] = text(&[1; 1281]).into()),
        changed(&|body| body["ke1"] = text(&[0; 1280]).into()),
        changed(&|body| body["ke1"] = text(&[255; 1280]).into()),
        changed(&|body| body["ke1"] = 3.into()),
        changed(&|body| body["ke1"] = Value::Null),
        changed(&|body| drop(body.as_object_mut().unwrap().remove("ke1"))),
        changed(&|body| drop(body.as_object_mut().unwrap().remove("name"))),
        changed(&|body| body["name"] = "".into()),
        changed(&|body| body["name"] = "a b".into()),
        changed(&|body| body["name"] = "a\u{0}".into()),
        changed(&|body| body["name"] = "x".repeat(257).into()),
        changed(&|body| body["more"] = 1.into()),
        changed(&|body| body["device"] = text(&[1; 47]).into()),
        json!([]),
        json!(null),
    ];
    for body in bad {
        let answer = world.post("/v1/login/start", &body).await;
        assert_eq!(answer.kind(), "400 malformed", "{body}");
        assert_eq!(answer.headers["content-type"], "application/problem+json");
    }
    assert_eq!(world.post("/v1/login/start", &good).await.status, 200);
    assert_eq!(world.post("/v1/login/start", &changed(&|body| body["device"] = Value::Null)).await.status, 200);
}

#[tokio::test]
async fn heads_and_bodies_have_a_length_and_a_type() {
    let world = World::new(&[("body-timeout", "300ms"), ("head-timeout", "300ms")]).await;
    let good = json!({ "name": "alice", "ke1": ke1("pw").1 }).to_string();
    let json = "Content-Type: application/json\r\n";
    let send = async |bytes: Vec<u8>| parse(&raw(world.address(), &bytes).await).kind();
    let path = "/v1/login/start";
    assert_eq!(send(request("POST", path, json, &good)).await, "200");
    assert_eq!(send(request("POST", path, "", &good)).await, "415 not-json");
    assert_eq!(send(request("POST", path, "Content-Type: text/plain\r\n", &good)).await, "415 not-json");
    let long = format!("{{\"name\":\"{}\"}}", "x".repeat(16 << 10));
    assert_eq!(send(request("POST", path, json, &long)).await, "413 too-large");
    // Who says so beforehand is not waited for.
    let announced = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{json}Content-Length: 99999999999\r\n\r\n");
    assert_eq!(send(announced.into_bytes()).await, "413 too-large");
    let cut = request("POST", path, json, &good);
    assert_eq!(send(cut[..cut.len() - 1].to_vec()).await, "408 too-slow", "one byte is missing");
    assert_eq!(send(request("GET", path, "", "")).await, "405 no-such-method");
    assert_eq!(send(request("POST", "/v1/other", json, &good)).await, "404 no-such-path");
    assert_eq!(send(request("GET", "/healthz", "", "")).await, "200");
    assert_eq!(send(request("GET", "/healthz", &format!("X: {}\r\n", "x".repeat(20 << 10)), "")).await, "431");
    assert_eq!(send(b"nonsense\r\n\r\n".to_vec()).await, "400");
    // A head that never ends: the connection is closed without an answer.
    assert!(raw(world.address(), b"GET /healthz HTTP/1.1\r\nX: ").await.is_empty());
    assert!(raw(world.address(), b"").await.is_empty());
}

#[tokio::test]
async fn nothing_is_taken_for_a_request_that_comes_after_a_body_in_chunks() {
    let world = World::new(&[("head-timeout", "300ms")]).await;
    let body = json!({ "name": "alice", "ke1": ke1("pw").1 }).to_string();
    let head = "POST /v1/login/start HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    let chunked = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let answers = async |lengths: &str, body: &str| {
        let next = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
        let bytes = raw(world.address(), format!("{head}{lengths}\r\n{body}{next}").as_bytes()).await;
        String::from_utf8_lossy(&bytes).matches("HTTP/1.1 200 OK").count()
    };
    assert_eq!(answers(&format!("Content-Length: {}\r\n", body.len()), &body).await, 2);
    let (length, coding) = ("Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n");
    for lengths in [coding.to_owned(), [length, coding].concat(), [coding, length].concat()] {
        assert_eq!(answers(&lengths, &chunked).await, 1, "{lengths:?}");
    }
}

#[tokio::test]
async fn what_asks_for_a_session_gets_nothing_without_one() {
    let world = World::new(&[]).await;
    let session = world.join("alice", "pw").await;
    let description: Value = serde_json::from_str(&candor_login::openapi()).unwrap();
    let mut asked = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation["security"].is_null() {
                continue;
            }
            asked += 1;
            let path = path.replace("{session}", &"0".repeat(32)).replace("{device}", &"0".repeat(32));
            let token = text(&[9; 32]);
            for token in [None, Some("x"), Some(token.as_str()), session["refresh_token"].as_str()] {
                let answer = crate::world::ask(world.address(), &method.to_uppercase(), &path, token).await;
                assert_eq!(answer.kind(), "401 no-session", "{method} {path}");
                assert_eq!(answer.headers["www-authenticate"], "Bearer");
            }
        }
    }
    assert_eq!(asked, 10);
    let other = world.join("bob", "pw").await;
    let path = format!("/v1/sessions/{}", session["session"].as_str().unwrap());
    for path in ["/v1/sessions/%ff", "/v1/devices/%ff", "/v1/sessions/x", "/v1/devices/x"] {
        let answer = crate::world::ask(world.address(), "DELETE", path, other["access_token"].as_str()).await;
        assert!(answer.kind().starts_with("404 no-such-"), "{path}: {answer:?}");
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{path}");
    }
    let end = async |token: &Value| crate::world::ask(world.address(), "DELETE", &path, token.as_str()).await.kind();
    assert_eq!(end(&other["access_token"]).await, "404 no-such-session", "another's session");
    assert_eq!(end(&session["access_token"]).await, "204");
}

#[tokio::test]
async fn every_documented_status_is_the_only_kind_that_comes() {
    let world = World::new(&[]).await;
    let description: Value = serde_json::from_str(&candor_login::openapi()).unwrap();
    let session = world.join("alice", "pw").await;
    for (path, operations) in description["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if method == "delete" && path == "/v1/session" {
                continue; // It would end the session.
            }
            let path = path.replace("{session}", "x").replace("{device}", "x");
            for (token, body) in [(None, json!({})), (session["access_token"].as_str(), json!({ "x": 1 }))] {
                let answer = crate::world::send(world.address(), &method.to_uppercase(), &path, token, "", &body).await;
                let documented = operation["responses"][answer.status.to_string()].is_object();
                assert!(documented, "{method} {path}: {}", answer.kind());
            }
        }
    }
}
