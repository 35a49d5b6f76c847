/* weir_plan: the plan of a built program, for tests in Lua. Reads and changes any field of its tables, proves and emits it as
 * it stands, and runs any text in place of the emitted one. It holds a whole weir of its own: require it before "weir", and
 * both speak of the same objects.
 *
 * Tables are counted as in C: action from 1, all others from 0. */
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "explorelib.h"
#include "lua/weirlua.h"
#include "plan.h"
#include "program.h"
#include "prove.h"

/* ---- fields by name ------------------------------------------------------------------------------------------------------ */

typedef enum type { INT, INT64, UINT32, BOOL, TEXT } type;
typedef struct field {
    const char *name;
    size_t at;
    type type;
} field;

#define F(T, f, t) \
    { #f, offsetof(T, f), t }
#define END \
    { NULL, 0, INT }

static const field action_fields[] = {
    F(weiri_action, id, INT),      F(weiri_action, kind, INT),    F(weiri_action, who, INT),     F(weiri_action, bar, INT),
    F(weiri_action, cur, INT),     F(weiri_action, stage, INT),   F(weiri_action, back, INT),    F(weiri_action, arrivals, INT),
    F(weiri_action, bytes, INT64), F(weiri_action, targets, INT), F(weiri_action, cross, INT),   F(weiri_action, n, INT),
    F(weiri_action, read, BOOL),   F(weiri_action, named, INT),   F(weiri_action, threads, INT), F(weiri_action, copy, INT),
    F(weiri_action, pipe, INT),    F(weiri_action, reg, INT),     F(weiri_action, fresh, INT),   F(weiri_action, neff, INT),
    F(weiri_action, twl, BOOL),    F(weiri_action, cta0, BOOL),   F(weiri_action, note, TEXT),   F(weiri_action, first, BOOL),
    F(weiri_action, leader, BOOL), F(weiri_action, at_leader, BOOL), END,
};
static const field smem_fields[] = {
    F(weiri_region, name, TEXT),   F(weiri_region, offset, INT64),
    F(weiri_region, size, INT64),  F(weiri_region, align, INT64),
    F(weiri_region, stages, INT),  F(weiri_region, stage_bytes, INT64),
    F(weiri_region, swizzle, INT), F(weiri_region, phase, INT),
    F(weiri_region, same_as, INT), END,
};
static const field bar_fields[] = {
    F(weiri_bar, name, TEXT),   F(weiri_bar, first, INT),
    F(weiri_bar, stages, INT),  F(weiri_bar, offset, INT64),
    F(weiri_bar, count, INT),   F(weiri_bar, tx, INT64),
    F(weiri_bar, sum, TEXT),    F(weiri_bar, full, BOOL),
    F(weiri_bar, remote, BOOL), END,
};
static const field pipe_fields[] = {
    F(weiri_ppipe, stages, INT), F(weiri_ppipe, full, INT),  F(weiri_ppipe, empty, INT),  F(weiri_ppipe, region, INT),
    F(weiri_ppipe, tx, INT64),   F(weiri_ppipe, serve, INT), F(weiri_ppipe, cross, BOOL), END,
};
static const field cursor_fields[] = {
    F(weiri_cursor, name, TEXT),        F(weiri_cursor, task, INT),
    F(weiri_cursor, pipe, INT),         F(weiri_cursor, producer, BOOL),
    F(weiri_cursor, stages, INT),       F(weiri_cursor, held_min, INT),
    F(weiri_cursor, held_max, INT),     F(weiri_cursor, needs_held, BOOL),
    F(weiri_cursor, split_close, BOOL), END,
};
static const field tmap_fields[] = {
    F(weiri_tmap_use, name, TEXT),
    F(weiri_tmap_use, tensor, INT),
    F(weiri_tmap_use, rank, INT),
    F(weiri_tmap_use, swizzle, INT),
    F(weiri_tmap_use, l2_promotion, INT),
    F(weiri_tmap_use, store, BOOL),
    { "box0", offsetof(weiri_tmap_use, box), UINT32 },
    { "box1", offsetof(weiri_tmap_use, box) + sizeof(uint32_t), UINT32 },
    END,
};
static const field copy_fields[] = {
    F(weiri_copy, tmap, INT),          F(weiri_copy, nbox, INT),
    F(weiri_copy, slice_axis, INT),    F(weiri_copy, slice_elems, INT),
    F(weiri_copy, slice_bytes, INT64), F(weiri_copy, wg_axis, INT),
    F(weiri_copy, wg_elems, INT),      F(weiri_copy, wg_bytes, INT64),
    F(weiri_copy, bytes, INT64),       END,
};
static const field reg_fields[] = {
    F(weiri_preg, task, INT),  F(weiri_preg, rows, INT),       F(weiri_preg, cols, INT),
    F(weiri_preg, frags, INT), F(weiri_preg, per_thread, INT), END,
};
static const field named_fields[] = { F(weiri_named, id, INT), F(weiri_named, threads, INT), F(weiri_named, owner, TEXT), END };
static const field param_fields[] = {
    F(weiri_kparam, name, TEXT),
    F(weiri_kparam, type, TEXT),
    F(weiri_kparam, kind, INT),
    F(weiri_kparam, index, INT),
    F(weiri_kparam, axis, INT),
    F(weiri_kparam, size, INT),
    END,
};
static const field task_fields[] = {
    F(weiri_ptask, solo, BOOL),     F(weiri_ptask, wg_actor, BOOL),
    F(weiri_ptask, actors, INT),    F(weiri_ptask, warpgroups, INT),
    F(weiri_ptask, registers, INT), F(weiri_ptask, named_task, INT),
    F(weiri_ptask, named_wg, INT),  F(weiri_ptask, leader, BOOL),
    END,
};
static const field plan_fields[] = {
    F(weiri_plan, ok, BOOL),
    F(weiri_plan, ntasks, INT),
    F(weiri_plan, nactions, INT),
    F(weiri_plan, nbarriers, INT),
    F(weiri_plan, barrier_offset, INT64),
    F(weiri_plan, smem_data, INT64),
    F(weiri_plan, smem_barrier, INT64),
    F(weiri_plan, smem_total, INT64),
    F(weiri_plan, smem_capacity, INT64),
    F(weiri_plan, threads, INT),
    F(weiri_plan, warps, INT),
    F(weiri_plan, entry_registers, INT),
    F(weiri_plan, cluster, INT),
    F(weiri_plan, persistent, BOOL),
    F(weiri_plan, tmem_alloc, INT),
    F(weiri_plan, tmem_columns, INT),
    F(weiri_plan, tmem_slot, INT64),
    { "reg_split0", offsetof(weiri_plan, reg_split), INT },
    { "reg_split1", offsetof(weiri_plan, reg_split) + sizeof(int), INT },
    { "reg_split2", offsetof(weiri_plan, reg_split) + 2 * sizeof(int), INT },
    END,
};

static weir_program *program(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    if (!u->p || !u->p->plan) luaL_error(L, "the program is closed");
    return u->p;
}

static int64_t to_count(lua_Integer n) { return n < 0 ? 0 : n; }

/* Row `i` of a table by name; its fields. */
static char *row(lua_State *L, weiri_plan *p, const char *table, int64_t i, const field **fields, int64_t *count) {
    *count = 0;
#define TABLE(text, list, f, size) \
    if (!strcmp(table, text)) { \
        *fields = f; \
        *count = (size); \
        return i >= 0 && i < *count ? (char *)&(list)[i] : NULL; \
    }
    TABLE("smem", p->smem.v, smem_fields, p->smem.n)
    TABLE("bars", p->bars.v, bar_fields, p->bars.n)
    TABLE("pipes", p->pipes.v, pipe_fields, p->pipes.n)
    TABLE("cursors", p->cursors.v, cursor_fields, p->cursors.n)
    TABLE("tmaps", p->tmaps.v, tmap_fields, p->tmaps.n)
    TABLE("copies", p->copies.v, copy_fields, p->copies.n)
    TABLE("regs", p->regs.v, reg_fields, p->regs.n)
    TABLE("named", p->named.v, named_fields, p->named.n)
    TABLE("params", p->params.v, param_fields, p->params.n)
    TABLE("tasks", p->tasks, task_fields, p->ntasks)
    TABLE("plan", p, plan_fields, 1)
    if (!strcmp(table, "action")) {
        *fields = action_fields;
        *count = p->nactions;
        return i >= 1 && i <= *count ? (char *)p->action[i] : NULL;
    }
    luaL_error(L, "no table '%s' in a plan", table);
    return NULL;
}

static char *cell(lua_State *L, const field **f) {
    const char *table = luaL_checkstring(L, 2), *name = luaL_checkstring(L, 4);
    int64_t count;
    const field *fields = NULL;
    char *at = row(L, program(L)->plan, table, luaL_checkinteger(L, 3), &fields, &count);
    if (!at) luaL_error(L, "no row %d in '%s' of %d", (int)luaL_checkinteger(L, 3), table, (int)count);
    for (*f = fields; (*f)->name; (*f)++)
        if (!strcmp((*f)->name, name)) return at + (*f)->at;
    luaL_error(L, "no field '%s' in '%s'", name, table);
    return NULL;
}

/* count(program, table) */
static int count(lua_State *L) {
    int64_t n;
    const field *fields;
    row(L, program(L)->plan, luaL_checkstring(L, 2), -1, &fields, &n);
    lua_pushinteger(L, to_count(n));
    return 1;
}

/* fields(program, table) -> names */
static int fields(lua_State *L) {
    int64_t n;
    const field *f = NULL;
    row(L, program(L)->plan, luaL_checkstring(L, 2), -1, &f, &n);
    lua_newtable(L);
    for (int i = 1; f->name; f++, i++) {
        lua_pushstring(L, f->name);
        lua_seti(L, -2, i);
    }
    return 1;
}

/* get(program, table, row, field) */
static int get(lua_State *L) {
    const field *f;
    const char *at = cell(L, &f);
    union {
        int i;
        int64_t l;
        uint32_t u;
        bool b;
        const char *s;
    } x;
    static const size_t sizes[] = { sizeof(int), sizeof(int64_t), sizeof(uint32_t), sizeof(bool),
                                    sizeof(char *) }; /* ORDER type */
    memcpy(&x, at, sizes[f->type]);
    if (!strcmp(f->name, "kind") && !strcmp(lua_tostring(L, 2), "action")) {
        lua_pushstring(L, weiri_act_name((weiri_act)x.i));
        return 1;
    }
    switch (f->type) {
    case INT: lua_pushinteger(L, x.i); break;
    case INT64: lua_pushinteger(L, x.l); break;
    case UINT32: lua_pushinteger(L, x.u); break;
    case BOOL: lua_pushboolean(L, x.b); break;
    case TEXT: lua_pushstring(L, x.s); break;
    }
    return 1;
}

/* set(program, table, row, field, value): numbers and booleans; an action's kind by name */
static int set(lua_State *L) {
    const field *f;
    char *at = cell(L, &f);
    int i;
    int64_t l;
    uint32_t u;
    bool b;
    if (!strcmp(f->name, "kind") && lua_type(L, 5) == LUA_TSTRING) {
        for (i = 0; i < ACT_COUNT; i++)
            if (!strcmp(weiri_act_name((weiri_act)i), lua_tostring(L, 5))) break;
        if (i == ACT_COUNT) return luaL_error(L, "no action '%s'", lua_tostring(L, 5));
        memcpy(at, &i, sizeof i);
        return 0;
    }
    switch (f->type) {
    case INT:
        i = (int)luaL_checkinteger(L, 5);
        memcpy(at, &i, sizeof i);
        break;
    case INT64:
        l = luaL_checkinteger(L, 5);
        memcpy(at, &l, sizeof l);
        break;
    case UINT32:
        u = (uint32_t)luaL_checkinteger(L, 5);
        memcpy(at, &u, sizeof u);
        break;
    case BOOL:
        b = lua_toboolean(L, 5);
        memcpy(at, &b, sizeof b);
        break;
    case TEXT: return luaL_error(L, "'%s' is a text", f->name);
    }
    return 0;
}

/* line(program, id): the author's line of an action, 0: the plan's own */
static int line(lua_State *L) {
    const weiri_plan *p = program(L)->plan;
    lua_Integer id = luaL_checkinteger(L, 2);
    const weiri_op *op = id >= 1 && id <= p->nactions ? p->action[id]->op : NULL;
    lua_pushinteger(L, op && op->at.n ? op->at.at[0].line : 0);
    return 1;
}

/* The effects of an action and the boxes of a copy are lists of their own: box(program, copy, box) -> coordinates, offset;
 * with a table of coordinates and an offset it sets them. */
static int box(lua_State *L) {
    weiri_plan *p = program(L)->plan;
    lua_Integer c = luaL_checkinteger(L, 2), b = luaL_checkinteger(L, 3);
    if (c < 0 || c >= p->copies.n || b < 0 || b >= p->copies.v[c].nbox) return luaL_error(L, "no such box");
    weiri_box *at = &p->copies.v[c].box[b];
    int rank = p->tmaps.v[p->copies.v[c].tmap].rank;
    if (lua_istable(L, 4)) {
        for (int i = 0; i < rank; i++) {
            lua_geti(L, 4, i + 1);
            at->c[i] = (int32_t)luaL_checkinteger(L, -1);
            lua_pop(L, 1);
        }
        at->offset = luaL_checkinteger(L, 5);
    }
    lua_newtable(L);
    for (int i = 0; i < rank; i++) {
        lua_pushinteger(L, at->c[i]);
        lua_seti(L, -2, i + 1);
    }
    lua_pushinteger(L, at->offset);
    return 2;
}

/* piece(program, push, piece [, to, from, bytes]) -> to, from, bytes of a piece of a push, which it sets */
static int piece(lua_State *L) {
    weiri_plan *p = program(L)->plan;
    lua_Integer c = luaL_checkinteger(L, 2), i = luaL_checkinteger(L, 3);
    if (c < 0 || c >= p->pushes.n || i < 0 || i >= p->pushes.v[c].npiece) return luaL_error(L, "no such piece");
    weiri_piece *at = &p->pushes.v[c].piece[i];
    if (!lua_isnoneornil(L, 4)) *at = (weiri_piece){ luaL_checkinteger(L, 4), luaL_checkinteger(L, 5), luaL_checkinteger(L, 6) };
    lua_pushinteger(L, at->to);
    lua_pushinteger(L, at->from);
    lua_pushinteger(L, at->bytes);
    return 3;
}

/* ---- trees --------------------------------------------------------------------------------------------------------------- */

static void push_tree(lua_State *L, const weiri_pnode *n) {
    static const char *const kinds[] = {
        "action", "loop", "guard", "tiles", "skippable", "held"
    }; /* ORDER weiri_pnode_kind */
    luaL_checkstack(L, 4, "deep tree");
    lua_newtable(L);
    for (int i = 1; n; n = n->next, i++) {
        if (n->kind == PN_ACTION) {
            lua_pushinteger(L, n->act->id);
        } else {
            push_tree(L, n->first);
            lua_pushstring(L, kinds[n->kind]);
            lua_setfield(L, -2, "kind");
            if (n->skip) { /* what a tile of another lane takes instead, as the list's last block */
                push_tree(L, n->skip);
                lua_pushstring(L, "skip");
                lua_setfield(L, -2, "kind");
                lua_seti(L, -2, luaL_len(L, -2) + 1);
            }
            if (n->kind == PN_HELD) {
                lua_pushinteger(L, n->keep);
                lua_setfield(L, -2, "keep");
                lua_pushboolean(L, n->once);
                lua_setfield(L, -2, "once");
            }
        }
        lua_seti(L, -2, i);
    }
}

/* ranks(program, "bars" or "action", row [, rank, value]): an mbarrier's counts by rank, or the masks of an arrival that is by rank; nil:
 * the same for all. With a rank that one is changed. */
static int ranks(lua_State *L) {
    weiri_plan *p = program(L)->plan;
    bool bars = !strcmp(luaL_checkstring(L, 2), "bars");
    int row = (int)luaL_checkinteger(L, 3), at = (int)luaL_optinteger(L, 4, -1);
    if (bars ? row < 0 || row >= p->bars.n : row < 1 || row > p->nactions) return luaL_error(L, "no row %d", row);
    const int *counts = bars ? p->bars.v[row].counts : NULL;
    const uint16_t *reach = bars ? NULL : p->action[row]->reach;
    if (!counts && !reach) return 0;
    if (at >= 0 && at < p->cluster) {
        if (counts) ((int *)counts)[at] = (int)luaL_checkinteger(L, 5);
        else ((uint16_t *)reach)[at] = (uint16_t)luaL_checkinteger(L, 5);
    }
    lua_newtable(L);
    for (int i = 0; i < p->cluster; i++) {
        lua_pushinteger(L, counts ? counts[i] : reach[i]);
        lua_seti(L, -2, i + 1);
    }
    return 1;
}

/* tree(program, task): a list of action ids and, for blocks, lists with a kind; task "prologue", "epilogue", or its name */
static int tree(lua_State *L) {
    const weiri_plan *p = program(L)->plan;
    const char *name = luaL_checkstring(L, 2);
    if (!strcmp(name, "prologue")) return push_tree(L, p->prologue), 1;
    if (!strcmp(name, "epilogue")) return push_tree(L, p->epilogue), 1;
    for (int i = 0; i < p->ntasks; i++)
        if (!strcmp(p->tasks[i].task->name, name)) return push_tree(L, p->tasks[i].root), 1;
    return luaL_error(L, "no task '%s'", name);
}

/* The link that leads to the node of action `id`, in a list or below it. */
static weiri_pnode **link_to(weiri_pnode **at, int id) {
    for (; *at; at = &(*at)->next) {
        if ((*at)->kind == PN_ACTION && (*at)->act->id == id) return at;
        weiri_pnode **below = (*at)->kind == PN_ACTION ? NULL : link_to(&(*at)->first, id);
        if (!below && (*at)->kind != PN_ACTION) below = link_to(&(*at)->skip, id);
        if (below) return below;
    }
    return NULL;
}

weiri_pnode **weirx_find(lua_State *L, weiri_plan *p, int id) {
    weiri_pnode **at = link_to(&p->prologue, id);
    if (!at) at = link_to(&p->epilogue, id);
    for (int i = 0; i < p->ntasks && !at; i++) at = link_to(&p->tasks[i].root, id);
    if (!at) luaL_error(L, "no action %d in a tree", id);
    return at;
}

/* drop(program, id): the action leaves its tree */
static int drop(lua_State *L) {
    weiri_pnode **at = weirx_find(L, program(L)->plan, (int)luaL_checkinteger(L, 2));
    *at = (*at)->next;
    return 0;
}

/* swap(program, id): the action changes places with the node behind it */
static int swap(lua_State *L) {
    weiri_pnode **at = weirx_find(L, program(L)->plan, (int)luaL_checkinteger(L, 2)), *a = *at, *b = a->next;
    if (!b) return luaL_error(L, "nothing behind it");
    a->next = b->next;
    b->next = a;
    *at = b;
    return 0;
}

/* ---- the readers of a plan ----------------------------------------------------------------------------------------------- */

/* prove(program, run_only, everywhere, stagewise, asked, apart) -> verdict, { { rule, message, line, hint } ... }, text, work; run_only: the tables
 * are not compared; everywhere: every row of knowledge keeps all that could be known, or, "rings", of all rings what can be shown to matter;
 * stagewise: rings are not turned ahead; asked: conditions on how often a loop has run are questions; apart: states are not merged. Work:
 * instructions run, words of states touched and of memory taken */
static int prove(lua_State *L) {
    static const char *const verdicts[] = { "NOT_PROVED", "SAFE", "SAFE_BOUNDED", "UNSAFE",
                                            "INCOMPLETE" }; /* ORDER weir_verdict */
    weir_program *p = program(L);
    weiri_arena a;
    weiri_arena_init(&a, p->ctx);
    weiri_findings f = { .a = &a };
    weir_proof proof = { WEIR_NOT_PROVED, NULL, NULL, 0, 0 };
    const int kept = lua_isstring(L, 3) ? WEIRI_RINGS : lua_toboolean(L, 3) ? WEIRI_EVERYWHERE : 0;
    int without = (lua_toboolean(L, 2) ? WEIRI_TABLES : 0) | kept |
                  (lua_toboolean(L, 4) ? WEIRI_STAGEWISE : 0) | (lua_toboolean(L, 5) ? WEIRI_ASKED : 0) |
                  (lua_toboolean(L, 6) ? WEIRI_APART : 0);
    const uint64_t work = weiri_prove_without(p->plan, &a, &proof, &f, without);
    lua_pushstring(L, verdicts[proof.verdict]);
    lua_newtable(L);
    for (int i = 0; i < f.list.n; i++) {
        lua_newtable(L);
        lua_pushstring(L, f.list.v[i].rule);
        lua_setfield(L, -2, "rule");
        lua_pushstring(L, f.list.v[i].message);
        lua_setfield(L, -2, "message");
        lua_pushinteger(L, f.list.v[i].line);
        lua_setfield(L, -2, "line");
        lua_seti(L, -2, i + 1);
    }
    lua_pushstring(L, proof.text);
    lua_pushinteger(L, (lua_Integer)work);
    weiri_arena_free(&a);
    return 4;
}

/* known(program, wide) -> words of knowledge that a state of its proof keeps, and that there could be; wide: with all stages of a ring where
 * one is kept */
static int known(lua_State *L) {
    weir_program *p = program(L);
    weiri_arena a;
    weiri_arena_init(&a, p->ctx);
    const weiri_prog *g = weiri_prog_new(p->plan, &a, lua_toboolean(L, 2) ? WEIRI_WIDE : 0);
    lua_pushinteger(L, g->nknow);
    lua_pushinteger(L, (lua_Integer)g->nrows * g->nwords);
    weiri_arena_free(&a);
    return 2;
}

/* emit(program) -> the source of the plan as it stands */
static int emit(lua_State *L) {
    weir_program *p = program(L);
    weiri_buf b;
    weiri_buf_init(&b, p->ctx);
    bool ok = weiri_emit(p->plan, &b);
    lua_pushstring(L, b.s ? b.s : "");
    weiri_buf_free(&b);
    return ok ? 1 : luaL_error(L, "out of memory");
}

/* run_text(program, text): launches run this text from now on */
static int run_text(lua_State *L) {
    weir_program *p = program(L);
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    weiri_program_drop_launched(p);
    weiri_program_drop_compiled(p);
    p->source.n = 0;
    weiri_put_n(&p->source, text, n);
    return 0;
}

/* ---- other contexts ------------------------------------------------------------------------------------------------------ */

static int box_gc(lua_State *L) {
    weir_ctx **ctx = lua_touserdata(L, 1);
    weir_close(*ctx);
    return 0;
}

/* open { nvrtc_path, driver_path, cxx, cache_dir } -> the module in a context of its own */
static int open_ctx(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    const char *text[4];
    static const char *const names[] = { "nvrtc_path", "driver_path", "cxx", "cache_dir" };
    for (int i = 0; i < 4; i++) { /* the table keeps the strings */
        lua_getfield(L, 1, names[i]);
        text[i] = lua_tostring(L, -1);
    }
    weir_ctx **ctx = lua_newuserdatauv(L, sizeof *ctx, 0);
    *ctx = weir_open(&(weir_config){ .nvrtc_path = text[0], .driver_path = text[1], .cxx = text[2], .cache_dir = text[3] });
    if (!*ctx) return luaL_error(L, "out of memory");
    lua_newtable(L);
    lua_pushcfunction(L, box_gc);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    luaL_ref(L, LUA_REGISTRYINDEX); /* closed with the state */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "weir");
    lua_getfield(L, -2, "weir.core");
    weir_openlib(L, *ctx);
    lua_insert(L, -4); /* module, loaded, weir, weir.core: back to what was loaded */
    lua_setfield(L, -3, "weir.core");
    lua_setfield(L, -2, "weir");
    lua_pop(L, 1);
    return 1;
}

/* traced(program) -> the full source and NVRTC's log of its traced build; or nil, message, code */
static int traced(lua_State *L) {
    weir_program *p = program(L), *t = weiri_program_twin(p);
    const void *cubin;
    size_t n;
    weir_status st = weir_program_cubin(t, &cubin, &n);
    if (st != WEIR_OK) return lua_pushnil(L), lua_pushstring(L, weir_error(p->ctx)), lua_pushstring(L, weir_status_name(st)), 3;
    lua_pushstring(L, weir_program_full_source(t));
    lua_pushstring(L, weir_program_log(t));
    return 2;
}

WEIR_API int luaopen_weir_plan(lua_State *L);

int luaopen_weir_plan(lua_State *L) {
    static const luaL_Reg functions[] = {
        { "count", count }, { "fields", fields },     { "get", get },       { "set", set },       { "line", line },
        { "box", box },     { "piece", piece },     { "tree", tree },         { "drop", drop },     { "swap", swap },     { "prove", prove },
        { "known", known },
        { "emit", emit },   { "run_text", run_text }, { "traced", traced }, { "open", open_ctx }, { "ranks", ranks },
        { NULL, NULL },
    };
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, "weir.core") != LUA_TNIL) return luaL_error(L, "require 'weir_plan' before 'weir'");
    weir_openlib(L, NULL);
    lua_setfield(L, -3, "weir.core");
    luaL_newlib(L, functions);
    luaL_setfuncs(L, weirx_functions, 0);
    luaL_setfuncs(L, weirx_forms, 0);
    return 1;
}
