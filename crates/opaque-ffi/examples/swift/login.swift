// Registers an account and logs in, from Swift by the module map beside this file. README.md says how to compile it.
import CandorOpaque
import Foundation

struct Refused: Error, CustomStringConvertible {
    let status: Int32
    var description: String { String(cString: candor_opaque_message(status)) }
}

func must(_ status: Int32) throws {
    if status != Int32(CANDOR_OPAQUE_OK) { throw Refused(status: status) }
}

/// What a step makes; freed with its last reference.
final class Object {
    let handle: candor_opaque_handle

    init(_ step: (UnsafeMutablePointer<candor_opaque_handle>) -> Int32) throws {
        var made: candor_opaque_handle = 0
        try must(step(&made))
        handle = made
    }

    deinit { candor_opaque_free(handle) }

    func bytes(_ part: UInt32) throws -> [UInt8] {
        var length = 0
        let asked = candor_opaque_bytes(handle, part, nil, 0, &length)
        if asked != Int32(CANDOR_OPAQUE_BUFFER) { throw Refused(status: asked) }
        var buffer = [UInt8](repeating: 0, count: length)
        try must(candor_opaque_bytes(handle, part, &buffer, buffer.count, &length))
        return buffer
    }
}

let message = UInt32(CANDOR_OPAQUE_PART_MESSAGE), stretching = UInt32(CANDOR_OPAQUE_PART_KSF)
let suite = UInt32(CANDOR_OPAQUE_SUITE_HYBRID), text = UInt32(CANDOR_OPAQUE_PASSWORD_TEXT)
let context = Array("example.org login 1".utf8), name = Array("alice".utf8)

/// The pointers of a `candor_opaque_parties` live as long as this call.
func withParties(_ work: (UnsafePointer<candor_opaque_parties>) -> Int32) -> Int32 {
    context.withUnsafeBufferPointer { context in
        var parties = candor_opaque_parties(
            context: context.baseAddress, context_length: context.count, client: nil, client_length: 0, server: nil, server_length: 0)
        return work(&parties)
    }
}

let server = try Object { candor_opaque_server_generate(suite, nil, 0, $0) }
let client = try Object { candor_opaque_client_new(suite, nil, 0, nil, $0) }

// Once: the client's upload becomes the record that the server stores.
let password = Array("correct horse".utf8)
let asked = try Object { candor_opaque_client_start_registration(client.handle, text, password, password.count, $0) }
let request = try asked.bytes(message)
let answered = try Object { candor_opaque_server_start_registration(server.handle, request, request.count, $0) }
let (response, ksf) = (try answered.bytes(message), try answered.bytes(stretching))
let registered = try Object { made in
    withParties { candor_opaque_client_finish_registration(asked.handle, response, response.count, ksf, ksf.count, $0, made) }
}
let upload = try registered.bytes(message)
let change = try Object { candor_opaque_server_finish_registration(answered.handle, upload, upload.count, $0) }
let record = try change.bytes(UInt32(CANDOR_OPAQUE_PART_RECORD))
print("registered: a record of \(record.count) bytes")

/// Overwrites what a variable holds. Swift promises neither that the compiler leaves it nor that there is no copy: a program that minds does it in C.
func wipe(_ bytes: inout [UInt8]) {
    for at in bytes.indices { bytes[at] = 0 }
}

/// Whether two keys are equal, in a time that does not depend on where they differ, as that of `==` would.
func equalKeys(_ one: [UInt8], _ other: [UInt8]) -> Bool {
    one.count == other.count && zip(one, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}

/// At every login: KE1, KE2, KE3.
func login(_ password: [UInt8]) throws -> Bool {
    let started = try Object { candor_opaque_client_start_login(client.handle, text, password, password.count, $0) }
    let ke1 = try started.bytes(message)
    let answer = try Object { made in
        withParties {
            candor_opaque_server_start_login(server.handle, ke1, ke1.count, name, name.count, record, record.count, $0, made)
        }
    }
    let (ke2, ksf) = (try answer.bytes(message), try answer.bytes(stretching))
    let done = try Object { made in
        withParties { candor_opaque_client_finish_login(started.handle, ke2, ke2.count, ksf, ksf.count, $0, made) }
    }
    let ke3 = try done.bytes(message)
    let session = try Object { candor_opaque_server_finish_login(answer.handle, ke3, ke3.count, record, record.count, $0) }
    let key = UInt32(CANDOR_OPAQUE_PART_SESSION_KEY)
    var mine = try done.bytes(key), theirs = try session.bytes(key)
    defer {
        wipe(&mine)
        wipe(&theirs)
    }
    return equalKeys(mine, theirs)
}

guard try login(password) else { exit(1) }
print("logged in: both sides have the same key")
do {
    _ = try login(Array("wrong horse".utf8))
    exit(1)
} catch let refused as Refused {
    print(refused)
}
