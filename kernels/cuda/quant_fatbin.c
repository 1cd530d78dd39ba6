// SPDX-License-Identifier: BSD-3-Clause
// Embeds the fat binary that nvcc has made; QUANT_FATBIN_FILE names it where there is one.
#include "kernels/cuda/quant_fatbin.h"

#if defined(QUANT_FATBIN_FILE)
__asm__(".pushsection .rodata\n"
	".balign 64\n"
	".hidden quant_fatbin_begin\n"
	".globl quant_fatbin_begin\n"
	"quant_fatbin_begin:\n"
	".incbin \"" QUANT_FATBIN_FILE "\"\n"
	".hidden quant_fatbin_end\n"
	".globl quant_fatbin_end\n"
	"quant_fatbin_end:\n"
	".popsection\n");

extern const unsigned char quant_fatbin_begin[] __attribute__((visibility("hidden")));
extern const unsigned char quant_fatbin_end[] __attribute__((visibility("hidden")));

const void *quant_fatbin(size_t *size)
{
	*size = (size_t)(quant_fatbin_end - quant_fatbin_begin);
	return quant_fatbin_begin;
}
#else
const void *quant_fatbin(size_t *size)
{
	*size = 0;
	return NULL;
}
#endif
