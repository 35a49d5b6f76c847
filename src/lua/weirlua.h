/* The Lua module, on the public C API alone. It adds no rule and no arithmetic of its own: it reads tables into desc structs,
 * notes the author's lines, and turns what Lua can see by itself (a misspelt name, a wrong type) into an error at that line.
 *
 * Ownership: every object that lives in a kernel holds the kernel's userdata in its first user value, a kernel holds its
 * context's, a buffer its device's; so what C needs stays alive as long as Lua can reach it. */
#ifndef WEIRLUA_H
#define WEIRLUA_H

#include <stdbool.h>
#include <stddef.h>

#include <lauxlib.h>
#include <lua.h>

#include "weir.h"

#if defined(__GNUC__)
#define WEIRL_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define WEIRL_PRINTF(f, a)
#endif

/* ---- userdata: the struct is created closed (NULL), then filled, so that an error in between leaks nothing -------------- */

#define WEIRL_CTX "weir.context"
#define WEIRL_KERNEL "weir.kernel"
#define WEIRL_TENSOR "weir.tensor"     /* a tensor argument of a kernel */
#define WEIRL_RES "weir.resource"      /* also groups and members seen through them */
#define WEIRL_VALUE "weir.value"
#define WEIRL_NOTHING "nothing"        /* what a work call without returns gives: text of the call */
#define WEIRL_TILE "weir.worktile"
#define WEIRL_BLOCK "weir.block"       /* state and closing value of a generic for */
#define WEIRL_CTA "weir.cta"
#define WEIRL_PIPE "weir.pipeline"
#define WEIRL_WORK "weir.work"         /* a table: the definition of a custom body */
#define WEIRL_REPORT "weir.report"
#define WEIRL_PROGRAM "weir.program"
#define WEIRL_BOUND "weir.bound"
#define WEIRL_TIMELINE "weir.timeline"
#define WEIRL_DEVICE "weir.device"
#define WEIRL_BUFFER "weir.buffer"
#define WEIRL_FOREIGN "weir.foreign"   /* another library's tensor */

typedef struct weirl_ctx {
    weir_ctx *c;
    bool owned;
    lua_State *running;                /* in a launch: its hooks may end a run in the simulator */
    int ended;                         /* reference of what a hook raised, LUA_NOREF */
} weirl_ctx;
typedef struct weirl_kernel {          /* user values: context, handles by address, blocks made by the task being captured */
    weir_kernel *k;                    /* NULL once closed */
    weirl_ctx *ctx;
    const char *task;                  /* being captured; NULL: none */
    int nres;                          /* handles made so far */
} weirl_kernel;
typedef struct weirl_tensor { weirl_kernel *kb; weir_tensor *t; } weirl_tensor;              /* kernel, fields */
typedef struct weirl_res {             /* user values: kernel, fields */
    weirl_kernel *kb;
    weir_res *r;
    weir_res_kind kind;                /* of the resource itself, also for a member seen through its group */
    int seq;                           /* declaration order */
} weirl_res;
typedef struct weirl_value { weirl_kernel *kb; weir_value v; } weirl_value;
typedef struct weirl_tile { weirl_kernel *kb; weir_tiles t; weir_res *queue; } weirl_tile;   /* kernel */

/* ---- laux.c: names, errors, places, desc tables ------------------------------------------------------------------------- */

/* The nearest of the names tried. */
typedef struct weirl_near { const char *want, *best; int dist; } weirl_near;
void weirl_near_begin(weirl_near *n, const char *want);
void weirl_near_try(weirl_near *n, const char *name);
const char *weirl_near_text(lua_State *L, const weirl_near *n); /* "; did you mean 'x'?" or "", left on the stack */

/* Raises text at the author's line: the innermost Lua line that is not the module's own. */
int weirl_raise(lua_State *L, const char *fmt, ...) WEIRL_PRINTF(2, 3);
/* nil, weir_error, status name. */
int weirl_fail(lua_State *L, const weirl_ctx *ctx, weir_status st);
/* Hands the author's lines to the core: from the innermost one out to the schedule function, or to the main chunk. */
void weirl_at(lua_State *L, weirl_kernel *kb);
/* Innermost author's line; the file's name is left on the stack. */
const char *weirl_here(lua_State *L, int *line);
/* Where the text of a custom body starts: found in the author's file from the line of the call on, else that line.
 * Leaves the file's name on the stack. */
const char *weirl_code_place(lua_State *L, const char *code, int *line);

/* A desc table: opened once with the names it may hold, then read by name. An unknown or ill-typed field raises. */
typedef struct weirl_desc { lua_State *L; int t; const char *fn; } weirl_desc;
weirl_desc weirl_desc_open(lua_State *L, int idx, const char *fn, const char *const *names);
bool weirl_has(const weirl_desc *d, const char *field);
int weirl_get(const weirl_desc *d, const char *field);                    /* pushes the field, returns its type */
const char *weirl_str(const weirl_desc *d, const char *field);            /* NULL if absent */
const char *weirl_need_str(const weirl_desc *d, const char *field);
int64_t weirl_int64(const weirl_desc *d, const char *field, int64_t def);
int weirl_int(const weirl_desc *d, const char *field, int def);
int weirl_count(const weirl_desc *d, const char *field, int def); /* at least 1 when it is given */
bool weirl_bool(const weirl_desc *d, const char *field, bool def);
int weirl_choice(const weirl_desc *d, const char *field, const char *const *names, int def); /* index in names */
weir_dtype weirl_dtype(const weirl_desc *d, const char *field);           /* NONE if absent */
weir_arch weirl_arch(const weirl_desc *d);                                /* the field "arch"; DEFAULT if absent */
int weirl_ints(const weirl_desc *d, const char *field, int *out, int max);/* how many; 0 if absent */
int weirl_tointx(lua_State *L, int idx, const char *what);                /* an int, or raises */
weir_dtype weirl_todtype(lua_State *L, int idx, const char *what);
void weirl_push_sizes(lua_State *L, const int64_t *x, int n);             /* a table of n integers */
const char *weirl_push_shape(lua_State *L, weir_dtype dtype, const int64_t *shape, int rank); /* "f32 64 x 128" */
void weirl_set_int(lua_State *L, const char *key, int64_t x);             /* of the table on top */
const char *weirl_typename(lua_State *L, int idx);                        /* "string", or a userdata's __name */

/* A new metatable with methods and metamethods; __index is a function when `index` is given, else the methods themselves. */
void weirl_class(lua_State *L, const char *name, const luaL_Reg *meth, const luaL_Reg *metameth, lua_CFunction index);
/* Pushes the method `key` of a class whose __index is a function (its methods are the metatable's field "methods"). */
bool weirl_method(lua_State *L, const char *class_name, const char *key);
void weirl_near_methods(lua_State *L, const char *class_name, weirl_near *n);
void *weirl_new(lua_State *L, size_t size, int nuv, const char *class_name); /* zeroed */

/* ---- lplace.c: layouts by hand, upvalue: context ------------------------------------------------------------------------ */

int weirl_place_records(lua_State *L);
int weirl_place_barriers(lua_State *L);
int weirl_barrier_records(lua_State *L);
int weirl_tile_bytes(lua_State *L);

/* ---- lkernel.c ---------------------------------------------------------------------------------------------------------- */

weirl_kernel *weirl_checkkernel(lua_State *L, int idx);
weirl_kernel *weirl_current(lua_State *L);          /* the kernel whose schedule runs, pushed; or NULL, nothing pushed */
weirl_kernel *weirl_live(lua_State *L, weirl_kernel *kb); /* raises when the kernel was closed */
int weirl_kernel_new(lua_State *L);                 /* weir.kernel, upvalue: context */
int weirl_explain(lua_State *L);                    /* weir.explain, upvalue: context */
int weirl_task(lua_State *L);                       /* k:task; its frame ends the chain of an author's lines */
void weirl_open_kernel(lua_State *L);

/* ---- lresource.c -------------------------------------------------------------------------------------------------------- */

weirl_res *weirl_checkres(lua_State *L, int idx, const char *what);
/* The handle of r, always the same one. fields: index of a table of what describes it, or 0. */
weirl_res *weirl_pushres(lua_State *L, int kidx, weir_res *r, int fields);
const char *weirl_kind_name(weir_res_kind kind);
int weirl_tensor_new(lua_State *L);                 /* k:tensor */
int weirl_pipeline(lua_State *L);                   /* weir.pipeline.X, upvalues: type, name */
weir_pipe_desc weirl_pipe(const weirl_desc *d, const char *field);
const char *weirl_pipe_name(weir_pipe_type type);   /* in lcore.c */
int weirl_work_def(lua_State *L);                   /* weir.consumer_work, weir.producer_work; upvalue: side */
void weirl_open_resource(lua_State *L);

/* ---- lvalue.c ----------------------------------------------------------------------------------------------------------- */

int weirl_pushvalue(lua_State *L, int kidx, weir_value v);
/* A number, condition, value or work tile as a value of the kernel; anything else raises, `what` says where. */
weir_value weirl_tovalue(lua_State *L, int idx, weirl_kernel *kb, const char *what);
int weirl_values(const weirl_desc *d, weirl_kernel *kb, const char *field, weir_value *out, int max);
/* The result of a call that returns nothing; `call` is the string on top, and stays part of it. */
int weirl_pushnothing(lua_State *L, const char *call);
void weirl_nothing(lua_State *L, int idx, const char *what, const char *rule); /* raises when idx is such a result */
void weirl_open_value(lua_State *L);                /* adds the functions of values to the table on top */

/* ---- lschedule.c -------------------------------------------------------------------------------------------------------- */

int weirl_guard(lua_State *L);                      /* i:first_iter ... upvalue: kind */
void weirl_check_blocks(lua_State *L, int kidx);    /* faults for loops and guards that were made but never run */
void weirl_open_schedule(lua_State *L);             /* adds domain_loop ... to the table on top */

/* ---- lreport.c, ldevice.c, lprogram.c, ltrace.c ------------------------------------------------------------------------- */

weir_report **weirl_pushreport(lua_State *L, int ctxidx); /* closed; filled in by verify or build */
void weirl_open_report(lua_State *L);

typedef struct weirl_device { weir_device *d; weirl_ctx *ctx; } weirl_device;   /* context */
typedef struct weirl_buffer { weir_buffer *b; weirl_device *dev; } weirl_buffer;/* device */
weirl_device *weirl_checkdevice(lua_State *L, int idx, const char *what);
int weirl_device_open(lua_State *L);                /* weir.device, upvalue: context */
void weirl_open_device(lua_State *L);

/* ---- ldlpack.c ---------------------------------------------------------------------------------------------------------- */

typedef struct weirl_foreign { void *managed; bool versioned; weir_arg arg; } weirl_foreign; /* managed: NULL once released */
int weirl_dlpack(lua_State *L);                     /* weir.dlpack, upvalue: context */
void weirl_open_dlpack(lua_State *L);

typedef struct weirl_program { weir_program *p; weirl_kernel *kb; } weirl_program; /* kernel, report, device */
int weirl_kernel_build(lua_State *L);               /* k:build */
int weirl_kernel_source(lua_State *L);              /* k:source */
void weirl_open_program(lua_State *L);

weir_timeline **weirl_pushtimeline(lua_State *L, int ctxidx);   /* closed; filled in by a traced launch */
void weirl_open_trace(lua_State *L);

#endif
