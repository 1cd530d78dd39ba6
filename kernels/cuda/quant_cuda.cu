// SPDX-License-Identifier: BSD-3-Clause
// The quantiser's CUDA kernels by their names: one for each format of floats and width on the wire.
#include "kernels/cuda/quant_cuda.cuh"

#define QUANT_KERNEL                                                                               \
	extern "C" __global__ void __launch_bounds__(QUANT_CUDA_THREADS, QUANT_CUDA_GRID_PER_SM)

#define QUANT_WIRE_KERNELS(name, dtype, bits, wire)                                                \
	QUANT_KERNEL tally_quantize_##name##_##bits(void *dst, struct quant_layout layout,         \
						    const void *src, uint64_t count,               \
						    float prescale, const uint8_t *exp,            \
						    uint32_t world)                                \
	{                                                                                          \
		quantize_op<dtype, wire> op = { exp, world, prescale, false, 0 };                  \
                                                                                                   \
		walk<quant_format<dtype>::BYTES, wire>(side_packets(dst, layout), side_dense(src), \
						       count, op);                                 \
	}                                                                                          \
	QUANT_KERNEL tally_dequantize_##name##_##bits(void *dst, const void *src,                  \
						      struct quant_layout layout, uint64_t count,  \
						      float postscale, const uint8_t *exp,         \
						      uint32_t world, uint32_t divisor,            \
						      unsigned long long *nonfinite)               \
	{                                                                                          \
		dequantize_op<dtype, wire> op = { exp, world, divisor, postscale, nonfinite,       \
						  0u,  false, false,   0.0f,	  0 };             \
                                                                                                   \
		op.start();                                                                        \
		walk<wire, quant_format<dtype>::BYTES>(side_dense(dst), side_packets(src, layout), \
						       count, op);                                 \
	}

#define QUANT_FLOAT_KERNELS(name, dtype)                                                           \
	QUANT_WIRE_KERNELS(name, dtype, 32, 4)                                                     \
	QUANT_WIRE_KERNELS(name, dtype, 16, 2)                                                     \
	QUANT_KERNEL tally_scan_##name(const void *src, uint64_t count, float prescale,            \
				       uint8_t *exp, unsigned long long *nonfinite)                \
	{                                                                                          \
		scan<dtype>(src, count, prescale, exp, nonfinite);                                 \
	}                                                                                          \
	QUANT_KERNEL tally_order_##name(void *dst, const void *src, uint64_t count,                \
					uint32_t negate)                                           \
	{                                                                                          \
		element_op<element_order<dtype>> op = { negate };                                  \
                                                                                                   \
		walk<quant_format<dtype>::BYTES, 4>(side_dense(dst), side_dense(src), count, op);  \
	}                                                                                          \
	QUANT_KERNEL tally_unorder_##name(void *dst, const void *src, uint64_t count,              \
					  uint32_t negate)                                         \
	{                                                                                          \
		element_op<element_unorder<dtype>> op = { negate };                                \
                                                                                                   \
		walk<4, quant_format<dtype>::BYTES>(side_dense(dst), side_dense(src), count, op);  \
	}

QUANT_FLOAT_KERNELS(f32, QUANT_F32)
QUANT_FLOAT_KERNELS(f16, QUANT_F16)
QUANT_FLOAT_KERNELS(bf16, QUANT_BF16)

QUANT_KERNEL tally_swap32(void *dst, const void *src, uint64_t count, uint32_t mask)
{
	element_op<element_swap> op = { mask };

	walk<4, 4>(side_dense(dst), side_dense(src), count, op);
}

QUANT_KERNEL tally_average_i32(void *dst, const void *src, uint64_t count, uint32_t divisor)
{
	element_op<element_average> op = { divisor };

	walk<4, 4>(side_dense(dst), side_dense(src), count, op);
}
