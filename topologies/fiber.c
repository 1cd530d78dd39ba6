// SPDX-License-Identifier: BSD-3-Clause
// Fibers: ucontext makes a stack's first frame; from then on setjmp and longjmp switch, without a system call.
#include "topologies/fiber.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { FIBER_STACK = 512 << 10 }; /* touched as far as it is used */

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif

struct fiber {
	void (*entry)(void *context);
	void *context;
	void *map; /* the page that may not be touched, and the stack */
	size_t bytes, page;
	bool started, ended;
	jmp_buf inside, outside;
	ucontext_t first, back;
	/* What a sanitizer keeps of each stack. */
	void *asan_inside, *asan_outside;
	const void *outside_stack;
	size_t outside_bytes;
	void *tsan_inside, *tsan_outside; /* with ThreadSanitizer */
};

/* A sanitizer has to know which stack is used. */
#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
/* What only a stack knows is not lost. */
static void fiber_asan_new(struct fiber *fiber)
{
	__lsan_register_root_region((char *)fiber->map + fiber->page, fiber->bytes - fiber->page);
}
static void fiber_asan_enter(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(&fiber->asan_outside, (char *)fiber->map + fiber->page,
				       fiber->bytes - fiber->page);
}
static void fiber_asan_entered(struct fiber *fiber)
{
	__sanitizer_finish_switch_fiber(fiber->asan_inside, &fiber->outside_stack,
					&fiber->outside_bytes);
}
static void fiber_asan_leave(struct fiber *fiber)
{
	__sanitizer_start_switch_fiber(fiber->ended ? NULL : &fiber->asan_inside,
				       fiber->outside_stack, fiber->outside_bytes);
}
static void fiber_asan_left(struct fiber *fiber)
{
	__sanitizer_finish_switch_fiber(fiber->asan_outside, NULL, NULL);
}
static void fiber_asan_free(struct fiber *fiber)
{
	__lsan_unregister_root_region((char *)fiber->map + fiber->page, fiber->bytes - fiber->page);
	__asan_unpoison_memory_region(fiber->map, fiber->bytes);
}
#else
static void fiber_asan_new(struct fiber *fiber)
{
	(void)fiber;
}
static void fiber_asan_enter(struct fiber *fiber)
{
	(void)fiber;
}
static void fiber_asan_entered(struct fiber *fiber)
{
	(void)fiber;
}
static void fiber_asan_leave(struct fiber *fiber)
{
	(void)fiber;
}
static void fiber_asan_left(struct fiber *fiber)
{
	(void)fiber;
}
static void fiber_asan_free(struct fiber *fiber)
{
	(void)fiber;
}
#endif

static _Thread_local struct fiber *fiber_starting;

/*
 * Switching is apart, so that no variable lives in a frame that is come back to.  ThreadSanitizer follows no jump
 * to another stack: it is told, right before a switch of contexts.
 */
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#define FIBER_SWITCH __attribute__((noinline, no_sanitize("thread"))) static
FIBER_SWITCH void fiber_switch_in(struct fiber *fiber)
{
	if (!fiber->tsan_inside)
		fiber->tsan_inside = __tsan_create_fiber(0);
	fiber_starting = fiber;
	fiber->tsan_outside = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(fiber->tsan_inside, 0);
	swapcontext(&fiber->back, &fiber->first);
}
FIBER_SWITCH void fiber_switch_out(struct fiber *fiber)
{
	__tsan_switch_to_fiber(fiber->tsan_outside, 0);
	swapcontext(&fiber->first, &fiber->back);
}
static void fiber_tsan_free(struct fiber *fiber)
{
	if (fiber->tsan_inside)
		__tsan_destroy_fiber(fiber->tsan_inside);
}
#else
#define FIBER_SWITCH __attribute__((noinline)) static
FIBER_SWITCH void fiber_switch_in(struct fiber *volatile fiber)
{
	if (_setjmp(fiber->outside))
		return;
	if (fiber->started)
		_longjmp(fiber->inside, 1);
	fiber->started = true;
	fiber_starting = fiber;
	(void)setcontext(&fiber->first); /* comes back by longjmp */
}
FIBER_SWITCH void fiber_switch_out(struct fiber *volatile fiber)
{
	if (!_setjmp(fiber->inside))
		_longjmp(fiber->outside, 1);
}
static void fiber_tsan_free(struct fiber *fiber)
{
	(void)fiber;
}
#endif

FIBER_SWITCH void fiber_main(void)
{
	struct fiber *fiber = fiber_starting;

	fiber_asan_entered(fiber);
	fiber->entry(fiber->context);
	fiber->ended = true;
	fiber_asan_leave(fiber);
	fiber_switch_out(fiber);
}

FIBER_SWITCH int fiber_frame(struct fiber *volatile fiber)
{
	if (getcontext(&fiber->first))
		return -1;
	fiber->first.uc_stack.ss_sp = (char *)fiber->map + fiber->page;
	fiber->first.uc_stack.ss_size = FIBER_STACK;
	fiber->first.uc_link = NULL;
	makecontext(&fiber->first, fiber_main, 0);
	return 0;
}

struct fiber *fiber_new(void (*entry)(void *context), void *context)
{
	struct fiber *fiber = calloc(1, sizeof(*fiber));

	if (!fiber)
		return NULL;
	fiber->page = (size_t)sysconf(_SC_PAGESIZE);
	fiber->bytes = fiber->page + FIBER_STACK;
	fiber->map = mmap(NULL, fiber->bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (fiber->map == MAP_FAILED) {
		free(fiber);
		return NULL;
	}
	fiber->entry = entry;
	fiber->context = context;
	if (mprotect(fiber->map, fiber->page, PROT_NONE) || fiber_frame(fiber)) {
		munmap(fiber->map, fiber->bytes);
		free(fiber);
		return NULL;
	}
	fiber_asan_new(fiber);
	return fiber;
}

bool fiber_resume(struct fiber *fiber)
{
	fiber_asan_enter(fiber);
	fiber_switch_in(fiber);
	fiber_asan_left(fiber);
	return !fiber->ended;
}

void fiber_yield(struct fiber *fiber)
{
	fiber_asan_leave(fiber);
	fiber_switch_out(fiber);
	fiber_asan_entered(fiber);
}

void fiber_free(struct fiber *fiber)
{
	if (!fiber)
		return;
	fiber_asan_free(fiber);
	fiber_tsan_free(fiber);
	munmap(fiber->map, fiber->bytes);
	free(fiber);
}
