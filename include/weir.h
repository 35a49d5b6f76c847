/* weir: GPU kernels whose warps run different tasks, from a description of resources, pipelines and schedules.
 *
 * The header reads in the order of use: context, kernel, values, resources, groups, tasks and their schedules, build, report,
 * devices and launch. Handles are opaque and owned by their parent (kernel -> context); options are desc structs whose zero
 * means default. Calls that describe a kernel never fail one by one: what is wrong is collected, with the author's place, in
 * the report of weir_verify or weir_build. Calls that return weir_status leave a text in weir_error(ctx).
 * Nothing here prints, exits or keeps writable globals. A context belongs to one thread at a time. */
#ifndef WEIR_H
#define WEIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define WEIR_API __declspec(dllexport)
#elif defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_MAX_RANK 5

typedef struct weir_ctx weir_ctx;         /* allocator, log, loaded libraries, caches */
typedef struct weir_kernel weir_kernel;   /* a description, then its checked plan */
typedef struct weir_res weir_res;         /* a resource, a group, or a member seen through its group */
typedef struct weir_tensor weir_tensor;   /* a tensor argument of a kernel */
typedef struct weir_program weir_program; /* a built kernel: source, binary, launch contract */
typedef struct weir_report weir_report;   /* findings and proof */
typedef struct weir_device weir_device;   /* a GPU or the simulator */
typedef struct weir_buffer weir_buffer;   /* a tensor in a device's memory */

/* ---- status ------------------------------------------------------------------------------------------------------------ */

typedef enum weir_status {
    WEIR_OK = 0,
    WEIR_E_MEMORY = 1,      /* the allocator returned NULL */
    WEIR_E_ARGUMENT = 2,    /* a bad argument of the call itself */
    WEIR_E_INVALID = 3,     /* the description has errors: see the report */
    WEIR_E_UNSAFE = 4,      /* the proof found a deadlock or a race: see the report */
    WEIR_E_NO_DEVICE = 5,   /* no driver, or no such device */
    WEIR_E_NO_COMPILER = 6, /* NVRTC (GPU) or a host C++ compiler (simulator) cannot be found */
    WEIR_E_COMPILE = 7,     /* the compiler refused the source: see weir_program_log */
    WEIR_E_DRIVER = 8,      /* a driver call failed */
    WEIR_E_LAUNCH = 9,      /* arguments do not fit the kernel */
    WEIR_E_SIM = 10,        /* the simulator stopped: see weir_device_findings */
    WEIR_E_IO = 11,         /* a file could not be read or written */
    WEIR_E_WATCHDOG = 12    /* the watchdog ended the kernel: see weir_device_findings */
} weir_status;

typedef enum weir_log_level { WEIR_LOG_ERROR = 1, WEIR_LOG_WARNING, WEIR_LOG_INFO, WEIR_LOG_DEBUG } weir_log_level;

/* ---- context ------------------------------------------------------------------------------------------------------------ */

/* One allocation function, told old and new size in bytes: (NULL, 0, n) allocates, (p, n, 0) frees and returns NULL. */
typedef void *(*weir_alloc_fn)(void *ud, void *p, size_t old_size, size_t new_size);
typedef void (*weir_log_fn)(void *ud, weir_log_level level, const char *text);
typedef bool (*weir_stop_fn)(void *ud);

typedef struct weir_config {
    weir_alloc_fn alloc;     /* NULL: realloc and free */
    weir_log_fn log;         /* NULL: silent */
    void *ud;                /* handed to alloc, log and stop */
    weir_log_level log_level;/* most verbose level that is logged; 0: WEIR_LOG_WARNING */
    const char *cache_dir;   /* NULL: $XDG_CACHE_HOME/weir, else $HOME/.cache/weir; "": no disk cache */
    const char *nvrtc_path;  /* NULL: searched (loader path, $CUDA_HOME, /usr/local/cuda*, pip's nvidia folders) */
    const char *driver_path; /* NULL: libcuda.so.1 */
    const char *cxx;         /* host C++ compiler of the simulator; NULL: $WEIR_CXX, then c++, g++, clang++ */
    weir_stop_fn stop;       /* asked every few milliseconds of a run in the simulator; true ends it with E_SIM. It may not call weir. NULL: never */
} weir_config;

WEIR_API weir_ctx *weir_open(const weir_config *config); /* config may be NULL; NULL on lack of memory */
WEIR_API void weir_close(weir_ctx *ctx);                 /* closes everything still open in it */
WEIR_API const char *weir_error(const weir_ctx *ctx);    /* text of the last failed call, "" if none */
WEIR_API weir_status weir_error_status(const weir_ctx *ctx); /* of that call: what a call that returns NULL failed with */
WEIR_API const char *weir_status_name(weir_status st);
WEIR_API size_t weir_live_bytes(const weir_ctx *ctx);    /* bytes held from the allocator */

/* ---- kernel ------------------------------------------------------------------------------------------------------------- */

typedef enum weir_arch { WEIR_ARCH_DEFAULT = 0, WEIR_ARCH_SM_80 = 80, WEIR_ARCH_SM_90A = 90, WEIR_ARCH_SM_100A = 100 } weir_arch;
/* ORDER DTYPE: src/value.c keeps names and sizes in this order */
typedef enum weir_dtype {
    WEIR_DTYPE_NONE = 0,
    WEIR_BOOL, WEIR_I8, WEIR_U8, WEIR_I16, WEIR_U16, WEIR_I32, WEIR_U32, WEIR_I64, WEIR_U64,
    WEIR_F16, WEIR_BF16, WEIR_F32, WEIR_F64, WEIR_TF32, WEIR_E4M3, WEIR_E5M2,
    WEIR_DTYPE_COUNT
} weir_dtype;
WEIR_API const char *weir_dtype_name(weir_dtype t);            /* "bf16", ...; "none" */
WEIR_API weir_dtype weir_dtype_from_name(const char *name);    /* WEIR_DTYPE_NONE if unknown */
WEIR_API int weir_dtype_size(weir_dtype t);                    /* bytes */
/* A plain number as the dtype holds it: cut toward zero for integers, to nearest even for floats. False, *out untouched: it does not fit. */
WEIR_API bool weir_dtype_number(weir_dtype t, double x, double *out);

/* A value: dim, scalar, coordinate, loop index, read, arithmetic, view. Id 0 is "none". Valid within its kernel. */
typedef struct weir_value { uint32_t id; } weir_value;

typedef struct weir_cluster { int v, m, n, k; } weir_cluster;  /* CTAs along each axis; 0 counts as 1. v: that share one mma, 1 or (sm_100a) 2 */

typedef struct weir_kernel_desc {
    const char *name;        /* a C identifier */
    weir_arch arch;
    weir_cluster cluster;
    int ctas_per_sm;         /* CTAs that are to share an SM: bounds registers and shared memory; 0: 1 */
} weir_kernel_desc;

WEIR_API weir_kernel *weir_kernel_new(weir_ctx *ctx, const weir_kernel_desc *desc); /* NULL: weir_error() */
WEIR_API void weir_kernel_free(weir_kernel *k);
WEIR_API const char *weir_kernel_name(const weir_kernel *k);

/* The author's place of the calls that follow: innermost first (the line that wrote the op, then its caller, ...).
 * C hosts write WEIR_AT(k); before a call. The first place given is that of the kernel itself: give it after weir_kernel_new. */
typedef struct weir_place { const char *file; int line; } weir_place;
WEIR_API weir_place weir_kernel_place(const weir_kernel *k); /* of the kernel itself; file NULL: none was given */
WEIR_API void weir_at(weir_kernel *k, const weir_place *chain, int n);
#define WEIR_AT(k) weir_at((k), &(weir_place){ __FILE__, __LINE__ }, 1)
/* Records a fault the caller found itself (bad type of an option, say); `rule` may be NULL. Shown with the others. */
WEIR_API void weir_fault(weir_kernel *k, const char *rule, const char *text, const char *hint);

/* Sizes bound at launch. max = 0: none. multiple = 0: 1. */
typedef struct weir_dim_desc { const char *name; int64_t min, max, multiple; } weir_dim_desc;
WEIR_API weir_value weir_dim(weir_kernel *k, const weir_dim_desc *desc);
typedef struct weir_scalar_desc { const char *name; weir_dtype dtype; } weir_scalar_desc;
WEIR_API weir_value weir_scalar(weir_kernel *k, const weir_scalar_desc *desc);
/* CTA coordinates: 'v', 'm', 'n', 'k', or 'r' for the rank in the cluster. */
WEIR_API weir_value weir_cta(weir_kernel *k, char axis);
/* Promised by the caller, checked at launch, known to the proof. */
WEIR_API void weir_assume(weir_kernel *k, weir_value condition);

typedef struct weir_tensor_desc {
    const char *name;
    weir_dtype dtype;
    int rank;                             /* 1..5 */
    weir_value shape[WEIR_MAX_RANK];      /* outermost first, elements */
    weir_value stride[WEIR_MAX_RANK];     /* elements; none: as launched. The innermost stride is 1 */
    bool out;                             /* may be written */
} weir_tensor_desc;
WEIR_API weir_tensor *weir_tensor_new(weir_kernel *k, const weir_tensor_desc *desc);

/* ---- values ------------------------------------------------------------------------------------------------------------- */

/* ORDER OP: src/value.c */
typedef enum weir_op {
    WEIR_OP_NONE = 0,
    /* leaves */
    WEIR_OP_INT, WEIR_OP_FLOAT, WEIR_OP_DIM, WEIR_OP_SCALAR, WEIR_OP_CTA, WEIR_OP_INDEX /* loop */, WEIR_OP_COORD /* tile */,
    WEIR_OP_BEFORE /* ... that the task had before */, WEIR_OP_QUEUE_INDEX /* linear tile of a raster */, WEIR_OP_RETURN /* of a work body */, WEIR_OP_ROW, WEIR_OP_COL,
    /* arithmetic: // and % round towards minus infinity */
    WEIR_OP_ADD, WEIR_OP_SUB, WEIR_OP_MUL, WEIR_OP_DIV, WEIR_OP_IDIV, WEIR_OP_MOD, WEIR_OP_NEG, WEIR_OP_CEIL_DIV,
    WEIR_OP_MIN, WEIR_OP_MAX, WEIR_OP_ABS, WEIR_OP_EXP, WEIR_OP_EXP2, WEIR_OP_LOG2, WEIR_OP_RCP, WEIR_OP_RSQRT, WEIR_OP_TANH,
    WEIR_OP_LT, WEIR_OP_LE, WEIR_OP_GT, WEIR_OP_GE, WEIR_OP_EQ, WEIR_OP_NE, WEIR_OP_AND, WEIR_OP_OR, WEIR_OP_NOT,
    WEIR_OP_SELECT, WEIR_OP_CAST,
    /* register tiles */
    WEIR_OP_READ_REG /* r:read() */, WEIR_OP_ROW_MAX, WEIR_OP_ROW_MIN, WEIR_OP_ROW_SUM, WEIR_OP_TILE_COLS /* t:cols(first, count) */,
    /* views */
    WEIR_OP_VIEW_READ /* stage of s waited for `back` waits ago */, WEIR_OP_VIEW_AT, WEIR_OP_VIEW_FROM, WEIR_OP_VIEW_SUB,
    WEIR_OP_VIEW_ROWS, WEIR_OP_VIEW_COLS, WEIR_OP_VIEW_T, WEIR_OP_VIEW_LIMIT, WEIR_OP_VIEW_TILE /* a work tile as a place */,
    WEIR_OP_LOAD /* v:load() */,
    WEIR_OP_COUNT
} weir_op;

WEIR_API weir_value weir_int(weir_kernel *k, int64_t x);
WEIR_API weir_value weir_float(weir_kernel *k, double x);
/* Arithmetic: shapes spread as in numpy; a fault if they do not fit. CAST: see weir_cast. */
WEIR_API weir_value weir_apply(weir_kernel *k, weir_op op, const weir_value *args, int n);
WEIR_API weir_value weir_cast(weir_kernel *k, weir_value x, weir_dtype to);
WEIR_API weir_value weir_row_reduce(weir_kernel *k, weir_op op, weir_value tile, int n);        /* n = 1 or 4 columns kept */
WEIR_API weir_value weir_tile_cols(weir_kernel *k, weir_value tile, int first, int count);      /* of a register tile value */
WEIR_API weir_value weir_reg_read(weir_kernel *k, weir_res *reg);
WEIR_API weir_value weir_row_index(weir_kernel *k, weir_res *reg);                              /* { rows, 1 } i32 */
WEIR_API weir_value weir_col_index(weir_kernel *k, weir_res *reg);                              /* { 1, cols } i32 */

typedef enum weir_value_kind { WEIR_VALUE_NONE = 0, WEIR_VALUE_SCALAR, WEIR_VALUE_TILE, WEIR_VALUE_VIEW, WEIR_VALUE_COND } weir_value_kind;
typedef struct weir_value_info { weir_value_kind kind; weir_op op; weir_dtype dtype; int rows, cols; bool uniform; } weir_value_info;
WEIR_API weir_value_info weir_value_get(const weir_kernel *k, weir_value v);
/* Text of a value in the author's names ("ceil_div(K, 64)"); returns its length, writes at most size bytes. */
WEIR_API size_t weir_value_text(const weir_kernel *k, weir_value v, char *out, size_t size);

/* Views. Indices are values, outermost first. */
WEIR_API weir_value weir_view_at(weir_kernel *k, weir_res *gmem, const weir_value *tile_index, int n);
WEIR_API weir_value weir_view_from(weir_kernel *k, weir_res *gmem, const weir_value *element, int n);
WEIR_API weir_value weir_view_read(weir_kernel *k, weir_res *smem, int back);
WEIR_API weir_value weir_view_sub(weir_kernel *k, weir_res *smem, weir_value view, weir_value i);   /* one of smem, view is none */
WEIR_API weir_value weir_view_rows(weir_kernel *k, weir_value view, int first, int count);
WEIR_API weir_value weir_view_cols(weir_kernel *k, weir_value view, int first, int count);
WEIR_API weir_value weir_view_t(weir_kernel *k, weir_value view);
WEIR_API weir_value weir_view_limit(weir_kernel *k, weir_value view, weir_value n);
WEIR_API weir_value weir_view_load(weir_kernel *k, weir_value view);

/* ---- pipelines ---------------------------------------------------------------------------------------------------------- */

typedef enum weir_pipe_type {
    WEIR_PIPE_NONE = 0,
    WEIR_ASYNC_ASYNC, WEIR_TMA_ASYNC, WEIR_TMA_UMMA, WEIR_UMMA_ASYNC, WEIR_ASYNC_UMMA, WEIR_UMMA_UMMA, WEIR_CLC_FETCH_ASYNC,
    WEIR_ASYNC_TMA,
    WEIR_PIPE_COUNT
} weir_pipe_type;
typedef enum weir_grain { WEIR_GRAIN_DEFAULT = 0, WEIR_GRAIN_THREAD, WEIR_GRAIN_WARP, WEIR_GRAIN_WARPGROUP } weir_grain;
typedef enum weir_signal { WEIR_SIGNAL_DEFAULT = 0, WEIR_SIGNAL_ALL = 1, WEIR_SIGNAL_CTA_LEADER = 2, WEIR_SIGNAL_TASK_WARP_LEADER = 4 } weir_signal;
typedef enum weir_producer_op { WEIR_PRODUCER_DEFAULT = 0, WEIR_PRODUCER_THREAD, WEIR_PRODUCER_LOAD /* cp.async; left out, derived from the work */ } weir_producer_op;

/* Zero means: derived. Given values are checked against the derived ones. */
typedef struct weir_pipe_desc {
    weir_pipe_type type;
    int stages;                  /* at least 1, nothing derives it */
    int64_t bytes;               /* armed per stage; -1 cannot be given */
    int producers, consumers;    /* arrivals per phase */
    weir_cluster cta_layout;     /* all zero: the kernel's cluster */
    int producer_signaling, consumer_signaling, consumer_wait_signaling; /* weir_signal bits */
    int interleave[4];           /* acquire, commit, wait, release; 0: 1 */
    int advance_on_wait, advance_on_acquire;  /* 0 derived, 1 yes, -1 no */
    weir_producer_op producer_op;
    int64_t bytes_per_warp_per_cta;
    weir_grain grain, producer_grain;
} weir_pipe_desc;

/* ---- resources ---------------------------------------------------------------------------------------------------------- */

typedef struct weir_gmem_tile_desc { const char *name; weir_tensor *tensor; int rank; int tile[WEIR_MAX_RANK]; } weir_gmem_tile_desc;
WEIR_API weir_res *weir_gmem_tile(weir_kernel *k, const weir_gmem_tile_desc *desc);

typedef struct weir_smem_tile_desc {
    const char *name;
    weir_dtype dtype;
    int rank;                    /* 0: as many as there are nonzero tile entries */
    int tile[WEIR_MAX_RANK];     /* elements, outermost first */
    int swizzle;                 /* span in bytes: 0, 32, 64, 128 */
    weir_pipe_desc pipeline;     /* type NONE: one stage, no barrier */
    weir_res *storage;           /* the bytes of another tile, under own barriers */
} weir_smem_tile_desc;
WEIR_API weir_res *weir_smem_tile(weir_kernel *k, const weir_smem_tile_desc *desc);

typedef struct weir_reg_tile_desc { const char *name; weir_dtype dtype; int tile[2]; } weir_reg_tile_desc;
WEIR_API weir_res *weir_reg_tile(weir_kernel *k, const weir_reg_tile_desc *desc);
/* split: what the warpgroups of a task share out: 'm' (default) rows, 'n' columns. One task has one split, for all its register tiles. */
typedef struct weir_wgmma_tile_desc { const char *name; int tile[2]; char split; } weir_wgmma_tile_desc;
WEIR_API weir_res *weir_wgmma_tile(weir_kernel *k, const weir_wgmma_tile_desc *desc);
typedef struct weir_tmem_tile_desc { const char *name; int tile[2]; weir_pipe_desc pipeline; } weir_tmem_tile_desc;
WEIR_API weir_res *weir_tmem_tile(weir_kernel *k, const weir_tmem_tile_desc *desc);

typedef struct weir_barrier_desc { const char *name; weir_pipe_desc pipeline; } weir_barrier_desc;
WEIR_API weir_res *weir_barrier(weir_kernel *k, const weir_barrier_desc *desc);
WEIR_API weir_res *weir_pdl_wait(weir_kernel *k, const char *name);
WEIR_API weir_res *weir_pdl_launch(weir_kernel *k, const char *name);

typedef enum weir_queue_kind { WEIR_QUEUE_STATIC = 0, WEIR_QUEUE_ATOMIC, WEIR_QUEUE_CLC, WEIR_QUEUE_GRID } weir_queue_kind;
typedef enum weir_raster { WEIR_RASTER_ROW = 0, WEIR_RASTER_COLUMN, WEIR_RASTER_GROUPED, WEIR_RASTER_CUSTOM } weir_raster;
typedef struct weir_queue_desc {
    const char *name;
    weir_queue_kind kind;
    weir_tensor *over;                    /* axes m, n (rank 3: l, m, n), extent ceil_div(shape, tile) */
    int tile[WEIR_MAX_RANK];              /* with over */
    int rank;                             /* without: axes and extent by hand */
    const char *axes[WEIR_MAX_RANK];
    weir_value extent[WEIR_MAX_RANK];
    weir_raster raster;
    int group;                            /* WEIR_RASTER_GROUPED: rows of tiles side by side; 0: 8 */
    weir_pipe_desc pipeline;              /* stages of a dynamic queue */
} weir_queue_desc;
WEIR_API weir_res *weir_work_queue(weir_kernel *k, const weir_queue_desc *desc);
/* WEIR_RASTER_CUSTOM: index() is the linear tile number; extent(axis) how many there are along an axis; then set the coordinates. With
 * clusters all three count clusters' worth of tiles: a CTA adds its own place. */
WEIR_API weir_value weir_queue_index(weir_kernel *k, weir_res *queue);
WEIR_API int weir_queue_rank(const weir_res *queue);
WEIR_API const char *weir_queue_axis(const weir_res *queue, int i);
WEIR_API weir_value weir_queue_extent(weir_kernel *k, weir_res *queue, int axis);
WEIR_API void weir_queue_set_raster(weir_kernel *k, weir_res *queue, const weir_value *coord, int n);

/* Custom resources: the author's CUDA with a declared interface. */
typedef enum weir_side { WEIR_SIDE_PRODUCER = 0, WEIR_SIDE_CONSUMER = 1 } weir_side;
typedef struct weir_work_def {
    const char *name;            /* method */
    weir_side side;
    const char *code;            /* CUDA */
    const char *params;          /* "view up, i32 row, const int slot" or NULL */
    const char *returns;         /* "f32 v, uniform i32 n" or NULL */
    const char *file; int line;  /* where the code's first line stands, for #line */
    int64_t tx_bytes;            /* bytes it moves on the stage's full barrier */
    bool async_read;             /* reads the stage asynchronously */
    bool aux;
} weir_work_def;
typedef struct weir_bind { const char *name; weir_tensor *tensor; } weir_bind;
typedef struct weir_const { const char *name; double value; bool is_int; } weir_const;
typedef enum weir_space { WEIR_SPACE_NONE = 0, WEIR_SPACE_GMEM, WEIR_SPACE_SMEM } weir_space;
typedef struct weir_resource_desc {
    const char *name;
    weir_space space;
    weir_dtype dtype; int rank; int tile[WEIR_MAX_RANK]; int swizzle;   /* smem: storage of a stage */
    weir_pipe_desc pipeline;
    const weir_bind *bind; int nbind;
    const weir_const *consts; int nconsts;
    const weir_work_def *work; int nwork;
} weir_resource_desc;
WEIR_API weir_res *weir_resource(weir_kernel *k, const weir_resource_desc *desc);

WEIR_API const char *weir_res_name(const weir_res *r);
typedef enum weir_res_kind {
    WEIR_RES_NONE = 0, WEIR_RES_GMEM, WEIR_RES_SMEM, WEIR_RES_REG, WEIR_RES_WGMMA, WEIR_RES_TMEM, WEIR_RES_QUEUE, WEIR_RES_CUSTOM,
    WEIR_RES_BARRIER, WEIR_RES_PDL_WAIT, WEIR_RES_PDL_LAUNCH, WEIR_RES_GROUP, WEIR_RES_MEMBER
} weir_res_kind;
WEIR_API weir_res_kind weir_res_get_kind(const weir_res *r);
/* The named work methods of a resource (custom and built in), for messages and completion: NULL past the end. */
WEIR_API const char *weir_res_method(const weir_res *r, int i);
/* Why `name` cannot be called on r: the rule's id; *text says it, without place or hint, and lives as long as the kernel. */
WEIR_API const char *weir_res_no_method(weir_kernel *k, const weir_res *r, const char *name, const char **text);

/* ---- groups ------------------------------------------------------------------------------------------------------------- */

typedef enum weir_group_mode { WEIR_GROUP_DEFAULT = 0, WEIR_GROUP_MERGE, WEIR_GROUP_FORK, WEIR_GROUP_FUSED_MERGE } weir_group_mode;
typedef struct weir_group_desc {
    const char *name;
    weir_group_mode mode;            /* DEFAULT: derived from the members' kinds */
    weir_res *const *members; int nmembers;
    weir_pipe_desc pipeline;         /* type NONE: derived; what it gives holds for members that leave it out, and is checked */
    bool fold;                       /* fused merge: one arrive with summed bytes where one warp arms several members */
} weir_group_desc;
/* NULL, with the reason in weir_error(), when the members do not fit; they are left untouched. */
WEIR_API weir_res *weir_group(weir_kernel *k, const weir_group_desc *desc);
WEIR_API weir_res *weir_group_member(weir_res *group, const char *name); /* seen through the group; NULL: no such member */
WEIR_API weir_group_mode weir_group_get_mode(const weir_res *group);
WEIR_API bool weir_group_is_heterogeneous(const weir_res *group);       /* members of more than one pipeline type */
WEIR_API int weir_group_barriers_per_stage(const weir_res *group);      /* fused merge: 2; else one per member and a shared one */
WEIR_API weir_pipe_desc weir_group_get_pipeline(const weir_res *group); /* what moves on the group follow; as with a desc, 0 is derived */

/* ---- dependency graph, memory ------------------------------------------------------------------------------------------- */

/* Pairs are added one by one; without any the graph is derived. (NULL, NULL, 0) is an empty graph, a fault. */
WEIR_API void weir_depends(weir_kernel *k, weir_res *down, weir_res *const *up, int n);
/* Of the releases of `up` that the edge to `down` is about: those after work of up named here. Without, every release is. */
WEIR_API void weir_release_after(weir_kernel *k, weir_res *up, weir_res *down, const char *const *work, int n);
typedef struct weir_phase { weir_res *const *res; int n; } weir_phase;
WEIR_API void weir_alias(weir_kernel *k, const weir_phase *phases, int n);

/* ---- tasks and schedules ------------------------------------------------------------------------------------------------ */

typedef struct weir_task_desc {
    const char *name;
    int first_warp, num_warps;
    int registers;                       /* per thread after the split; 0: derived */
    bool on_cta; int cta[4];             /* only CTAs with these v, m, n, k coordinates; -1: any */
    weir_res *const *src; int nsrc;      /* NULL: derived */
    weir_res *const *dst; int ndst;
} weir_task_desc;
WEIR_API void weir_task_begin(weir_kernel *k, const weir_task_desc *desc);
WEIR_API void weir_task_end(weir_kernel *k);

WEIR_API weir_value weir_loop_begin(weir_kernel *k, weir_value start, weir_value stop, weir_value step, int unroll);
typedef enum weir_guard_kind {
    WEIR_GUARD_FIRST = 1, WEIR_GUARD_LAST, WEIR_GUARD_EVERY, WEIR_GUARD_TRUE, WEIR_GUARD_FALSE,
    WEIR_GUARD_PREVIOUS_TILE, WEIR_GUARD_LAST_TILE   /* begun by functions of their own, below */
} weir_guard_kind;
typedef struct weir_guard_desc {
    weir_guard_kind kind;
    weir_value of;                       /* loop index, or the condition */
    int period, start;                   /* EVERY */
    const char *key;                     /* TRUE, FALSE: equal keys fire together in every task; NULL: by structure */
} weir_guard_desc;
WEIR_API void weir_guard_begin(weir_kernel *k, const weir_guard_desc *desc);
/* The work-tile loop; coordinates with weir_tile_coord, place with weir_tile_place. */
typedef struct weir_tiles { uint32_t id; } weir_tiles;
WEIR_API weir_tiles weir_tiles_begin(weir_kernel *k, weir_res *queue, int lane, int lanes);
WEIR_API void weir_tiles_skip(weir_kernel *k, weir_tiles t, weir_value condition);   /* right after tiles_begin */
WEIR_API weir_value weir_tile_coord(weir_kernel *k, weir_tiles t, int axis);
WEIR_API weir_value weir_tile_place(weir_kernel *k, weir_tiles t);
WEIR_API void weir_skippable_begin(weir_kernel *k, weir_tiles t);
/* Guards that give the tile this task had before the one it is in: in the work-tile loop over the queue, its body runs unless this is the
 * task's first; and the last it had: behind the loop, its body runs if there was one. Coordinates and place as of a work tile. */
WEIR_API weir_tiles weir_previous_tile_begin(weir_kernel *k, weir_res *queue);
WEIR_API weir_tiles weir_last_tile_begin(weir_kernel *k, weir_res *queue);
WEIR_API void weir_block_end(weir_kernel *k, bool broken);   /* innermost loop, guard, tile loop, skippable; broken: left by break or error */

typedef enum weir_move {
    WEIR_TRY_ACQUIRE = 1, WEIR_ACQUIRE, WEIR_COMMIT, WEIR_TRY_WAIT, WEIR_WAIT, WEIR_RELEASE
} weir_move;
/* n: release and commit keep the n newest held stages; -1: give back the oldest. */
WEIR_API void weir_do(weir_kernel *k, weir_res *r, weir_move move, int n);

typedef enum weir_multicast { WEIR_MULTICAST_NONE = 0, WEIR_MULTICAST_M = 1, WEIR_MULTICAST_N = 2, WEIR_MULTICAST_MN = 3 } weir_multicast;
typedef struct weir_work_desc {
    const weir_value *args; int nargs;   /* in declared order; none entries: by name below */
    const char *const *names;            /* NULL or a name per argument (custom bodies) */
    int multicast;                       /* weir_multicast */
    bool issue_first;                    /* of a multicast: false: each CTA its slice; true: the first CTA the whole tile for all, the
                                            others arm and wait. Releases then reach the own CTA and the one that loads */
    const char *cache;                   /* NULL, "evict_first", "evict_last" */
    weir_value k; bool has_k;            /* push: the CTA along k that it goes to, by numbers and weir_cta */
} weir_work_desc;
/* Work on what is written: "tma_load", "cp_async", "store", "tma_store", "tma_reduce_add", "push", "zero", "mma", "set", "drain",
 * "wait_griddep", "launch_griddep", queue steps, or a custom method. `ret` receives up to max values; the count is returned.
 * "push" (args: a view in shared memory, and a slab of r unless it is the whole stage) copies into the stage of r of another CTA: acquire
 * waits until it has been released there and arms its mbarrier; what was pushed may be overwritten once the stage is acquired again. */
WEIR_API int weir_work(weir_kernel *k, weir_res *r, const char *method, const weir_work_desc *desc, weir_value *ret, int max);
WEIR_API void weir_drain(weir_kernel *k, weir_res *r, int n);

/* ---- verify, build ------------------------------------------------------------------------------------------------------ */

typedef struct weir_verify_desc { bool no_proof; bool warn_only; } weir_verify_desc;
/* Validates, plans and proves; the report is the caller's, free it with weir_report_free. WEIR_OK, E_INVALID or E_UNSAFE. */
WEIR_API weir_status weir_verify(weir_kernel *k, const weir_verify_desc *desc, weir_report **report);

/* What ptxas notes of a kernel that compiles: registers spilled, wgmma serialised (C75xx), setmaxnreg ignored, warnings. */
typedef enum weir_notes { WEIR_NOTES_WARN = 0 /* logged */, WEIR_NOTES_IGNORE, WEIR_NOTES_ERROR /* compiling fails */ } weir_notes;
typedef struct weir_build_desc {
    weir_device *device;         /* what it is for; NULL: the first GPU, else the simulator */
    weir_notes notes;            /* what becomes of weir_program_notes */
    bool warn_only;              /* errors of validation become warnings */
    bool unsafe;                 /* builds what was refused, if it can be planned: for the simulator and the watchdog */
    double watchdog;             /* seconds a wait may last on a GPU before the kernel gives up and says where; 0: for ever */
} weir_build_desc;
/* validate, plan, prove, emit. Device code is compiled at the first launch, by weir_program_cubin or _export. */
WEIR_API weir_status weir_build(weir_kernel *k, const weir_build_desc *desc, weir_program **program, weir_report **report);
WEIR_API void weir_program_free(weir_program *p);
WEIR_API const char *weir_program_name(const weir_program *p);
WEIR_API const char *weir_program_source(const weir_program *p);          /* CUDA C++ after the preamble */
WEIR_API const char *weir_program_full_source(weir_program *p);           /* as NVRTC gets it */
WEIR_API weir_status weir_program_cubin(weir_program *p, const void **data, size_t *size);  /* compiles for the kernel's arch */
WEIR_API weir_status weir_program_ptx(weir_program *p, const char **text);
WEIR_API const char *weir_program_log(const weir_program *p);             /* of the last compilation */
WEIR_API const char *weir_program_notes(const weir_program *p);           /* what it notes that costs speed, with the compiler's version; "" nothing */
WEIR_API weir_status weir_program_export(weir_program *p, const char *dir);  /* NAME.cubin and NAME.h for a host without weir */
/* times of the last build, milliseconds; compile: nvrtc, which NVRTC itself took, opening it and compiling, and the cache on disk */
typedef struct weir_times { double validate, plan, prove, emit, compile, nvrtc, load; bool cache_hit; } weir_times;
WEIR_API weir_times weir_program_times(const weir_program *p);
/* The compiled kernels on disk, as this context has met them so far. Misses: `absent` of a name that has no entry yet,
 * `changed` of one that has entries of another source, target, compiler or weir, `damaged` of an entry that was not whole.
 * why: of the last one, "" none. */
typedef struct weir_cache { const char *dir; int hits, misses, absent, changed, damaged; const char *why; } weir_cache;
WEIR_API weir_cache weir_cache_stats(weir_ctx *ctx);

/* ---- report ------------------------------------------------------------------------------------------------------------- */

typedef enum weir_severity { WEIR_NOTE = 1, WEIR_WARNING, WEIR_ERROR } weir_severity;
typedef struct weir_finding {
    const char *rule;            /* id in src/rules.h */
    weir_severity severity;
    const char *message;         /* one line, without place */
    const char *hint;            /* the change that mends it, or NULL */
    const char *file; int line;  /* the author's place; NULL, 0: none */
    const char *other_file; int other_line; const char *other_what;   /* the second place, or NULL */
    const char *objects[4];      /* names */
    const char *expected, *got;  /* or NULL */
} weir_finding;
typedef enum weir_verdict { WEIR_NOT_PROVED = 0, WEIR_SAFE, WEIR_SAFE_BOUNDED, WEIR_UNSAFE, WEIR_INCOMPLETE } weir_verdict;
typedef struct weir_proof { weir_verdict verdict; const char *text; const char *trace; uint64_t states; double ms; } weir_proof;
WEIR_API bool weir_report_ok(const weir_report *r);
WEIR_API int weir_report_count(const weir_report *r);
WEIR_API const weir_finding *weir_report_get(const weir_report *r, int i);   /* sorted by file and line */
WEIR_API const weir_proof *weir_report_proof(const weir_report *r);
WEIR_API const char *weir_report_text(const weir_report *r);                 /* the whole report as text */
WEIR_API void weir_report_free(weir_report *r);

/* What the plan decided, as text and as data. Valid after verify or build, until the kernel changes. */
typedef enum weir_print { WEIR_PRINT_ALL = 0, WEIR_PRINT_SCHEDULE, WEIR_PRINT_REGISTERS, WEIR_PRINT_SMEM, WEIR_PRINT_BARRIERS, WEIR_PRINT_PLAN, WEIR_PRINT_CAPTURE, WEIR_PRINT_DOT, WEIR_PRINT_LAUNCH } weir_print;
WEIR_API const char *weir_kernel_print(weir_kernel *k, weir_print what);
/* The barrier protocol with these sizes as a Promela model, which spin searches for orders of threads and copies that hang, race or
 * miscount. Every dim needs a size; tiles: work tiles of each CTA, 0 counts as 1; what sizes do not decide is taken as false. NULL:
 * weir_error(). Valid until the next print. */
typedef struct weir_promela_desc { const char *const *dims; const int64_t *sizes; int n; int tiles; } weir_promela_desc;
WEIR_API const char *weir_kernel_promela(weir_kernel *k, const weir_promela_desc *desc);
typedef struct weir_layout_row { const char *name; int64_t offset, size, align, stage_bytes; int stages; int phase; } weir_layout_row;
WEIR_API int weir_smem_layout(weir_kernel *k, weir_layout_row *rows, int max, int64_t *total);
/* Tensor memory (sm_100a): offset, size and stage_bytes count columns. total: laid out; allocated: a power of two, 0 none. */
WEIR_API int weir_tmem_layout(weir_kernel *k, weir_layout_row *rows, int max, int64_t *total, int64_t *allocated);
typedef struct weir_barrier_row { const char *name; int first, stages; int64_t offset; int arrivals; int64_t tx_bytes; } weir_barrier_row;
WEIR_API int weir_barrier_layout(weir_kernel *k, weir_barrier_row *rows, int max);
/* ---- layouts by hand: what the plan does for its own, for those who lay out themselves ---- */

/* size and align in bytes (tensor memory: columns, align 1). alias 0: none; else records of one alias, in phases from 1 on, share bytes. */
typedef struct weir_place_record { const char *name; int64_t size, align; int alias, phase; int64_t offset /* out */; } weir_place_record;
typedef struct weir_place_desc { weir_arch arch; bool tmem; weir_place_record *records; int n; int mbarriers; /* behind the data */ } weir_place_desc;
/* total: of the data. mbarriers begin at barrier_offset and end at `end`, which is the total when there are none. allocated: tensor memory
 * comes in powers of two */
typedef struct weir_placed { int64_t total, saved, capacity, allocated, barrier_offset, end; } weir_placed;
WEIR_API weir_status weir_place_records(weir_ctx *ctx, const weir_place_desc *desc, weir_placed *out);
/* Bytes of a tile in shared memory, times its stages, and what its base must be a multiple of. threads: TMA never touches it. */
typedef struct weir_tile_desc { weir_dtype dtype; int tile[WEIR_MAX_RANK]; int rank, swizzle, stages; bool threads; } weir_tile_desc;
WEIR_API weir_status weir_tile_bytes(weir_ctx *ctx, const weir_tile_desc *desc, int64_t *bytes, int64_t *align);
/* mbarriers in one array, by arrivals, which runs of equal arrivals initialise. runs: at least n. */
typedef struct weir_barrier_record { const char *name; int count, arrivals; int first /* out */; char text[96]; } weir_barrier_record;
typedef struct weir_barrier_run { int begin, end, arrivals; } weir_barrier_run;
WEIR_API weir_status weir_place_barriers(weir_ctx *ctx, weir_barrier_record *records, int n, weir_barrier_run *runs, int *nruns, int *used);
/* The mbarriers of a pipeline (mode DEFAULT, one member) or of a group: at most 2 n records. The names are in `text`. -1: the members
 * count differently on the side that they share. */
typedef struct weir_barrier_member { const char *name; int producers, consumers; } weir_barrier_member;
typedef struct weir_barrier_set { const char *name; weir_group_mode mode; int stages; const weir_barrier_member *members; int n; } weir_barrier_set;
WEIR_API int weir_barrier_records(const weir_barrier_set *set, weir_barrier_record *out);

/* Who arrives on the mbarriers of a pipelined resource or a group, how often, with how many bytes, and the sum the counts come from.
 * As weir_kernel_print: valid until its next call; NULL on lack of memory. */
WEIR_API const char *weir_explain(weir_kernel *k, const weir_res *r);
/* The same of a pipeline type alone, between one task that fills and one that empties. */
typedef struct weir_explain_desc {
    weir_pipe_desc pipeline;
    weir_arch arch;              /* DEFAULT: sm_90a */
    weir_cluster cluster;
    int producer_warps, consumer_warps;   /* 0: 1 and 4, of an mma those that issue it */
    int multicast;               /* weir_multicast: axes along which a load serves other CTAs */
    int64_t bytes;               /* that the copies of one stage bring to a CTA, 0 not known */
    bool mma_reads;              /* threads empty the stage by wgmma alone */
} weir_explain_desc;
/* Returns the text's length, writes at most size bytes. */
WEIR_API size_t weir_explain_pipeline(weir_ctx *ctx, const weir_explain_desc *desc, char *out, size_t size);

/* ---- devices ------------------------------------------------------------------------------------------------------------ */

/* index -1: the simulator. seed 0: 1. */
typedef struct weir_device_desc { int index; uint64_t seed; int sms; /* simulated CTAs that run at once; 0: 8 */ } weir_device_desc;
WEIR_API weir_device *weir_device_open(weir_ctx *ctx, const weir_device_desc *desc);   /* NULL desc: first GPU, else simulator */
WEIR_API void weir_device_close(weir_device *d);
WEIR_API int weir_device_count(weir_ctx *ctx);                 /* GPUs; 0 with no driver, the reason in weir_error */
WEIR_API bool weir_device_is_sim(const weir_device *d);
WEIR_API const char *weir_device_name(const weir_device *d);
WEIR_API int weir_device_sms(const weir_device *d);
WEIR_API weir_status weir_device_sync(weir_device *d);
/* A launch on this simulator is run `seeds` times from now on, with its own seed and those that follow, until one fails; from the same
 * inputs each time. 1: once. */
WEIR_API weir_status weir_device_explore(weir_device *d, int seeds);
WEIR_API uint64_t weir_device_seed(const weir_device *d);      /* simulator: of the last run; a device of this seed runs it again */
/* What the simulator found in the last run, or the watchdog on a GPU: text, "" if nothing. */
WEIR_API const char *weir_device_findings(const weir_device *d);

/* A tensor in device memory. Rows are padded so that the pitch is a multiple of `pitch` bytes (default 16). */
typedef struct weir_buffer_desc { weir_dtype dtype; int rank; int64_t shape[WEIR_MAX_RANK]; int pitch; } weir_buffer_desc;
WEIR_API weir_buffer *weir_buffer_new(weir_device *d, const weir_buffer_desc *desc);
WEIR_API void weir_buffer_free(weir_buffer *b);
WEIR_API weir_dtype weir_buffer_dtype(const weir_buffer *b);
WEIR_API int weir_buffer_rank(const weir_buffer *b);
WEIR_API int64_t weir_buffer_shape(const weir_buffer *b, int axis);
WEIR_API int64_t weir_buffer_stride(const weir_buffer *b, int axis);   /* elements */
WEIR_API uint64_t weir_buffer_address(const weir_buffer *b);
WEIR_API weir_status weir_buffer_write(weir_buffer *b, const void *packed, size_t bytes);   /* without padding */
WEIR_API weir_status weir_buffer_read(const weir_buffer *b, void *packed, size_t bytes);
/* Numbers are converted: floats to nearest even; what an integer dtype does not hold (a fraction, NaN, 300 in u8) is refused. */
WEIR_API weir_status weir_buffer_write_f64(weir_buffer *b, const double *x, size_t n);
WEIR_API weir_status weir_buffer_read_f64(const weir_buffer *b, double *x, size_t n);
WEIR_API weir_status weir_buffer_fill(weir_buffer *b, double x);   /* the same */
WEIR_API weir_status weir_buffer_randn(weir_buffer *b, uint64_t seed);

/* ---- launch ------------------------------------------------------------------------------------------------------------- */

/* An argument by name: a buffer, a foreign address with its shape and strides (a tensor), or a number (dim or scalar). */
typedef enum weir_memory { WEIR_MEMORY_UNKNOWN = 0, WEIR_MEMORY_HOST, WEIR_MEMORY_GPU } weir_memory;
typedef struct weir_arg {
    const char *name;
    const weir_buffer *buffer;
    uint64_t address; int rank; int64_t shape[WEIR_MAX_RANK], stride[WEIR_MAX_RANK]; weir_dtype dtype; /* foreign; strides all 0: packed; rank 0: dims as arguments */
    double number; bool is_number;
    weir_memory memory; int gpu; /* where the foreign address is, when that is known: a launch that cannot reach it is refused */
    bool read_only;              /* foreign: refused for an `out` tensor */
    int64_t integer; bool is_integer; /* with is_number: the number itself, where a double may not hold it (i64; of u64 the 64 bits) */
} weir_arg;
/* Another library's tensor as an argument, through DLPack (dlpack.h): a DLManagedTensor, or with `versioned` a DLManagedTensorVersioned of
 * version 1.x. Fills in all of *out but the name and keeps nothing. E_ARGUMENT: a device, dtype or rank that weir has not.
 * Release calls its deleter: when the last launch that uses it is done. */
WEIR_API weir_status weir_dlpack_arg(weir_ctx *ctx, const void *managed, bool versioned, weir_arg *out);
WEIR_API void weir_dlpack_release(void *managed, bool versioned);
typedef struct weir_launch_desc {
    const weir_arg *args; int nargs;
    void *stream;                /* CUstream; NULL: the default stream */
    int grid;                    /* CTAs; 0: derived */
    weir_device *device;         /* NULL: the build's, else that of the tensors */
    bool pdl;                    /* programmatic stream serialization */
} weir_launch_desc;
/* Asynchronous on a GPU; done on return in the simulator. E_LAUNCH: weir_error names the argument, both numbers. */
WEIR_API weir_status weir_launch(weir_program *p, const weir_launch_desc *desc);
/* Would weir_launch take these sizes? Runs nothing and needs no device. Tensors may come as a shape without an address, or be
 * left out where every dim is given: then they count as packed or, if that is what a launch would refuse, with rows padded to
 * 16 bytes, and *needs (unless NULL) says why. So may scalars of float dtypes. E_LAUNCH: weir_error says what a launch would. */
WEIR_API weir_status weir_accepts(weir_program *p, const weir_launch_desc *desc, const char **needs);
/* Median milliseconds of `reps` launches, events around each (GPU only). */
WEIR_API weir_status weir_time(weir_program *p, const weir_launch_desc *desc, int reps, double *ms);
/* One launch in the simulator with `seeds` seeds from the device's own on. E_SIM: *seed is the first that fails, else 0. */
WEIR_API weir_status weir_explore(weir_program *p, const weir_launch_desc *desc, int seeds, uint64_t *seed);
/* A launch, and when each actor (a warp, a warpgroup, one thread) of the first CTAs did what. In the simulator times are steps, an
 * action of a traced actor each, and tensors may be left out where the dims are given: zeros of the declared shape stand in; on a GPU they are nanoseconds, from a build of its own of the same source, and the launch is waited for. When the run
 * stops early (E_SIM, E_WATCHDOG) there is a timeline up to there; after other failures *out is NULL. */
typedef struct weir_timeline weir_timeline;
typedef struct weir_trace_desc { int ctas; /* that are traced, from 0 on; 0: the first cluster */ } weir_trace_desc;
WEIR_API weir_status weir_trace(weir_program *p, const weir_launch_desc *desc, const weir_trace_desc *trace, weir_timeline **out);
typedef struct weir_span {
    const char *task;            /* NULL: a warp of no task */
    int cta, warp;               /* of the actor: its first warp */
    const char *what;            /* "wait ab_full", "mma acc" */
    int action, nth;             /* id in the plan; how many times this actor has begun it, from 1 */
    int stage;                   /* of the pipeline it is about, -1 none */
    bool waits;                  /* its time is spent waiting */
    bool stuck;                  /* it had not ended when the run stopped */
    const char *file; int line;  /* the author's place; NULL, 0: none */
    double from, to;             /* ns or steps since the first event */
} weir_span;
WEIR_API const char *weir_timeline_unit(const weir_timeline *t);                   /* "ns" or "steps" */
WEIR_API bool weir_timeline_complete(const weir_timeline *t);                      /* false: the end of an actor had no room */
WEIR_API int weir_timeline_count(const weir_timeline *t);
WEIR_API const weir_span *weir_timeline_get(const weir_timeline *t, int i);        /* by actor, then by time */
WEIR_API weir_status weir_timeline_perfetto(weir_timeline *t, const char *path);   /* JSON for ui.perfetto.dev and chrome://tracing */
WEIR_API weir_status weir_timeline_svg(weir_timeline *t, const char *path);
WEIR_API void weir_timeline_free(weir_timeline *t);
/* Binds once, launches many times at least cost: the arguments' addresses may be changed between launches. A launch after weir_buffer_free
 * of a bound tensor is refused until it has another one. */
typedef struct weir_bound weir_bound;
WEIR_API weir_bound *weir_bind_args(weir_program *p, const weir_launch_desc *desc);
/* Another buffer for a tensor: of its dtype, shape and strides, else E_LAUNCH. */
WEIR_API weir_status weir_bound_set_buffer(weir_bound *b, const char *tensor, const weir_buffer *buffer);
/* Another address for a tensor of the same shape and strides, which nothing can check. */
WEIR_API weir_status weir_bound_set_address(weir_bound *b, const char *tensor, uint64_t address);
WEIR_API weir_status weir_bound_launch(weir_bound *b, void *stream);
WEIR_API void weir_bound_free(weir_bound *b);

/* ---- Lua ---------------------------------------------------------------------------------------------------------------- */

struct lua_State;
/* Leaves the module table on the stack of L and returns 1. ctx NULL: a context of its own, closed with the state.
 * Lives in the Lua module (libweir_lua), not in the core. */
WEIR_API int weir_openlib(struct lua_State *L, weir_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
