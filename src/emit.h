/* Inside the emitter: what emit.c (the kernel and its tree), emit_work.c (copies, mma, stores, bodies) and emit_value.c (values,
 * views, addresses) share. */
#ifndef WEIRI_EMIT_H
#define WEIRI_EMIT_H

#include "layout.h"
#include "lower.h"
#include "names.h"
#include "plan.h"

enum { MADE = 1, MADE_INVERSE = 2 };

/* Of a large value: what its text is made of (emit_value.c). */
typedef struct value_part {
    uint32_t names; /* the expression in which this holds */
    uint32_t name;  /* e<name> in it; 0: written out */
    uint32_t refs;  /* places in its text */
    int text, deep; /* operations, what has a name counted as one */
} value_part;

/* What is known of an integer. */
typedef struct value_range {
    int64_t lo, hi;
    bool known;  /* it was asked for */
    bool counts; /* made of sizes, places and plain numbers alone, none of which wraps */
    bool size;   /* ... and of a size or a coordinate that the launch brings */
    bool wraps;  /* a sum or product that may leave its dtype */
} value_range;

typedef struct emitter {
    const weiri_plan *p;
    const weir_kernel *k;
    weiri_arena *a;
    weiri_buf *o;
    int depth;
    size_t counted; /* bytes of o whose newlines are in `lines` */
    int lines;
    /* the task in work */
    int task;
    const weiri_ptask *pt;
    const weiri_action *act; /* the action in work */
    const weiri_pnode *loop; /* innermost domain loop */
    const weiri_node *tiles; /* enclosing work-tile loop */
    const weiri_node *peeled; /* the loop whose first steps stand for themselves */
    int peeled_steps;        /* how many */
    int peeled_at;           /* which of them is in work; -1: those behind them */
    bool skipping;           /* in a tile of another lane */
    const char *row, *col;   /* names of the element's coordinates in a linear store, or NULL: fragments */
    const char *el;          /* index of the fragment element, 0 .. N/2 */
    const char *fr;          /* index of the m64 block */
    int frags;               /* m64 blocks of the fragments that are walked */
    const weir_res *dest;    /* what a store writes, for a work tile as its place */
    const char *slab;        /* rows of a stage in front of the slab that is stored to, or NULL */
    uint32_t pack[8];        /* views of tensors that a linear store has loaded 16 bytes at a time, as p<id>.x[i] */
    int npack;
    WEIRI_LIST(uint32_t) tensor; /* views of tensor memory that a store has loaded, as x<index>[j + i] */
    int share;               /* rows of one warpgroup, while a store or set walks fragments */
    uint16_t *uses;          /* by value: how many values and ops take it */
    uint8_t *made; /* by value: MADE: it lies in an array of its own, v<id>, in this block; MADE_INVERSE: a quotient by a row or
                                column value, of which r<id> holds the reciprocals */
    WEIRI_LIST(uint32_t) made_list;
    struct shared_use *shared; /* by value: what the last walk for names saw (emit.c) */
    uint32_t walk;             /* its number */
    value_part *part;          /* by value */
    uint32_t names, last_names, last_part;
    uint8_t *sign;             /* by value: 1 known to be at least 0, 2 not, 0 not asked yet */
    value_range *range;        /* by value */
    const weiri_preg **frag;   /* by value: the register tile it lies like in frag_task[] - 1 */
    int *frag_task;
    bool ahead;                /* a value is computed where it may not be needed: its divisors may be 0 */
} emitter;

/* Short names inside the emitter; the linker sees the long ones. */
#define em_line weiri_em_line
#define em_fmt weiri_em_fmt
#define em_own_line weiri_em_own_line
#define em_arg weiri_em_arg
#define em_tensor weiri_em_tensor
#define em_reg weiri_em_reg
#define em_queue weiri_em_queue
#define em_region weiri_em_region
#define em_bar weiri_em_bar
#define em_map weiri_em_map
#define em_loop weiri_em_loop
#define em_place_of weiri_em_place_of
#define em_base_name weiri_em_base_name
#define em_quoted weiri_em_quoted
#define em_is_float weiri_em_is_float
#define em_type weiri_em_type
#define em_float_text weiri_em_float_text
#define em_coord_name weiri_em_coord_name
#define em_cta_expr weiri_em_cta_expr
#define em_expr weiri_em_expr
#define em_round_once weiri_em_round_once
#define em_whole_of weiri_em_whole_of
#define em_stage_expr weiri_em_stage_expr
#define em_cursor_name weiri_em_cursor_name
#define em_plus_stage weiri_em_plus_stage
#define em_region_addr weiri_em_region_addr
#define em_bar_addr weiri_em_bar_addr
#define em_before weiri_em_before
#define em_lead_exists weiri_em_lead_exists
#define em_origin weiri_em_origin
#define em_shape_expr weiri_em_shape_expr
#define em_limit weiri_em_limit
#define em_element_offset weiri_em_element_offset
#define em_gmem_index weiri_em_gmem_index
#define em_view_element weiri_em_view_element
#define em_stage_pointer weiri_em_stage_pointer
#define em_slab weiri_em_slab
#define em_packed_word weiri_em_packed_word
#define em_share weiri_em_share
#define em_frag_tile weiri_em_frag_tile
#define em_count_uses weiri_em_count_uses
#define em_outlives weiri_em_outlives
#define em_make weiri_em_make
#define em_ensure weiri_em_ensure
#define em_mask weiri_em_mask
#define em_reach weiri_em_reach
#define em_dest weiri_em_dest
#define em_push weiri_em_push
#define em_tc_frame weiri_em_tc_frame
#define em_tc_addresses weiri_em_tc_addresses
#define em_tc_flags weiri_em_tc_flags
#define em_tc_commit weiri_em_tc_commit
#define em_tc_mma weiri_em_tc_mma
#define em_tc_element weiri_em_tc_element
#define em_tc_stores weiri_em_tc_stores
#define em_tc_store weiri_em_tc_store
#define em_guard_of weiri_em_guard_of
#define em_guard weiri_em_guard
#define em_leader_rank weiri_em_leader_rank
#define em_remote_arrive weiri_em_remote_arrive
#define em_advance weiri_em_advance
#define em_cp_async weiri_em_cp_async
#define em_fetch weiri_em_fetch
#define em_bulk weiri_em_bulk
#define em_has_live_flag weiri_em_has_live_flag
#define em_mma weiri_em_mma
#define em_store_frag_smem weiri_em_store_frag_smem
#define em_store weiri_em_store
#define em_set weiri_em_set
#define em_read weiri_em_read
#define em_body weiri_em_body
#define em_call weiri_em_call

/* emit_value.c */
void weiri_em_line(emitter *e, const char *fmt, ...) WEIRI_PRINTF(2, 3);
const char *weiri_em_fmt(emitter *e, const char *f, ...) WEIRI_PRINTF(2, 3);
void weiri_em_own_line(emitter *e);
const char *weiri_em_arg(emitter *e, const char *name);     /* a tensor, dim or scalar */
const char *weiri_em_tensor(emitter *e, const weir_tensor *t); /* what its strides and flags begin with */
const char *weiri_em_reg(emitter *e, const weir_res *r);    /* a register tile */
const char *weiri_em_queue(emitter *e, const weir_res *q);  /* what the variables of a queue's loop begin with */
const char *weiri_em_region(emitter *e, int region);        /* the address of one */
const char *weiri_em_bar(emitter *e, int bar);
const char *weiri_em_map(emitter *e, int tmap);
const char *weiri_em_loop(emitter *e, const weiri_node *loop); /* its index */
const weir_place *weiri_em_place_of(const weiri_action *a);
const char *weiri_em_base_name(emitter *e, const char *path);
const char *weiri_em_quoted(emitter *e, const char *path); /* as a C string */
bool weiri_em_is_float(weir_dtype t);
const char *weiri_em_type(const weiri_value *v); /* that it is computed in */
const char *weiri_em_float_text(emitter *e, double x);
const char *weiri_em_coord_name(emitter *e, const weir_res *q, int axis, bool before); /* before: of the tile before, or last */
const char *weiri_em_cta_expr(emitter *e, int64_t axis);
const char *weiri_em_round_once(emitter *e, weir_dtype to, uint32_t value, const char *x);
const char *weiri_em_whole_of(emitter *e, weir_dtype to, uint32_t value, const char *x);
const char *weiri_em_expr(emitter *e, uint32_t id);
const char *weiri_em_stage_expr(emitter *e, int cur, weiri_stage_ref ref, int back);
const char *weiri_em_cursor_name(emitter *e, int cur);
const char *weiri_em_plus_stage(emitter *e, const char *base, const char *stage, int64_t step);
const char *weiri_em_region_addr(emitter *e, int region, int cur, weiri_stage_ref ref, int back);
const char *weiri_em_bar_addr(emitter *e, const weiri_action *a);
const char *weiri_em_origin(emitter *e, const weiri_view *v, const weir_res *g, int d);
bool weiri_em_before(emitter *e, const weiri_view *v, const weir_res *g, int d);
void weiri_em_lead_exists(emitter *e, const weiri_view *v, const weir_res *g, int d, weiri_buf *out);
const char *weiri_em_shape_expr(emitter *e, const weir_tensor *t, int d);
const char *weiri_em_limit(emitter *e, const weiri_view *v);
const char *weiri_em_element_offset(emitter *e, const weiri_tile_geom *g, const char *row, const char *col);
/* Index of element (row, col) of a tile of a tensor, and the condition that `width` columns from there exist. */
void weiri_em_gmem_index(emitter *e, const weiri_view *v, const char *row, const char *col, int width, const char **index,
                         const char **exists);
const char *weiri_em_view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load);
const char *weiri_em_stage_pointer(emitter *e, uint32_t view, const char *row, const char *col);
const char *weiri_em_slab(emitter *e, const weiri_view *v, const char **col);
const char *weiri_em_packed_word(emitter *e, uint32_t id, weir_dtype dtype);
int weiri_em_share(const emitter *e, const weiri_preg *r, int cols);
const weiri_preg *weiri_em_frag_tile(emitter *e, uint32_t id);
void weiri_em_count_uses(emitter *e, uint32_t id, uint8_t *seen);
bool weiri_em_outlives(emitter *e, const weiri_op *read, uint32_t value);
void weiri_em_make(emitter *e, uint32_t id, uint8_t how);
void weiri_em_ensure(emitter *e, uint32_t id);

/* emit_work.c */
const char *weiri_em_guard_of(emitter *e, weiri_who who);
const char *weiri_em_guard(emitter *e, const weiri_action *a);   /* "if (leader && lane == 0) ": who of which CTA does it */
const char *weiri_em_leader_rank(emitter *e);                    /* of the CTA with v = 0 of the own pair */
void weiri_em_remote_arrive(emitter *e, const weiri_action *a, const char *at);
void weiri_em_advance(emitter *e, const weiri_action *a);
void weiri_em_cp_async(emitter *e, const weiri_action *a);
void weiri_em_fetch(emitter *e, const weiri_action *a);
void weiri_em_bulk(emitter *e, const weiri_action *a);
bool weiri_em_has_live_flag(emitter *e, const weir_res *r);
void weiri_em_mma(emitter *e, const weiri_action *a);
void weiri_em_store_frag_smem(emitter *e, const weiri_action *a, uint32_t value, const weir_res *s);
void weiri_em_store(emitter *e, const weiri_action *a);
void weiri_em_set(emitter *e, const weiri_action *a);
void weiri_em_read(emitter *e, const weiri_action *a);
void weiri_em_body(emitter *e, const weir_res *r, const weiri_work *w);
void weiri_em_call(emitter *e, const weiri_action *a);
const char *weiri_em_dest(emitter *e, const weiri_action *a);    /* the one CTA that it names */
void weiri_em_push(emitter *e, const weiri_action *a);
const char *weiri_em_reach(emitter *e,
                           const weiri_action *a); /* CTAs that an arrival with `reach` is for: a mask, by the own rank */
const char *weiri_em_mask(emitter *e, int axes);             /* of the CTAs that differ along these axes */

/* emit_tc.c */
void weiri_em_tc_frame(emitter *e, const weiri_action *a);
void weiri_em_tc_addresses(emitter *e);
void weiri_em_tc_flags(emitter *e);
void weiri_em_tc_commit(emitter *e, const weiri_action *a);
void weiri_em_tc_mma(emitter *e, const weiri_action *a);
const char *weiri_em_tc_element(emitter *e, uint32_t view);
bool weiri_em_tc_stores(emitter *e, uint32_t value);         /* is the value one of tensor memory? Notes its views */
void weiri_em_tc_store(emitter *e, const weiri_action *a);

#endif
