/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function with a stack of its own that gives way in the middle and goes on there later, in the same thread.
 *
 * A stack that overflows meets a page that may not be touched.
 */
#ifndef TOPOLOGIES_FIBER_H
#define TOPOLOGIES_FIBER_H

#include <stdbool.h>

struct fiber;

/* entry does not run yet.  NULL: no memory. */
struct fiber *fiber_new(void (*entry)(void *context), void *context);
/* Runs it until it gives way or ends; false: it has ended.  Not from inside a fiber. */
bool fiber_resume(struct fiber *fiber);
/* Called inside it: back to whoever has resumed it. */
void fiber_yield(struct fiber *fiber);
/* It has ended, or nobody resumes it any more: what is on its stack is not cleaned up. */
void fiber_free(struct fiber *fiber);

#endif
