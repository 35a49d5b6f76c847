/* The oracles for tests in Lua: more functions of the module weir_plan (planlib.c). */
#include "explore.h"

#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "explorelib.h"
#include "lua/weirlua.h"
#include "program.h"

static const char *const fault_names[] = { /* ORDER WEIRX */
    "deadlock", "count", "tx", "parity", "race", "async_read", "proxy", "exit", "lost", "pdl", "stuck_count", "stuck_tx", "unfilled", NULL
};

/* of(kernel) -> a program that is never emitted, whose plan the other functions take; or nil and the plan's findings */
static int plan_of(lua_State *L) {
    weirl_kernel *kb = luaL_checkudata(L, 1, WEIRL_KERNEL);
    lua_settop(L, 1);
    if (!kb->k) return luaL_error(L, "the kernel is closed");
    weiri_plan *p = kb->k->faults.list.n ? NULL : weiri_plan_new(kb->k);
    if (!p || !p->ok) {
        const weiri_findings *f = p ? &p->findings : &kb->k->faults;
        luaL_Buffer b;
        lua_pushnil(L);
        luaL_buffinit(L, &b);
        for (int i = 0; i < f->list.n; i++) {
            luaL_addstring(&b, f->list.v[i].rule);
            luaL_addstring(&b, ": ");
            luaL_addstring(&b, f->list.v[i].message);
            luaL_addstring(&b, "\n");
        }
        luaL_pushresult(&b);
        weiri_plan_free(p);
        return 2;
    }
    weirl_program *u = weirl_new(L, sizeof *u, 3, WEIRL_PROGRAM);
    u->kb = kb;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    weir_program *pr = weiri_alloc(kb->k->ctx, sizeof *pr);
    if (!pr) return luaL_error(L, "out of memory");
    pr->ctx = kb->k->ctx;
    pr->k = kb->k;
    pr->name = kb->k->name;
    pr->arch = kb->k->arch;
    pr->plan = p;
    weiri_buf_init(&pr->source, pr->ctx);
    weiri_buf_init(&pr->full, pr->ctx);
    weiri_buf_init(&pr->log, pr->ctx);
    weiri_buf_init(&pr->ptx, pr->ctx);
    u->p = pr;
    return 1;
}

static lua_Integer option(lua_State *L, int idx, const char *name, lua_Integer or) {
    if (!lua_istable(L, idx)) return or;
    lua_getfield(L, idx, name);
    or = luaL_optinteger(L, -1, or);
    lua_pop(L, 1);
    return or;
}

static void put_number(lua_State *L, const char *name, uint64_t x) {
    lua_pushinteger(L, (lua_Integer)x);
    lua_setfield(L, -2, name);
}

/* The plan of a program, with sizes from a table: dims by name, tiles, truths. */
static weiri_unrolled *unroll(lua_State *L, int program, int table) {
    weirl_program *u = luaL_checkudata(L, program, WEIRL_PROGRAM);
    luaL_checktype(L, table, LUA_TTABLE);
    const weir_kernel *k = u->p->k;
    int64_t dims[64] = { 0 };
    if (k->dims.n > 64) luaL_error(L, "too many dims");
    for (int i = 0; i < k->dims.n; i++) dims[i] = option(L, table, weiri_val(k, k->dims.v[i])->name, 0);
    weiri_sizes sizes = { .dims = dims, .tiles = (int)option(L, table, "tiles", 1), .truths = (uint64_t)option(L, table, "truths", 0) };
    weiri_unrolled *x = weiri_unroll(u->p->plan, &sizes);
    if (!x) luaL_error(L, "out of memory");
    return x;
}

/* promela(program, sizes) -> the text for spin; nil and why not */
static int promela(lua_State *L) {
    weiri_unrolled *x = unroll(L, 1, 2);
    if (x->why) {
        lua_pushnil(L);
        lua_pushstring(L, x->why);
        weiri_unrolled_free(x);
        return 2;
    }
    weiri_buf b;
    weiri_buf_init(&b, x->p->k->ctx);
    weiri_promela(x, "", &b);
    lua_pushlstring(L, b.s ? b.s : "", b.n);
    weiri_buf_free(&b);
    weiri_unrolled_free(x);
    return 1;
}

/* explore(program, sizes, { limit, path }) -> { states, widest, complete, deadlocks, firings, cut = reason or nil, depth, path, and
 * a true field for each kind of fault }. sizes: dims by name, tiles, truths; path: a kind of fault, or "any". */
static int explore(lua_State *L) {
    int path = 0;
    if (lua_istable(L, 3)) {
        lua_getfield(L, 3, "path");
        const char *want = lua_tostring(L, -1);
        for (int i = 0; want && fault_names[i]; i++)
            if (!strcmp(want, "any") || !strcmp(want, fault_names[i])) path |= 1 << i;
        lua_pop(L, 1);
    }
    weiri_unrolled *x = unroll(L, 1, 2);
    weirx_result r = weirx_actions(x, (uint64_t)option(L, 3, "limit", 1000000), path);
    lua_createtable(L, 0, 16);
    put_number(L, "states", r.states);
    put_number(L, "widest", r.widest);
    put_number(L, "complete", r.complete);
    put_number(L, "deadlocks", r.deadlocks);
    put_number(L, "firings", (uint64_t)x->firings);
    put_number(L, "moves", (uint64_t)x->nmoves);
    put_number(L, "threads", (uint64_t)x->threads.n);
    put_number(L, "depth", (uint64_t)r.depth);
    for (int i = 0; fault_names[i]; i++)
        if (r.faults >> i & 1) {
            lua_pushboolean(L, 1);
            lua_setfield(L, -2, fault_names[i]);
        }
    if (r.cut) {
        lua_pushstring(L, r.why);
        lua_setfield(L, -2, "cut");
    }
    if (r.path.n) {
        lua_pushlstring(L, r.path.s, r.path.n);
        lua_setfield(L, -2, "path");
    }
    weiri_buf_free(&r.path);
    weiri_unrolled_free(x);
    return 1;
}

/* ---- mutants ------------------------------------------------------------------------------------------------------------- */

/* tasks(program) -> their names */
static int tasks(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    lua_newtable(L);
    for (int i = 0; i < u->p->plan->ntasks; i++) {
        lua_pushstring(L, u->p->plan->tasks[i].task->name);
        lua_seti(L, -2, i + 1);
    }
    return 1;
}

/* twice(program, id): the action runs twice */
static int twice(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    weiri_pnode *n = *weirx_find(L, u->p->plan, (int)luaL_checkinteger(L, 2)), *c = WEIRI_NEW(&u->p->plan->a, weiri_pnode);
    *c = *n;
    n->next = c;
    return 0;
}

/* move(program, id, before): the action runs right before another one */
static int move(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    weiri_pnode **from = weirx_find(L, u->p->plan, (int)luaL_checkinteger(L, 2)), *n = *from;
    *from = n->next;
    weiri_pnode **to = weirx_find(L, u->p->plan, (int)luaL_checkinteger(L, 3));
    n->next = *to;
    n->parent = (*to)->parent;
    *to = n;
    return 0;
}

/* ---- credits ------------------------------------------------------------------------------------------------------------ */

static bool flag(lua_State *L, const char *name) {
    lua_getfield(L, -1, name);
    bool b = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return b;
}

/* A list of indices (from 1) as bits. */
static uint32_t set_of(lua_State *L, const char *name) {
    uint32_t bits = 0;
    int top = lua_gettop(L);
    if (lua_getfield(L, -1, name) == LUA_TTABLE)
        for (lua_Integer i = 1; lua_geti(L, top + 1, i) != LUA_TNIL; i++) {
            bits |= 1u << (luaL_checkinteger(L, -1) - 1);
            lua_pop(L, 1);
        }
    lua_settop(L, top);
    return bits;
}

/* credits(model, limit) -> the counts of t/vectors/bfs.lua. model, see bfs.prepare: tasks, lists of ops; resources; pdl_done */
static int credits(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    uint64_t limit = (uint64_t)luaL_optinteger(L, 2, LUA_MAXINTEGER);
    lua_settop(L, 1);
    weirx_credit_model m = { .pdl_done = flag(L, "pdl_done") };
    lua_getfield(L, 1, "resources");
    m.nresources = (int)luaL_len(L, -1);
    if (m.nresources > WEIRX_RESOURCES) return luaL_error(L, "too many resources");
    for (int i = 0; i < m.nresources; i++) {
        lua_geti(L, 2, i + 1);
        m.resource[i] = (weirx_resource){
            .stages = (int)option(L, -1, "stages", 0), .nsrc = (int)option(L, -1, "nsrc", 0), .ndst = (int)option(L, -1, "ndst", 0),
            .queue = flag(L, "queue"), .piped = flag(L, "piped"), .tracked = flag(L, "tracked"),
            .umma_consumer = flag(L, "umma_consumer"), .thread_producer = flag(L, "thread_producer"),
            .members = set_of(L, "members"), .paired = set_of(L, "paired"),
            .writer_meets = set_of(L, "writer_meets"), .reader_meets = set_of(L, "reader_meets"),
        };
        lua_pop(L, 1);
    }
    lua_settop(L, 1);
    lua_getfield(L, 1, "tasks");
    lua_newtable(L); /* 3: keeps the lists of ops */
    m.ntasks = (int)luaL_len(L, 2);
    if (m.ntasks > WEIRX_TASKS) return luaL_error(L, "too many tasks");
    for (int t = 0; t < m.ntasks; t++) {
        lua_geti(L, 2, t + 1);
        m.length[t] = (int)luaL_len(L, -1);
        m.op[t] = lua_newuserdatauv(L, sizeof *m.op[t] * (size_t)(m.length[t] + 1), 0);
        lua_seti(L, 3, t + 1);
        for (int i = 0; i < m.length[t]; i++) {
            lua_geti(L, -1, i + 1);
            lua_getfield(L, -1, "letter");
            char letter = *luaL_checkstring(L, -1);
            lua_pop(L, 1);
            m.op[t][i] = (weirx_op){ .letter = letter, .resource = (int)option(L, -1, "resource", 1) - 1, .write = flag(L, "write"),
                                     .counts = set_of(L, "counts"), .pdl_wait = flag(L, "pdl_wait"), .pdl_launch = flag(L, "pdl_launch") };
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    weirx_credits_result r = weirx_credits(&m, limit);
    if (r.why) return luaL_error(L, "%s", r.why);
    lua_createtable(L, 0, 10);
    put_number(L, "states", r.states);
    put_number(L, "complete", r.complete);
    put_number(L, "deadlock", r.deadlock);
    put_number(L, "race", r.race);
    put_number(L, "pdl", r.pdl);
    put_number(L, "cursor_vectors", r.cursor_vectors);
    put_number(L, "widest", r.widest);
    if (r.first >= 0) put_number(L, "first", (uint64_t)r.first);
    lua_pushboolean(L, r.limit_hit);
    lua_setfield(L, -2, "limit_hit");
    return 1;
}

const luaL_Reg weirx_functions[] = { { "of", plan_of },   { "explore", explore }, { "promela", promela }, { "tasks", tasks }, { "twice", twice },
                                       { "move", move },    { "credits", credits }, { NULL, NULL } };
