/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels' source needs of CUDA, for a C++ compiler that has none: tests/cuda/emulator.cc runs it. */
#ifndef TESTS_CUDA_DEVICE_H
#define TESTS_CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus

#include "tests/bits.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(threads, blocks)

struct uint2 {
	uint32_t x, y;
} __attribute__((aligned(8)));

struct uint4 {
	uint32_t x, y, z, w;
} __attribute__((aligned(16)));

static inline uint2 make_uint2(uint32_t x, uint32_t y)
{
	uint2 value = { x, y };

	return value;
}

static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
	uint4 value = { x, y, z, w };

	return value;
}

template <class T> static inline T __ldcs(const T *at)
{
	return *at;
}

template <class T> static inline void __stcs(T *at, T value)
{
	*at = value;
}

struct device_index {
	uint32_t x;
};

extern thread_local device_index threadIdx, blockIdx, blockDim, gridDim;

void device_access(const void *at, size_t bytes, size_t align, bool writes);
uint32_t device_shuffle(uint32_t mask, uint32_t value, uint32_t lane, const char *call);

#define QUANT_ACCESS(at, bytes, align, writes) device_access(at, bytes, align, writes)

/* A lane outside the warp reads its own value. The call's name tells one place from another. */
#define DEVICE_TEXT_(line) #line
#define DEVICE_TEXT(line) DEVICE_TEXT_(line)
#define __shfl_xor_sync(mask, value, apart)                                                        \
	device_shuffle(mask, value, (threadIdx.x % 32u) ^ (uint32_t)(apart),                       \
		       __FILE__ ":" DEVICE_TEXT(__LINE__))

static inline unsigned long long atomicAdd(unsigned long long *at, unsigned long long more)
{
	return __atomic_fetch_add(at, more, __ATOMIC_RELAXED);
}

static inline uint32_t __float_as_uint(float value)
{
	return float_bits(value);
}

static inline float __uint_as_float(uint32_t bits)
{
	return bits_float(bits);
}

static inline uint32_t __umulhi(uint32_t a, uint32_t b)
{
	return (uint32_t)((uint64_t)a * b >> 32);
}

static inline int __clz(int value)
{
	return value ? __builtin_clz((unsigned)value) : 32;
}

static inline float __fmul_rn(float a, float b)
{
	return a * b;
}

static inline float __int2float_rn(int32_t value)
{
	return (float)value;
}

#endif
#endif
