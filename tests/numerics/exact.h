/* SPDX-License-Identifier: BSD-3-Clause */
/* exact.h - the quantiser anew: as docs/numerics.md says it, in long double, one element at a time. */
#ifndef TESTS_NUMERICS_EXACT_H
#define TESTS_NUMERICS_EXACT_H

#include "kernels/quant.h"

/* Shares nothing with kernels/ but the interface. */
extern const struct quant_ops exact_ops;

/* An element of a format as a number, and the bits of the format's number nearest to value. */
long double exact_decode(enum quant_dtype dtype, uint32_t bits);
uint32_t exact_encode(enum quant_dtype dtype, long double value);

#endif
