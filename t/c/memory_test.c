/* The host's allocator refuses: at each of its calls in turn, once or from there on, a GEMM is described, built, printed and freed.
 * What comes back is a result as with all the memory, or WEIR_E_MEMORY; nothing crashes, nothing stays. */
#include <stdlib.h>

#include "../tap.h"
#include "weir.h"

struct heap {
    long calls, refuse_at; /* refuse_at 0: never */
    bool from_there_on;
    size_t live; /* bytes */
};

static void *heap_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
    struct heap *h = ud;
    if (new_size == 0) {
        free(p);
        h->live -= old_size;
        return NULL;
    }
    h->calls++;
    if (h->refuse_at && (h->calls == h->refuse_at || (h->from_there_on && h->calls > h->refuse_at))) return NULL;
    void *q = realloc(p, new_size);
    if (q) h->live += new_size - old_size;
    return q;
}

enum { BM = 128, BN = 128, BK = 64 };

static void next_tile(weir_kernel *k, weir_res *queue) {
    weir_do(k, queue, WEIR_WAIT, -1);
    weir_work(k, queue, "get_and_advance_work_tile", NULL, NULL, 0);
    weir_do(k, queue, WEIR_RELEASE, -1);
}

static weir_kernel *describe(weir_ctx *ctx) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "gemm", .arch = WEIR_ARCH_SM_90A });
    if (!k) return NULL;
    weir_value m = weir_dim(k, &(weir_dim_desc){ .name = "M" }), n = weir_dim(k, &(weir_dim_desc){ .name = "N" });
    weir_value depth = weir_dim(k, &(weir_dim_desc){ .name = "K" });
    weir_tensor *a = weir_tensor_new(k, &(weir_tensor_desc){ .name = "A", .dtype = WEIR_BF16, .rank = 2, .shape = { m, depth } });
    weir_tensor *b = weir_tensor_new(k, &(weir_tensor_desc){ .name = "B", .dtype = WEIR_BF16, .rank = 2, .shape = { n, depth } });
    weir_tensor *d =
        weir_tensor_new(k, &(weir_tensor_desc){ .name = "D", .dtype = WEIR_BF16, .rank = 2, .shape = { m, n }, .out = true });
    weir_res *wq = weir_work_queue(k, &(weir_queue_desc){ .name = "wq", .over = d, .tile = { BM, BN } });
    weir_res *ga = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "ga", .tensor = a, .rank = 2, .tile = { BM, BK } });
    weir_res *gb = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "gb", .tensor = b, .rank = 2, .tile = { BN, BK } });
    weir_res *gd = weir_gmem_tile(k, &(weir_gmem_tile_desc){ .name = "gd", .tensor = d, .rank = 2, .tile = { BM, BN } });
    weir_pipe_desc pipe = { .type = WEIR_TMA_ASYNC, .stages = 4 };
    weir_smem_tile_desc tile = { .name = "a", .dtype = WEIR_BF16, .tile = { BM, BK }, .swizzle = 128, .pipeline = pipe };
    weir_res *sa = weir_smem_tile(k, &tile);
    tile.name = "b";
    weir_res *sb = weir_smem_tile(k, &tile);
    weir_res *acc = weir_wgmma_tile(k, &(weir_wgmma_tile_desc){ .name = "acc", .tile = { BM, BN } });
    weir_res *members[] = { sa, sb };
    weir_res *ab = weir_group(k, &(weir_group_desc){ .name = "ab", .mode = WEIR_GROUP_FUSED_MERGE, .members = members, .nmembers = 2 });
    if (!ab) return k; /* refused for lack of memory, or a fault of the kernel: the build tells */
    weir_res *ab_a = weir_group_member(ab, "a"), *ab_b = weir_group_member(ab, "b");
    weir_value zero = weir_int(k, 0), one = weir_int(k, 1);
    weir_value steps = weir_apply(k, WEIR_OP_CEIL_DIV, (weir_value[]){ depth, weir_int(k, BK) }, 2);

    weir_task_begin(k, &(weir_task_desc){ .name = "load", .first_warp = 0, .num_warps = 1 });
    {
        weir_tiles t = weir_tiles_begin(k, wq, 0, 1);
        weir_value kk = weir_loop_begin(k, zero, steps, one, 1);
        for (int i = 0; i < 2; i++) {
            weir_value from = weir_view_at(k, i ? gb : ga, (weir_value[]){ weir_tile_coord(k, t, i), kk }, 2);
            weir_do(k, i ? ab_b : ab_a, WEIR_ACQUIRE, -1);
            weir_work(k, i ? ab_b : ab_a, "tma_load", &(weir_work_desc){ .args = &from, .nargs = 1 }, NULL, 0);
            weir_do(k, i ? ab_b : ab_a, WEIR_COMMIT, -1);
        }
        weir_block_end(k, false);
        next_tile(k, wq);
        weir_block_end(k, false);
    }
    weir_task_end(k);
    weir_task_begin(k, &(weir_task_desc){ .name = "mma", .first_warp = 4, .num_warps = 8 });
    {
        weir_tiles t = weir_tiles_begin(k, wq, 0, 1);
        weir_work(k, acc, "zero", NULL, NULL, 0);
        weir_loop_begin(k, zero, steps, one, 1);
        weir_do(k, ab, WEIR_WAIT, -1);
        weir_value operands[] = { weir_view_read(k, ab_a, 0), weir_view_read(k, ab_b, 0) };
        weir_work(k, acc, "mma", &(weir_work_desc){ .args = operands, .nargs = 2 }, NULL, 0);
        weir_drain(k, acc, 0);
        weir_do(k, ab, WEIR_RELEASE, -1);
        weir_block_end(k, false);
        weir_value out[] = { weir_reg_read(k, acc), weir_tile_place(k, t) };
        weir_work(k, gd, "store", &(weir_work_desc){ .args = out, .nargs = 2 }, NULL, 0);
        next_tile(k, wq);
        weir_block_end(k, false);
    }
    weir_task_end(k);
    return k;
}

struct seen {
    weir_status status;
    bool described, reported, printed, exact; /* exact: the source is the one made with all the memory */
};

static char *whole; /* the source made with all the memory */

static struct seen once(struct heap *heap) {
    struct seen s = { .status = WEIR_E_MEMORY };
    weir_ctx *ctx = weir_open(&(weir_config){ .alloc = heap_alloc, .ud = heap });
    if (!ctx) return s;
    weir_device *dev = weir_device_open(ctx, &(weir_device_desc){ .index = -1 });
    weir_kernel *k = dev ? describe(ctx) : NULL;
    if (k) {
        s.described = true;
        weir_program *program = NULL;
        weir_report *report = NULL;
        s.status = weir_build(k, &(weir_build_desc){ .device = dev }, &program, &report);
        if (!heap->refuse_at && s.status != WEIR_OK) printf("# %s\n", weir_error(ctx));
        if (report) s.reported = weir_report_text(report) != NULL;
        weir_report_free(report);
        if (s.status == WEIR_OK) {
            const char *source = weir_program_source(program);
            if (!whole && !heap->refuse_at && (whole = malloc(strlen(source) + 1)) != NULL) memcpy(whole, source, strlen(source) + 1);
            s.exact = whole && strcmp(whole, source) == 0;
        }
        s.printed = weir_kernel_print(k, WEIR_PRINT_ALL) != NULL;
        weir_program_free(program);
        weir_kernel_free(k);
    }
    if (dev) weir_device_close(dev);
    weir_close(ctx);
    return s;
}

int main(void) {
    struct heap all = { 0 };
    struct seen s = once(&all);
    is_int(WEIR_OK, s.status, "with all the memory it builds");
    ok(s.reported && s.printed && s.exact, "and has its texts");
    is_int(0, (long long)all.live, "nothing stays");
    ok(all.calls > 20 && all.calls < 5000, "%ld calls of the allocator", all.calls);
    for (int mode = 0; mode < 2; mode++) {
        long told = 0, other = 0, wrong = 0, stays = 0, fine = 0, first = 0;
        for (long i = 1; i <= all.calls; i++) {
            struct heap heap = { .refuse_at = i, .from_there_on = mode == 1 };
            s = once(&heap);
            told += s.status == WEIR_E_MEMORY;
            fine += s.status == WEIR_OK;
            other += s.status != WEIR_E_MEMORY && s.status != WEIR_OK;
            wrong += s.status == WEIR_OK && !s.exact;
            stays += heap.live != 0;
            if (!first && (heap.live || (s.status != WEIR_E_MEMORY && s.status != WEIR_OK) || (s.status == WEIR_OK && !s.exact))) first = i;
        }
        const char *how = mode ? "from there on" : "once";
        bool good = ok(other == 0, "refused %s: no other complaint than of memory", how);
        good &= ok(wrong == 0, "refused %s: no program is another than with all the memory", how);
        good &= ok(stays == 0, "refused %s: nothing stays", how);
        ok(told > 0, "refused %s: %ld times it tells, %ld times it can do without", how, told, fine);
        if (!good) printf("# first at call %ld; %ld other, %ld wrong, %ld stay\n", first, other, wrong, stays);
    }
    free(whole);
    return done();
}
