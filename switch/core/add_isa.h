/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * add_isa.h - the tables of single instruction sets; only add_select() knows which of them this CPU
 * runs.
 */
#ifndef SWITCH_CORE_ADD_ISA_H
#define SWITCH_CORE_ADD_ISA_H

#include "switch/core/add.h"

#ifdef TALLY_X86
extern const struct add_ops add_avx2;
extern const struct add_ops add_avx512;
#endif

#endif
