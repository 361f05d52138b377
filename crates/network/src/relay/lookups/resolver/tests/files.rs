//! What the two files say, and when.

use super::*;

#[tokio::test(start_paused = true)]
async fn the_systems_files_come_first_and_their_changes_are_seen() {
    let server = Server::start(honest, silent).await;
    server.write("hosts", "198.51.100.1 both.test other.test # a comment\nnonsense\n198.51.100.2 both.test\n");
    let resolver = server.resolver();
    assert_eq!(resolver.addresses("both.test").await, addresses(&["198.51.100.1", "198.51.100.2"]));
    assert_eq!(resolver.name([198, 51, 100, 1].into()).await.as_deref(), Ok("both.test"));
    assert_eq!(server.asked(), [0, 0], "not even for an address of IPv6");
    // Another server, and no other names.
    let other: Script = |asked| vec![asked.answer(FINE, &[("", A, four(77))])];
    let another = server.also("127.0.0.2", other).await;
    server.rewrite("hosts", "", 10);
    server.rewrite("resolv.conf", "nameserver nonsense\nnameserver 127.0.0.2", 10);
    assert_eq!(resolver.addresses("both.test").await, addresses(&["198.51.100.1", "198.51.100.2"]));
    tokio::time::advance(FRESH).await;
    assert_eq!(resolver.addresses("both.test").await, addresses(&["192.0.2.77"]));
    drop(another);
    // One that is too long says nothing, and one byte less is read.
    for (length, later, found) in [(MOST_TEXT + 1, 20, Err(LATER)), (MOST_TEXT, 30, addresses(&["198.51.100.3"]))] {
        let mut text = "198.51.100.3 long.test\n".to_owned();
        text.push_str(&"#".repeat(length - text.len()));
        server.rewrite("hosts", &text, later);
        tokio::time::advance(FRESH).await;
        assert_eq!(resolver.addresses("long.test").await, found);
    }
    // Without the files, it is the server on this machine.
    for file in ["hosts", "resolv.conf"] {
        fs::remove_file(server.files.path().join(file)).unwrap();
    }
    tokio::time::advance(FRESH).await;
    tokio::time::resume();
    assert_eq!(resolver.addresses("four.test").await, addresses(&["192.0.2.4"]));
}

/// What the machine's own file says is for the machine, whose operator may have named another one.
#[tokio::test]
async fn no_other_hosts_file_is_read() {
    let text = fs::read_to_string("/etc/hosts").unwrap_or_default();
    let names = text.lines().filter_map(|line| line.split('#').next()).flat_map(|line| line.split_whitespace().skip(1));
    let server = Server::start(honest, silent).await;
    let resolver = server.resolver();
    for name in names.filter(|name| !name.contains("localhost")) {
        assert_eq!(resolver.addresses(name).await, Err(NEVER), "{name} is only in /etc/hosts");
        assert_eq!(server.asked(), [2, 0], "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn files_that_can_not_be_read_change_nothing_and_are_tried_again() {
    let server = Server::start(honest, silent).await;
    let path = |file| server.files.path().join(file);
    let hosts = "198.51.100.1 listed.test";
    // A folder in its place: it is there, and can't be read, whoever asks.
    server.write("hosts", hosts);
    for file in ["hosts", "resolv.conf"] {
        let text = fs::read_to_string(path(file)).unwrap();
        fs::remove_file(path(file)).unwrap();
        fs::create_dir(path(file)).unwrap();
        let resolver = server.resolver();
        assert_eq!(resolver.addresses("listed.test").await, Err(LATER), "nothing is known of {file}");
        fs::remove_dir(path(file)).unwrap();
        server.write(file, &text);
        assert_eq!(resolver.addresses("listed.test").await, Err(LATER), "nor is {file} read again at once");
        tokio::time::advance(UNREADABLE).await;
        assert_eq!(resolver.addresses("listed.test").await, addresses(&["198.51.100.1"]));
        fs::remove_file(path(file)).unwrap();
        fs::create_dir(path(file)).unwrap();
        tokio::time::advance(FRESH).await;
        for name in ["listed.test", "four.test"] {
            assert!(resolver.addresses(name).await.is_ok(), "{name} by what {file} said before");
        }
        fs::remove_dir(path(file)).unwrap();
        server.write(file, &text);
    }
    server.asked();
    let resolver = server.resolver();
    assert!(resolver.addresses("listed.test").await.is_ok());
    // What comes after it counts.
    fs::remove_file(path("hosts")).unwrap();
    fs::create_dir(path("hosts")).unwrap();
    tokio::time::advance(FRESH).await;
    assert!(resolver.addresses("listed.test").await.is_ok());
    fs::remove_dir(path("hosts")).unwrap();
    server.rewrite("hosts", "198.51.100.2 listed.test", 10);
    tokio::time::advance(FRESH).await;
    assert_eq!(resolver.addresses("listed.test").await, addresses(&["198.51.100.2"]));
    // Another text of another time of change, though not by the clock that a file shows.
    let shown = fs::metadata(path("hosts")).unwrap().modified().unwrap();
    server.write("hosts", "198.51.100.3 listed.test");
    fs::File::options().write(true).open(path("hosts")).unwrap().set_modified(shown).unwrap();
    tokio::time::advance(FRESH).await;
    assert_eq!(resolver.addresses("listed.test").await, addresses(&["198.51.100.3"]));
    assert_eq!(server.asked(), [0, 0]);
}
