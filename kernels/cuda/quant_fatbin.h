/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA kernels as a fat binary, if the library was built where nvcc is. */
#ifndef KERNELS_CUDA_QUANT_FATBIN_H
#define KERNELS_CUDA_QUANT_FATBIN_H

#include <stddef.h>

/*
 * What cuModuleLoadData() and cuLibraryLoadData() take, for as long as the program lives, and its
 * bytes; NULL and 0: the library was built without nvcc. Names and parameters: kernels/cuda/quant_cuda.h.
 */
const void *quant_fatbin(size_t *size);

#endif
