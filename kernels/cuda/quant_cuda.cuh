/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The quantiser's kernels, as templates: a warp takes one block of 256 elements after the other. What
 * a C++ compiler needs to know instead of nvcc is in tests/cuda/device.h.
 */
#ifndef KERNELS_CUDA_QUANT_CUDA_CUH
#define KERNELS_CUDA_QUANT_CUDA_CUH

#include "kernels/cuda/quant_cuda.h"
#include "kernels/quant.h"
#include "kernels/quant_math.h"

#define QUANT_FN static __device__ __forceinline__
#define QUANT_LANES 32
#define QUANT_HELD (QUANT_BLOCK / QUANT_LANES) /* elements of a block that a lane holds */
#define QUANT_ALL 0xffffffffu

/* Arrays stay in registers only where loops over them are unrolled. */
#if defined(__CUDACC__)
#define QUANT_UNROLL _Pragma("unroll")
#define QUANT_ROLLED _Pragma("unroll 1")
#else
#define QUANT_UNROLL
#define QUANT_ROLLED
#endif

/* Every access is announced: the emulator checks address and alignment. */
#if !defined(QUANT_ACCESS)
#define QUANT_ACCESS(at, bytes, align, writes) ((void)0)
#endif

/* --- Memory ----------------------------------------------------------------------------------- */

/* User tensors and packets alike. */
struct quant_side {
	char *base;
	struct quant_layout layout;
};

QUANT_FN struct quant_side side_dense(const void *base)
{
	struct quant_side side = { (char *)base, { 0u, 0u } };

	return side;
}

QUANT_FN struct quant_side side_packets(const void *base, struct quant_layout layout)
{
	struct quant_side side = { (char *)base, layout };

	return side;
}

/* Whether what a lane holds of a full block lies together, and can be read and written 16 bytes at once. */
QUANT_FN bool side_is_wide(const struct quant_side &side)
{
	return ((uint64_t)side.base % 16u | side.layout.per % QUANT_HELD |
		(side.layout.per ? side.layout.stride % 16u : 0u)) == 0u;
}

/* Address of an element. There are less than 2^32 where there are packets. */
template <int BYTES> QUANT_FN char *side_at(const struct quant_side &side, uint64_t element)
{
	const uint32_t per = side.layout.per;
	uint32_t packet;

	if (!per)
		return side.base + element * BYTES;
	packet = (uint32_t)element / per;
	return side.base + (uint64_t)packet * side.layout.stride +
	       (uint64_t)((uint32_t)element - packet * per) * BYTES;
}

/* Each word is used once, so it need not stay in a cache that others use. */
template <class T> QUANT_FN T memory_load(const char *at)
{
	QUANT_ACCESS(at, sizeof(T), sizeof(T), false);
	return __ldcs((const T *)at);
}

template <class T> QUANT_FN void memory_store(char *at, T value)
{
	QUANT_ACCESS(at, sizeof(T), sizeof(T), true);
	__stcs((T *)at, value);
}

/* One element of 2 or 4 bytes, wherever it lies. */
template <int BYTES> QUANT_FN uint32_t element_load(const char *at)
{
	if ((uint64_t)at % BYTES == 0u)
		return BYTES == 4 ? memory_load<uint32_t>(at) : memory_load<uint16_t>(at);
	QUANT_ACCESS(at, BYTES, 1, false);
	return BYTES == 4 ? qm_load32(at) : qm_load16(at);
}

template <int BYTES> QUANT_FN void element_store(char *at, uint32_t raw)
{
	if ((uint64_t)at % BYTES == 0u) {
		if (BYTES == 4)
			memory_store<uint32_t>(at, raw);
		else
			memory_store<uint16_t>(at, (uint16_t)raw);
		return;
	}
	QUANT_ACCESS(at, BYTES, 1, true);
	if (BYTES == 4)
		qm_store32(at, raw);
	else
		qm_store16(at, raw);
}

QUANT_FN void pair_split(uint32_t raw[2], uint32_t pair)
{
	raw[0] = pair & 0xffffu;
	raw[1] = pair >> 16;
}

QUANT_FN uint32_t pair_join(const uint32_t raw[2])
{
	return (raw[0] & 0xffffu) | raw[1] << 16;
}

/* What a lane holds: 8 elements in a row, or twice 4, so that a warp's access has no gaps. */
template <int BYTES, bool ROW>
QUANT_FN void lane_load(uint32_t raw[QUANT_HELD], const char *low, const char *high)
{
	if (BYTES == 4) {
		uint4 a = memory_load<uint4>(low), b = memory_load<uint4>(high);

		raw[0] = a.x, raw[1] = a.y, raw[2] = a.z, raw[3] = a.w;
		raw[4] = b.x, raw[5] = b.y, raw[6] = b.z, raw[7] = b.w;
	} else if (ROW) {
		uint4 a = memory_load<uint4>(low);

		pair_split(raw, a.x), pair_split(raw + 2, a.y);
		pair_split(raw + 4, a.z), pair_split(raw + 6, a.w);
	} else {
		uint2 a = memory_load<uint2>(low), b = memory_load<uint2>(high);

		pair_split(raw, a.x), pair_split(raw + 2, a.y);
		pair_split(raw + 4, b.x), pair_split(raw + 6, b.y);
	}
}

template <int BYTES, bool ROW>
QUANT_FN void lane_store(char *low, char *high, const uint32_t raw[QUANT_HELD])
{
	if (BYTES == 4) {
		memory_store(low, make_uint4(raw[0], raw[1], raw[2], raw[3]));
		memory_store(high, make_uint4(raw[4], raw[5], raw[6], raw[7]));
	} else if (ROW) {
		memory_store(low, make_uint4(pair_join(raw), pair_join(raw + 2), pair_join(raw + 4),
					     pair_join(raw + 6)));
	} else {
		memory_store(low, make_uint2(pair_join(raw), pair_join(raw + 2)));
		memory_store(high, make_uint2(pair_join(raw + 4), pair_join(raw + 6)));
	}
}

template <bool ROW> QUANT_FN uint32_t lane_low(uint32_t lane)
{
	return lane * (ROW ? 8u : 4u);
}

/* --- The walk over blocks --------------------------------------------------------------------- */

QUANT_FN uint32_t walk_lane(void)
{
	return threadIdx.x % QUANT_LANES;
}

QUANT_FN uint32_t walk_start(void)
{
	return blockIdx.x * (blockDim.x / QUANT_LANES) + threadIdx.x / QUANT_LANES;
}

QUANT_FN uint32_t walk_step(void)
{
	return gridDim.x * (blockDim.x / QUANT_LANES);
}

/* Where a block starts. */
QUANT_FN uint64_t walk_first(uint32_t block)
{
	return (uint64_t)block * QUANT_BLOCK;
}

/* Elements of the block that starts with `first`. */
QUANT_FN uint32_t walk_length(uint64_t first, uint64_t count)
{
	return count - first < QUANT_BLOCK ? (uint32_t)(count - first) : QUANT_BLOCK;
}

/* Each element through op, from IN bytes to OUT bytes; op.begin() hears of each block. */
template <int IN, int OUT, class OP>
QUANT_FN void walk(const struct quant_side &to, const struct quant_side &from, uint64_t count,
		   OP &op)
{
	const bool row = IN == 2 && OUT == 2;
	const bool wide = side_is_wide(to) && side_is_wide(from);
	const uint32_t lane = walk_lane();

	QUANT_ROLLED
	for (uint32_t block = walk_start(); walk_first(block) < count; block += walk_step()) {
		uint64_t first = walk_first(block), low = first + lane_low<row>(lane);
		uint64_t high = low + QUANT_BLOCK / 2;
		uint32_t length = walk_length(first, count);
		uint32_t raw[QUANT_HELD];

		op.begin(block, length);
		if (wide && length == QUANT_BLOCK) {
			lane_load<IN, row>(raw, side_at<IN>(from, low),
					   row ? NULL : side_at<IN>(from, high));
			op.template run<QUANT_HELD>(raw);
			lane_store<OUT, row>(side_at<OUT>(to, low),
					     row ? NULL : side_at<OUT>(to, high), raw);
			continue;
		}
		QUANT_ROLLED
		for (uint32_t i = lane; i < length; i += QUANT_LANES) {
			raw[0] = element_load<IN>(side_at<IN>(from, first + i));
			op.template run<1>(raw);
			element_store<OUT>(side_at<OUT>(to, first + i), raw[0]);
		}
	}
}

/* The warp's first lane adds for all. */
QUANT_FN void count_add(unsigned long long *total, uint32_t more)
{
	if (walk_lane() != 0u)
		return;
	QUANT_ACCESS(total, sizeof(*total), sizeof(*total), true);
	atomicAdd(total, (unsigned long long)more);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

template <int DTYPE> struct quant_format;
template <> struct quant_format<QUANT_F32> {
	enum { BYTES = 4, MANT = QM_F32_MANT, EXP = QM_F32_EXP };
};
template <> struct quant_format<QUANT_F16> {
	enum { BYTES = 2, MANT = QM_F16_MANT, EXP = QM_F16_EXP };
};
template <> struct quant_format<QUANT_BF16> {
	enum { BYTES = 2, MANT = QM_BF16_MANT, EXP = QM_BF16_EXP };
};

template <int DTYPE> QUANT_FN uint32_t float_widen(uint32_t raw)
{
	return DTYPE == QUANT_F16    ? qm_widen_f16(raw)
	       : DTYPE == QUANT_BF16 ? qm_widen_bf16(raw)
				     : raw;
}

template <int DTYPE> QUANT_FN uint32_t float_narrow(uint32_t bits)
{
	if (DTYPE == QUANT_F32)
		return bits;
	return qm_narrow(bits, quant_format<DTYPE>::MANT, quant_format<DTYPE>::EXP);
}

/* qm_multiply() by the device's multiplication, which is IEEE's; only its NaN is another. */
QUANT_FN uint32_t float_times(uint32_t bits, float factor)
{
	uint32_t product = __float_as_uint(__fmul_rn(__uint_as_float(bits), factor));

	return (product & 0x7fffffffu) > QM_INF ? QM_NAN : product;
}

template <int WIRE> QUANT_FN int float_shift(uint32_t exp, uint32_t world)
{
	return WIRE == 4 ? qm_shift(exp, world) : qm_shift16(exp, world);
}

template <int WIRE> QUANT_FN uint32_t wire_to(int32_t q)
{
	return WIRE == 4 ? qm_be32((uint32_t)q) : qm_be16((uint32_t)q);
}

template <int WIRE> QUANT_FN int32_t wire_from(uint32_t raw)
{
	return WIRE == 4 ? (int32_t)qm_be32(raw) : (int32_t)(int16_t)qm_be16(raw);
}

/* --- The kernels' operations ------------------------------------------------------------------- */

template <int DTYPE, int WIRE> struct quantize_op {
	const uint8_t *exp;
	uint32_t world;
	float factor;
	bool zero; /* the block has a NaN or Inf */
	int k;

	__device__ __forceinline__ void begin(uint32_t block, uint32_t)
	{
		uint32_t largest = memory_load<uint8_t>((const char *)exp + block);

		zero = largest == QM_EXP_NONFINITE;
		k = float_shift<WIRE>(largest, world);
	}

	template <int NR> __device__ __forceinline__ void run(uint32_t raw[NR])
	{
		if (zero) {
			QUANT_UNROLL
			for (int i = 0; i < NR; i++)
				raw[i] = 0u;
			return;
		}
		QUANT_UNROLL
		for (int i = 0; i < NR; i++)
			raw[i] = float_widen<DTYPE>(raw[i]);
		if (factor != 1.0f) {
			QUANT_UNROLL
			for (int i = 0; i < NR; i++)
				raw[i] = float_times(raw[i], factor);
		}
		QUANT_UNROLL
		for (int i = 0; i < NR; i++) {
			int32_t q = WIRE == 4 ? qm_quantize(raw[i], k)
					      : qm_quantize16(raw[i], k, qm_limit16(world));

			raw[i] = wire_to<WIRE>(q);
		}
	}
};

/* number / divisor by inverse = 2^32 / divisor, rounded down. What is left becomes *rest. */
QUANT_FN uint32_t divisor_step(uint32_t *rest, uint32_t number, uint32_t divisor, uint32_t inverse)
{
	/* number * (1 / divisor - inverse / 2^32) < 1: this may be one less. */
	uint32_t quotient = __umulhi(number, inverse);
	uint32_t left = number - quotient * divisor;
	uint32_t more = left >= divisor;

	*rest = left - (more ? divisor : 0u);
	return quotient + more;
}

/* number * 2^16 / divisor, for divisors of 16 bits; the lowest bit is set if that is not exact. */
QUANT_FN uint64_t divisor_quotient(uint32_t number, uint32_t divisor, uint32_t inverse)
{
	uint32_t rest;
	uint32_t high = divisor_step(&rest, number, divisor, inverse);
	uint32_t low = divisor_step(&rest, rest << 16, divisor, inverse);

	return (uint64_t)high << 16 | low | (rest != 0u);
}

template <int DTYPE, int WIRE> struct dequantize_op {
	const uint8_t *exp;
	uint32_t world, divisor;
	float factor;
	unsigned long long *nonfinite; /* counts the elements of blocks that are NaN */
	uint64_t inverse;	       /* of the divisor; 0: a power of two, which is a shift */
	bool nan;
	bool exact; /* a float times unit is the result */
	float unit; /* what 1 on the wire is worth */
	int down;   /* unit is 2^-down */

	__device__ __forceinline__ void start(void)
	{
		inverse = divisor & (divisor - 1u) ? 0xffffffffu / divisor : 0u;
	}

	__device__ __forceinline__ void begin(uint32_t block, uint32_t length)
	{
		uint32_t largest = memory_load<uint8_t>((const char *)exp + block);

		nan = largest == QM_EXP_NONFINITE;
		if (nan)
			count_add(nonfinite, length);
		down = float_shift<WIRE>(largest, world) + (inverse ? 0 : qm_log2_ceil(divisor));
		/* No product of such a unit is subnormal or Inf. */
		exact = !inverse && down <= QM_SHIFT_FLOAT_MAX && down >= QM_SHIFT_FINITE_MIN;
		unit = __uint_as_float((uint32_t)(127 - down) << 23);
	}

	/* qm_dequantize(), with the division by an inverse: 32 and 16 bits of a quotient are enough. */
	__device__ __forceinline__ uint32_t rounded(int32_t sum, int mant, int exp_bits) const
	{
		const uint32_t infinite = ((1u << exp_bits) - 1u) << mant;
		uint32_t sign = (uint32_t)sum >> 31 << (mant + exp_bits);
		uint32_t mag = sum < 0 ? 0u - (uint32_t)sum : (uint32_t)sum, bits;
		int up = __clz((int)mag);
		uint64_t value;

		if (mag == 0u)
			return 0u;
		value = mag << up;
		if (inverse) {
			value = divisor_quotient(mag << up, divisor, inverse);
			up += 16;
		}
		bits = qm_round(value, -up - down, mant, exp_bits);
		return sign | (divisor > 1u && bits == infinite ? infinite - 1u : bits);
	}

	/* To the bits of float32, or at once to those of the format. */
	template <int NR, int FORMAT> __device__ __forceinline__ void sums(uint32_t raw[NR]) const
	{
		if (DTYPE == QUANT_F32 && exact) {
			QUANT_UNROLL
			for (int i = 0; i < NR; i++)
				raw[i] = __float_as_uint(
					__fmul_rn(__int2float_rn(wire_from<WIRE>(raw[i])), unit));
			return;
		}
		QUANT_UNROLL
		for (int i = 0; i < NR; i++)
			raw[i] = rounded(wire_from<WIRE>(raw[i]), quant_format<FORMAT>::MANT,
					 quant_format<FORMAT>::EXP);
	}

	template <int NR> __device__ __forceinline__ void run(uint32_t raw[NR])
	{
		if (nan) {
			QUANT_UNROLL
			for (int i = 0; i < NR; i++)
				raw[i] = float_narrow<DTYPE>(QM_NAN);
			return;
		}
		if (factor == 1.0f) {
			sums<NR, DTYPE>(raw);
			return;
		}
		sums<NR, QUANT_F32>(raw);
		QUANT_UNROLL
		for (int i = 0; i < NR; i++)
			raw[i] = float_narrow<DTYPE>(float_times(raw[i], factor));
	}
};

/* What is the same for all blocks: an element's new value from its old one and the kernel's argument. */
template <class ELEMENT> struct element_op {
	uint32_t given;

	__device__ __forceinline__ void begin(uint32_t, uint32_t)
	{
	}

	template <int NR> __device__ __forceinline__ void run(uint32_t raw[NR]) const
	{
		QUANT_UNROLL
		for (int i = 0; i < NR; i++)
			raw[i] = ELEMENT::next(raw[i], given);
	}
};

template <int DTYPE> struct element_order {
	QUANT_FN uint32_t next(uint32_t raw, uint32_t negate)
	{
		return qm_be32(qm_order(float_widen<DTYPE>(raw), negate));
	}
};

template <int DTYPE> struct element_unorder {
	QUANT_FN uint32_t next(uint32_t raw, uint32_t negate)
	{
		return float_narrow<DTYPE>(qm_unorder(qm_be32(raw), negate));
	}
};

struct element_swap {
	QUANT_FN uint32_t next(uint32_t raw, uint32_t mask)
	{
		return qm_be32(raw ^ mask);
	}
};

struct element_average {
	QUANT_FN uint32_t next(uint32_t raw, uint32_t divisor)
	{
		return (uint32_t)((int32_t)qm_be32(raw) / (int32_t)divisor);
	}
};

/* --- The scan: it writes one byte for each block ------------------------------------------------ */

template <int DTYPE> struct scan_op {
	float factor;

	__device__ __forceinline__ uint32_t exponent(uint32_t raw) const
	{
		uint32_t bits = float_widen<DTYPE>(raw);

		if (factor != 1.0f)
			bits = float_times(bits, factor);
		return bits >> 23 & 255u;
	}
};

/* The lane's largest exponent. Magnitudes are ordered as their bits are, so most of them need no widening. */
template <int DTYPE, int NR>
QUANT_FN uint32_t scan_largest(const struct scan_op<DTYPE> &op, const uint32_t raw[NR])
{
	uint32_t largest = 0u, own;

	if (op.factor == 1.0f) {
		QUANT_UNROLL
		for (int i = 0; i < NR; i++) {
			own = raw[i] & (DTYPE == QUANT_F32 ? 0x7fffffffu : 0x7fffu);
			largest = own > largest ? own : largest;
		}
		return op.exponent(largest);
	}
	QUANT_UNROLL
	for (int i = 0; i < NR; i++) {
		own = op.exponent(raw[i]);
		largest = own > largest ? own : largest;
	}
	return largest;
}

template <int DTYPE>
QUANT_FN void scan(const void *src, uint64_t count, float prescale, uint8_t *exp,
		   unsigned long long *nonfinite)
{
	enum { BYTES = quant_format<DTYPE>::BYTES };
	const struct scan_op<DTYPE> op = {
		prescale
	};
	const struct quant_side from = side_dense(src);
	const bool row = BYTES == 2, wide = side_is_wide(from);
	const uint32_t lane = walk_lane(), low = lane_low<row>(lane);
	uint32_t seen = 0u;

	QUANT_ROLLED
	for (uint32_t block = walk_start(); walk_first(block) < count; block += walk_step()) {
		const char *at = side_at<BYTES>(from, walk_first(block));
		uint32_t length = walk_length(walk_first(block), count), largest = 0u, own;
		uint32_t raw[QUANT_HELD];

		if (wide && length == QUANT_BLOCK) {
			lane_load<BYTES, row>(raw, at + low * BYTES,
					      at + (low + QUANT_BLOCK / 2) * BYTES);
			largest = scan_largest<DTYPE, QUANT_HELD>(op, raw);
		} else {
			QUANT_ROLLED
			for (uint32_t i = lane; i < length; i += QUANT_LANES) {
				own = op.exponent(element_load<BYTES>(at + i * BYTES));
				largest = own > largest ? own : largest;
			}
		}
		for (int apart = QUANT_LANES / 2; apart; apart /= 2) {
			own = __shfl_xor_sync(QUANT_ALL, largest, apart);
			largest = own > largest ? own : largest;
		}
		if (lane == 0u)
			memory_store<uint8_t>((char *)exp + block, (uint8_t)largest);
		/* Rare, so it may read the block again. */
		QUANT_ROLLED
		for (uint32_t i = lane; largest == QM_EXP_NONFINITE && i < length; i += QUANT_LANES)
			seen += op.exponent(element_load<BYTES>(at + i * BYTES)) ==
				QM_EXP_NONFINITE;
	}
	for (int apart = QUANT_LANES / 2; apart; apart /= 2)
		seen += __shfl_xor_sync(QUANT_ALL, seen, apart);
	if (seen)
		count_add(nonfinite, seen);
}

#endif
