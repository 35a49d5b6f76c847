/* The emitter, between its own files. emit.c is the kernel around its tasks, emit_tree.c their blocks (emit_tiles.c the loop over
 * work tiles, emit_shared.c what a block names at its head), emit_action.c one action; emit_copy.c, emit_mma.c, emit_store.c,
 * emit_regs.c, emit_body.c and emit_tc.c have work that takes more than a line. emit_value.c writes values, emit_range.c knows
 * which of them wrap, emit_view.c says where things are, emit_text.c has lines and names. */
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
    const weiri_action *act;  /* the action in work */
    const weiri_pnode *loop;  /* innermost domain loop */
    const weiri_node *tiles;  /* enclosing work-tile loop */
    const weiri_node *peeled; /* the loop whose first steps stand for themselves */
    int peeled_steps;         /* how many */
    int peeled_at;            /* which of them is in work; -1: those behind them */
    bool skipping;            /* in a tile of another lane */
    const char *row, *col;    /* names of the element's coordinates in a linear store, or NULL: fragments */
    const char *el;           /* index of the fragment element, 0 .. N/2 */
    const char *fr;           /* index of the m64 block */
    int frags;                /* m64 blocks of the fragments that are walked */
    const weir_res *dest;     /* what a store writes, for a work tile as its place */
    const char *slab;         /* rows of a stage in front of the slab that is stored to, or NULL */
    uint32_t pack[8];         /* views of tensors that a linear store has loaded 16 bytes at a time, as p<id>.x[i] */
    int npack;
    WEIRI_LIST(uint32_t) tensor; /* views of tensor memory that a store has loaded, as x<index>[j + i] */
    int share;                   /* rows of one warpgroup, while a store or set walks fragments */
    uint16_t *uses;              /* by value: how many values and ops take it */
    uint8_t *made; /* by value: MADE: it lies in an array of its own, v<id>, in this block; MADE_INVERSE: a quotient by a row or
                                column value, of which r<id> holds the reciprocals */
    WEIRI_LIST(uint32_t) made_list;
    struct shared_use *shared; /* by value: what the last walk for names saw (emit.c) */
    uint32_t walk;             /* its number */
    value_part *part;          /* by value */
    uint32_t names, last_names, last_part;
    uint8_t *sign;           /* by value: 1 known to be at least 0, 2 not, 0 not asked yet */
    value_range *range;      /* by value */
    bool ahead; /* a value is computed where it may not be needed: its divisors may be 0 */
} emitter;

/* Short names inside the emitter; the linker sees the long ones. */
#define em_line weiri_em_line
#define em_act weiri_em_act
#define em_open weiri_em_open
#define em_close weiri_em_close
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
#define em_coord_name weiri_em_coord_name
#define em_cursor_name weiri_em_cursor_name
#define em_place_of weiri_em_place_of
#define em_base_name weiri_em_base_name
#define em_quoted weiri_em_quoted
#define em_float_text weiri_em_float_text
#define em_is_whole weiri_em_is_whole
#define em_whole_range weiri_em_whole_range
#define em_range_of weiri_em_range_of
#define em_nonneg weiri_em_nonneg
#define em_is_index weiri_em_is_index
#define em_is_tile weiri_em_is_tile
#define em_is_float weiri_em_is_float
#define em_type weiri_em_type
#define em_expr weiri_em_expr
#define em_packed_word weiri_em_packed_word
#define em_share weiri_em_share
#define em_frags weiri_em_frags
#define em_math weiri_em_math
#define em_whole weiri_em_whole
#define em_load_type weiri_em_load_type
#define em_round_once weiri_em_round_once
#define em_whole_of weiri_em_whole_of
#define em_cta_expr weiri_em_cta_expr
#define em_stage_expr weiri_em_stage_expr
#define em_plus_stage weiri_em_plus_stage
#define em_region_addr weiri_em_region_addr
#define em_bar_addr weiri_em_bar_addr
#define em_origin weiri_em_origin
#define em_before weiri_em_before
#define em_lead_exists weiri_em_lead_exists
#define em_shape_expr weiri_em_shape_expr
#define em_limit weiri_em_limit
#define em_element_offset weiri_em_element_offset
#define em_gmem_index weiri_em_gmem_index
#define em_view_element weiri_em_view_element
#define em_stage_pointer weiri_em_stage_pointer
#define em_slab weiri_em_slab
#define em_count_uses weiri_em_count_uses
#define em_make weiri_em_make
#define em_ensure weiri_em_ensure
#define em_set weiri_em_set
#define em_read weiri_em_read
#define em_shared_uses weiri_em_shared_uses
#define em_name_shared weiri_em_name_shared
#define em_name_coords weiri_em_name_coords
#define em_forget weiri_em_forget
#define em_nodes weiri_em_nodes
#define em_tiles weiri_em_tiles
#define em_action weiri_em_action
#define em_guard_of weiri_em_guard_of
#define em_guard weiri_em_guard
#define em_leader_rank weiri_em_leader_rank
#define em_dest weiri_em_dest
#define em_reach weiri_em_reach
#define em_mask weiri_em_mask
#define em_plus weiri_em_plus
#define em_share_pieces weiri_em_share_pieces
#define em_cp_async weiri_em_cp_async
#define em_fetch weiri_em_fetch
#define em_bulk weiri_em_bulk
#define em_push weiri_em_push
#define em_has_live_flag weiri_em_has_live_flag
#define em_k_step weiri_em_k_step
#define em_mma weiri_em_mma
#define em_to_dtype weiri_em_to_dtype
#define em_pack_name weiri_em_pack_name
#define em_store_frag_smem weiri_em_store_frag_smem
#define em_store weiri_em_store
#define em_body weiri_em_body
#define em_call weiri_em_call
#define em_tc_frame weiri_em_tc_frame
#define em_tc_addresses weiri_em_tc_addresses
#define em_tc_flags weiri_em_tc_flags
#define em_tc_commit weiri_em_tc_commit
#define em_tc_mma weiri_em_tc_mma
#define em_tc_element weiri_em_tc_element
#define em_tc_stores weiri_em_tc_stores
#define em_tc_store weiri_em_tc_store

/* emit_text.c: a line; one behind its W_AT; one that opens a block, brace and all; the end of one. A text in the plan's arena. */
void em_line(emitter *e, const char *fmt, ...) WEIRI_PRINTF(2, 3);
void em_act(emitter *e, const weiri_action *a, const char *fmt, ...) WEIRI_PRINTF(3, 4);
void em_open(emitter *e, const char *fmt, ...) WEIRI_PRINTF(2, 3);
void em_close(emitter *e);
const char *em_fmt(emitter *e, const char *f, ...) WEIRI_PRINTF(2, 3);
void em_own_line(emitter *e);
const char *em_arg(emitter *e, const char *name);        /* a tensor, dim or scalar */
const char *em_tensor(emitter *e, const weir_tensor *t); /* what its strides and flags begin with */
const char *em_reg(emitter *e, const weir_res *r);       /* a register tile */
const char *em_queue(emitter *e, const weir_res *q);     /* what the variables of its loop begin with */
const char *em_region(emitter *e, int region);           /* the address of one */
const char *em_bar(emitter *e, int bar);
const char *em_map(emitter *e, int tmap);
const char *em_loop(emitter *e, const weiri_node *loop);                         /* its index */
const char *em_coord_name(emitter *e, const weir_res *q, int axis, bool before); /* before: of the tile before, or last */
const char *em_cursor_name(emitter *e, int cur);
const weir_place *em_place_of(const weiri_action *a);
const char *em_base_name(emitter *e, const char *path);
const char *em_quoted(emitter *e, const char *path); /* as a C string */
const char *em_float_text(emitter *e, double x);

/* emit_range.c */
bool em_is_whole(weir_dtype t);
value_range em_whole_range(weir_dtype t);
value_range em_range_of(emitter *e, uint32_t id);
bool em_nonneg(emitter *e, uint32_t id); /* known to be? */
bool em_is_index(emitter *e,
                 uint32_t id); /* made of sizes and places alone, within its dtype: it counts something, and does not wrap */

/* emit_value.c */
bool em_is_tile(const weiri_value *v);
bool em_is_float(weir_dtype t);
const char *em_type(const weiri_value *v); /* that it is computed in */
const char *em_expr(emitter *e, uint32_t id);
const char *em_packed_word(emitter *e, uint32_t id, weir_dtype dtype);
int em_share(const emitter *e, int rows, int cols);
int em_frags(const emitter *e, int rows);
const char *em_math(emitter *e, weir_dtype t, const char *name);
const char *em_whole(emitter *e, weir_dtype t, const char *name);
const char *em_load_type(emitter *e, weir_dtype t, const char *lvalue);
const char *em_round_once(emitter *e, weir_dtype to, uint32_t value, const char *x);
const char *em_whole_of(emitter *e, weir_dtype to, uint32_t value, const char *x);

/* emit_view.c */
const char *em_cta_expr(emitter *e, int64_t axis);
const char *em_stage_expr(emitter *e, int cur, weiri_stage_ref ref, int back);
const char *em_plus_stage(emitter *e, const char *base, const char *stage, int64_t step);
const char *em_region_addr(emitter *e, int region, int cur, weiri_stage_ref ref, int back);
const char *em_bar_addr(emitter *e, const weiri_action *a);
const char *em_origin(emitter *e, const weiri_view *v, const weir_res *g, int d);
bool em_before(emitter *e, const weiri_view *v, const weir_res *g, int d);
void em_lead_exists(emitter *e, const weiri_view *v, const weir_res *g, int d, weiri_buf *out);
const char *em_shape_expr(emitter *e, const weir_tensor *t, int d);
const char *em_limit(emitter *e, const weiri_view *v);
const char *em_element_offset(emitter *e, const weiri_tile_geom *g, const char *row, const char *col);
/* Index of element (row, col) of a tile of a tensor, and the condition that `width` columns from there exist. */
void em_gmem_index(emitter *e, const weiri_view *v, const char *row, const char *col, int width, const char **index,
                   const char **exists);
const char *em_view_element(emitter *e, uint32_t view, const char *row, const char *col, bool load);
const char *em_stage_pointer(emitter *e, uint32_t view, const char *row, const char *col);
const char *em_slab(emitter *e, const weiri_view *v, const char **col);

/* emit_regs.c */
void em_count_uses(emitter *e, uint32_t id, uint8_t *seen);
void em_make(emitter *e, uint32_t id, uint8_t how);
void em_ensure(emitter *e, uint32_t id);
void em_set(emitter *e, const weiri_action *a);
void em_read(emitter *e, const weiri_action *a);

/* emit_shared.c: names at the head of a block what several places in it take; what a raster's coordinates share. What a block
 * computed is gone at its end. */
struct shared_use *em_shared_uses(emitter *e);
void em_name_shared(emitter *e, const weiri_pnode *first);
void em_name_coords(emitter *e, const weiri_pnode *tiles, const weir_res *q);
void em_forget(emitter *e, int mark);

/* emit_tree.c, emit_tiles.c, emit_action.c */
void em_nodes(emitter *e, const weiri_pnode *n);
void em_tiles(emitter *e, const weiri_pnode *n);
void em_action(emitter *e, const weiri_action *a);
const char *em_guard_of(emitter *e, weiri_who who);
const char *em_guard(emitter *e, const weiri_action *a); /* "if (leader && lane == 0) ": who of which CTA does it */
const char *em_leader_rank(emitter *e);                  /* of the CTA with v = 0 of the own pair */
const char *em_dest(emitter *e, const weiri_action *a);  /* the one CTA that it names */
const char *em_reach(emitter *e, const weiri_action *a); /* CTAs that an arrival with `reach` is for: a mask, by the own rank */
const char *em_mask(emitter *e, int axes);               /* of the CTAs that differ along these axes */

/* emit_copy.c */
const char *em_plus(emitter *e, const char *base, int64_t n); /* base + n */
/* Opens the block in which piece `q` is the thread's: the task's threads share `pieces` in turn. */
void em_share_pieces(emitter *e, int pieces);
void em_cp_async(emitter *e, const weiri_action *a);
void em_fetch(emitter *e, const weiri_action *a);
void em_bulk(emitter *e, const weiri_action *a);
void em_push(emitter *e, const weiri_action *a);

/* emit_mma.c */
bool em_has_live_flag(emitter *e, const weir_res *r);
const char *em_k_step(emitter *e, const weiri_operand *o, int steps);
void em_mma(emitter *e, const weiri_action *a);

/* emit_store.c */
const char *em_to_dtype(emitter *e, weir_dtype t, uint32_t value,
                        const char *x); /* the value (0: a float) whose text is x, as stored */
bool em_pack_name(weir_dtype t, const char **name);
void em_store_frag_smem(emitter *e, const weiri_action *a, uint32_t value, const weir_res *s);
void em_store(emitter *e, const weiri_action *a);

/* emit_body.c */
void em_body(emitter *e, const weir_res *r, const weiri_work *w);
void em_call(emitter *e, const weiri_action *a);

/* emit_tc.c */
void em_tc_frame(emitter *e, const weiri_action *a);
void em_tc_addresses(emitter *e);
void em_tc_flags(emitter *e);
void em_tc_commit(emitter *e, const weiri_action *a);
void em_tc_mma(emitter *e, const weiri_action *a);
const char *em_tc_element(emitter *e, uint32_t view);
bool em_tc_stores(emitter *e, uint32_t value); /* is the value one of tensor memory? Notes its views */
void em_tc_store(emitter *e, const weiri_action *a);

#endif
