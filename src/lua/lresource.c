/* Handles of resources, groups and tensors; pipelines; the moves and the work written on them. */
#include <string.h>

#include "weirlua.h"

static const char handles_uv = 2; /* user value of the kernel that keeps the handles */

/* ---- handles ------------------------------------------------------------------------------------------------------------ */

const char *weirl_kind_name(weir_res_kind kind) {
    static const char *const names[] = { /* ORDER weir_res_kind */
                                         "resource",   "gmem_tile",  "smem_tile", "reg_tile", "wgmma_tile",
                                         "tmem_tile",  "work_queue", "resource",  "barrier",  "pdl_wait",
                                         "pdl_launch", "group",      "member"
    };
    return names[kind];
}

weirl_res *weirl_checkres(lua_State *L, int idx, const char *what) {
    weirl_res *r = luaL_testudata(L, idx, WEIRL_RES);
    if (!r) weirl_raise(L, "%s: a resource expected, got %s [C-ARG-01]", what, weirl_typename(L, idx));
    weirl_live(L, r->kb);
    return r;
}

weirl_res *weirl_pushres(lua_State *L, int kidx, weir_res *r, int fields) {
    kidx = lua_absindex(L, kidx);
    lua_getiuservalue(L, kidx, handles_uv);
    weirl_res *h;
    if (lua_rawgetp(L, -1, r) != LUA_TNIL) {
        h = lua_touserdata(L, -1);
    } else {
        lua_pop(L, 1);
        weirl_kernel *kb = lua_touserdata(L, kidx);
        h = weirl_new(L, sizeof *h, 2, WEIRL_RES);
        *h = (weirl_res){ .kb = kb, .r = r, .kind = weir_res_get_kind(r), .seq = kb->nres++ };
        lua_pushvalue(L, kidx);
        lua_setiuservalue(L, -2, 1);
        if (fields && lua_istable(L, fields)) { /* what was given stays readable: gd.tensor, a.tile */
            lua_newtable(L);
            lua_pushnil(L);
            while (lua_next(L, fields)) {
                lua_pushvalue(L, -2);
                lua_insert(L, -2);
                lua_rawset(L, -4);
            }
            lua_setiuservalue(L, -2, 2);
        }
        lua_pushvalue(L, -1);
        lua_rawsetp(L, -3, r);
    }
    lua_remove(L, -2);
    return h;
}

/* ---- moves -------------------------------------------------------------------------------------------------------------- */

static weirl_res *self(lua_State *L, const char *method) {
    weirl_res *h = luaL_testudata(L, 1, WEIRL_RES);
    if (!h) weirl_raise(L, "%s: called on %s; write resource:%s(...)", method, weirl_typename(L, 1), method);
    weirl_live(L, h->kb);
    weirl_kernel *kb = weirl_current(L);
    if (!kb) return h;
    lua_pop(L, 1);
    if (kb != h->kb && kb->task)
        weirl_raise(L, "%s: '%s' belongs to another kernel, '%s' [C-ARG-01]", method, weir_res_name(h->r),
                    weir_kernel_name(h->kb->k));
    return h;
}

static int move(lua_State *L, const char *name, weir_move what, bool counted) {
    weirl_res *h = self(L, name);
    int n = -1;
    if (!lua_isnoneornil(L, 2)) {
        if (!counted) return weirl_raise(L, "%s takes no argument [C-MOVE-02]", name);
        n = weirl_tointx(L, 2, name);
        if (n < 0) return weirl_raise(L, "%s(%d): how many of the newest stages to keep, 0 or more [C-MOVE-02]", name, n);
    }
    weirl_at(L, h->kb);
    weir_do(h->kb->k, h->r, what, n);
    return 0;
}

static int r_try_acquire(lua_State *L) { return move(L, "try_acquire", WEIR_TRY_ACQUIRE, false); }
static int r_acquire(lua_State *L) { return move(L, "acquire", WEIR_ACQUIRE, false); }
static int r_commit(lua_State *L) { return move(L, "commit", WEIR_COMMIT, true); }
static int r_try_wait(lua_State *L) { return move(L, "try_wait", WEIR_TRY_WAIT, false); }
static int r_wait(lua_State *L) { return move(L, "wait", WEIR_WAIT, false); }
static int r_release(lua_State *L) { return move(L, "release", WEIR_RELEASE, true); }

/* ---- work --------------------------------------------------------------------------------------------------------------- */

enum { MAX_ARGS = 32, MAX_RETS = 16 };

static void work_options(lua_State *L, int idx, weirl_res *h, const char *method, weir_work_desc *w) {
    static const char *const names[] = { "multicast", "issue", "cache", "k", NULL };
    static const char *const casts[] = { "none", "m", "n", "mn", NULL }; /* ORDER weir_multicast */
    static const char *const issues[] = { "slices", "first", NULL };
    static const char *const caches[] = { "evict_first", "evict_last", NULL };
    weirl_desc d = weirl_desc_open(L, idx, method, names);
    w->multicast = weirl_choice(&d, "multicast", casts, WEIR_MULTICAST_NONE);
    w->issue_first = weirl_choice(&d, "issue", issues, 0) == 1;
    int cache = weirl_choice(&d, "cache", caches, -1);
    w->cache = cache < 0 ? NULL : caches[cache];
    if (weirl_get(&d, "k") != LUA_TNIL) {
        w->k = weirl_tovalue(L, -1, h->kb, "push: k");
        w->has_k = true;
    }
    lua_pop(L, 1);
}

/* Where options go that may be left out, as nil too: behind how many arguments. -1: the atom takes none. */
static int options_behind(const char *atom) {
    static const struct {
        const char *atom;
        int args;
    } rows[] = { { "tma_load", 1 }, { "tma_store", 2 }, { "tma_reduce_add", 2 }, { "push", 2 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].atom, atom) == 0) return rows[i].args;
    return -1;
}

/* nil is what a misspelt name gives; it is no argument. */
static void want_given(lua_State *L, int idx, const char *what) {
    if (lua_isnil(L, idx)) weirl_raise(L, "%s is nil: a value expected [C-FLOW-04]", what);
    weirl_nothing(L, idx, what, "C-FLOW-06");
    switch (lua_type(L, idx)) {
    case LUA_TNUMBER:
    case LUA_TBOOLEAN:
    case LUA_TUSERDATA: return; /* whether it is one of ours, weirl_tovalue says */
    default: weirl_raise(L, "%s: a value expected, got %s [C-FLOW-05]", what, weirl_typename(L, idx));
    }
}

/* Arguments of a custom body by name, behind the first n, in the order of their names: Lua knows no declared order, the core
 * does. */
static int named_args(lua_State *L, int t, weirl_res *h, const char *method, weir_value *args, const char **names, int n) {
    int first = n;
    for (int i = 0; i < n; i++) names[i] = NULL;
    lua_pushnil(L);
    while (lua_next(L, t)) {
        if (lua_type(L, -2) != LUA_TSTRING) weirl_raise(L, "%s: arguments in a table are given by name", method);
        if (n == MAX_ARGS) weirl_raise(L, "%s: more than %d arguments", method, MAX_ARGS);
        const char *name = lua_tostring(L, -2);
        int i = n++;
        for (; i > first && strcmp(name, names[i - 1]) < 0; i--) names[i] = names[i - 1];
        names[i] = name;
        lua_pop(L, 1);
    }
    for (int i = first; i < n; i++) {
        lua_getfield(L, t, names[i]);
        const char *what = lua_pushfstring(L, "%s: argument '%s'", method, names[i]);
        want_given(L, -2, what);
        args[i] = weirl_tovalue(L, -2, h->kb, what);
        lua_pop(L, 2);
    }
    return n;
}

static int do_work(lua_State *L, weirl_res *h, const char *method) {
    weir_value args[MAX_ARGS], ret[MAX_RETS];
    const char *names[MAX_ARGS];
    weir_work_desc w = { .args = args };
    int top = lua_gettop(L);
    weirl_at(L, h->kb); /* before the arguments: plain numbers become values here */
    bool by_name = h->kind == WEIR_RES_CUSTOM && top > 1 && lua_istable(L, top);
    if (h->kind != WEIR_RES_CUSTOM && top == options_behind(method) + 2 && lua_isnil(L, top)) top--;
    if (h->kind != WEIR_RES_CUSTOM && top > 1 && lua_istable(L, top)) work_options(L, top--, h, method, &w);
    if (top - 1 > MAX_ARGS) return weirl_raise(L, "%s: more than %d arguments [C-FLOW-01]", method, MAX_ARGS);
    for (int i = 2; i <= top - by_name; i++) {
        const char *what = lua_pushfstring(L, "%s: argument %d", method, i - 1);
        want_given(L, i, what);
        args[w.nargs++] = weirl_tovalue(L, i, h->kb, what);
        lua_pop(L, 1);
    }
    if (by_name) {
        w.nargs = named_args(L, top, h, method, args, names, w.nargs);
        w.names = names;
    }
    int n = weir_work(h->kb->k, h->r, method, &w, ret, MAX_RETS);
    lua_getiuservalue(L, 1, 1);
    int kidx = lua_gettop(L);
    luaL_checkstack(L, n + 4, NULL);
    for (int i = 0; i < n; i++) weirl_pushvalue(L, kidx, ret[i]);
    return n > 0 ? n : weirl_pushnothing(L, lua_pushfstring(L, "%s:%s", weir_res_name(h->r), method));
}

static int work_call(lua_State *L) { /* upvalue: the method's name */
    const char *method = lua_tostring(L, lua_upvalueindex(1));
    return do_work(L, self(L, method), method);
}

static int r_drain(lua_State *L) {
    weirl_res *h = self(L, "drain");
    int n = lua_isnoneornil(L, 2) ? 0 : weirl_tointx(L, 2, "drain");
    if (n < 0) return weirl_raise(L, "drain(%d): how many may stay in flight, 0 or more [C-MOVE-02]", n);
    weirl_at(L, h->kb);
    weir_drain(h->kb->k, h->r, n);
    return 0;
}

/* ---- places, views, register tiles -------------------------------------------------------------------------------------- */

static int view_of(lua_State *L, weirl_res *h, weir_value v) {
    lua_getiuservalue(L, 1, 1);
    (void)h;
    return weirl_pushvalue(L, lua_gettop(L), v);
}

static int indices(lua_State *L, weirl_res *h, const char *method, weir_value *v) {
    int n = lua_gettop(L) - 1;
    if (n < 1 || n > WEIR_MAX_RANK) weirl_raise(L, "%s: 1 to %d indices expected, got %d", method, WEIR_MAX_RANK, n);
    weirl_at(L, h->kb);
    for (int i = 0; i < n; i++) {
        v[i] = weirl_tovalue(L, i + 2, h->kb, lua_pushfstring(L, "%s: index %d", method, i + 1));
        lua_pop(L, 1);
    }
    return n;
}

static int r_at(lua_State *L) {
    weirl_res *h = self(L, "at");
    weir_value v[WEIR_MAX_RANK];
    int n = indices(L, h, "at", v);
    return view_of(L, h, weir_view_at(h->kb->k, h->r, v, n));
}

static int r_from(lua_State *L) {
    weirl_res *h = self(L, "from");
    weir_value v[WEIR_MAX_RANK];
    int n = indices(L, h, "from", v);
    return view_of(L, h, weir_view_from(h->kb->k, h->r, v, n));
}

static int r_sub(lua_State *L) {
    weirl_res *h = self(L, "sub");
    weirl_at(L, h->kb);
    weir_value i = weirl_tovalue(L, 2, h->kb, "sub: index");
    return view_of(L, h, weir_view_sub(h->kb->k, h->r, (weir_value){ 0 }, i));
}

static int r_read(lua_State *L) {
    weirl_res *h = self(L, "read");
    bool reg = h->kind == WEIR_RES_REG || h->kind == WEIR_RES_WGMMA;
    if (reg && !lua_isnoneornil(L, 2)) return weirl_raise(L, "read of a register tile takes no argument");
    int back = lua_isnoneornil(L, 2) ? 0 : weirl_tointx(L, 2, "read");
    weirl_at(L, h->kb);
    return view_of(L, h, reg ? weir_reg_read(h->kb->k, h->r) : weir_view_read(h->kb->k, h->r, back));
}

static int r_row_index(lua_State *L) {
    weirl_res *h = self(L, "row_index");
    weirl_at(L, h->kb);
    return view_of(L, h, weir_row_index(h->kb->k, h->r));
}

static int r_col_index(lua_State *L) {
    weirl_res *h = self(L, "col_index");
    weirl_at(L, h->kb);
    return view_of(L, h, weir_col_index(h->kb->k, h->r));
}

/* ---- queues and groups -------------------------------------------------------------------------------------------------- */

static int queue_step(lua_State *L, const char *name, const weir_move *before, int n, const char *work, weir_move after) {
    weirl_res *h = self(L, name);
    if (lua_gettop(L) > 1) return weirl_raise(L, "%s takes no argument", name);
    weirl_at(L, h->kb);
    for (int i = 0; i < n; i++) weir_do(h->kb->k, h->r, before[i], -1);
    weir_work(h->kb->k, h->r, work, &(weir_work_desc){ .nargs = 0 }, NULL, 0);
    weir_do(h->kb->k, h->r, after, -1);
    return 0;
}

static int r_next(lua_State *L) {
    static const weir_move before[] = { WEIR_TRY_WAIT, WEIR_WAIT };
    return queue_step(L, "next", before, 2, "get_and_advance_work_tile", WEIR_RELEASE);
}

static int r_fetch(lua_State *L) { /* the probe goes with next's: a task asks with both or with neither (V-WQ-08) */
    static const weir_move before[] = { WEIR_TRY_ACQUIRE, WEIR_ACQUIRE };
    return queue_step(L, "fetch", before, 2, "fetch_work_tile", WEIR_COMMIT);
}

static int r_member(lua_State *L) {
    weirl_res *h = self(L, "member");
    if (lua_type(L, 2) != LUA_TSTRING) return weirl_raise(L, "member: a name expected, got %s", weirl_typename(L, 2));
    weir_res *m = weir_group_member(h->r, lua_tostring(L, 2));
    if (!m) {
        lua_pushnil(L);
        return 1;
    }
    lua_getiuservalue(L, 1, 1);
    weirl_pushres(L, lua_gettop(L), m, 0);
    return 1;
}

/* Which of the methods below a kind of handle has. What a resource's work is called, the core says: weir_res_method. */
#define K(kind) (1u << WEIR_RES_##kind)
#define PIPED (K(SMEM) | K(TMEM) | K(CUSTOM) | K(QUEUE) | K(BARRIER) | K(GROUP))
static const struct method {
    const char *name;
    lua_CFunction f;
    unsigned kinds;
} methods[] = { { "try_acquire", r_try_acquire, PIPED },
                { "acquire", r_acquire, PIPED },
                { "commit", r_commit, PIPED },
                { "try_wait", r_try_wait, PIPED },
                { "wait", r_wait, PIPED },
                { "release", r_release, PIPED },
                { "at", r_at, K(GMEM) },
                { "from", r_from, K(GMEM) },
                { "sub", r_sub, K(SMEM) },
                { "read", r_read, K(SMEM) | K(CUSTOM) | K(REG) | K(WGMMA) | K(TMEM) },
                { "row_index", r_row_index, K(REG) | K(WGMMA) | K(TMEM) },
                { "col_index", r_col_index, K(REG) | K(WGMMA) | K(TMEM) },
                { "drain", r_drain, K(GMEM) | K(REG) | K(WGMMA) | K(TMEM) },
                { "next", r_next, K(QUEUE) },
                { "fetch", r_fetch, K(QUEUE) },
                { "member", r_member, K(GROUP) } };
static const struct field {
    const char *name;
    unsigned kinds;
} fields[] = { { "name", ~0u },
               { "kind", ~0u },
               { "mode", K(GROUP) },
               { "barriers", K(GROUP) },
               { "is_heterogeneous", K(GROUP) },
               { "num_barriers_per_stage", K(GROUP) },
               { "group_pipeline", K(GROUP) } };

enum { NMETHODS = sizeof methods / sizeof *methods, NFIELDS = sizeof fields / sizeof *fields };

/* Is it one of the group's barriers: GROUP_full, GROUP_empty, or GROUP_MEMBER_full? members: index of their list. */
static bool is_barrier_of(lua_State *L, const weirl_res *h, int members, const char *name) {
    static const char *const sides[] = { "full", "empty" };
    const char *group = weir_res_name(h->r);
    int top = lua_gettop(L);
    bool hit = false;
    for (int side = 0; side < 2 && !hit; side++) {
        hit = strcmp(name, lua_pushfstring(L, "%s_%s", group, sides[side])) == 0;
        for (int i = 1; !hit && lua_rawgeti(L, members, i) != LUA_TNIL; i++) {
            const char *member = weir_res_name(weirl_checkres(L, -1, "barriers")->r);
            hit = strcmp(name, lua_pushfstring(L, "%s_%s_%s", group, member, sides[side])) == 0;
            lua_pop(L, 2);
        }
        lua_settop(L, top);
    }
    return hit;
}

static const char *const pipe_fields[] = { "stages",
                                           "bytes",
                                           "producers",
                                           "consumers",
                                           "cta_layout",
                                           "producer_signaling",
                                           "consumer_signaling",
                                           "consumer_wait_signaling",
                                           "interleave",
                                           "advance_on_wait",
                                           "advance_on_acquire",
                                           "producer_op",
                                           "bytes_per_warp_per_cta",
                                           "grain",
                                           "producer_grain",
                                           NULL };

/* What moves on a group follow, as weir.pipeline makes it: the first member's, with type, bytes and counts of the group. */
static int push_group_pipeline(lua_State *L, const weirl_res *h) {
    weir_pipe_desc p = weir_group_get_pipeline(h->r);
    const struct {
        const char *name;
        int64_t x; /* 0: derived */
    } own[] = { { "stages", p.stages }, { "bytes", p.bytes }, { "producers", p.producers }, { "consumers", p.consumers } };
    *(weir_pipe_desc *)weirl_new(L, sizeof p, 1, WEIRL_PIPE) = p;
    lua_newtable(L);
    int t = lua_gettop(L);
    if (lua_getiuservalue(L, 1, 2) == LUA_TTABLE && lua_getfield(L, -1, "members") == LUA_TTABLE &&
        lua_rawgeti(L, -1, 1) == LUA_TUSERDATA && lua_getiuservalue(L, -1, 2) == LUA_TTABLE &&
        lua_getfield(L, -1, "pipeline") == LUA_TUSERDATA && lua_getiuservalue(L, -1, 1) == LUA_TTABLE) {
        for (int i = 0; pipe_fields[i]; i++) {
            lua_getfield(L, -1, pipe_fields[i]);
            lua_setfield(L, t, pipe_fields[i]);
        }
    }
    lua_settop(L, t);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].x) lua_pushinteger(L, (lua_Integer)own[i].x);
        else lua_pushnil(L);
        lua_setfield(L, t, own[i].name);
    }
    lua_pushstring(L, weirl_pipe_name(p.type));
    lua_setfield(L, t, "type");
    lua_setiuservalue(L, -2, 1);
    return 1;
}

/* barriers of a group: name -> first and count of its place among the kernel's, address, arrivals, bytes. */
static int push_barriers(lua_State *L, const weirl_res *h) {
    lua_getiuservalue(L, 1, 2);
    lua_getfield(L, -1, "members");
    int members = lua_gettop(L), rows = weir_barrier_layout(h->kb->k, NULL, 0);
    weir_barrier_row *row = lua_newuserdatauv(L, sizeof *row * (size_t)(rows > 0 ? rows : 1), 0);
    rows = weir_barrier_layout(h->kb->k, row, rows);
    lua_newtable(L);
    for (int i = 0; i < rows; i++) {
        if (!is_barrier_of(L, h, members, row[i].name)) continue;
        static const char *const names[] = { "first", "count", "address", "arrivals", "tx_bytes" };
        const int64_t x[] = { row[i].first, row[i].stages, row[i].offset, row[i].arrivals, row[i].tx_bytes };
        lua_createtable(L, 0, 5);
        for (int f = 0; f < 5; f++) {
            lua_pushinteger(L, (lua_Integer)x[f]);
            lua_setfield(L, -2, names[f]);
        }
        lua_setfield(L, -2, row[i].name);
    }
    return 1;
}

static int res_index(lua_State *L) {
    static const char *const modes[] = { "default", "merge", "fork", "fused_merge" }; /* ORDER weir_group_mode */
    weirl_res *h = weirl_checkres(L, 1, "index");
    const char *key = luaL_tolstring(L, 2, NULL);
    for (int i = 0; i < NMETHODS; i++) {
        if ((methods[i].kinds >> h->kind & 1u) && strcmp(methods[i].name, key) == 0) {
            lua_pushcfunction(L, methods[i].f);
            return 1;
        }
    }
    const char *name;
    for (int i = 0; (name = weir_res_method(h->r, i)) != NULL; i++) {
        if (strcmp(name, key) == 0) {
            lua_pushvalue(L, lua_upvalueindex(1)); /* closures by name, made once */
            if (lua_getfield(L, -1, key) != LUA_TNIL) return 1;
            lua_pop(L, 1);
            lua_pushstring(L, key);
            lua_pushcclosure(L, work_call, 1);
            lua_pushvalue(L, -1);
            lua_setfield(L, -3, key);
            return 1;
        }
    }
    if (h->kind == WEIR_RES_GROUP) {
        weir_res *m = weir_group_member(h->r, key);
        if (m) {
            lua_getiuservalue(L, 1, 1);
            weirl_pushres(L, lua_gettop(L), m, 0);
            return 1;
        }
        if (strcmp(key, "mode") == 0) return lua_pushstring(L, modes[weir_group_get_mode(h->r)]), 1;
        if (strcmp(key, "barriers") == 0) return push_barriers(L, h);
        if (strcmp(key, "is_heterogeneous") == 0) return lua_pushboolean(L, weir_group_is_heterogeneous(h->r)), 1;
        if (strcmp(key, "num_barriers_per_stage") == 0) return lua_pushinteger(L, weir_group_barriers_per_stage(h->r)), 1;
        if (strcmp(key, "group_pipeline") == 0) return push_group_pipeline(L, h);
    }
    if (strcmp(key, "name") == 0) return lua_pushstring(L, weir_res_name(h->r)), 1;
    if (strcmp(key, "kind") == 0) return lua_pushstring(L, weirl_kind_name(h->kind)), 1;
    bool described = lua_getiuservalue(L, 1, 2) == LUA_TTABLE;
    if (described && lua_getfield(L, -1, key) != LUA_TNIL) return 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    for (int i = 0; i < NMETHODS; i++)
        if (methods[i].kinds >> h->kind & 1u) weirl_near_try(&near, methods[i].name);
    for (int i = 0; i < NFIELDS; i++)
        if (fields[i].kinds >> h->kind & 1u) weirl_near_try(&near, fields[i].name);
    for (int i = 0; (name = weir_res_method(h->r, i)) != NULL; i++) weirl_near_try(&near, name);
    const char *what = "method or field";
    if (h->kind == WEIR_RES_GROUP) {
        what = "member, method or field";
        lua_getiuservalue(L, 1, 2);
        lua_getfield(L, -1, "members");
        for (int i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
            weirl_near_try(&near, weir_res_name(weirl_checkres(L, -1, "index")->r));
            lua_pop(L, 1);
        }
    }
    const char *text = NULL, *rule = weir_res_no_method(h->kb->k, h->r, key, &text);
    if (strcmp(rule, "C-NAME-03") != 0) return weirl_raise(L, "%s [%s]", text, rule);
    return weirl_raise(L, "%s '%s' has no %s '%s'%s [%s]", weirl_kind_name(h->kind), weir_res_name(h->r), what, key,
                       weirl_near_text(L, &near), rule);
}

static int res_tostring(lua_State *L) {
    weirl_res *h = luaL_checkudata(L, 1, WEIRL_RES);
    if (!h->kb->k) lua_pushliteral(L, "resource of a closed kernel");
    else
        lua_pushfstring(L, "%s '%s'%s", weirl_kind_name(h->kind), weir_res_name(h->r),
                        weir_res_get_kind(h->r) == WEIR_RES_MEMBER ? " seen through its group" : "");
    return 1;
}

static int res_noarith(lua_State *L) {
    weirl_res *h = luaL_testudata(L, 1, WEIRL_RES);
    if (!h) h = weirl_checkres(L, 2, "arithmetic");
    return weirl_raise(L, "%s '%s' is a resource, not a value: write %s:read()", weirl_kind_name(h->kind), weir_res_name(h->r),
                       weir_res_name(h->r));
}

/* ---- tensors ------------------------------------------------------------------------------------------------------------ */

int weirl_tensor_new(lua_State *L) {
    static const char *const names[] = { "name", "dtype", "shape", "stride", "out", NULL };
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    weirl_desc d = weirl_desc_open(L, 2, "k:tensor", names);
    weir_tensor_desc desc = { .name = weirl_need_str(&d, "name"),
                              .dtype = weirl_dtype(&d, "dtype"),
                              .out = weirl_bool(&d, "out", false) };
    weirl_at(L, kb);
    desc.rank = weirl_values(&d, kb, "shape", desc.shape, WEIR_MAX_RANK);
    weirl_values(&d, kb, "stride", desc.stride, WEIR_MAX_RANK);
    weir_tensor *t = weir_tensor_new(kb->k, &desc);
    if (!t) return weirl_raise(L, "k:tensor '%s': %s", desc.name, weir_error(kb->ctx->c));
    weirl_tensor *h = weirl_new(L, sizeof *h, 2, WEIRL_TENSOR);
    *h = (weirl_tensor){ kb, t };
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lua_newtable(L);
    for (int i = 0; names[i]; i++) {
        weirl_get(&d, names[i]);
        lua_setfield(L, -2, names[i]);
    }
    lua_setiuservalue(L, -2, 2);
    lua_getiuservalue(L, 1, 2); /* by name, so that a launch knows an address from a size */
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, desc.name);
    lua_pop(L, 1);
    return 1;
}

static int tensor_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_TENSOR);
    static const char *const names[] = { "name", "dtype", "shape", "stride", "out" };
    const char *key = luaL_tolstring(L, 2, NULL);
    lua_getiuservalue(L, 1, 2);
    weirl_near near;
    weirl_near_begin(&near, key);
    for (int i = 0; i < 5; i++) {
        if (strcmp(names[i], key) == 0) return lua_getfield(L, -1, key), 1;
        weirl_near_try(&near, names[i]);
    }
    lua_getfield(L, -1, "name");
    const char *name = lua_tostring(L, -1);
    return weirl_raise(L, "tensor '%s' has no field '%s'%s (views come from a k:gmem_tile)", name, key,
                       weirl_near_text(L, &near));
}

static int tensor_tostring(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_TENSOR);
    lua_getiuservalue(L, 1, 2);
    lua_getfield(L, -1, "name");
    lua_getfield(L, -2, "dtype");
    lua_pushfstring(L, "tensor '%s' %s", lua_tostring(L, -2), lua_isnil(L, -1) ? "" : lua_tostring(L, -1));
    return 1;
}

/* ---- pipelines ---------------------------------------------------------------------------------------------------------- */

/* Arrivals: a number, or { count, "thread" | "warp" | "warpgroup" }. */
static int arrivals(const weirl_desc *d, const char *field) {
    static const char *const units[] = { "thread", "warp", "warpgroup" };
    static const int threads[] = { 1, 32, 128 };
    lua_State *L = d->L;
    if (weirl_get(d, field) != LUA_TTABLE) {
        lua_pop(L, 1);
        int n = weirl_int(d, field, -1);
        if (n == 0) weirl_raise(L, "%s: %s is 0; at least 1, and left out it is derived", d->fn, field);
        return weirl_has(d, field) ? n : 0;
    }
    lua_rawgeti(L, -1, 1);
    int n = weirl_tointx(L, -1, field), unit = -1;
    lua_rawgeti(L, -2, 2);
    for (int i = 0; i < 3; i++)
        if (lua_type(L, -1) == LUA_TSTRING && strcmp(lua_tostring(L, -1), units[i]) == 0) unit = i;
    if (unit < 0) weirl_raise(L, "%s: %s = { count, unit }: the unit is thread, warp or warpgroup", d->fn, field);
    if (n < 1 || n > 1 << 20) weirl_raise(L, "%s: %s = { %d, ... } is out of range", d->fn, field, n);
    lua_pop(L, 3);
    return n * threads[unit];
}

static int signaling(const weirl_desc *d, const char *field) {
    static const char *const names[] = { "all", "cta_leader", "task_warp_leader", "cta_leader+task_warp_leader", NULL };
    static const int bits[] = { WEIR_SIGNAL_ALL, WEIR_SIGNAL_CTA_LEADER, WEIR_SIGNAL_TASK_WARP_LEADER,
                                WEIR_SIGNAL_CTA_LEADER | WEIR_SIGNAL_TASK_WARP_LEADER };
    int i = weirl_choice(d, field, names, -1);
    return i < 0 ? WEIR_SIGNAL_DEFAULT : bits[i];
}

static int tristate(const weirl_desc *d, const char *field) {
    return !weirl_has(d, field) ? 0 : weirl_bool(d, field, false) ? 1 : -1;
}

static weir_grain grain(const weirl_desc *d, const char *field) {
    static const char *const names[] = { "thread", "warp", "warpgroup", NULL };
    return (weir_grain)(weirl_choice(d, field, names, -1) + 1); /* ORDER weir_grain */
}

int weirl_pipeline(lua_State *L) {
    static const char *const ops[] = { "thread", "load", NULL }; /* ORDER weir_producer_op */
    const char *fn = lua_pushfstring(L, "weir.pipeline.%s", lua_tostring(L, lua_upvalueindex(2)));
    if (lua_isnone(L, 1) || lua_gettop(L) == 1) weirl_raise(L, "%s: a table of options expected: %s { stages = 2 }", fn, fn);
    weirl_desc d = weirl_desc_open(L, 1, fn, pipe_fields);
    weir_pipe_desc p = { .type = (weir_pipe_type)lua_tointeger(L, lua_upvalueindex(1)) };
    p.stages = weirl_count(&d, "stages", 0);
    if (!p.stages)
        weirl_raise(L, "%s: stages is missing: how many copies of the tile there are, %s { stages = 2 }", fn, fn);
    p.bytes = weirl_int64(&d, "bytes", 0);
    p.producers = arrivals(&d, "producers");
    p.consumers = arrivals(&d, "consumers");
    int c[4] = { 0 };
    if (weirl_get(&d, "cta_layout") == LUA_TTABLE && lua_rawlen(L, -1) == 0) {
        static const char *const axes[] = { "v", "m", "n", "k", NULL };
        weirl_desc by = weirl_desc_open(L, -1, fn, axes);
        for (int i = 0; i < 4; i++) c[i] = weirl_int(&by, axes[i], 1);
    } else {
        int n = weirl_ints(&d, "cta_layout", c, 4);
        if (n != 0 && n != 4) weirl_raise(L, "%s: cta_layout = { v, m, n, k }, got %d entries", fn, n);
    }
    p.cta_layout = (weir_cluster){ c[0], c[1], c[2], c[3] };
    p.producer_signaling = signaling(&d, "producer_signaling");
    p.consumer_signaling = signaling(&d, "consumer_signaling");
    p.consumer_wait_signaling = signaling(&d, "consumer_wait_signaling");
    if (weirl_get(&d, "interleave") == LUA_TNUMBER) {
        p.interleave[0] = p.interleave[1] = p.interleave[2] = p.interleave[3] = weirl_int(&d, "interleave", 0);
    } else {
        int n = weirl_ints(&d, "interleave", p.interleave, 4);
        if (n != 0 && n != 4) weirl_raise(L, "%s: interleave = { acquire, commit, wait, release }, got %d entries [CF10]", fn, n);
    }
    for (int i = 0; i < 4 && weirl_has(&d, "interleave"); i++)
        if (p.interleave[i] == 0) weirl_raise(L, "%s: interleave is 0; a stride is at least 1 [CF10]", fn);
    p.advance_on_wait = tristate(&d, "advance_on_wait");
    p.advance_on_acquire = tristate(&d, "advance_on_acquire");
    p.producer_op = (weir_producer_op)(weirl_choice(&d, "producer_op", ops, -1) + 1);
    p.bytes_per_warp_per_cta = weirl_int64(&d, "bytes_per_warp_per_cta", 0);
    p.grain = grain(&d, "grain");
    p.producer_grain = grain(&d, "producer_grain");
    weir_pipe_desc *u = weirl_new(L, sizeof *u, 1, WEIRL_PIPE);
    *u = p;
    lua_newtable(L); /* what was given, readable */
    for (int i = 0; pipe_fields[i]; i++) {
        weirl_get(&d, pipe_fields[i]);
        lua_setfield(L, -2, pipe_fields[i]);
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_setfield(L, -2, "type");
    lua_setiuservalue(L, -2, 1);
    return 1;
}

weir_pipe_desc weirl_pipe(const weirl_desc *d, const char *field) {
    weir_pipe_desc p = { .type = WEIR_PIPE_NONE };
    int t = weirl_get(d, field);
    weir_pipe_desc *u = luaL_testudata(d->L, -1, WEIRL_PIPE);
    if (u) p = *u;
    else if (t != LUA_TNIL)
        weirl_raise(d->L, "%s: '%s' comes from weir.pipeline, tma_async { stages = 4 } say; got %s", d->fn, field,
                    weirl_typename(d->L, -1));
    lua_pop(d->L, 1);
    return p;
}

static int pipe_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_PIPE);
    const char *key = luaL_tolstring(L, 2, NULL);
    lua_getiuservalue(L, 1, 1);
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_try(&near, "type");
    if (strcmp(key, "type") == 0) return lua_getfield(L, -1, key), 1;
    for (int i = 0; pipe_fields[i]; i++) {
        if (strcmp(pipe_fields[i], key) == 0) return lua_getfield(L, -1, key), 1;
        weirl_near_try(&near, pipe_fields[i]);
    }
    return weirl_raise(L, "a pipeline has no field '%s'%s", key, weirl_near_text(L, &near));
}

static int pipe_tostring(lua_State *L) {
    weir_pipe_desc *p = luaL_checkudata(L, 1, WEIRL_PIPE);
    lua_getiuservalue(L, 1, 1);
    lua_getfield(L, -1, "type");
    lua_pushfstring(L, "%s pipeline, %d stages", lua_tostring(L, -1), p->stages);
    return 1;
}

void weirl_open_resource(lua_State *L) {
    static const luaL_Reg meta[] = { { "__tostring", res_tostring }, { "__add", res_noarith }, { "__sub", res_noarith },
                                     { "__mul", res_noarith },       { "__div", res_noarith }, { "__idiv", res_noarith },
                                     { "__mod", res_noarith },       { "__unm", res_noarith }, { NULL, NULL } };
    static const luaL_Reg tensor_meta[] = { { "__tostring", tensor_tostring }, { NULL, NULL } };
    static const luaL_Reg pipe_meta[] = { { "__tostring", pipe_tostring }, { NULL, NULL } };
    weirl_class(L, WEIRL_RES, NULL, meta, res_index);
    luaL_getmetatable(L, WEIRL_RES);
    lua_newtable(L);
    lua_pushcclosure(L, res_index, 1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    weirl_class(L, WEIRL_TENSOR, NULL, tensor_meta, tensor_index);
    weirl_class(L, WEIRL_PIPE, NULL, pipe_meta, pipe_index);
    if (luaL_newmetatable(L, WEIRL_WORK)) {
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
    }
    lua_pop(L, 1);
}
