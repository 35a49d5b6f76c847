/* Placing bytes: shared memory, tensor memory, mbarriers. Pure functions; the plan and hand allocators both call them. Also the
 * operand geometry of TMA boxes and MMA descriptors, so that each formula stands once. */
#ifndef WEIRI_LAYOUT_H
#define WEIRI_LAYOUT_H

#include "weir.h"

typedef struct weiri_item {      /* a record to place */
    const char *name;
    int64_t size, align;         /* bytes (or columns, align 1) */
    int group, phase;            /* alias group and phase in it; -1: plain */
    int64_t offset;              /* out */
} weiri_item;

/* Places items: blocks sorted by alignment, largest first, stable; plain ones in order, then groups. Returns the total, or -1
 * with a text in `why` (bad alignment, negative size, group with fewer than two phases or an empty one). */
int64_t weiri_layout_place(weiri_item *item, int n, int ngroups, char *why, size_t why_size);
/* Total of the same items with all groups dissolved, minus the total: what aliasing saves. */
int64_t weiri_layout_saved(const weiri_item *item, int n, int ngroups);

typedef struct weiri_bar_item {
    const char *name;
    int count, arrivals;         /* barriers, arrivals per phase of each */
    int first;                   /* out: index in the array */
} weiri_bar_item;
typedef struct weiri_bar_run { int begin, end, arrivals; } weiri_bar_run;
/* One array, bucketed by arrivals ascending, registration order within; returns barriers used (without padding). runs: maximal
 * stretches of equal arrivals, at most n of them; *nruns out. */
int weiri_layout_barriers(weiri_bar_item *item, int n, weiri_bar_run *runs, int *nruns);

/* Where the array begins behind so many bytes of data, and where it ends: the data's end when there are no mbarriers. */
int64_t weiri_layout_array(int64_t data, int mbarriers, int64_t *end);

/* Columns to ask tcgen05.alloc for: a power of two, at least 32. */
int weiri_layout_tmem_columns(int columns);

typedef struct weiri_capacity { int64_t smem; int tmem_columns; int registers; int max_warps; } weiri_capacity;
weiri_capacity weiri_layout_capacity(weir_arch arch);
/* Registers of each thread at launch of one block of so many: an SM's, dealt out in units of 8. */
int weiri_layout_entry_registers(weir_arch arch, int threads);

/* ---- tiles in shared memory ----
 * A tile { rows, cols } (leading axes folded into rows; 1-D: one row) with a swizzle span of w bytes lies as panels: each
 * holds `panel_cols` = w / elem columns of all rows, rows of w bytes each, panels one behind the other. swizzle 0: one panel,
 * rows of cols * elem bytes. */
typedef struct weiri_tile_geom {
    int rows, cols, elem;        /* elem: bytes */
    int swizzle;                 /* span in bytes, 0 none */
    int panels, panel_cols;
    int64_t row_bytes, panel_bytes, bytes;
    int64_t align;               /* of the base: 256, 512, 1024 when swizzled, else 128 for TMA, 16 for threads */
} weiri_tile_geom;
/* false, with a text, when the tile has no such layout (row no multiple of the span or of TMA's 16 bytes, ...) */
bool weiri_layout_tile(weir_dtype t, const int *tile, int rank, int swizzle, bool tma, weiri_tile_geom *g, char *why,
                       size_t why_size);
int64_t weiri_layout_stage_bytes(const weiri_tile_geom *g); /* from one stage of such a tile to the next, padding included */
/* Byte offset of element (r, c) of a tile, swizzle applied (base aligned as asked). */
int64_t weiri_layout_element(const weiri_tile_geom *g, int r, int c);

/* wgmma operand in shared memory: descriptor fields and how to step it (PTX ISA, "Matrix Descriptor Format"). All in bytes. */
typedef struct weiri_operand {
    bool mn_major;               /* trans = 1: the tile's inner axis is M or N */
    int lbo, sbo, layout;        /* layout: 0 none, 1 128B, 2 64B, 3 32B */
    int k_step_bytes;            /* start address step per instruction K (32 bytes of operand) inside a panel */
    int k_per_panel;             /* instruction steps per panel (K-major), or all (MN-major) */
    int64_t k_panel_bytes;       /* step to the next panel along K (K-major) */
    int64_t m64_bytes;           /* step to the next 64 rows of M (A operands) */
    int64_t mn_step_bytes;       /* step to the next instr_n rows; 0: one instruction takes all */
} weiri_operand;
/* transposed: the view is s:read():t(), the tile's rows are K. instr_n: M or N of one instruction (64 for A). */
bool weiri_layout_operand(const weiri_tile_geom *g, weir_dtype t, bool transposed, int instr_n, weiri_operand *o, char *why,
                          size_t why_size);

#endif
