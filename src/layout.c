/* Placing bytes: pure functions of plain numbers, no allocation, so that plan.c, the hand allocators and the tests share them.
 * */
#include "layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mem.h"

static bool refuse(char *why, size_t size, const char *fmt, ...) WEIRI_PRINTF(3, 4);

static bool refuse(char *why, size_t size, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, size, fmt, ap);
    va_end(ap);
    return false;
}

static int64_t round_up(int64_t x, int64_t a) { return (x + a - 1) & ~(a - 1); }

/* ---- placing ------------------------------------------------------------------------------------------------------------ */

/* What a placement works on. Blocks are numbered: item i is block i, alias group g block n + g. Items of a group are no blocks
 * of their own, unless the groups are dissolved. */
typedef struct placement {
    const weiri_item *item;
    int n, ngroups;
} placement;

static bool in_group(const placement *p, int i) { return p->ngroups > 0 && p->item[i].group >= 0; }

static bool is_block(const placement *p, int b) { return b >= p->n || !in_group(p, b); }

static int phases_of(const placement *p, int group) {
    int phases = 0;
    for (int i = 0; i < p->n; i++)
        if (p->item[i].group == group && p->item[i].phase >= phases) phases = p->item[i].phase + 1;
    return phases;
}

/* Packs one phase from `at`, storing offsets when `out` is given; returns the end. */
static int64_t pack_phase(const placement *p, int group, int phase, int64_t at, weiri_item *out) {
    for (int i = 0; i < p->n; i++) {
        if (p->item[i].group != group || p->item[i].phase != phase) continue;
        at = round_up(at, p->item[i].align);
        if (out) out[i].offset = at;
        at += p->item[i].size;
    }
    return at;
}

static int64_t block_align(const placement *p, int b) {
    if (b < p->n) return p->item[b].align;
    int64_t align = 1;
    for (int i = 0; i < p->n; i++)
        if (p->item[i].group == b - p->n && p->item[i].align > align) align = p->item[i].align;
    return align;
}

static int64_t block_size(const placement *p, int b) {
    if (b < p->n) return p->item[b].size;
    int64_t size = 0;
    int phases = phases_of(p, b - p->n);
    for (int ph = 0; ph < phases; ph++) {
        int64_t end = pack_phase(p, b - p->n, ph, 0, NULL);
        if (end > size) size = end;
    }
    return size;
}

/* The block after `last` (-1: the first) in the order of placement: alignment falling, number rising. -1: none left. */
static int next_block(const placement *p, int last) {
    int64_t limit = last < 0 ? INT64_MAX : block_align(p, last);
    int best = -1;
    int64_t best_align = 0;
    for (int b = 0; b < p->n + p->ngroups; b++) {
        if (!is_block(p, b)) continue;
        int64_t align = block_align(p, b);
        if (align > limit || (align == limit && b <= last)) continue;
        if (align > best_align) best = b, best_align = align;
    }
    return best;
}

static int64_t place(const placement *p, weiri_item *out) {
    int64_t at = 0;
    for (int b = next_block(p, -1); b >= 0; b = next_block(p, b)) {
        at = round_up(at, block_align(p, b));
        if (out && b < p->n) out[b].offset = at;
        if (out && b >= p->n) {
            int phases = phases_of(p, b - p->n);
            for (int ph = 0; ph < phases; ph++) pack_phase(p, b - p->n, ph, at, out);
        }
        at += block_size(p, b);
    }
    return at;
}

enum { MOST = 1 << 30 }; /* bytes of one item: sums of many stay far below 64 bits */

int64_t weiri_layout_place(weiri_item *item, int n, int ngroups, char *why, size_t why_size) {
    for (int i = 0; i < n; i++) {
        const weiri_item *t = &item[i];
        if (t->align <= 0 || (t->align & (t->align - 1))) {
            refuse(why, why_size, "'%s': alignment %lld is not a power of two", t->name, (long long)t->align);
            return -1;
        }
        if (t->size < 0) {
            refuse(why, why_size, "'%s': size %lld is negative", t->name, (long long)t->size);
            return -1;
        }
        if (t->size > MOST || t->align > MOST) {
            refuse(why, why_size, "'%s': %lld bytes, aligned to %lld, are more than any memory has", t->name, (long long)t->size,
                   (long long)t->align);
            return -1;
        }
        if (t->group >= ngroups || (t->group >= 0 && t->phase < 0)) {
            refuse(why, why_size, "'%s': alias group %d, phase %d of %d groups", t->name, t->group, t->phase, ngroups);
            return -1;
        }
    }
    placement p = { item, n, ngroups };
    for (int g = 0; g < ngroups; g++) {
        int phases = phases_of(&p, g);
        if (phases < 2) {
            refuse(why, why_size, "alias group %d has %d phase%s, it needs at least two that share bytes", g + 1, phases,
                   phases == 1 ? "" : "s");
            return -1;
        }
        for (int ph = 0; ph < phases; ph++) {
            bool found = false;
            for (int i = 0; i < n; i++) found |= item[i].group == g && item[i].phase == ph;
            if (found) continue;
            refuse(why, why_size, "alias group %d: phase %d of %d is empty", g + 1, ph + 1, phases);
            return -1;
        }
    }
    return place(&p, item);
}

int64_t weiri_layout_saved(const weiri_item *item, int n, int ngroups) {
    placement grouped = { item, n, ngroups }, dissolved = { item, n, 0 };
    return place(&dissolved, NULL) - place(&grouped, NULL);
}

int weiri_layout_barriers(weiri_bar_item *item, int n, weiri_bar_run *runs, int *nruns) {
    int at = 0, r = 0;
    for (int last = 0;;) {
        int arrivals = 0; /* of the next bucket */
        for (int i = 0; i < n; i++)
            if (item[i].arrivals > last && (!arrivals || item[i].arrivals < arrivals)) arrivals = item[i].arrivals;
        if (!arrivals) break;
        int begin = at;
        for (int i = 0; i < n; i++) {
            if (item[i].arrivals != arrivals) continue;
            item[i].first = at;
            at += item[i].count;
        }
        if (at > begin) runs[r++] = (weiri_bar_run){ begin, at, arrivals };
        last = arrivals;
    }
    *nruns = r;
    return at;
}

int64_t weiri_layout_array(int64_t data, int mbarriers, int64_t *end) {
    int64_t at = (data + 7) / 8 * 8;
    *end = mbarriers > 0 ? at + 8 * (int64_t)mbarriers : data;
    return at;
}

int weiri_layout_tmem_columns(int columns) {
    int rounded = 32; /* tcgen05.alloc takes powers of two from 32 (PTX ISA, "Tensor Memory Allocation") */
    while (rounded < columns) rounded *= 2;
    return rounded;
}

weiri_capacity weiri_layout_capacity(weir_arch arch) {
    enum { KIB = 1024 };
    weiri_capacity c = { .smem = 227 * KIB, .tmem_columns = 0, .registers = 65536, .max_warps = 32 };
    switch ((int)arch) {
    case 80:
    case 87: c.smem = 163 * KIB; break;
    case 86:
    case 89:
    case 120:
    case 121: c.smem = 99 * KIB; break;
    case 100:
    case 101:
    case 103:
    case 110: c.tmem_columns = 512; break;
    default: break; /* sm_90a, also the default */
    }
    return c;
}

int weiri_layout_entry_registers(weir_arch arch, int threads) { return weiri_layout_capacity(arch).registers / threads / 8 * 8; }

/* ---- tiles in shared memory --------------------------------------------------------------------------------------------- */

int64_t weiri_layout_stage_bytes(const weiri_tile_geom *g) { return round_up(g->bytes, g->align); }

bool weiri_layout_tile(weir_dtype t, const int *tile, int rank, int swizzle, bool tma, weiri_tile_geom *g, char *why,
                       size_t why_size) {
    *g = (weiri_tile_geom){ .elem = weir_dtype_size(t), .swizzle = swizzle };
    if (g->elem <= 0) return refuse(why, why_size, "a tile in shared memory needs a dtype");
    if (rank < 1 || rank > WEIR_MAX_RANK)
        return refuse(why, why_size, "a tile has 1 to %d extents, got %d", WEIR_MAX_RANK, rank);
    int64_t rows = 1;
    for (int i = 0; i < rank; i++) {
        if (tile[i] < 1) return refuse(why, why_size, "extent %d of the tile is %d, it must be at least 1", i + 1, tile[i]);
        if (i < rank - 1) rows *= tile[i];
        if (rows > INT32_MAX / 2) return refuse(why, why_size, "the tile has more than %d rows", INT32_MAX / 2);
    }
    int cols = tile[rank - 1];
    g->rows = (int)rows;
    g->cols = cols;
    int64_t line = (int64_t)cols * g->elem;
    if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
        return refuse(why, why_size, "swizzle %d: the span is 0, 32, 64 or 128 bytes", swizzle);
    if (swizzle) {
        if (line % swizzle) {
            int fits = line % 64 == 0 ? 64 : line % 32 == 0 ? 32 : 0; /* of 128, 64 and 32 the largest: not the given one */
            return refuse(
                why, why_size,
                "swizzle %d: a row of %d x %d bytes = %lld is not a multiple of the span; use swizzle = %d, or %d columns",
                swizzle, cols, g->elem, (long long)line, fits, (int)(round_up(line, swizzle) / g->elem));
        }
        g->panels = (int)(line / swizzle);
        if (g->panels > 1 && rows % 8) /* the pattern repeats every 8 rows: a panel must start where it does */
            return refuse(why, why_size,
                          "swizzle %d: %d panels of %lld rows; rows must be a multiple of 8 when a tile is wider than its span "
                          "of %d elements",
                          swizzle, g->panels, (long long)rows, swizzle / g->elem);
        g->panel_cols = swizzle / g->elem;
        g->row_bytes = swizzle;
        g->align = 8 * (int64_t)swizzle;
    } else {
        if (tma && line % 16)
            return refuse(why, why_size,
                          "a row of %d x %d bytes = %lld is not a multiple of 16, which TMA needs; use %lld columns", cols,
                          g->elem, (long long)line, (long long)(round_up(line, 16) / g->elem));
        if (tma && rows > 1 && cols > 256)
            return refuse(
                why, why_size,
                "%d columns without swizzle: a TMA box has at most 256; use swizzle = 128, which keeps the tile as panels",
                cols);
        g->panels = 1;
        g->panel_cols = cols;
        g->row_bytes = line;
        g->align = tma ? 128 : 16;
    }
    g->panel_bytes = g->row_bytes * rows;
    g->bytes = g->panel_bytes * g->panels;
    return true;
}

int64_t weiri_layout_element(const weiri_tile_geom *g, int r, int c) {
    int64_t a = c / g->panel_cols * g->panel_bytes + r * g->row_bytes + (int64_t)(c % g->panel_cols) * g->elem;
    int64_t chunk = g->swizzle ? g->swizzle - 16 : 0; /* the bits of the 16-byte chunk inside the span */
    return a ^ (a >> 3 & chunk);
}

bool weiri_layout_operand(const weiri_tile_geom *g, weir_dtype t, bool transposed, int instr_n, weiri_operand *o, char *why,
                          size_t why_size) {
    *o = (weiri_operand){ .mn_major = transposed };
    bool wide = t == WEIR_BF16 || t == WEIR_F16;
    if (!wide && t != WEIR_TF32 && t != WEIR_E4M3 && t != WEIR_E5M2)
        return refuse(why, why_size, "dtype %s is no operand of an mma; use bf16, f16, tf32, e4m3 or e5m2", weir_dtype_name(t));
    int mn = transposed ? g->cols : g->rows, k = transposed ? g->rows : g->cols, k_instr = 32 / g->elem;
    if (instr_n <= 0 || mn % instr_n)
        return refuse(why, why_size, "%d rows of the operand are no multiple of the %d that one instruction takes", mn,
                      instr_n);
    if (k % k_instr)
        return refuse(why, why_size, "K = %d of the operand is no multiple of %d (32 bytes of %s)", k, k_instr,
                      weir_dtype_name(t));
    o->layout = g->swizzle == 128 ? 1 : g->swizzle == 64 ? 2 : g->swizzle == 32 ? 3 : 0;
    if (!transposed) {
        /* rows of one span, 8 of them an atom: PTX ISA "Matrix Descriptor Format", K-major */
        if (!g->swizzle)
            return refuse(why, why_size,
                          "without swizzle the rows of %lld bytes are no 8 x 16-byte core matrices; use swizzle = %d",
                          (long long)g->row_bytes,
                          g->row_bytes % 128 == 0  ? 128
                          : g->row_bytes % 64 == 0 ? 64
                                                   : 32);
        if (g->rows % 8) return refuse(why, why_size, "%d rows of the operand are no multiple of 8", g->rows);
        o->lbo = 16; /* not read when swizzled */
        o->sbo = 8 * g->swizzle;
        o->k_step_bytes = 32;
        o->k_per_panel = g->swizzle / 32;
        o->k_panel_bytes = g->panel_bytes;
        o->m64_bytes = 64 * g->row_bytes;
        o->mn_step_bytes = instr_n * g->row_bytes;
        return true;
    }
    if (!wide)
        return refuse(why, why_size, "a transposed operand must be of a 16-bit dtype, this one is %s; store it K-major",
                      weir_dtype_name(t));
    if (!g->swizzle && g->row_bytes != 16)
        return refuse(why, why_size, "a transposed operand without swizzle has rows of 16 bytes, not %lld; use swizzle = %d",
                      (long long)g->row_bytes,
                      g->row_bytes % 128 == 0  ? 128
                      : g->row_bytes % 64 == 0 ? 64
                                               : 32);
    if (instr_n % g->panel_cols) /* of one that takes all columns a multiple, or all there are */
        return refuse(why, why_size,
                      "an instruction takes %d columns of the transposed operand, no multiple of the %d of its panels", instr_n,
                      g->panel_cols);
    int group = 8 * (int)g->row_bytes; /* 8 rows of k */
    o->sbo = g->swizzle ? group : (int)g->panel_bytes;
    o->lbo = g->swizzle ? (int)g->panel_bytes : group; /* the two swap roles without swizzle */
    o->k_step_bytes = 2 * group;                       /* 16 rows of k */
    o->k_per_panel = k / k_instr;
    o->k_panel_bytes = 0;
    o->m64_bytes = 64 / g->panel_cols * g->panel_bytes;
    o->mn_step_bytes = instr_n / g->panel_cols * g->panel_bytes;
    return true;
}
