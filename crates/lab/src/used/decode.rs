//! What instructions stand at an address of this process.

use super::Kind;
use iced_x86::{
    Code as Opcode, CpuidFeature, Decoder, DecoderOptions, EncodingKind, FlowControl, Instruction, Mnemonic, OpKind,
    Register,
};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// How many instructions are looked at, the one at the place included: a kernel's loads and moves belong to the kernel.
const AHEAD: usize = 16;

/// No instruction is longer.
const LONGEST: usize = 15;

/// The code of this process.
pub(super) struct Code {
    /// Read by way of the kernel: an address that is gone is an error there and no crash.
    memory: File,
    libc: Vec<Range<u64>>,
}

impl Code {
    pub(super) fn of_this_process() -> Result<Self, String> {
        let failed = |error| format!("the code of this process can't be read: {error}");
        let maps = fs::read_to_string("/proc/self/maps").map_err(failed)?;
        Ok(Self { memory: File::open("/proc/self/mem").map_err(failed)?, libc: libc_in(&maps) })
    }

    /// The kinds that a sample at this address counts for.
    pub(super) fn kinds_at(&self, address: u64) -> BTreeSet<Kind> {
        if self.libc.iter().any(|range| range.contains(&address)) {
            return BTreeSet::from([Kind::Libc]);
        }
        let mut bytes = [0; AHEAD * LONGEST];
        let read = self.memory.read_at(&mut bytes, address).unwrap_or(0);
        kinds_of(&bytes[..read], address)
    }
}

/// Where the C library, its loader and the kernel's own page are: their copies have vectors in any program.
fn libc_in(maps: &str) -> Vec<Range<u64>> {
    let theirs = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        path == "[vdso]" || ["libc.so", "libc-", "ld-linux", "ld-2"].iter().any(|start| name.starts_with(start))
    };
    let range = |line: &str| {
        let mut fields = line.split_whitespace();
        let (from, to) = fields.next()?.split_once('-')?;
        // Rights, offset, device and inode stand before the path.
        let path = fields.nth(4)?;
        let parse = |digits| u64::from_str_radix(digits, 16).ok();
        theirs(path).then_some(parse(from)?..parse(to)?)
    };
    maps.lines().filter_map(range).collect()
}

/// The kinds of the instructions from the beginning on, until control goes elsewhere for good.
fn kinds_of(bytes: &[u8], address: u64) -> BTreeSet<Kind> {
    let mut kinds = BTreeSet::new();
    let mut plain = Kind::Unreadable;
    for instruction in Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).iter().take(AHEAD) {
        if instruction.code() == Opcode::INVALID {
            break;
        }
        match vectors_of(&instruction) {
            Some(Kind::Sse) => plain = Kind::Sse,
            vectors => kinds.extend(vectors),
        }
        plain = plain.max(Kind::Scalar);
        kinds.extend(instruction.cpuid_features().iter().filter_map(|&feature| special(feature)));
        kinds.extend((instruction.mnemonic() == Mnemonic::Mulx).then_some(Kind::Adx));
        if matches!(
            instruction.flow_control(),
            FlowControl::UnconditionalBranch | FlowControl::IndirectBranch | FlowControl::Return
        ) {
            break;
        }
    }
    if kinds.is_empty() {
        kinds.insert(plain);
    }
    kinds
}

/// The vectors that an instruction works with, if any.
fn vectors_of(instruction: &Instruction) -> Option<Kind> {
    let has = |is: fn(Register) -> bool| {
        let operands = 0..instruction.op_count();
        operands.filter(|&i| instruction.op_kind(i) == OpKind::Register).any(|i| is(instruction.op_register(i)))
    };
    match instruction.encoding() {
        EncodingKind::EVEX => Some(Kind::Avx512),
        _ if has(Register::is_k) => Some(Kind::Avx512),
        EncodingKind::VEX if has(Register::is_ymm) => Some(Kind::Avx2),
        EncodingKind::VEX if has(Register::is_xmm) => Some(Kind::Avx),
        EncodingKind::Legacy if has(Register::is_xmm) => Some(Kind::Sse),
        _ => None,
    }
}

/// The kind of the instructions that a feature is for.
fn special(feature: CpuidFeature) -> Option<Kind> {
    Some(match feature {
        CpuidFeature::SHA => Kind::Sha,
        CpuidFeature::SHA512 => Kind::Sha512,
        CpuidFeature::SM3 => Kind::Sm3,
        CpuidFeature::SM4 => Kind::Sm4,
        CpuidFeature::AES => Kind::Aes,
        CpuidFeature::VAES => Kind::Vaes,
        CpuidFeature::PCLMULQDQ => Kind::Pclmul,
        CpuidFeature::VPCLMULQDQ => Kind::Vpclmul,
        CpuidFeature::GFNI => Kind::Gfni,
        CpuidFeature::AVX512_IFMA | CpuidFeature::AVX_IFMA => Kind::Ifma,
        CpuidFeature::AVX512_VBMI | CpuidFeature::AVX512_VBMI2 => Kind::Vbmi,
        CpuidFeature::ADX => Kind::Adx,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RET: u8 = 0xc3;

    fn kinds(code: &[u8]) -> Vec<Kind> {
        kinds_of(code, 0x1000).into_iter().collect()
    }

    /// Encodings as GNU as writes them.
    #[test]
    fn instructions_are_of_the_kind_that_their_encoding_says() {
        use Kind::*;
        for (name, code, expected) in [
            ("add rax, rbx", &[0x48, 0x01, 0xd8][..], &[Scalar][..]),
            ("rorx eax, ebx, 7", &[0xc4, 0xe3, 0x7b, 0xf0, 0xc3, 0x07], &[Scalar]),
            ("vzeroupper", &[0xc5, 0xf8, 0x77], &[Scalar]),
            ("pshufb xmm0, xmm1", &[0x66, 0x0f, 0x38, 0x00, 0xc1], &[Sse]),
            ("vpaddd xmm0, xmm1, xmm2", &[0xc5, 0xf1, 0xfe, 0xc2], &[Avx]),
            ("vpaddd ymm0, ymm1, ymm2", &[0xc5, 0xf5, 0xfe, 0xc2], &[Avx2]),
            ("vpaddd zmm0, zmm1, zmm2", &[0x62, 0xf1, 0x75, 0x48, 0xfe, 0xc2], &[Avx512]),
            ("vprold xmm0, xmm1, 7", &[0x62, 0xf1, 0x7d, 0x08, 0x72, 0xc9, 0x07], &[Avx512]),
            ("kmovd k1, eax", &[0xc5, 0xfb, 0x92, 0xc8], &[Avx512]),
            ("sha256rnds2 xmm1, xmm2, xmm0", &[0x0f, 0x38, 0xcb, 0xca], &[Sha]),
            ("vsha512rnds2 ymm0, ymm1, xmm2", &[0xc4, 0xe2, 0x77, 0xcb, 0xc2], &[Avx2, Sha512]),
            ("aesenc xmm0, xmm1", &[0x66, 0x0f, 0x38, 0xdc, 0xc1], &[Aes]),
            ("vaesenc xmm0, xmm1, xmm2", &[0xc4, 0xe2, 0x71, 0xdc, 0xc2], &[Avx, Aes]),
            ("vaesenc ymm0, ymm1, ymm2", &[0xc4, 0xe2, 0x75, 0xdc, 0xc2], &[Avx2, Vaes]),
            ("vaesenc zmm0, zmm1, zmm2", &[0x62, 0xf2, 0x75, 0x48, 0xdc, 0xc2], &[Avx512, Vaes]),
            ("pclmulqdq xmm0, xmm1, 0", &[0x66, 0x0f, 0x3a, 0x44, 0xc1, 0x00], &[Pclmul]),
            ("vpclmulqdq ymm0, ymm1, ymm2, 0", &[0xc4, 0xe3, 0x75, 0x44, 0xc2, 0x00], &[Avx2, Vpclmul]),
            ("gf2p8mulb xmm0, xmm1", &[0x66, 0x0f, 0x38, 0xcf, 0xc1], &[Gfni]),
            ("vpmadd52luq zmm0, zmm1, zmm2", &[0x62, 0xf2, 0xf5, 0x48, 0xb4, 0xc2], &[Avx512, Ifma]),
            ("vpermb zmm0, zmm1, zmm2", &[0x62, 0xf2, 0x75, 0x48, 0x8d, 0xc2], &[Avx512, Vbmi]),
            ("adcx rax, rbx", &[0x66, 0x48, 0x0f, 0x38, 0xf6, 0xc3], &[Adx]),
            ("adox rax, rbx", &[0xf3, 0x48, 0x0f, 0x38, 0xf6, 0xc3], &[Adx]),
            ("mulx rax, rbx, rcx", &[0xc4, 0xe2, 0xe3, 0xf6, 0xc1], &[Adx]),
        ] {
            assert_eq!(kinds(&[code, &[RET]].concat()), expected, "{name}");
        }
    }

    #[test]
    fn what_follows_straight_on_counts_and_what_is_behind_a_return_does_not() {
        let (nop, jump, jump_if, sha) =
            ([0x90].as_slice(), [0xeb, 0x00].as_slice(), [0x75, 0x00].as_slice(), [0x0f, 0x38, 0xcb, 0xca].as_slice());
        assert_eq!(kinds(&[nop, jump_if, sha].concat()), [Kind::Sha]);
        assert_eq!(kinds(&[nop, jump, sha].concat()), [Kind::Scalar]);
        assert_eq!(kinds(&[nop, &[RET], sha].concat()), [Kind::Scalar]);
        assert_eq!(kinds(&[&[0x90; AHEAD - 1], sha].concat()), [Kind::Sha]);
        assert_eq!(kinds(&[&[0x90; AHEAD], sha].concat()), [Kind::Scalar]);
    }

    #[test]
    fn what_is_no_instruction_is_unreadable() {
        assert_eq!(kinds(&[]), [Kind::Unreadable]);
        assert_eq!(kinds(&[0x06]), [Kind::Unreadable], "no instruction in 64 bits");
        let code = Code::of_this_process().unwrap();
        assert_eq!(code.kinds_at(16), BTreeSet::from([Kind::Unreadable]), "nothing is there");
    }

    #[test]
    fn the_c_library_is_found_by_its_name() {
        let maps = "\
55a0-55b0 r-xp 00000000 fe:01 12  /usr/bin/candor
7f10-7f20 r-xp 00026000 fe:01 13                         /usr/lib/x86_64-linux-gnu/libc.so.6
7f30-7f40 r-xp 00026000 fe:01 13                         /usr/lib/x86_64-linux-gnu/libcrypto.so.3
7f50-7f60 rw-p 00000000 00:00 0
7f70-7f80 r-xp 00000000 fe:01 14                         /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2
7f90-7fa0 r-xp 00000000 00:00 0                          [vdso]
nonsense libc.so.6
";
        assert_eq!(libc_in(maps), [0x7f10..0x7f20, 0x7f70..0x7f80, 0x7f90..0x7fa0]);
        let code = Code::of_this_process().unwrap();
        assert!(!code.libc.is_empty(), "this program has one");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(code in prop::collection::vec(any::<u8>(), 0..300), maps in any::<String>()) {
            prop_assert!(!kinds_of(&code, u64::MAX - 7).is_empty());
            let _ = libc_in(&maps);
        }
    }
}
