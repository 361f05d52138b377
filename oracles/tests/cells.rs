//! Cells and relay messages against Arti's codec (tor-cell).

use bytes::BytesMut;
use candor_onion::cell::payload::*;
use candor_onion::cell::*;
use tor_cell::chancell::AnyChanCell;
use tor_cell::chancell::codec::ChannelCodec;
use tor_cell::chancell::msg::AnyChanMsg;

/// Ours, read and written again by Arti's codec, is the same bytes.
#[test]
fn our_cells_survive_artis_codec() {
    let certs =
        Certs::new(vec![CertEntry { kind: 4, bytes: vec![1; 140] }, CertEntry { kind: 5, bytes: vec![2; 104] }])
            .unwrap();
    let netinfo = Netinfo {
        time: 77,
        theirs: std::net::IpAddr::from([10, 0, 0, 1]).into(),
        ours: vec![std::net::IpAddr::from([10, 0, 0, 2]).into()],
    };
    let messages = vec![
        (0, Message::Certs(certs)),
        (0, Message::AuthChallenge(AuthChallenge { challenge: [7; 32], methods: vec![1, 3] })),
        (0, Message::Authenticate(Authenticate::new(3, vec![9; 352]).unwrap())),
        (0, Message::Netinfo(netinfo)),
        (0x8000_0001, Message::Create2(Create2::new(3, vec![4; 200]).unwrap())),
        (0x8000_0001, Message::Created2(Created2::new(vec![5; 64]).unwrap())),
        (0x8000_0001, Message::Relay(Box::new(std::array::from_fn(|i| i as u8)))),
        (0x8000_0001, Message::RelayEarly(Box::new(std::array::from_fn(|i| (i * 3) as u8)))),
        (0x8000_0001, Message::Destroy(DestroyReason::TIMEOUT)),
    ];
    for (circuit, message) in messages {
        let mut ours = Vec::new();
        Cell { circuit, message: message.clone() }.encode(&mut ours);
        let mut codec = ChannelCodec::new(5);
        let mut buffer = BytesMut::from(&ours[..]);
        let (cell, _): (AnyChanCell, _) = codec.decode_cell::<AnyChanMsg>(&mut buffer).unwrap().expect("whole");
        assert!(buffer.is_empty());
        let mut theirs = BytesMut::new();
        codec.write_cell(cell, &mut theirs).unwrap();
        assert_eq!(ours, theirs[..], "{message:?}");
        let mut decoder = Decoder::new();
        // A link begins with VERSIONS: circuit 0, the command, two bytes, version 5.
        decoder.receive(&[0, 0, 7, 0, 2, 0, 5]);
        decoder.next().unwrap().unwrap();
        decoder.receive(&theirs);
        assert_eq!(decoder.next().unwrap().unwrap().message, message);
    }
}

/// A message of ours has the same command, stream and length for Arti's reader, in both formats.
#[test]
fn our_relay_messages_read_the_same_for_arti() {
    use candor_onion::relay::{Format, Header, RelayCommand};
    use tor_cell::relaycell::{RelayCellFormat, UnparsedRelayMsg};
    for (format, theirs) in [(Format::V0, RelayCellFormat::V0), (Format::V1, RelayCellFormat::V1)] {
        for (command, stream) in [
            (RelayCommand::BEGIN, 7),
            (RelayCommand::DATA, 0xFFFF),
            (RelayCommand::END, 1),
            (RelayCommand::CONNECTED, 2),
            (RelayCommand::SENDME, 0),
            (RelayCommand::TRUNCATED, 0),
            (RelayCommand::DROP, 0),
            (RelayCommand::EXTEND2, 0),
            (RelayCommand::EXTENDED2, 0),
            (RelayCommand::XOFF, 3),
            (RelayCommand::XON, 4),
        ] {
            for length in [0, 1, 20, format.room(stream != 0)] {
                let mut payload = [0; PAYLOAD];
                let data = vec![0x6B; length];
                format.encode(&mut payload, Header { command, stream, length: length as u16 }, &data);
                let read = UnparsedRelayMsg::from_singleton_body(theirs, Box::new(payload)).unwrap();
                assert_eq!(u8::from(read.cmd()), command.0);
                assert_eq!(read.stream_id().map_or(0, u16::from), stream, "{command:?} {format:?}");
                // Arti counts the bytes of DATA only.
                let expected = if command == RelayCommand::DATA { length } else { 0 };
                assert_eq!(usize::from(read.data_len().unwrap()), expected);
            }
        }
    }
}
