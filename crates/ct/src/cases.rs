//! The list of cases. To check another routine, add a case to the file of its family, a line here or in a list there, and its name to SOUNDNESS.md.

mod aead;
mod aes;
mod controls;
mod dh;
mod ec;
mod ed25519;
mod generator;
mod gf2;
mod hash;
mod hqc;
mod kem;
mod ksf;
mod layer;
mod mceliece;
mod ml_kem;
mod onion;
mod opaque;
mod rsa;
mod shared_secret;
mod sm2;
mod sm4;

use crate::case::{Case, Expect, Place};

/// All of them, in the order in which they run: the controls first, because without them the rest shows nothing.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    CASES
        .iter()
        .chain(sm4::CASES)
        .chain(aead::CASES)
        .chain(dh::CASES)
        .chain(ec::CASES.as_flattened())
        .chain(ed25519::CASES)
        .chain(rsa::CASES.as_flattened())
        .chain(sm2::CASES)
        .chain(ml_kem::CASES)
        .chain(hqc::CASES)
        .chain(mceliece::CASES)
}

/// Those whose families have no list of their own.
const CASES: &[Case] = &[
    Case {
        name: "control/branch",
        ran: ("control", "branch"),
        tier: "portable",
        kernel: None,
        expect: Expect::Fires,
        run: controls::branch,
    },
    Case {
        name: "control/index",
        ran: ("control", "index"),
        tier: "portable",
        kernel: None,
        expect: Expect::Fires,
        run: controls::index,
    },
    Case {
        name: "control/early-exit",
        ran: ("control", "early-exit"),
        tier: "portable",
        kernel: None,
        expect: Expect::Fires,
        run: controls::early_exit,
    },
    Case {
        name: "control/masks",
        ran: ("control", "masks"),
        tier: "portable",
        kernel: None,
        expect: Expect::Clean,
        run: controls::masks,
    },
    Case {
        name: "control/other-arm",
        ran: ("sha256", "sha"),
        tier: "portable",
        kernel: None,
        expect: Expect::OtherArm,
        run: hash::sha256,
    },
    Case {
        name: "control/other-kernel",
        ran: ("sha256", "portable"),
        tier: "portable",
        kernel: Some("no_such_kernel"),
        expect: Expect::OtherKernel,
        run: hash::sha256,
    },
    Case {
        name: "control/never-secret",
        ran: ("control", "never-secret"),
        tier: "portable",
        kernel: None,
        expect: Expect::NeverSecret,
        run: controls::never_secret,
    },
    Case {
        name: "control/was-secret",
        ran: ("control", "was-secret"),
        tier: "portable",
        kernel: None,
        expect: Expect::Clean,
        run: controls::was_secret,
    },
    Case {
        name: "sha256@portable",
        ran: ("sha256", "portable"),
        tier: "portable",
        kernel: Some("sha256_portable::compress"),
        expect: Expect::Clean,
        run: hash::sha256,
    },
    Case {
        name: "sha256@sha",
        ran: ("sha256", "sha"),
        tier: "sha",
        kernel: None,
        expect: Expect::Elsewhere { why: NO_SHA, reads: &["x86_sha::compress"] },
        run: hash::sha256,
    },
    hash("sha512@portable", ("sha512", "portable"), "portable", "sha512_portable::compress", hash::sha512),
    hash("sha512@avx2", ("sha512", "avx2"), "avx2", "sha512::compress_avx2", hash::sha512),
    unseen("sha512@avx512", ("sha512", "avx512"), NO_AVX512, &["sha512_avx512::compress_avx512"], hash::sha512),
    hash("sm3@portable", ("sm3", "portable"), "portable", "sm3_portable::compress", hash::sm3),
    hash("sm3@avx2", ("sm3", "avx2"), "avx2", "sm3::compress_avx2", hash::sm3),
    hash("keccak@portable", ("keccak", "portable"), "portable", "keccak_portable::permute", hash::sha3_256),
    hash("keccak@avx2", ("keccak", "avx2"), "avx2", "keccak::permute_bmi", hash::sha3_256),
    hash("blake2b@portable", ("blake2b", "portable"), "portable", "blake2b_portable::compress", hash::blake2b),
    unseen("sm3@avx512", ("sm3", "avx512"), NO_AVX512, &["sm3_avx512::compress_avx512"], hash::sm3),
    unseen("blake2b@avx512", ("blake2b", "avx512"), NO_AVX512, &["x86_64::blake2b::compress_avx512"], hash::blake2b),
    hash("blake2b-mac@portable", ("blake2b", "portable"), "portable", "blake2b_portable::compress", hash::blake2b_mac),
    hash(
        "sha256-batch@avx2",
        ("sha256-batch", "avx2"),
        "avx2",
        "batch::sha256_avx2::with_features",
        hash::sha256_batch,
    ),
    hash("sm3-batch@avx2", ("sm3-batch", "avx2"), "avx2", "batch::sm3_avx2::with_features", hash::sm3_batch),
    hash(
        "keccak-batch@avx2",
        ("keccak-batch", "avx2"),
        "avx2",
        "batch::keccak_avx2::with_features",
        hash::sha3_256_batch,
    ),
    hash(
        "sha256-batch@portable",
        ("sha256-batch", "one-by-one"),
        "portable",
        "sha256_portable::compress",
        hash::sha256_batch,
    ),
    hash("sm3-batch@portable", ("sm3-batch", "one-by-one"), "portable", "sm3_portable::compress", hash::sm3_batch),
    hash(
        "keccak-batch@portable",
        ("keccak-batch", "one-by-one"),
        "portable",
        "keccak_portable::permute",
        hash::sha3_256_batch,
    ),
    unseen(
        "keccak@avx512",
        ("keccak", "avx512"),
        NO_AVX512,
        &["keccak::absorb_vl", "keccak::permute_vl"],
        hash::sha3_256,
    ),
    unseen("sha256-batch@sha", ("sha256-batch", "sha"), NO_SHA, &["x86_64::sha256::with_features"], hash::sha256_batch),
    unseen(
        "sha256-batch@avx512",
        ("sha256-batch", "avx512"),
        NO_AVX512,
        &["batch::sha256_avx512::with_features", "batch::sha256_avx512_8::with_features"],
        hash::sha256_batch,
    ),
    unseen(
        "sm3-batch@avx512",
        ("sm3-batch", "avx512"),
        NO_AVX512,
        &["batch::sm3_avx512::with_features", "batch::sm3_avx512_8::with_features"],
        hash::sm3_batch,
    ),
    unseen(
        "keccak-batch@avx512",
        ("keccak-batch", "avx512"),
        NO_AVX512,
        &["batch::keccak_avx512::with_features"],
        hash::sha3_256_batch,
    ),
    Case {
        name: "argon2id@portable",
        ran: ("argon2", "portable"),
        tier: "portable",
        kernel: Some("argon2_portable::fill"),
        expect: Expect::Clean,
        run: ksf::argon2id,
    },
    Case {
        name: "argon2id@avx2",
        ran: ("argon2", "avx2"),
        tier: "avx2",
        kernel: Some("fill_avx2"),
        expect: Expect::Clean,
        run: ksf::argon2id,
    },
    unseen("argon2id@avx512", ("argon2", "avx512"), NO_AVX512, &["argon2_avx512::fill_avx512"], ksf::argon2id),
    Case {
        name: "shared-secret/compare",
        ran: ("shared-secret/compare", "subtle"),
        tier: "portable",
        kernel: None,
        expect: Expect::Clean,
        run: shared_secret::compare,
    },
    Case {
        name: "x25519/agree/aws-lc",
        ran: ("X25519", "aws-lc"),
        tier: "portable",
        kernel: Some("curve25519_x25519_alt"),
        expect: Expect::Known {
            places: AWS_LC_ALL_ZERO,
            why: "AWS-LC's check for an all-zero result (RFC 7748, 6.1) branches on one bit that it declassifies in its own validation build",
        },
        run: dh::aws_lc,
    },
    Case {
        name: "x25519/agree/aws-lc@adx",
        ran: ("X25519", "aws-lc"),
        tier: "portable",
        kernel: None,
        expect: Expect::Elsewhere {
            why: "valgrind 3.19 hides ADX, and AWS-LC refuses to be told of a feature that CPUID lacks",
            reads: &["curve25519_x25519", "curve25519_x25519base"],
        },
        run: dh::aws_lc,
    },
    Case {
        name: "x25519/agree/dalek",
        ran: ("X25519", "dalek"),
        tier: "portable",
        kernel: None,
        expect: Expect::Clean,
        run: dh::dalek,
    },
    kem("ml-kem-512/decapsulate/aws-lc", "ML-KEM-512", "aws-lc", Some(AWS_LC_D10), kem::aws_lc_512),
    kem("ml-kem-768/decapsulate/aws-lc", "ML-KEM-768", "aws-lc", Some(AWS_LC_D10), kem::aws_lc_768),
    kem("ml-kem-1024/decapsulate/aws-lc", "ML-KEM-1024", "aws-lc", Some(AWS_LC_D11), kem::aws_lc_1024),
    kem("ml-kem-512/decapsulate/libcrux", "ML-KEM-512", "libcrux", Some(LIBCRUX_DECAPSULATE), kem::libcrux_512),
    kem("ml-kem-768/decapsulate/libcrux", "ML-KEM-768", "libcrux", Some(LIBCRUX_DECAPSULATE), kem::libcrux_768),
    kem("ml-kem-1024/decapsulate/libcrux", "ML-KEM-1024", "libcrux", Some(LIBCRUX_DECAPSULATE), kem::libcrux_1024),
    kem("ml-kem-512/decapsulate/rustcrypto", "ML-KEM-512", "rustcrypto", None, kem::rustcrypto_512),
    kem("ml-kem-768/decapsulate/rustcrypto", "ML-KEM-768", "rustcrypto", None, kem::rustcrypto_768),
    kem("ml-kem-1024/decapsulate/rustcrypto", "ML-KEM-1024", "rustcrypto", None, kem::rustcrypto_1024),
    kem(
        "ml-kem-512/encapsulate/libcrux",
        "ML-KEM-512",
        "libcrux",
        Some(LIBCRUX_ENCAPSULATE),
        kem::libcrux_512_encapsulate,
    ),
    kem(
        "ml-kem-768/encapsulate/libcrux",
        "ML-KEM-768",
        "libcrux",
        Some(LIBCRUX_ENCAPSULATE),
        kem::libcrux_768_encapsulate,
    ),
    kem(
        "ml-kem-1024/encapsulate/libcrux",
        "ML-KEM-1024",
        "libcrux",
        Some(LIBCRUX_ENCAPSULATE),
        kem::libcrux_1024_encapsulate,
    ),
    kem("ml-kem-768/encapsulate/rustcrypto", "ML-KEM-768", "rustcrypto", None, kem::rustcrypto_768_encapsulate),
    kem("ml-kem-768/pkcs8/libcrux", "ML-KEM-768", "libcrux", Some(LIBCRUX_DECAPSULATE), kem::pkcs8),
    onion("ntor/client-start", ("X25519", "dalek"), onion::ntor_start),
    onion("ntor/server", ("X25519", "dalek"), onion::ntor_respond),
    onion("ntor/client-finish", ("X25519", "dalek"), onion::ntor_finish),
    onion("ntor-v3/client-start", ("X25519", "dalek"), onion::ntor_v3_start),
    onion("ntor-v3/server", ("X25519", "dalek"), onion::ntor_v3_respond),
    onion("ntor-v3/client-finish", ("X25519", "dalek"), onion::ntor_v3_finish),
    onion("hybrid-768/client-start", ("X25519", "dalek"), onion::hybrid_start),
    onion("hybrid-768/server", ("ML-KEM-768", "libcrux"), onion::hybrid_respond),
    onion("hybrid-768/client-finish", ("ML-KEM-768", "libcrux"), onion::hybrid_finish),
    onion("hybrid-768-auth/client-start", ("ML-KEM-768", "libcrux"), onion::hybrid_auth_start),
    onion("hybrid-768-auth/server", ("ML-KEM-768", "libcrux"), onion::hybrid_auth_respond),
    onion("ntor/server-many", ("X25519", "dalek"), onion::ntor_answer_many),
    onion("ntor-v3/server-many", ("X25519", "dalek"), onion::ntor_v3_answer_many),
    onion("hybrid-768/server-many", ("ML-KEM-768", "libcrux"), onion::hybrid_answer_many),
    onion("upgrade/client-finish", ("ML-KEM-768", "libcrux"), onion::upgrade_finish),
    onion("upgrade/server", ("ML-KEM-768", "libcrux"), onion::upgrade_answer),
    onion("hybrid-768-auth/server-many", ("ML-KEM-768", "libcrux"), onion::hybrid_auth_answer_many),
    aes("aes-128/encrypt-blocks@clmul", ("aes-128", "aes-ni"), "clmul", aes::encrypt_blocks),
    aes("aes-128/decrypt-blocks@clmul", ("aes-128-decrypt", "aes-ni"), "clmul", aes::decrypt_blocks),
    aes("aes-128/key-stream@clmul", ("aes-128-ctr", "aes-ni"), "clmul", aes::key_stream),
    aes("aes-128/encrypt-blocks@portable", ("aes-128", "library"), "portable", aes::encrypt_blocks),
    aes("aes-128/decrypt-blocks@portable", ("aes-128-decrypt", "library"), "portable", aes::decrypt_blocks),
    aes("aes-128/key-stream@portable", ("aes-128-ctr", "library"), "portable", aes::key_stream),
    aes("mac/cmac-aes@clmul", ("aes-128", "aes-ni"), "clmul", aes::cmac),
    aes("mac/cmac-aes@portable", ("aes-128", "library"), "portable", aes::cmac),
    layer("layer/cgo/relay/outbound@clmul", ("polyval", "clmul"), layer::cgo_outbound),
    layer("layer/cgo/relay/recognize@clmul", ("polyval", "clmul"), layer::cgo_recognize),
    layer("layer/cgo/relay/inbound@clmul", ("polyval", "clmul"), layer::cgo_inbound),
    layer("layer/cgo/relay/originate@clmul", ("polyval", "clmul"), layer::cgo_originate),
    layer("layer/cgo/client/outbound@clmul", ("polyval", "clmul"), layer::cgo_client),
    layer("layer/cgo/client/originate@clmul", ("polyval", "clmul"), layer::cgo_client_originate),
    layer("layer/cgo/client/inbound@clmul", ("polyval", "clmul"), layer::cgo_client_inbound),
    layer("layer/cgo/client/recognize@clmul", ("polyval", "clmul"), layer::cgo_client_recognize),
    layer("layer/tor1/relay/outbound@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_outbound),
    layer("layer/tor1/relay/recognize@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_recognize),
    layer("layer/tor1/relay/mistake@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_mistake),
    layer("layer/tor1/relay/inbound@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_inbound),
    layer("layer/tor1/relay/originate@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_originate),
    layer("layer/tor1/client/outbound@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_client),
    layer("layer/tor1/client/originate@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_client_originate),
    layer("layer/tor1/client/inbound@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_client_inbound),
    layer("layer/tor1/client/recognize@clmul", ("aes-128-ctr", "aes-ni"), layer::tor1_client_recognize),
    layer("layer/onion@clmul", ("polyval", "clmul"), layer::onion),
    portable("layer/cgo/relay/inbound@portable", ("polyval", "library"), layer::cgo_inbound),
    portable("layer/cgo/client/inbound@portable", ("aes-128-decrypt", "library"), layer::cgo_client_inbound),
    portable("layer/tor1/relay/inbound@portable", ("aes-128-ctr", "library"), layer::tor1_inbound),
    Case {
        tier: "vpclmul",
        ..unseen(
            "layer/cgo/relay/inbound@vpclmul",
            ("polyval", "vpclmul"),
            NO_VAES,
            &["polyval::hash_vpclmul::with_features", "polyval::powers_vpclmul::with_features"],
            layer::cgo_inbound,
        )
    },
    unseen(
        "layer/cgo/relay/inbound@avx512",
        ("polyval", "avx512"),
        NO_AVX512,
        &[
            "polyval::hash_avx512::with_features",
            "polyval::powers_avx512::with_features",
            "aes::counter_mode_avx512::with_features",
        ],
        layer::cgo_inbound,
    ),
    Case {
        tier: "vpclmul",
        ..unseen(
            "layer/tor1/relay/inbound@vpclmul",
            ("aes-128-ctr", "vaes"),
            NO_VAES,
            &["aes::counter_mode_vaes::with_features"],
            layer::tor1_inbound,
        )
    },
    unseen(
        "layer/tor1/relay/inbound@avx512",
        ("aes-128-ctr", "avx512"),
        NO_AVX512,
        &["aes::counter_mode_avx512::with_features"],
        layer::tor1_inbound,
    ),
    opaque("oprf/client", ("oprf/finalize", "dalek"), ENCODES, opaque::oprf_client),
    Case {
        name: "oprf/evaluate",
        ran: ("oprf/evaluate", "dalek"),
        tier: "avx2",
        kernel: Some(DALEK_AVX2),
        expect: Expect::Clean,
        run: opaque::oprf_evaluate,
    },
    Case {
        name: "oprf/alone",
        ran: ("oprf/evaluate-alone", "dalek"),
        tier: "avx2",
        kernel: Some(DALEK_AVX2),
        expect: Expect::Clean,
        run: opaque::oprf_alone,
    },
    Case {
        name: "opaque/compare",
        ran: ("opaque/key-compare", "subtle"),
        tier: "portable",
        kernel: None,
        expect: Expect::Clean,
        run: opaque::compare,
    },
    opaque("opaque/resumed", ("opaque/client-finish", "rfc9807"), STARTS_AND_FINISHES, opaque::resumed),
    opaque("opaque/server-resumed", ("opaque/server", "rfc9807"), ENCODES_THRICE, opaque::server_resumed),
    opaque("opaque/register", ("opaque/ksf", "called"), ENCODES, opaque::register),
    opaque("opaque/rfc9807/client-start", ("opaque/client-start", "rfc9807"), ENCODES, opaque::rfc_start),
    opaque("opaque/rfc9807/server", ("opaque/server", "rfc9807"), ENCODES_THRICE, opaque::rfc_respond),
    opaque("opaque/rfc9807/client-finish", ("opaque/client-finish", "rfc9807"), FINISHES, opaque::rfc_finish),
    opaque("opaque/hybrid/client-start", ("opaque/client-start", "hybrid"), ENCODES, opaque::hybrid_start),
    opaque("opaque/hybrid/server", ("opaque/server", "hybrid"), ENCODES_THRICE, opaque::hybrid_respond),
    opaque("opaque/hybrid/server-many", ("opaque/server-many", "hybrid"), ENCODES_THRICE, opaque::hybrid_respond_many),
    opaque("opaque/hybrid/client-finish", ("opaque/client-finish", "hybrid"), FINISHES_HYBRID, opaque::hybrid_finish),
    gf2("gf2-mul@portable", ("gf2-mul", "portable"), gf2::multiplier),
    Case { kernel: Some("clmul::leaf9"), ..gf2("gf2-mul@clmul", ("gf2-mul", "clmul"), gf2::multiplier) },
    unseen("gf2-mul@vpclmul", ("gf2-mul", "vpclmul"), NO_VAES, VPCLMUL_MUL, gf2::multiplier),
    unseen("gf2-mul@avx512", ("gf2-mul", "avx512"), NO_AVX512, AVX512_MUL, gf2::multiplier),
    unseen("gf2-mul-short@vpclmul", ("gf2-mul", "vpclmul"), NO_VAES, VPCLMUL_SHORT, gf2::short),
    unseen("gf2-mul-short@avx512", ("gf2-mul", "avx512"), NO_AVX512, AVX512_SHORT, gf2::short),
    gf2("gf2m-packed@portable", ("gf2m-packed", "portable"), gf2::packed),
    Case {
        kernel: Some("x86_64_packed::clmul::compiled"),
        ..gf2("gf2m-packed@clmul", ("gf2m-packed", "clmul"), gf2::packed)
    },
    unseen(
        "gf2m-packed@vpclmul",
        ("gf2m-packed", "vpclmul"),
        NO_VAES,
        &["x86_64_packed::vpclmul::compiled"],
        gf2::packed,
    ),
    unseen(
        "gf2m-packed@avx512",
        ("gf2m-packed", "avx512"),
        NO_AVX512,
        &["x86_64_packed::avx512::compiled"],
        gf2::packed,
    ),
    gf2("gf2m-sparse@portable", ("gf2m-sparse", "portable"), gf2::sparse),
    gf2("gf2m@portable", ("gf2m-mul", "portable"), gf2::field),
    Case { kernel: Some("clmul::mul::compiled"), ..gf2("gf2m@clmul", ("gf2m-mul", "clmul"), gf2::field) },
    unseen("gf2m@vpclmul", ("gf2m-mul", "vpclmul"), NO_VAES, VPCLMUL_FIELD, gf2::field),
    unseen("gf2m@avx512", ("gf2m-mul", "avx512"), NO_AVX512, AVX512_FIELD, gf2::field),
];

/// A case of binary polynomials, whose tiers have their arms' names.
const fn gf2(name: &'static str, ran: (&'static str, &'static str), run: fn(candor_cpu::Cpu)) -> Case {
    Case { name, ran, tier: ran.1, kernel: None, expect: Expect::Clean, run }
}

/// Kernels for polynomials: leaves, sums of splits, products of several.
const VPCLMUL_MUL: &[&str] = &["low::x86_64::vpclmul::*"];
const AVX512_MUL: &[&str] = &["low::x86_64::avx512::*"];
/// Leaves for short products by themselves, which the widest arm has twice.
const VPCLMUL_SHORT: &[&str] =
    &["vpclmul::leaf3", "vpclmul::leaf4", "vpclmul::leaf7", "vpclmul::leaf8", "vpclmul::leaf9"];
const AVX512_SHORT: &[&str] = &["low::x86_64::avx512_alone::*"];
/// Kernels for fields.
const VPCLMUL_FIELD: &[&str] = &[
    "vpclmul::mul::compiled",
    "vpclmul::square::compiled",
    "vpclmul::reduce::compiled",
    "vpclmul::mul_many::compiled",
];
const AVX512_FIELD: &[&str] =
    &["avx512::mul::compiled", "avx512::square::compiled", "avx512::reduce::compiled", "avx512::mul_many::compiled"];

/// The AVX2 kernel of AWS-LC that only encryption, and so re-encryption, calls: 10-bit compression at ranks 2 and 3.
const AWS_LC_D10: &str = "mlkem_poly_compress_d10_avx2_asm";
/// The same at rank 4, where it is 11 bits.
const AWS_LC_D11: &str = "mlkem_poly_compress_d11_avx2_asm";
/// Where libcrux has chosen its AVX2 code.
const LIBCRUX_DECAPSULATE: &str = "decapsulate_avx2";
/// The same for encapsulation.
const LIBCRUX_ENCAPSULATE: &str = "encapsulate_avx2";

/// A case on a library that picks its own arm: if we name a kernel, it is its AVX2 one.
const fn kem(
    name: &'static str,
    routine: &'static str,
    back_end: &'static str,
    kernel: Option<&'static str>,
    run: fn(candor_cpu::Cpu),
) -> Case {
    let tier = if kernel.is_some() { "avx2" } else { "portable" };
    Case { name, ran: (routine, back_end), tier, kernel, expect: Expect::Clean, run }
}

const NO_SHA: &str = "valgrind 3.19 dies of SIGILL at the SHA instructions";
const NO_VAES: &str = "valgrind 3.19 can't decode VAES and VPCLMULQDQ on 256 bits";
const NO_AVX512: &str = "valgrind 3.19 knows no AVX-512";

/// A hash of our own on an arm that valgrind runs.
const fn hash(
    name: &'static str,
    ran: (&'static str, &'static str),
    tier: &'static str,
    kernel: &'static str,
    run: fn(candor_cpu::Cpu),
) -> Case {
    Case { name, ran, tier, kernel: Some(kernel), expect: Expect::Clean, run }
}

/// One on an arm that valgrind can't run; most arms have the name of their tier.
const fn unseen(
    name: &'static str,
    ran: (&'static str, &'static str),
    why: &'static str,
    reads: &'static [&'static str],
    run: fn(candor_cpu::Cpu),
) -> Case {
    Case { name, ran, tier: ran.1, kernel: None, expect: Expect::Elsewhere { why, reads }, run }
}

/// A phase of a handshake.
const fn onion(name: &'static str, ran: (&'static str, &'static str), run: fn(candor_cpu::Cpu)) -> Case {
    Case { name, ran, tier: "portable", kernel: None, expect: Expect::Clean, run }
}

/// A direction of a layer, on AES-NI and PCLMULQDQ.
const fn layer(name: &'static str, ran: (&'static str, &'static str), run: fn(candor_cpu::Cpu)) -> Case {
    Case { name, ran, tier: "clmul", kernel: Some("counter_mode_aes::with_features"), expect: Expect::Clean, run }
}

/// The same on the libraries that run where no kernel of ours does. They choose their own arms: here those of AES-NI and PCLMULQDQ.
const fn portable(name: &'static str, ran: (&'static str, &'static str), run: fn(candor_cpu::Cpu)) -> Case {
    Case { name, ran, tier: "portable", kernel: None, expect: Expect::Clean, run }
}

/// AES through its public types; `portable` is crate `aes`, which chooses its own arm: here that of AES-NI.
const fn aes(
    name: &'static str,
    ran: (&'static str, &'static str),
    tier: &'static str,
    run: fn(candor_cpu::Cpu),
) -> Case {
    Case { name, ran, tier, kernel: None, expect: Expect::Clean, run }
}

/// A phase of OPAQUE; on a CPU with AVX2, as dalek chooses by itself. `places` says how often it encodes several elements at once, and how often it decodes
/// one that it has decrypted or unmasked.
const fn opaque(
    name: &'static str,
    ran: (&'static str, &'static str),
    places: &'static [Place],
    run: fn(candor_cpu::Cpu),
) -> Case {
    let why = if places.len() == 1 {
        "dalek asserts that a product without its zero factors is not zero; it never is"
    } else {
        "the same; and whether the evaluated element and the server's key, once decrypted and unmasked, are elements at all: if not, the login aborts visibly"
    };
    Case { name, ran, tier: "avx2", kernel: Some(DALEK_AVX2), expect: Expect::Known { places, why }, run }
}

/// Where dalek has chosen its AVX2 code.
const DALEK_AVX2: &str = "variable_base::spec_avx2::mul::_impl_mul";
/// Where dalek inverts several elements at once.
const INVERT: &str = "curve25519_dalek::field::<impl curve25519_dalek::backend::serial::u64::field::FieldElement51>::internal_invert_batch (field.rs:258)";
/// Where it finds that an encoding is not canonical.
const NOT_CANONICAL: &str = "curve25519_dalek::ristretto::CompressedRistretto::decompress (ristretto.rs:269)";
/// And that it is of no element.
const NO_ELEMENT: &str = "curve25519_dalek::ristretto::CompressedRistretto::decompress (ristretto.rs:275)";

/// Elements encoded together in one place, and in three.
const ENCODES: &[Place] = &[Place { reports: 1, at: INVERT }];
const ENCODES_THRICE: &[Place] = &[Place { reports: 3, at: INVERT }];
/// The end of a login, where the server's key is decoded.
const FINISHES: &[Place] = &finishes(2, 1);
/// With the evaluated element, which the hybrid encrypts.
const FINISHES_HYBRID: &[Place] = &finishes(2, 2);
/// After a start of the same client.
const STARTS_AND_FINISHES: &[Place] = &finishes(3, 1);

const fn finishes(encodes: usize, decodes: usize) -> [Place; 3] {
    [
        Place { reports: encodes, at: INVERT },
        Place { reports: decodes, at: NOT_CANONICAL },
        Place { reports: decodes, at: NO_ELEMENT },
    ]
}

/// Where AWS-LC tells whether a shared point is all zero.
const AWS_LC_ALL_ZERO: &[Place] = &[Place { reports: 1, at: "pkey_x25519_derive (p_x25519.c:54)" }];
