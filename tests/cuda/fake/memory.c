// SPDX-License-Identifier: BSD-3-Clause
// memory.c - the fake driver's memory: device addresses that the CPU cannot touch, and that never come back.
#include "tests/cuda/fake/world.h"

#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 65536, PAGE = 4096, POISON = 0xcd };

static struct fake_block blocks[BLOCKS];
static unsigned nr_blocks;

static void *pages(size_t bytes, int protection)
{
	void *at = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

struct fake_block *fake_block_new(enum fake_kind kind, int device, size_t bytes)
{
	const size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
	struct fake_block *block = &blocks[nr_blocks];

	if (nr_blocks == BLOCKS || !bytes)
		return NULL;
	*block = (struct fake_block){
		.live = true, .kind = kind, .device = device, .bytes = bytes, .mapped = mapped
	};
	block->base = pages(mapped, kind == FAKE_DEVICE ? PROT_NONE : PROT_READ | PROT_WRITE);
	block->alias = kind == FAKE_DEVICE ? pages(mapped, PROT_READ | PROT_WRITE) : block->base;
	if (!block->base || !block->alias)
		return NULL;
	memset(block->alias, POISON, bytes);
	nr_blocks++;
	return block;
}

int fake_block_free(uint64_t base, bool pinned)
{
	for (unsigned i = nr_blocks; i-- > 0;) {
		struct fake_block *block = &blocks[i];

		if ((uint64_t)(uintptr_t)block->base != base)
			continue;
		if (!block->live || (block->kind == FAKE_PINNED) != pinned) {
			fake_violation("%#lx is freed twice, or by the wrong call",
				       (unsigned long)base);
			return FAKE_INVALID_VALUE;
		}
		if (fake_block_awaited(block))
			fake_violation("%#lx is freed while work for it is under way",
				       (unsigned long)base);
		block->live = false;
		/* The addresses stay taken: whoever touches them again, faults. */
		mprotect(block->base, block->mapped, PROT_NONE);
		madvise(block->base, block->mapped, MADV_DONTNEED);
		if (block->alias != block->base)
			munmap(block->alias, block->mapped);
		return FAKE_OK;
	}
	fake_violation("%#lx is freed, but was never allocated", (unsigned long)base);
	return FAKE_INVALID_VALUE;
}

struct fake_block *fake_block_find(uint64_t pointer, size_t bytes)
{
	for (unsigned i = nr_blocks; i-- > 0;) {
		struct fake_block *block = &blocks[i];
		const uint64_t base = (uint64_t)(uintptr_t)block->base;

		if (block->live && pointer >= base && pointer - base <= block->bytes &&
		    bytes <= block->bytes - (pointer - base))
			return block;
	}
	return NULL;
}

bool fake_alias_valid(const void *at, size_t bytes)
{
	const uint64_t address = (uint64_t)(uintptr_t)at;

	for (unsigned i = nr_blocks; i-- > 0;) {
		const struct fake_block *block = &blocks[i];
		const uint64_t alias = (uint64_t)(uintptr_t)block->alias;

		if (block->live && block->kind != FAKE_PINNED && address >= alias &&
		    address - alias <= block->bytes && bytes <= block->bytes - (address - alias))
			return true;
	}
	return false;
}

void *fake_translate(uint64_t pointer, size_t bytes, const char *what)
{
	struct fake_block *block = fake_block_find(pointer, bytes);

	if (!block) {
		fake_violation("%s: %zu bytes at %#lx are not memory (any more)", what, bytes,
			       (unsigned long)pointer);
		return NULL;
	}
	return block->alias + (pointer - (uint64_t)(uintptr_t)block->base);
}

unsigned fake_blocks(bool pinned)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < nr_blocks; i++)
		nr += blocks[i].live && (blocks[i].kind == FAKE_PINNED) == pinned;
	return nr;
}
