// Functions on vectors of f32, within about 2 units in the last place; NaN stays NaN. Polynomials are minimax
// fits of our own (Remez, 60 digits); the relative error of each in exact arithmetic is given.
//
// Compiled once per target: no #pragma once.
#if defined(PERFUSE_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef PERFUSE_VECTOR_MATH_INL_H
#undef PERFUSE_VECTOR_MATH_INL_H
#else
#define PERFUSE_VECTOR_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace perfuse::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c0 + x·(c1 + x·(c2 + …)).
template <class D, class V = hn::Vec<D>> HWY_INLINE V polynomial(D d, V /*x*/, float c) {
  return hn::Set(d, c);
}
template <class D, class V = hn::Vec<D>, class... Rest>
HWY_INLINE V polynomial(D d, V x, float c, Rest... rest) {
  return hn::MulAdd(x, polynomial(d, x, rest...), hn::Set(d, c));
}

// 2^k for −126 ≤ k ≤ 127.
template <class D, class VI> HWY_INLINE hn::Vec<D> power_of_two(D d, VI k) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(k, hn::Set(di, 127))));
}

// exp(x) = 2^k · exp(r), |r| ≤ ln2 / 2 (polynomial: 3.5e-9). The power in two halves, so that subnormal results
// and those just below overflow are right.
template <class D, class V = hn::Vec<D>> HWY_INLINE V exp_f32(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V clamped = hn::Min(hn::Max(x, hn::Set(d, -104.0f)), hn::Set(d, 89.0f));
  const V k = hn::Round(hn::Mul(clamped, hn::Set(d, 1.44269504f)));
  V r = hn::NegMulAdd(k, hn::Set(d, 0.693359375f), clamped);  // 9 bits of ln2, exact product, then the rest
  r = hn::NegMulAdd(k, hn::Set(d, -2.12194440e-4f), r);
  const V tail = polynomial(d, r, 0.499999933594f, 0.166665170842f, 0.0416684158429f, 0.00836920950755f,
                            0.00138142165937f);
  const V value = hn::Add(hn::MulAdd(hn::Mul(r, r), tail, r), hn::Set(d, 1.0f));
  const auto whole = hn::ConvertTo(di, k);
  const auto half = hn::ShiftRight<1>(whole);
  const V result = hn::Mul(hn::Mul(value, power_of_two(d, half)), power_of_two(d, hn::Sub(whole, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// 1 / (1 + exp(−x))
template <class D, class V = hn::Vec<D>> HWY_INLINE V sigmoid_f32(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp_f32(d, hn::Neg(x))));
}

// x · sigmoid(y)
template <class D, class V = hn::Vec<D>> HWY_INLINE V times_sigmoid_f32(D d, V x, V y) {
  return hn::Div(x, hn::Add(hn::Set(d, 1.0f), exp_f32(d, hn::Neg(y))));
}

// |x| < 0.6: x + x³ · polynomial(x²) (3e-9); else 1 − 2 / (exp(2|x|) + 1) with x's sign.
template <class D, class V = hn::Vec<D>> HWY_INLINE V tanh_f32(D d, V x) {
  const V square = hn::Mul(x, x);
  const V tail = polynomial(d, square, -0.333333074867f, 0.133321474873f, -0.0538010331169f, 0.0208495897271f,
                            -0.00595367839719f);
  const V small = hn::MulAdd(hn::Mul(square, x), tail, x);
  const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x);
  const V power = exp_f32(d, hn::Add(magnitude, magnitude));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.6f)), small, hn::CopySign(large, x));
}

// The normal distribution's 1 − Φ(x) = erfc(x/√2) / 2 for x ≥ 0, as exp(−x²/2) · polynomial(q) / (2 + 4z) with
// z = x/√2, q = (z − 2) / (z + 2) (1.8e-8). The rounding of x², which would cost x²/2 units of the last place, is put
// back to first order where the target has fused multiply-add.
template <class D, class V = hn::Vec<D>> HWY_INLINE V normal_tail_f32(D d, V x) {
  const V two = hn::Set(d, 2.0f), half = hn::Set(d, 0.5f);
  const V least = hn::Min(x, hn::Set(d, 15.5f));  // there the tail is 0 in f32
  const V square = hn::Mul(least, least);
  const V lost = hn::Mul(half, hn::MulSub(least, least, square));
  const V z = hn::Mul(least, hn::Set(d, 0.707106781f));
  const V above = hn::Add(z, two), slope = hn::MulAdd(hn::Add(z, z), two, two);
  const V inverse = hn::Div(hn::Set(d, 1.0f), hn::Mul(above, slope));
  const V q = hn::Mul(hn::Mul(hn::Sub(z, two), slope), inverse);
  const V series = polynomial(d, q, 1.27697839836f, -0.0927640173568f, -0.166031765844f, 0.164056010402f,
                              -0.0542004733818f, -0.00806193984574f, 0.00861753652625f, 0.00131103806426f,
                              -0.00121330284428f, -0.000390680821863f);
  const V power = exp_f32(d, hn::Mul(square, hn::Set(d, -0.5f)));
  const V value = hn::Mul(hn::Mul(series, hn::Mul(above, inverse)), hn::NegMulAdd(power, lost, power));
  return hn::IfThenElse(hn::IsNaN(x), x, value);
}

// Φ(x), without cancellation for negative x.
template <class D, class V = hn::Vec<D>> HWY_INLINE V normal_cdf_f32(D d, V x) {
  const V tail = normal_tail_f32(d, hn::Abs(x));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0f), tail));
}

// `vector(d, x)` where all of |x| is in its range of argument reduction, else `scalar` lane by lane (and so NaN
// and infinity).
template <class D, class V, class Vector, class Scalar>
HWY_INLINE V in_range_or_scalar(D d, V x, const Vector& vector, const Scalar& scalar) {
  if (hn::AllTrue(d, hn::Le(hn::Abs(x), hn::Set(d, 30000.0f)))) return vector(d, x);
  HWY_ALIGN float lanes[hn::MaxLanes(D())];
  hn::Store(x, d, lanes);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lanes[i] = scalar(lanes[i]);
  return hn::Load(d, lanes);
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V sin_f32(D d, V x) {
  return in_range_or_scalar(
      d, x, [](D tag, V v) HWY_ATTR { return hn::Sin(tag, v); }, [](float v) { return std::sin(v); });
}
template <class D, class V = hn::Vec<D>> HWY_INLINE V cos_f32(D d, V x) {
  return in_range_or_scalar(
      d, x, [](D tag, V v) HWY_ATTR { return hn::Cos(tag, v); }, [](float v) { return std::cos(v); });
}

// y[i] = f(d, x[i]); y may be x.
template <class F> HWY_INLINE void map_f32(const float* x, std::size_t count, float* y, const F& f) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == count) return;
  HWY_ALIGN float tail[hn::MaxLanes(d)] = {};
  for (std::size_t j = i; j < count; ++j) tail[j - i] = x[j];
  hn::Store(f(d, hn::Load(d, tail)), d, tail);
  for (std::size_t j = i; j < count; ++j) y[j] = tail[j - i];
}

}  // namespace perfuse::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // once per target
