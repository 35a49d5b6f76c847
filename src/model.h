/* The kernel as described: resources, pipelines, groups, tasks, values, and per task a tree of ops. Built by model.c, group.c,
 * capture.c and value.c; everything to the right reads it as const. All storage is in the kernel's arena. */
#ifndef WEIRI_MODEL_H
#define WEIRI_MODEL_H

#include "mem.h"
#include "report.h"

typedef struct weiri_chain { const weir_place *at; int n; } weiri_chain; /* the author's lines, innermost first; NULL: none given */
static inline const weir_place *weiri_place_of(const weiri_chain *c) { return c->at; }

/* ---- values: nodes in k->values, 1-based ids, equal nodes share an id (except reads and returns: one per occurrence) ---- */

typedef struct weiri_value {
    weir_op op;
    weir_value_kind kind;
    weir_dtype dtype;
    int rows, cols;              /* TILE: shape; VIEW: unused */
    bool uniform;                /* equal in all threads of a task */
    uint32_t arg[6]; int nargs;  /* values */
    int64_t i;
    double
        f; /* INT, FLOAT; CTA: axis letter; INDEX: loop node; COORD, QUEUE_INDEX: axis; VIEW_READ: back; VIEW_ROWS/COLS, TILE_COLS: first; ROW_*: columns kept */
    int count;                   /* VIEW_ROWS/COLS, TILE_COLS: count; RETURN: index of the return; BEFORE and its VIEW_TILE: lanes, negative of the
                                    last tile, whose `f` is the lane: tasks of other lanes had another tile */
    struct weir_res
        *res; /* READ_REG, VIEW_READ, VIEW_AT, VIEW_FROM, VIEW_SUB of smem, ROW, COL, COORD's, BEFORE's and QUEUE_INDEX's queue */
    struct weiri_op *by;         /* RETURN, READ_REG, LOAD, VIEW_READ: the op that produced it (its place in the schedule) */
    struct weiri_node *
        loop; /* INDEX: its loop; COORD, VIEW_TILE: a work-tile loop over the queue `res` (the first one: all loops over a queue share the value); BEFORE and its VIEW_TILE: likewise the first guard */
    struct weiri_node *scope;    /* innermost block it may be used in, NULL: anywhere its `tiles` are */
    struct weir_res *tiles;      /* queue whose tile it depends on, or NULL */
    uint8_t before;              /* bits: it depends on the tile before, 1, or the last one, 2 */
    bool used;                   /* by another value, an op or a block */
    uint64_t ops;                /* bit by weir_op: what it is made of, itself included */
    uint32_t text;               /* operations in it written out as a tree, what is shared as often as it is taken; saturates */
    int deep;                    /* of that tree */
    const char *name;            /* DIM, SCALAR */
    int64_t min, max, multiple;  /* DIM: bounds, 0 max none */
    int dim;                     /* DIM: index in k->dims; SCALAR: in k->scalars */
    weiri_chain at;
} weiri_value;

/* ---- resources ---------------------------------------------------------------------------------------------------------- */

struct weir_tensor {
    weir_kernel *k;
    const char *name;
    int index;                   /* in k->tensors */
    weir_dtype dtype;
    int rank;
    weir_value shape[WEIR_MAX_RANK], stride[WEIR_MAX_RANK];
    bool out;
    weiri_chain at;
};

typedef struct weiri_param { weir_dtype dtype; bool view, constant, uniform; const char *name; } weiri_param;
typedef struct weiri_work {     /* a custom method, parsed */
    const char *name, *code, *file; int line;
    weir_side side; bool aux, async_read; int64_t tx_bytes;
    weiri_param *params; int nparams;
    weiri_param *returns; int nreturns;
    weiri_chain at;
} weiri_work;

typedef struct weiri_pipe {      /* as given; derived numbers are the plan's */
    weir_pipe_desc given;        /* type NONE: no pipeline */
    weiri_chain at;
} weiri_pipe;

struct weir_res {
    weir_kernel *k;
    weir_res_kind kind;
    const char *name;
    int index;                   /* in k->res */
    weiri_chain at;
    weiri_pipe pipe;             /* pipe.given.stages: at least 1 where there is storage */
    /* GMEM */
    weir_tensor *tensor;
    /* GMEM, SMEM, REG, WGMMA, TMEM, CUSTOM smem */
    weir_dtype dtype;
    int rank, tile[WEIR_MAX_RANK]; /* outermost first; smem: leading 1s kept as written */
    int swizzle;
    weir_res *storage;           /* other tile whose bytes these are */
    char split;                  /* WGMMA */
    /* QUEUE */
    weir_queue_kind qkind;
    weir_raster raster;
    int group_rows;
    int qrank;                   /* axes */
    const char *axis[WEIR_MAX_RANK];
    weir_value extent[WEIR_MAX_RANK];  /* tiles along each axis */
    int qtile[WEIR_MAX_RANK];    /* tile size per axis; 0 when given by hand */
    int axis_m, axis_n;          /* axes that clusters split (-1: none) */
    weir_value qindex;           /* CUSTOM raster: linear tile */
    weir_value raster_coord[WEIR_MAX_RANK];
    /* CUSTOM */
    weir_space space;
    weir_bind *bind; int nbind;
    weir_const *consts; int nconsts;
    weiri_work *work; int nwork;
    /* GROUP */
    weir_group_mode mode, mode_given;
    weir_res **members; int nmembers;  /* bare resources */
    weir_res **views;            /* MEMBER handles, same order */
    bool fold;
    weir_pipe_desc asked;        /* the pipeline written for the group; type NONE: derived */
    /* bare member: its group and place in it. MEMBER: the group, and `bare` the resource */
    weir_res *group; int member;
    weir_res *bare;
    int refused_in;              /* number of the task, from 1, in which its bare name or its moves were refused: said once */
};

/* ---- schedules ---------------------------------------------------------------------------------------------------------- */

typedef enum weiri_stage { /* ORDER STAGE: spec/validation.md 2.1 */
    STAGE_CONS_AUX, STAGE_CONS_TRY, STAGE_CONS_WAIT, STAGE_CONS_WORK, STAGE_CONS_RELEASE,
    STAGE_PROD_AUX, STAGE_PROD_TRY, STAGE_PROD_ACQUIRE, STAGE_PROD_WORK, STAGE_PROD_COMMIT
} weiri_stage;

typedef enum weiri_atom {                /* what a work op does, known to the core */
                          ATOM_NONE = 0, /* a move */
                          ATOM_CUSTOM,   /* res->work[] */
                          ATOM_TMA_LOAD,
                          ATOM_CP_ASYNC,
                          ATOM_STORE,
                          ATOM_TMA_STORE,
                          ATOM_TMA_REDUCE_ADD,
                          ATOM_PUSH,
                          ATOM_ZERO,
                          ATOM_SET,
                          ATOM_MMA,
                          ATOM_DRAIN,
                          ATOM_READ, /* r:read() of a register tile: a snapshot where it is written; s:read() of a stage: only marks the place */
                          ATOM_LOAD, /* view:load(), or a view met as a value */
                          ATOM_QUEUE_ADVANCE,
                          ATOM_QUEUE_FETCH,
                          ATOM_QUEUE_INIT,
                          ATOM_GRID_WAIT,
                          ATOM_GRID_LAUNCH
} weiri_atom;

typedef struct weiri_op {
    int id;                      /* unique in the kernel, capture order, from 1 */
    weir_res *res;               /* bare resource, or the group for collapsed moves */
    weir_res *group;             /* the group it was spelled through, or NULL */
    weiri_stage stage;
    weiri_atom atom;
    int keep;                    /* release, commit: n kept, -1 the oldest; drain: n */
    weiri_work *work;            /* ATOM_CUSTOM */
    uint32_t *arg; int nargs;    /* values */
    uint32_t *ret; int nret;     /* values */
    int multicast; bool issue_first; const char *cache;
    uint32_t push_k;
    weiri_chain at;
} weiri_op;

typedef enum weiri_node_kind { NODE_OP, NODE_LOOP, NODE_GUARD, NODE_TILES, NODE_SKIPPABLE } weiri_node_kind;

typedef struct weiri_node weiri_node;
struct weiri_node {
    weiri_node_kind kind;
    int id;                      /* unique in the kernel */
    weiri_node *parent, *next, *first, *last;   /* body of a block */
    weiri_op *op;                /* OP */
    uint32_t start, stop, step, index; int unroll;            /* LOOP: values */
    weir_guard_kind guard; uint32_t of; weiri_node *loop; int period, phase; const char *key; /* GUARD; loop of first/last/every */
    weir_res *queue; uint32_t skip; int lane, lanes;          /* TILES; skip 0: none */
    uint32_t coord[WEIR_MAX_RANK]; uint32_t place;            /* TILES; GUARD of a previous or last tile, with queue, lane and lanes */
    const weiri_node *of_tiles;  /* GUARD of a previous or last tile: the loop whose tile it is */
    weiri_chain at;
};

/* A guard on a condition, that it holds or does not? */
static inline bool weiri_is_condition(const weiri_node *n) {
    return n->kind == NODE_GUARD && (n->guard == WEIR_GUARD_TRUE || n->guard == WEIR_GUARD_FALSE);
}

/* A guard that gives another tile than the one the task is in? */
static inline bool weiri_of_before(const weiri_node *n) {
    return n->kind == NODE_GUARD && (n->guard == WEIR_GUARD_PREVIOUS_TILE || n->guard == WEIR_GUARD_LAST_TILE);
}

typedef struct weiri_task {
    const char *name;
    int index;
    int first_warp, num_warps, registers;
    bool warps_refused;          /* the given ones; these are stand-ins */
    bool on_cta; int cta[4];
    weir_res **src; int nsrc; bool src_given;
    weir_res **dst; int ndst; bool dst_given;
    weiri_node *root;            /* body: root->first ... */
    weiri_chain at;
} weiri_task;

typedef struct weiri_edge { weir_res *down; weir_res **up; int nup; weiri_chain at; } weiri_edge;
typedef struct weiri_labels {
    weir_res *up, *down;
    const char **work;
    int n;
    weiri_chain at;
} weiri_labels; /* releases an edge is about */
typedef struct weiri_alias { weir_phase *phase; int n; weiri_chain at; } weiri_alias;

enum { WEIRI_MAX_STAGES = 65535 }; /* far more than fit anywhere: numbers of mbarriers stay small ints */

struct weir_kernel {
    weir_ctx *ctx;
    weiri_arena a;
    const char *name;
    weir_arch arch;
    weir_cluster cluster;        /* no zeros */
    int ctas_per_sm;             /* at least 1 */
    WEIRI_LIST(weiri_value) values;         /* [0] unused. Pointers into it move: keep ids */
    WEIRI_LIST(uint32_t) dims;
    WEIRI_LIST(uint32_t) scalars;
    WEIRI_LIST(uint32_t) assumes;
    WEIRI_LIST(weir_tensor *) tensors;
    WEIRI_LIST(weir_res *) res;             /* all but MEMBER handles, declaration order */
    WEIRI_LIST(weiri_task *) tasks;
    WEIRI_LIST(weiri_edge) edges;
    WEIRI_LIST(weiri_labels) labels;
    WEIRI_LIST(weiri_alias) aliases;
    weiri_findings faults;                  /* of model and capture */
    weiri_chain here;                       /* weir_at */
    weiri_chain at;                         /* the first one that was given: the place of the kernel itself */
    /* capture in progress */
    weiri_task *task;
    weiri_node *open;                       /* innermost block; root of the task */
    int over;                               /* blocks begun beyond the deepest that is recorded */
    int nops, nnodes;
    uint32_t *table; uint32_t table_cap;    /* hash of values */
    struct { uint32_t *by; int cap; uint32_t walk; } met;   /* by value: the last walk that met it; scratch, see weiri_visit */
    struct weiri_plan *plan;                /* of the last verify or build; owned */
    weiri_buf text;                         /* of weir_kernel_print */
};

/* Deepest nest of blocks, and of operations in a value: what walks them may recurse. */
enum { WEIRI_MAX_NEST = 64, WEIRI_MAX_DEEP = 4096 };

/* value.c */
const weiri_value *weiri_val(const weir_kernel *k, uint32_t id);
weir_value weiri_value_add(weir_kernel *k, const weiri_value *v, bool share);
bool weiri_value_const(const weir_kernel *k, uint32_t id, int64_t *out);      /* a plain integer? */
/* Evaluates an integer value with dims bound (dims[i] of k->dims); coord: NULL or tile coordinates. false: not computable. */
bool weiri_value_eval(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, int64_t index, int64_t *out);
/* ... in the CTA of that rank in the cluster; -1: coordinates of the CTA are not known. */
bool weiri_value_eval_cta(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, int64_t index, int rank,
                          int64_t *out);
/* ... with the indices of all loops, by their nodes' ids, the number of the work tile, and the coordinates of that before (or NULL). */
bool weiri_value_eval_at(const weir_kernel *k, uint32_t id, const int64_t *dims, const int64_t *coord, const int64_t *before,
                         int64_t tile, const int64_t *at, int rank, int64_t *out);
void weiri_value_print(const weir_kernel *k, uint32_t id, weiri_buf *b);      /* in the author's names */
bool weiri_value_uses(const weir_kernel *k, uint32_t id, weir_op leaf);       /* does it contain such a leaf? */
bool weiri_value_in_regs(const weir_kernel *k, uint32_t id);                  /* ... one that lies as a register tile does? */
bool weiri_value_reduces(const weir_kernel *k, uint32_t id);                  /* ... a row reduction? */
static inline bool weiri_is_reduction(weir_op op) { return op == WEIR_OP_ROW_MAX || op == WEIR_OP_ROW_MIN || op == WEIR_OP_ROW_SUM; }
bool weiri_value_is_float(weir_dtype t);
weir_dtype weiri_value_promote(weir_dtype x, weir_dtype y); /* what two numbers are computed in */
bool weiri_value_is_unsigned(weir_dtype t);           /* of what values are computed in: at least 32 bits */
/* The type without a sign in which the operation compares, divides or picks, so that a number below 0 counts as a large one; or none. */
weir_dtype weiri_value_signless(const weir_kernel *k, uint32_t id);
int64_t weiri_value_narrow(weir_dtype t, int64_t x);  /* as a type of 8 or 16 bits keeps it; others keep it whole */
/* A walk over the parts of values that goes into each once, however often it is shared: a graph written out as a tree has no end. Begins
 * one, which ends the one before; then: is it met for the first time? */
void weiri_visit_begin(const weir_kernel *k);
bool weiri_visit(const weir_kernel *k, uint32_t id);
/* Can it be used here? Records a fault (`what` names the use) when it is none, made in a closed block, or of no open tile. */
bool weiri_value_usable(weir_kernel *k, uint32_t id, const char *what);
weir_value weiri_value_load(weir_kernel *k, weir_value v); /* a view becomes the value loaded from it; others stay */
/* Extents of a view, outermost first, leading 1s dropped; returns the rank. The resource it looks at (bare). */
int weiri_view_shape(const weir_kernel *k, uint32_t id, int shape[WEIR_MAX_RANK]);
weir_res *weiri_view_base(const weir_kernel *k, uint32_t id);
int weiri_tile_shape(const weir_res *r, int shape[WEIR_MAX_RANK]);            /* of a resource, leading 1s dropped */

/* model.c */
/* Whether a body names a thread as the block counts it; *name: as what, *row: where, from 0. */
bool weiri_raw_thread(const char *code, int *row, const char **name);
void weiri_kernel_fault(weir_kernel *k, const weiri_chain *at, const char *rule, const char *hint, const char *fmt, ...)
    WEIRI_PRINTF(5, 6);
weiri_chain weiri_here(weir_kernel *k);                                       /* a copy of the current place */
void weiri_second_place(weir_finding *f, const weiri_chain *at, const char *what); /* if there is one */
void weiri_also_at(weir_kernel *k, const weiri_chain *at, const char *what);        /* second place of the fault just recorded */
int64_t weiri_tile_bytes(const weir_res *r);                                  /* one stage of an smem resource, without padding */
weir_res *weiri_res_add(weir_kernel *k, weir_res_kind kind, const char *name); /* a new resource, its name checked */
int64_t weiri_tile_elems(const weir_res *r);
const char *weiri_res_kind_name(weir_res_kind kind);                          /* "smem_tile" */
bool weiri_foreign(weir_kernel *k, const char *what, const weir_res *r);      /* a resource of another kernel is a fault */
const char *weiri_label(weir_kernel *k, const weir_res *r); /* "pipeline 'ab'", "wgmma_tile 'acc'": for messages */
const char *weiri_nearest(const char *name, const char *const *list, int n);  /* closest spelling, or NULL */
/* group.c */
bool weiri_group_collapses(weir_group_mode mode, weir_move move);             /* is the move written on the group? */
const char *weiri_group_mode_name(weir_group_mode mode);                      /* "fused_merge" */
/* capture.c: ops of a task in order, each once; prints trees */
weiri_op *weiri_capture_op(weir_kernel *k, const weiri_op *op); /* appends an op to the open block; ret is filled later */
weiri_op *weiri_capture_read(weir_kernel *k, weir_res *r, weiri_atom atom, const uint32_t *arg, int nargs);
bool weiri_capture_target(weir_kernel *k, weir_res *r, const char *what, weir_res **bare, weir_res **group);
const char *weiri_stage_name(weiri_stage s);                                  /* "ConsumerWait" */
const char *weiri_atom_name(weiri_atom a);                                    /* "tma_load" */
const char *weiri_move_name(weir_move m);                                     /* "acquire" */
weiri_node *weiri_node_next(const weiri_node *root, const weiri_node *n);     /* pre-order walk; NULL: start / end */
weiri_node *weiri_op_next(const weiri_node *root, const weiri_node *n);       /* the same, of ops alone */
bool weiri_node_inside(const weiri_node *n, const weiri_node *block);         /* is it the block, or in it? */
weiri_node *weiri_tile_loop(const weiri_task *t);                             /* the task's loop over work tiles, or NULL */
bool weiri_looks_back(const weiri_task *t);                                   /* does it ask for the tile it had before, or last? */
void weiri_capture_print(const weir_kernel *k, weiri_buf *b);
/* Is the storage of r shared memory? */
static inline bool weiri_in_smem(const weir_res *r) {
    return r->kind == WEIR_RES_SMEM || (r->kind == WEIR_RES_CUSTOM && r->space == WEIR_SPACE_SMEM);
}
static inline bool weiri_piped(const weir_res *r) { return r->pipe.given.type != WEIR_PIPE_NONE; }
/* A queue that fetches its tiles: their numbers pass through a pipeline. */
static inline bool weiri_dynamic(const weir_res *r) {
    return r->kind == WEIR_RES_QUEUE && (r->qkind == WEIR_QUEUE_ATOMIC || r->qkind == WEIR_QUEUE_CLC);
}

#endif
