/* Memory at addresses that only grow, for LD_PRELOAD: objects lie in the order in which they were made.

   cc -O2 -shared -fPIC -o growing_malloc.so growing_malloc.c */

#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static const size_t ROOM = (size_t)1 << 40;
static uintptr_t next;

static void *take(size_t alignment, size_t size) {
    if (!next)
        next = (uintptr_t)mmap(0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (alignment < 16)
        alignment = 16;
    uintptr_t block = (next + sizeof(size_t) + alignment - 1) & ~(uintptr_t)(alignment - 1);
    ((size_t *)block)[-1] = size; /* for realloc */
    next = block + size;
    return (void *)block;
}

void *malloc(size_t size) { return take(16, size); }
void *calloc(size_t count, size_t size) { return take(16, count * size); } /* never used before, so it is zero */
void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size); }
void *memalign(size_t alignment, size_t size) { return take(alignment, size); }
void free(void *block) { (void)block; }

int posix_memalign(void **found, size_t alignment, size_t size) {
    *found = take(alignment, size);
    return 0;
}

void *realloc(void *block, size_t size) {
    if (block && size <= ((size_t *)block)[-1])
        return block;
    void *moved = take(16, size);
    if (block)
        memcpy(moved, block, ((size_t *)block)[-1]);
    return moved;
}
