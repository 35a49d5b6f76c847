/* The rules over a description, between their own files. Each check reads the same thing: per task a list of uses in the order they
 * are written, each body once, guards ignored. validate.c collects those and runs the checks; validate_graph.c has what depends on
 * what, validate_order.c what comes before what in a task; the other files check what they are called after. */
#ifndef WEIRI_VALIDATING_H
#define WEIRI_VALIDATING_H

#include "validate.h"

/* The names as the linker sees them. */
#define vd_move_text weiri_vd_move_text
#define vd_written weiri_vd_written
#define vd_spelled weiri_vd_spelled
#define vd_called_from weiri_vd_called_from
#define vd_has weiri_vd_has
#define vd_pushes_from weiri_vd_pushes_from
#define vd_check_task weiri_vd_check_task
#define vd_check_roles weiri_vd_check_roles
#define vd_check_warps weiri_vd_check_warps
#define vd_make_graph weiri_vd_make_graph
#define vd_check_graph weiri_vd_check_graph
#define vd_check_unused weiri_vd_check_unused
#define vd_check_self_edges weiri_vd_check_self_edges
#define vd_check_releases weiri_vd_check_releases
#define vd_check_pdl weiri_vd_check_pdl
#define vd_check_brackets weiri_vd_check_brackets
#define vd_check_nesting weiri_vd_check_nesting
#define vd_check_queue weiri_vd_check_queue
#define vd_check_rasters weiri_vd_check_rasters
#define vd_check_pipes weiri_vd_check_pipes
#define vd_check_lanes weiri_vd_check_lanes
#define vd_check_tmem weiri_vd_check_tmem
#define vd_check_atom weiri_vd_check_atom
#define vd_check_bodies weiri_vd_check_bodies
#define vd_check_routes weiri_vd_check_routes
#define vd_check_keys weiri_vd_check_keys
#define vd_check_multicast weiri_vd_check_multicast
#define vd_check_values weiri_vd_check_values

typedef enum section { SEC_ONCE, SEC_HEAD, SEC_LOOP, SEC_TAIL } section; /* ONCE: beside the work-tile loop */

/* One resource touched by one op. An op on a group is a use of each member that its task lists. */
typedef struct use {
    const weiri_op *op;
    const weiri_node *node;
    weir_res *res;
    weiri_stage stage;
    section sec;
    int order;              /* of the node in the tree */
    bool group_op, operand; /* operand: read as an argument of the op, not the op's own resource */
} use;

typedef struct uses {
    use *v;
    int n, cap;
} uses;

typedef struct checker {
    const weir_kernel *k;
    weiri_findings *out;
    uses *of;                     /* per task */
    WEIRI_LIST(weiri_edge) graph; /* as given, else every dst of a task on all its src */
    bool graph_given;
    WEIRI_LIST(const weiri_task *) edge_of; /* derived graph: whose edge it is */
} checker;

static inline bool vd_in_list(weir_res *const *list, int n, const weir_res *r) {
    for (int i = 0; i < n; i++)
        if (list[i] == r) return true;
    return false;
}

/* Register tiles belong to their one task, which reads and writes them. */
static inline bool vd_is_register_tile(const weir_res *r) { return r->kind == WEIR_RES_REG || r->kind == WEIR_RES_WGMMA; }
static inline bool vd_in_src(const weiri_task *t, const weir_res *r) {
    return vd_in_list(t->src, t->nsrc, r) || (vd_is_register_tile(r) && vd_in_list(t->dst, t->ndst, r));
}
static inline bool vd_in_dst(const weiri_task *t, const weir_res *r) {
    return vd_in_list(t->dst, t->ndst, r) || (vd_is_register_tile(r) && vd_in_list(t->src, t->nsrc, r));
}
static inline bool vd_lists(const weiri_task *t, const weir_res *r) {
    return vd_in_list(t->src, t->nsrc, r) || vd_in_list(t->dst, t->ndst, r);
}
/* The i-th resource that the task lists: src, then dst. */
static inline weir_res *vd_listed(const weiri_task *t, int i) { return i < t->nsrc ? t->src[i] : t->dst[i - t->nsrc]; }

static inline bool vd_consumes(weiri_stage s) { return s <= STAGE_CONS_RELEASE; }
static inline bool vd_is_aux(weiri_stage s) { return s == STAGE_CONS_AUX || s == STAGE_PROD_AUX; }

/* validate.c */
/* The op's own place. Its caller becomes the finding's second place. */
#define VD_AT_OP(op) weiri_place_of(&(op)->at)
void vd_called_from(weir_finding *f, const weiri_chain *at);
/* A stage in words: "try_wait". What the author wrote: "tma_load", "fill", the move. How a resource is spelled: "ab.a" or "a". */
const char *vd_move_text(weiri_stage s);
const char *vd_written(const use *u);
const char *vd_spelled(checker *c, const weir_res *r);
/* Has the task r in this stage? */
bool vd_has(const uses *us, const weir_res *r, weiri_stage s);
/* Does the task push from r? A stage that is pushed is free when the target's is acquired again, in the next pass of a loop: its
 * release may stand there, in front of the wait. In time or not, the proof says. */
bool vd_pushes_from(const checker *c, const uses *us, const weir_res *r);

/* validate_task.c */
void vd_check_task(checker *c, const weiri_task *t);
void vd_check_roles(checker *c, const weiri_task *t, const uses *us);
void vd_check_warps(checker *c);

/* validate_graph.c: makes the graph, for the checks of all files but those of tasks; checks it. */
void vd_make_graph(checker *c);
void vd_check_graph(checker *c);
void vd_check_unused(checker *c);
void vd_check_self_edges(checker *c);

/* validate_order.c */
void vd_check_releases(checker *c);
void vd_check_pdl(checker *c);

/* validate_bracket.c */
void vd_check_brackets(checker *c, const weiri_task *t, const uses *us);
void vd_check_nesting(checker *c, const weiri_task *t, const uses *us);

/* validate_queue.c */
void vd_check_queue(checker *c);
void vd_check_rasters(checker *c);

/* validate_pipe.c */
void vd_check_pipes(checker *c);
void vd_check_tmem(checker *c);

/* validate_lanes.c */
void vd_check_lanes(checker *c);

/* validate_atom.c */
void vd_check_atom(checker *c, const weiri_op *op);

/* validate_value.c */
void vd_check_bodies(checker *c);
void vd_check_routes(checker *c, const weiri_task *t);
void vd_check_keys(checker *c);
void vd_check_multicast(checker *c);
void vd_check_values(checker *c);

#endif
