/* print: when memory is short, and what a host sees of the layout. The texts are compared in t/print.t. */
#include <stdlib.h>

#include "../tap.h"

#include "weir.h"

/* An allocator that refuses from the `left`-th call on; negative: never. */
typedef struct heap { long left; } heap;

static void *heap_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
    heap *h = ud;
    (void)old_size;
    if (!new_size) {
        free(p);
        return NULL;
    }
    if (h->left == 0) return NULL;
    if (h->left > 0) h->left--;
    return realloc(p, new_size);
}

static weir_kernel *describe(weir_ctx *ctx) {
    weir_kernel *k = weir_kernel_new(ctx, &(weir_kernel_desc){ .name = "turns" });
    weir_res *r[3];
    const char *const name[] = { "a", "b", "c" };
    for (int i = 0; i < 3; i++)
        r[i] = weir_smem_tile(k, &(weir_smem_tile_desc){ .name = name[i], .dtype = WEIR_F32, .tile = { 32 * (i + 1) },
                                                         .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = 2 } });
    weir_value n = weir_dim(k, &(weir_dim_desc){ .name = "n" });
    for (int t = 0; t < 2; t++) {
        weir_task_begin(k, &(weir_task_desc){ .name = t ? "second" : "first", .first_warp = t, .num_warps = 1 });
        weir_loop_begin(k, (weir_value){ 0 }, n, (weir_value){ 0 }, 0);
        for (int i = 0; i < 3; i++) {
            weir_do(k, r[i], t ? WEIR_WAIT : WEIR_ACQUIRE, -1);
            weir_do(k, r[i], t ? WEIR_RELEASE : WEIR_COMMIT, -1);
        }
        weir_block_end(k, false);
        weir_task_end(k);
    }
    return k;
}

static char *copy(const char *s) {
    size_t n = strlen(s) + 1;
    char *t = malloc(n);
    return t ? memcpy(t, s, n) : NULL;
}

/* The model for spin with n = 2; anything else: a text of the plan. */
enum { MODEL = 99 };
static const char *text_of(weir_kernel *k, int what) {
    const char *dim = "n";
    const weir_promela_desc d = { .dims = &dim, .sizes = &(int64_t){ 2 }, .n = 1 };
    return what == MODEL ? weir_kernel_promela(k, &d) : weir_kernel_print(k, (weir_print)what);
}

static const int all[] = { WEIR_PRINT_ALL, WEIR_PRINT_SCHEDULE, WEIR_PRINT_PLAN, WEIR_PRINT_CAPTURE, WEIR_PRINT_DOT, MODEL };

/* Each text, with the allocator refusing ever later: it is whole, or NULL with a reason. */
static void out_of_memory(void) {
    for (size_t w = 0; w < sizeof all / sizeof *all; w++) {
        heap h = { -1 };
        weir_ctx *ctx = weir_open(&(weir_config){ .alloc = heap_alloc, .ud = &h });
        weir_kernel *k = describe(ctx);
        const char *text = text_of(k, all[w]);
        char *whole = text ? copy(text) : NULL;
        weir_close(ctx);
        int refused = 0, torn = 0, silent = 0;
        bool came = false;
        for (long n = 0; n < 1000 && !came; n++) {
            h.left = -1;
            ctx = weir_open(&(weir_config){ .alloc = heap_alloc, .ud = &h });
            k = describe(ctx);
            h.left = n;
            text = text_of(k, all[w]);
            came = text != NULL;
            if (!text) refused++, silent += !*weir_error(ctx);
            if (text && (!whole || strcmp(text, whole))) torn++;
            h.left = -1;
            text = text_of(k, all[w]);
            if (!text || !whole || strcmp(text, whole)) torn++;
            weir_close(ctx);
        }
        ok(whole && *whole && refused > 0 && came, "text %d: refused, then printed", all[w]);
        is_int(0, torn, "never half a text, and whole once there is memory");
        is_int(0, silent, "a reason each time");
        free(whole);
    }
}

static void rows(void) {
    weir_ctx *ctx = weir_open(NULL);
    weir_kernel *k = describe(ctx);
    int64_t total = 0;
    weir_layout_row row[2];
    is_int(3, weir_smem_layout(k, row, 2, &total), "all rows are counted, as many as fit are written");
    is_str("a", row[0].name, "in order of offset");
    is_str("b", row[1].name, "in order of offset");
    is_int(256, row[1].stage_bytes, "bytes of a stage");
    is_int(2, row[1].stages, "stages");
    weir_barrier_row bar[6];
    is_int(6, weir_barrier_layout(k, bar, 6), "full and empty of three pipelines");
    is_str("a_full", bar[0].name, "in order of their place");
    is_int(2, bar[1].first, "the second run follows the first");
    is_int(total, bar[5].offset + 8 * bar[5].stages, "mbarriers end the layout");
    weir_task_begin(k, &(weir_task_desc){ .name = "third", .first_warp = 2, .num_warps = 1 });
    is_int(0, weir_smem_layout(k, row, 2, &total), "nothing while a schedule is captured");
    has_str("no plan: the schedule of task 'third' is still being captured", weir_kernel_print(k, WEIR_PRINT_SMEM),
            "and the text says so");
    weir_close(ctx);
}

static void model(void) {
    weir_ctx *ctx = weir_open(NULL);
    weir_kernel *k = describe(ctx);
    has_str("acquire\n", text_of(k, WEIR_PRINT_PLAN), "a plan of ops without a line");
    has_str("  /* 3 wait a_empty[0] */\n", text_of(k, MODEL), "the model names none");
    ok(!weir_kernel_promela(k, NULL), "no model without sizes");
    has_str("give the size of dim 'n'", weir_error(ctx), "which is said");
    weir_res *again = weir_barrier(k, &(weir_barrier_desc){ .name = "a", .pipeline = { .type = WEIR_ASYNC_ASYNC, .stages = 1 } });
    (void)again;
    ok(!text_of(k, MODEL), "no model of a kernel that is wrong");
    has_str("kernel 'turns' has no plan to model: verify tells why", weir_error(ctx), "which is said");
    weir_close(ctx);
}

int main(void) {
    out_of_memory();
    rows();
    model();
    return done();
}
