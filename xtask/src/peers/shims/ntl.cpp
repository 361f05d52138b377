// NTL's GF2E behind C functions, compiled by `cargo xtask peers gf2x` against NTL on the tuned gf2x. Elements stay in NTL's own
// form between calls and the modulus is built once: what is inside the clock is NTL's arithmetic and a loop.

#include <NTL/GF2E.h>
#include <NTL/version.h>
#include <cstddef>
#include <vector>

using namespace NTL;

namespace {

struct Field {
    GF2EContext context;
    GF2XModulus modulus;
    std::vector<GF2E> a, b, c;
    std::vector<GF2X> wide, narrow;
};

// Whatever op does to the i-th operands, `count` times round the ring.
template <class Op> void around(std::size_t ring, unsigned long count, Op op)
{
    for (std::size_t i = 0; count--; i = i + 1 == ring ? 0 : i + 1) op(i);
}

} // namespace

extern "C" {

const char *candor_ntl_version() { return NTL_VERSION; }

// A field with `ring` pairs of operands; the modulus has a one at each exponent.
void *candor_ntl_new(const long *exponents, std::size_t terms, std::size_t ring)
{
    GF2X modulus;
    for (std::size_t i = 0; i < terms; i++) SetCoeff(modulus, exponents[i]);
    auto *field = new Field;
    field->context = GF2EContext(modulus);
    build(field->modulus, modulus);
    field->context.restore();
    field->a.resize(ring);
    field->b.resize(ring);
    field->c.resize(ring);
    field->wide.resize(ring);
    field->narrow.resize(ring);
    return field;
}

void candor_ntl_free(void *field) { delete static_cast<Field *>(field); }

// Sets the i-th operands, little-endian. `wide` is what `reduce` starts from.
void candor_ntl_set(void *at, std::size_t i, const unsigned char *a, const unsigned char *b, long length,
                    const unsigned char *wide, long wide_length)
{
    auto *field = static_cast<Field *>(at);
    field->context.restore();
    field->a[i] = conv<GF2E>(GF2XFromBytes(a, length));
    field->b[i] = conv<GF2E>(GF2XFromBytes(b, length));
    field->wide[i] = GF2XFromBytes(wide, wide_length);
}

void candor_ntl_mul(void *at, unsigned long count)
{
    auto *field = static_cast<Field *>(at);
    field->context.restore();
    around(field->a.size(), count, [&](std::size_t i) { mul(field->c[i], field->a[i], field->b[i]); });
}

// Each product is the next one's factor.
void candor_ntl_mul_chain(void *at, unsigned long count)
{
    auto *field = static_cast<Field *>(at);
    field->context.restore();
    field->c[0] = field->a[0];
    while (count--) mul(field->c[0], field->c[0], field->b[0]);
}

void candor_ntl_square(void *at, unsigned long count)
{
    auto *field = static_cast<Field *>(at);
    field->context.restore();
    around(field->a.size(), count, [&](std::size_t i) { sqr(field->c[i], field->a[i]); });
}

void candor_ntl_inverse(void *at, unsigned long count)
{
    auto *field = static_cast<Field *>(at);
    field->context.restore();
    around(field->a.size(), count, [&](std::size_t i) { inv(field->c[i], field->a[i]); });
}

void candor_ntl_reduce(void *at, unsigned long count)
{
    auto *field = static_cast<Field *>(at);
    around(field->a.size(), count, [&](std::size_t i) { rem(field->narrow[i], field->wide[i], field->modulus); });
}

// The i-th result of the last operation on elements, or of `reduce`.
void candor_ntl_get(void *at, std::size_t i, unsigned char *bytes, long length, int reduced)
{
    auto *field = static_cast<Field *>(at);
    BytesFromGF2X(bytes, reduced ? field->narrow[i] : rep(field->c[i]), length);
}

} // extern "C"
