//! Instructions that treat the lanes of a vector one by one: with secret masks they are findings where memory is written or packed, with public ones none.

use candor_scan::binary::{Binary, Function};
use candor_scan::flow::{Interface, follow};

// rdi points to data and rsi to where results go; rdx is a length.

/// vmovdqu8 zmm0, [rdi]; vptestmb k1, zmm0, zmm0
const SECRET_MASK: &[u8] = &[0x62, 0xf1, 0x7f, 0x48, 0x6f, 0x07, 0x62, 0xf2, 0x7d, 0x48, 0x26, 0xc8];
/// kmovq k1, rdx; vmovdqu8 zmm0, [rdi]
const PUBLIC_MASK: &[u8] = &[0xc4, 0xe1, 0xfb, 0x92, 0xca, 0x62, 0xf1, 0x7f, 0x48, 0x6f, 0x07];
/// vmovdqu ymm4, [rdi]
const SECRET_VECTOR: &[u8] = &[0xc5, 0xfe, 0x6f, 0x27];
/// vpcmpeqd ymm4, ymm4, ymm4: ones, whatever was there
const ONES: &[u8] = &[0xc5, 0xdd, 0x76, 0xe4];
/// vpbroadcastd zmm2, edx
const PUBLIC_INDEX: &[u8] = &[0x62, 0xf2, 0x7d, 0x48, 0x7c, 0xd2];

fn found(code: &[&[u8]]) -> Vec<String> {
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    // ret
    let code = [&code.concat()[..], &[0xc3]].concat();
    let function = Function { name: "lanes", address: 0x1000, code: &code };
    let report = follow(&Binary::parse(&program).unwrap(), function, Interface::default());
    assert_eq!(report.instructions, report.followed);
    report.findings.into_iter().map(|finding| finding.what).collect()
}

fn needs_a_public_mask(what: &str, instruction: &[u8], [secret, public]: [&[u8]; 2]) {
    let leaks = found(&[PUBLIC_INDEX, secret, instruction]);
    assert!(leaks.iter().any(|leak| leak.starts_with(what) && leak.contains("the mask")), "{what}: {leaks:?}");
    assert_eq!(found(&[PUBLIC_INDEX, public, instruction]), [""; 0], "{what}");
}

#[test]
fn a_store_with_a_secret_mask_is_found() {
    let masks = [SECRET_MASK, PUBLIC_MASK];
    // [rsi] {k1}, zmm0
    needs_a_public_mask("vmovdqu8", &[0x62, 0xf1, 0x7f, 0x49, 0x7f, 0x06], masks);
    // [rsi], ymm4, ymm0
    needs_a_public_mask("vpmaskmovq", &[0xc4, 0xe2, 0xdd, 0x8e, 0x06], [SECRET_VECTOR, ONES]);
    // xmm0, xmm4; to [rdi]
    needs_a_public_mask("vmaskmovdqu", &[0xc5, 0xf9, 0xf7, 0xc4], [SECRET_VECTOR, ONES]);
}

#[test]
fn a_load_with_a_secret_mask_is_none() {
    // vmovdqu8 zmm1 {k1} {z}, [rsi]
    assert_eq!(found(&[SECRET_MASK, &[0x62, 0xf1, 0x7f, 0xc9, 0x6f, 0x0e]]), [""; 0]);
    // vpmaskmovq ymm0, ymm4, [rsi]
    assert_eq!(found(&[SECRET_VECTOR, &[0xc4, 0xe2, 0xdd, 0x8c, 0x06]]), [""; 0]);
}

#[test]
fn lanes_that_are_packed_into_memory_or_out_of_it_by_a_secret_mask_are_found() {
    let masks = [SECRET_MASK, PUBLIC_MASK];
    // [rsi] {k1}, zmm0
    needs_a_public_mask("vpcompressb", &[0x62, 0xf2, 0x7d, 0x49, 0x63, 0x06], masks);
    // zmm1 {k1} {z}, [rsi]
    needs_a_public_mask("vpexpandb", &[0x62, 0xf2, 0x7d, 0xc9, 0x62, 0x0e], masks);
    // Within registers: vpcompressb zmm1 {k1} {z}, zmm0
    assert_eq!(found(&[SECRET_MASK, &[0x62, 0xf2, 0x7d, 0xc9, 0x63, 0xc1]]), [""; 0]);
}

#[test]
fn gathers_and_scatters_with_a_secret_mask_are_found() {
    let masks = [SECRET_MASK, PUBLIC_MASK];
    // zmm3 {k1}, [rsi + 4·zmm2]
    needs_a_public_mask("vpgatherdd", &[0x62, 0xf2, 0x7d, 0x49, 0x90, 0x1c, 0x96], masks);
    // [rsi + 4·zmm2] {k1}, zmm0
    needs_a_public_mask("vpscatterdd", &[0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x04, 0x96], masks);
    // ymm5, [rsi + 4·ymm2], ymm4
    needs_a_public_mask("vpgatherdd", &[0xc4, 0xe2, 0x5d, 0x90, 0x2c, 0x96], [SECRET_VECTOR, ONES]);
}

#[test]
fn a_search_for_equal_lanes_of_data_is_found() {
    // vpconflictd zmm1, zmm0, which was loaded; or zmm2, a length
    let leaks = found(&[PUBLIC_MASK, &[0x62, 0xf2, 0x7d, 0x48, 0xc4, 0xc8]]);
    assert_eq!(leaks, ["vpconflictd of data: its time may depend on the operands"]);
    assert_eq!(found(&[PUBLIC_INDEX, &[0x62, 0xf2, 0x7d, 0x48, 0xc4, 0xca]]), [""; 0]);
}
