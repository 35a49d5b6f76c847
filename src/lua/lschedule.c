/* Loops, guards and work tiles: each is a generic for whose body runs once, between a begin and an end of the core. The closing
 * value ends the block also when the body is left by an error or by break, and tells the core so. */
#include <string.h>

#include "weirlua.h"

typedef enum block_kind { BLOCK_LOOP, BLOCK_GUARD, BLOCK_TILES, BLOCK_SKIPPABLE, BLOCK_BEFORE } block_kind;
typedef enum block_state { FRESH, OPEN, DONE } block_state;
typedef struct block { /* user values: kernel; index value, key, or queue; skip function; file */
    weirl_kernel *kb;
    block_kind kind;
    block_state state;
    weir_value start, stop, step;
    int unroll;            /* LOOP */
    weir_guard_desc guard; /* GUARD; BEFORE: its kind */
    weir_res *queue;
    int lane, lanes;
    bool skips;       /* TILES; BEFORE: queue */
    weir_tiles tiles; /* SKIPPABLE */
    const char *name; /* as the author wrote it */
    int line;
} block;
enum { UV_KERNEL = 1, UV_OBJECT, UV_SKIP, UV_FILE, NUV = UV_FILE };

static int block_next(lua_State *L);

static weirl_kernel *in_schedule(lua_State *L, const char *name) { /* pushes the kernel */
    weirl_kernel *kb = weirl_current(L);
    if (!kb || !kb->task) weirl_raise(L, "%s belongs inside the schedule of a task [C-CTX-01]", name);
    return kb;
}

/* A fresh block, and what generic for wants of it: next, state, control, closing value. Its kernel is at kidx. */
static block *push_block(lua_State *L, int kidx, block_kind kind, const char *name) {
    block *b = weirl_new(L, sizeof *b, NUV, WEIRL_BLOCK);
    int at = lua_gettop(L);
    b->kb = lua_touserdata(L, kidx);
    b->kind = kind;
    b->name = name;
    lua_pushvalue(L, kidx);
    lua_setiuservalue(L, at, UV_KERNEL);
    weirl_here(L, &b->line);
    lua_setiuservalue(L, at, UV_FILE);
    if (lua_getiuservalue(L, kidx, 3) == LUA_TTABLE) { /* remembered until the task ends */
        lua_pushvalue(L, at);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    lua_pop(L, 1);
    return b;
}

static int for_values(lua_State *L) { /* the block is on top */
    int at = lua_gettop(L);
    lua_pushcfunction(L, block_next);
    lua_pushvalue(L, at);
    lua_pushnil(L);
    lua_pushvalue(L, at);
    return 4;
}

/* The second argument of a guard, a loop: options, or nothing. */
static bool has_options(lua_State *L, int idx) { return lua_type(L, idx) == LUA_TTABLE; }

static int domain_loop(lua_State *L) {
    static const char *const names[] = { "unroll", NULL };
    int n = lua_gettop(L), unroll = 0;
    if (n > 0 && has_options(L, n)) {
        weirl_desc d = weirl_desc_open(L, n--, "weir.domain_loop", names);
        unroll = weirl_int(&d, "unroll", 0);
        if (unroll < 0) return weirl_raise(L, "weir.domain_loop: unroll = %d, at least 1 [T-UNROLL-01]", unroll);
    }
    if (n < 1 || n > 3)
        return weirl_raise(
            L, "weir.domain_loop takes a stop, a start and stop, or a start, stop and step; got %d bounds [C-DOM-01]", n);
    weirl_kernel *kb = in_schedule(L, "weir.domain_loop");
    int kidx = lua_gettop(L);
    weirl_at(L, kb);
    static const char *const whats[] = { "weir.domain_loop: start", "weir.domain_loop: stop", "weir.domain_loop: step" };
    weir_value bound[3];
    for (int i = 0; i < n; i++) {
        const char *what = n == 1 ? whats[1] : whats[i];
        if (lua_isnil(L, i + 1)) return weirl_raise(L, "%s is nil: a number or a value expected [C-DOM-03]", what);
        bound[i] = weirl_tovalue(L, i + 1, kb, what);
    }
    block *b = push_block(L, kidx, BLOCK_LOOP, "weir.domain_loop");
    b->start = n == 1 ? weir_int(kb->k, 0) : bound[0];
    b->stop = n == 1 ? bound[0] : bound[1];
    b->step = n == 3 ? bound[2] : weir_int(kb->k, 1);
    b->unroll = unroll;
    return for_values(L);
}

static weirl_value *index_self(lua_State *L, const char *name) {
    weirl_value *v = luaL_testudata(L, 1, WEIRL_VALUE);
    if (!v)
        weirl_raise(L, "%s: called on %s; write i:%s(...) with the index of a loop [C-NEST-07]", name, weirl_typename(L, 1),
                    name);
    weirl_live(L, v->kb);
    return v;
}

int weirl_guard(lua_State *L) {
    static const char *const names[] = { "", "i:first_iter", "i:last_iter", "i:every" }; /* ORDER weir_guard_kind */
    weir_guard_kind kind = (weir_guard_kind)lua_tointeger(L, lua_upvalueindex(1));
    weirl_value *v = index_self(L, names[kind] + 2);
    weir_guard_desc g = { .kind = kind, .of = v->v };
    int n = lua_gettop(L);
    if (kind == WEIR_GUARD_EVERY) {
        g.period = weirl_tointx(L, 2, "i:every: period");
        g.start = n > 2 && !lua_isnil(L, 3) ? weirl_tointx(L, 3, "i:every: start") : 0;
        if (g.period < 1 || g.start < 0)
            return weirl_raise(L, "i:every(%d, %d): a period of 1 or more and a start of 0 or more [C-GUARD-01]", g.period,
                               g.start);
    } else if (n > 1) {
        return weirl_raise(L, "%s takes no argument", names[kind]);
    }
    in_schedule(L, names[kind]);
    push_block(L, lua_gettop(L), BLOCK_GUARD, names[kind])->guard = g;
    return for_values(L);
}

static int when(lua_State *L, weir_guard_kind kind, const char *name) {
    static const char *const names[] = { "key", NULL };
    weir_guard_desc g = { .kind = kind };
    lua_settop(L, 2);
    if (lua_tocfunction(L, 1) == block_next)
        return weirl_raise(
            L, "%s: first_iter, last_iter and every open a block by themselves: for _ in i:first_iter() do [C-GUARD-02]", name);
    weirl_nothing(L, 1, lua_pushfstring(L, "%s: the condition", name), "C-GUARD-03");
    lua_settop(L, 2);
    if (lua_type(L, 1) == LUA_TNIL || lua_type(L, 1) == LUA_TSTRING || lua_type(L, 1) == LUA_TTABLE)
        return weirl_raise(L, "%s: a condition expected, got %s [C-GUARD-03]", name, weirl_typename(L, 1));
    if (!lua_isnil(L, 2)) {
        weirl_desc d = weirl_desc_open(L, 2, name, names);
        g.key = weirl_str(&d, "key");
    }
    weirl_kernel *kb = in_schedule(L, name);
    weirl_at(L, kb);
    g.of = weirl_tovalue(L, 1, kb, name);
    block *b = push_block(L, 3, BLOCK_GUARD, name);
    b->guard = g;
    lua_pushstring(L, g.key);
    lua_setiuservalue(L, -2, UV_OBJECT);
    return for_values(L);
}

static int when_true(lua_State *L) { return when(L, WEIR_GUARD_TRUE, "weir.when_true"); }
static int when_false(lua_State *L) { return when(L, WEIR_GUARD_FALSE, "weir.when_false"); }

static int work_tile_loop(lua_State *L) {
    static const char *const names[] = { "skip", "lane", "lanes", NULL };
    lua_settop(L, 2);
    weirl_res *q = weirl_checkres(L, 1, "weir.work_tile_loop");
    if (q->kind != WEIR_RES_QUEUE)
        return weirl_raise(L, "weir.work_tile_loop: a work_queue expected, got %s '%s' [C-WTL-01]", weirl_kind_name(q->kind),
                           weir_res_name(q->r));
    int lane = 0, lanes = 0;
    bool skips = false;
    if (!lua_isnil(L, 2)) {
        weirl_desc d = weirl_desc_open(L, 2, "weir.work_tile_loop", names);
        lane = weirl_int(&d, "lane", 0);
        lanes = weirl_int(&d, "lanes", 0);
        if (weirl_has(&d, "lane") != weirl_has(&d, "lanes") || lanes < 0 || (lanes > 0 && (lane < 0 || lane >= lanes)))
            return weirl_raise(L, "weir.work_tile_loop: lane = %d of lanes = %d; give both, lane from 0 to lanes - 1", lane,
                               lanes);
        int t = weirl_get(&d, "skip");
        if (t != LUA_TNIL && t != LUA_TFUNCTION)
            return weirl_raise(L, "weir.work_tile_loop: skip is a function of the tile, got %s [C-SKIP-01]",
                               weirl_typename(L, -1));
        skips = t == LUA_TFUNCTION;
    } else {
        lua_pushnil(L);
    }
    weirl_kernel *kb = in_schedule(L, "weir.work_tile_loop"); /* 3: skip, 4: kernel */
    if (q->kb != kb) return weirl_raise(L, "weir.work_tile_loop: queue '%s' belongs to another kernel", weir_res_name(q->r));
    block *b = push_block(L, 4, BLOCK_TILES, "weir.work_tile_loop");
    b->queue = q->r, b->lane = lane, b->lanes = lanes, b->skips = skips;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, UV_OBJECT);
    lua_pushvalue(L, 3);
    lua_setiuservalue(L, -2, UV_SKIP);
    return for_values(L);
}

/* previous_tile, last_tile: guards that give a tile. */
static int tile_before(lua_State *L) {
    const bool last = lua_toboolean(L, lua_upvalueindex(1));
    const char *name = last ? "weir.last_tile" : "weir.previous_tile";
    if (lua_gettop(L) > 1) return weirl_raise(L, "%s takes the work queue alone", name);
    weirl_res *q = weirl_checkres(L, 1, name);
    if (q->kind != WEIR_RES_QUEUE)
        return weirl_raise(L, "%s: a work_queue expected, got %s '%s' [C-WTL-01]", name, weirl_kind_name(q->kind), weir_res_name(q->r));
    weirl_kernel *kb = in_schedule(L, name); /* 2: kernel */
    if (q->kb != kb) return weirl_raise(L, "%s: queue '%s' belongs to another kernel", name, weir_res_name(q->r));
    block *b = push_block(L, 2, BLOCK_BEFORE, name);
    b->queue = q->r;
    b->guard.kind = last ? WEIR_GUARD_LAST_TILE : WEIR_GUARD_PREVIOUS_TILE;
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, UV_OBJECT);
    return for_values(L);
}

/* ---- the generic for ---------------------------------------------------------------------------------------------------- */

static void push_tile(lua_State *L, block *b, weir_tiles t) {
    b->state = OPEN;
    weirl_tile *u = weirl_new(L, sizeof *u, 1, WEIRL_TILE);
    *u = (weirl_tile){ b->kb, t, b->queue };
    lua_getiuservalue(L, 1, UV_KERNEL);
    lua_setiuservalue(L, -2, 1);
}

static void begin_tiles(lua_State *L, block *b) { /* pushes the work tile */
    weirl_kernel *kb = b->kb;
    weir_tiles t = weir_tiles_begin(kb->k, b->queue, b->lane, b->lanes);
    push_tile(L, b, t);
    if (!b->skips) return;
    lua_getiuservalue(L, 1, UV_SKIP);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 1);
    weirl_at(L, kb);
    weir_tiles_skip(kb->k, t, weirl_tovalue(L, -1, kb, "weir.work_tile_loop: what skip returns"));
    lua_pop(L, 1);
}

static int block_next(lua_State *L) {
    block *b = luaL_checkudata(L, 1, WEIRL_BLOCK);
    weirl_live(L, b->kb);
    if (!b->kb->task) return weirl_raise(L, "%s: the schedule has ended", b->name);
    weirl_at(L, b->kb);
    if (b->state == OPEN) { /* the body ran to its end */
        b->state = DONE;
        weir_block_end(b->kb->k, false);
        return lua_pushnil(L), 1;
    }
    if (b->state == DONE) return weirl_raise(L, "%s: a loop or guard runs once; call it again for another", b->name);
    switch (b->kind) {
    case BLOCK_LOOP: {
        weir_value i = weir_loop_begin(b->kb->k, b->start, b->stop, b->step, b->unroll);
        b->state = OPEN;
        lua_getiuservalue(L, 1, UV_KERNEL);
        return weirl_pushvalue(L, lua_gettop(L), i);
    }
    case BLOCK_GUARD: weir_guard_begin(b->kb->k, &b->guard); break;
    case BLOCK_TILES: begin_tiles(L, b); return 1;
    case BLOCK_SKIPPABLE: weir_skippable_begin(b->kb->k, b->tiles); break;
    case BLOCK_BEFORE:
        push_tile(L, b,
                  b->guard.kind == WEIR_GUARD_LAST_TILE ? weir_last_tile_begin(b->kb->k, b->queue)
                                                        : weir_previous_tile_begin(b->kb->k, b->queue));
        return 1;
    }
    b->state = OPEN;
    return lua_pushboolean(L, 1), 1;
}

static int block_close(lua_State *L) {
    block *b = luaL_checkudata(L, 1, WEIRL_BLOCK);
    if (b->state != OPEN || !b->kb->k) return 0;
    b->state = DONE;
    weirl_at(L, b->kb);
    weir_block_end(b->kb->k, true);
    return 0;
}

static int block_tostring(lua_State *L) {
    block *b = luaL_checkudata(L, 1, WEIRL_BLOCK);
    lua_pushfstring(L, "%s(...): for the list of a generic for", b->name);
    return 1;
}

static int block_index(lua_State *L) {
    block *b = luaL_checkudata(L, 1, WEIRL_BLOCK);
    return weirl_raise(L, "%s gives no value to use: write for x in %s(...) do ... end", b->name, b->name);
}

void weirl_check_blocks(lua_State *L, int kidx) {
    weirl_kernel *kb = lua_touserdata(L, kidx);
    if (lua_getiuservalue(L, kidx, 3) == LUA_TTABLE) {
        lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, i);
            block *b = lua_touserdata(L, -1);
            if (b->state == FRESH) {
                lua_getiuservalue(L, -1, UV_FILE);
                weir_at(kb->k, &(weir_place){ lua_tostring(L, -1), b->line }, 1);
                weir_fault(kb->k, NULL, lua_pushfstring(L, "%s is made but never run", b->name),
                           lua_pushfstring(L, "write: for _ in %s(...) do ... end", b->name));
                lua_pop(L, 3);
            }
            lua_pop(L, 1);
        }
        lua_pushnil(L);
        lua_setiuservalue(L, kidx, 3);
    }
    lua_pop(L, 1);
}

/* ---- work tiles --------------------------------------------------------------------------------------------------------- */

static int tile_skippable(lua_State *L) {
    weirl_tile *t = luaL_testudata(L, 1, WEIRL_TILE);
    if (!t) return weirl_raise(L, "skippable: called on %s; write tile:skippable()", weirl_typename(L, 1));
    in_schedule(L, "tile:skippable");
    push_block(L, lua_gettop(L), BLOCK_SKIPPABLE, "tile:skippable")->tiles = t->t;
    return for_values(L);
}

static int tile_index(lua_State *L) {
    weirl_tile *t = luaL_checkudata(L, 1, WEIRL_TILE);
    weirl_kernel *kb = weirl_live(L, t->kb);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (strcmp(key, "skippable") == 0) return lua_pushcfunction(L, tile_skippable), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_try(&near, "skippable");
    luaL_Buffer axes;
    luaL_buffinit(L, &axes);
    for (int i = 0; i < weir_queue_rank(t->queue); i++) {
        const char *axis = weir_queue_axis(t->queue, i);
        if (strcmp(axis, key) == 0) {
            luaL_pushresult(&axes);
            weirl_at(L, kb);
            lua_getiuservalue(L, 1, 1);
            return weirl_pushvalue(L, lua_gettop(L), weir_tile_coord(kb->k, t->t, i));
        }
        if (i) luaL_addstring(&axes, ", ");
        luaL_addstring(&axes, axis);
        if (strlen(key) > 1) weirl_near_try(&near, axis);
    }
    luaL_pushresult(&axes);
    const char *all = lua_tostring(L, -1);
    return weirl_raise(L, "a work tile of queue '%s' has no axis '%s'; it has %s%s", weir_res_name(t->queue), key, all,
                       weirl_near_text(L, &near));
}

static int tile_tostring(lua_State *L) {
    weirl_tile *t = luaL_checkudata(L, 1, WEIRL_TILE);
    if (!t->kb->k) return lua_pushliteral(L, "work tile of a closed kernel"), 1;
    return lua_pushfstring(L, "work tile of queue '%s'", weir_res_name(t->queue)), 1;
}

static int tile_noarith(lua_State *L) {
    weirl_tile *t = luaL_testudata(L, 1, WEIRL_TILE);
    if (!t) t = luaL_checkudata(L, 2, WEIRL_TILE);
    return weirl_raise(L, "a work tile is a place, not a number: use its axis, tile.%s", weir_queue_axis(t->queue, 0));
}

void weirl_open_schedule(lua_State *L) {
    static const luaL_Reg functions[] = { { "domain_loop", domain_loop },
                                          { "when_true", when_true },
                                          { "when_false", when_false },
                                          { "work_tile_loop", work_tile_loop },
                                          { NULL, NULL } };
    static const luaL_Reg block_meta[] = { { "__close", block_close }, { "__tostring", block_tostring }, { NULL, NULL } };
    static const luaL_Reg tile_meta[] = {
        { "__tostring", tile_tostring }, { "__add", tile_noarith },  { "__sub", tile_noarith },
        { "__mul", tile_noarith },       { "__idiv", tile_noarith }, { "__mod", tile_noarith },
        { "__lt", tile_noarith },        { "__le", tile_noarith },   { NULL, NULL }
    };
    weirl_class(L, WEIRL_BLOCK, NULL, block_meta, block_index);
    weirl_class(L, WEIRL_TILE, NULL, tile_meta, tile_index);
    luaL_setfuncs(L, functions, 0);
    for (int last = 0; last < 2; last++) {
        lua_pushboolean(L, last);
        lua_pushcclosure(L, tile_before, 1);
        lua_setfield(L, -2, last ? "last_tile" : "previous_tile");
    }
}
