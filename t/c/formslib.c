/* What the module weir_plan knows of the prover's arithmetic: forms of trip counts, spans of tensors, spans of numbers. All of it is
 * made anew at each call, for the kernel as it stands. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "explorelib.h"
#include "lua/weirlua.h"
#include "prove.h"
#include "range.h"
#include "raster.h"

static const weir_kernel *kernel(lua_State *L) { return weirl_checkkernel(L, 1)->k; }

/* nil is no value */
static uint32_t value(lua_State *L, int idx) {
    if (lua_isnoneornil(L, idx)) return 0;
    return weirl_tovalue(L, idx, weirl_checkkernel(L, 1), "a value").id;
}

/* same(k, x, y) */
static int same(lua_State *L) {
    lua_pushboolean(L, weiri_forms_same(kernel(L), value(L, 2), value(L, 3)));
    return 1;
}

/* alike(k, x, y): "alike", "opposite", "unlike" */
static int alike(lua_State *L) {
    bool not;
    bool known = weiri_forms_alike(kernel(L), value(L, 2), value(L, 3), &not);
    lua_pushstring(L, !known ? "unlike" : not ? "opposite" : "alike");
    return 1;
}

/* varies(k, x, memory): "launch", "tile", "cta", "tile cta"; "at any time" after it: more often than that. memory: what lies in tensors
 * that nobody writes is known. */
static int varies(lua_State *L) {
    bool tile, cta,
        known = (lua_toboolean(L, 3) ? weiri_forms_settled : weiri_forms_varies)(kernel(L), value(L, 2), &tile, &cta);
    lua_pushfstring(L, "%s%s", tile && cta ? "tile cta" : tile ? "tile" : cta ? "cta" : "launch", known ? "" : ", at any time");
    return 1;
}

/* truths(k, condition): how it comes out in each iteration of its loop, 0 or 1, up to where that repeats itself, and (behind a space) once
 * more up to there; nil: nothing tells. */
static int truths(lua_State *L) {
    weiri_truths t;
    if (!weiri_index_truths(kernel(L), value(L, 2), &t)) return 0;
    char text[66];
    int n = 0;
    for (int i = 0; i < t.pre + t.period; i++) {
        if (i == t.pre) text[n++] = ' ';
        text[n++] = t.truth >> i & 1 ? '1' : '0';
    }
    lua_pushlstring(L, text, (size_t)n);
    return 1;
}

/* { extent, value, by = 1, plus = 0 } */
static weiri_span span(lua_State *L, int idx) {
    weiri_span s = { .by = 1 };
    luaL_checktype(L, idx, LUA_TTABLE);
    lua_geti(L, idx, 1);
    s.extent = luaL_checkinteger(L, -1);
    lua_geti(L, idx, 2);
    s.value = value(L, lua_gettop(L));
    if (lua_getfield(L, idx, "by") != LUA_TNIL) s.by = luaL_checkinteger(L, -1);
    lua_getfield(L, idx, "plus");
    s.plus = luaL_optinteger(L, -1, 0);
    lua_pop(L, 4);
    return s;
}

/* meet(k, x, y, ctas): "apart", "meet" or "may"; ctas: of any two CTAs */
static int meet(lua_State *L) {
    weiri_span x = span(L, 2), y = span(L, 3);
    weiri_arena a;
    weiri_arena_init(&a, kernel(L)->ctx);
    weiri_meet m = weiri_forms_meet(weiri_forms_new(kernel(L), &a, false), &x, &y, lua_toboolean(L, 4));
    weiri_arena_free(&a);
    lua_pushstring(L, m == SPANS_APART ? "apart" : m == SPANS_MEET ? "meet" : "may");
    return 1;
}

/* aligned(k, x, y) */
static int aligned(lua_State *L) {
    weiri_span x = span(L, 2), y = span(L, 3);
    weiri_arena a;
    weiri_arena_init(&a, kernel(L)->ctx);
    lua_pushboolean(L, weiri_forms_aligned(weiri_forms_new(kernel(L), &a, false), &x, &y));
    weiri_arena_free(&a);
    return 1;
}

/* dealt(k, x, y, queue, axis) */
static int dealt(lua_State *L) {
    weiri_span x = span(L, 2), y = span(L, 3);
    const weir_res *q = weirl_checkres(L, 4, "a queue")->r;
    weiri_arena a;
    weiri_arena_init(&a, kernel(L)->ctx);
    lua_pushboolean(L, weiri_forms_dealt(weiri_forms_new(kernel(L), &a, false), &x, &y, q, (int)luaL_checkinteger(L, 5)));
    weiri_arena_free(&a);
    return 1;
}

/* Numbers of a table, as many as the kernel has; what is missing is 0. */
static void numbers(lua_State *L, int idx, int64_t *whole, double *any, int n) {
    for (int i = 0; i < n; i++) {
        lua_geti(L, idx, i + 1);
        if (whole) whole[i] = (int64_t)lua_tointeger(L, -1);
        else any[i] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
}

enum { MOST = 16 };
typedef struct given { int64_t dims[MOST], coord[WEIR_MAX_RANK], qindex; double scalars[MOST]; } given;

/* { dims = { ... }, scalars = { ... }, coord = { ... }, qindex, cta, counts, within } at idx, or nothing */
static weiri_env environment(lua_State *L, int idx, given *g) {
    const weir_kernel *k = kernel(L);
    weiri_env e = { .k = k, .cta = -1 };
    if (!lua_istable(L, idx)) return e;
    if (k->dims.n > MOST || k->scalars.n > MOST) luaL_error(L, "more than %d dims or scalars", MOST);
    if (lua_getfield(L, idx, "dims") != LUA_TNIL) numbers(L, lua_gettop(L), g->dims, NULL, k->dims.n), e.dims = g->dims;
    if (lua_getfield(L, idx, "scalars") != LUA_TNIL) numbers(L, lua_gettop(L), NULL, g->scalars, k->scalars.n), e.scalars = g->scalars;
    if (lua_getfield(L, idx, "coord") != LUA_TNIL) numbers(L, lua_gettop(L), g->coord, NULL, WEIR_MAX_RANK), e.coord = g->coord;
    if (lua_getfield(L, idx, "qindex") != LUA_TNIL) g->qindex = luaL_checkinteger(L, -1), e.qindex = &g->qindex;
    lua_getfield(L, idx, "cta");
    e.cta = (int)luaL_optinteger(L, -1, -1);
    lua_getfield(L, idx, "counts");
    e.counts = lua_toboolean(L, -1);
    lua_getfield(L, idx, "within");
    e.within = lua_toboolean(L, -1);
    lua_pop(L, 7);
    return e;
}

static void push_trips(lua_State *L, const weiri_trips *x) {
    luaL_Buffer b;
    char text[64];
    luaL_buffinit(L, &b);
    snprintf(text, sizeof text, "%s%" PRId64, x->fixed ? "always " : "", x->base);
    luaL_addstring(&b, text);
    for (int j = 0; j < x->nparts; j++) {
        snprintf(text, sizeof text, " + %d x %c", x->part[j].rep, 'a' + x->part[j].tape);
        luaL_addstring(&b, text);
        if (x->part[j].per > 1) {
            snprintf(text, sizeof text, " / %d", x->part[j].per);
            luaL_addstring(&b, text);
        }
        if (x->part[j].skip) {
            snprintf(text, sizeof text, " but %d", x->part[j].skip);
            luaL_addstring(&b, text);
        }
    }
    luaL_pushresult(&b);
}

/* nest(k, given): a text for each loop in each other that the first loop of all runs as often as, then one for that loop itself; then how many
 * units each class has, false: no loop says */
static int nest(lua_State *L) {
    const weir_kernel *k = kernel(L);
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    weiri_forms *f = weiri_forms_new(k, &a, false);
    const weiri_node *x = k->tasks.v[0]->root;
    while (x->kind != NODE_LOOP) x = weiri_node_next(k->tasks.v[0]->root, x);
    int handle[WEIRI_NEST + 1], n = weiri_forms_nest(f, x, handle);
    handle[n++] = weiri_forms_loop(f, x, -1);
    weiri_forms_settle(f);
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        const weiri_trips t = weiri_forms_trips(f, handle[i], false);
        push_trips(L, &t);
        lua_seti(L, -2, i + 1);
    }
    lua_newtable(L);
    given g;
    weiri_env e = environment(L, 2, &g);
    for (int i = 0; i < weiri_forms_class_count(f); i++) {
        int64_t count;
        if (weiri_forms_eval(f, i, &e, &count)) lua_pushinteger(L, count);
        else lua_pushboolean(L, 0);
        lua_seti(L, -2, i + 1);
    }
    weiri_arena_free(&a);
    return 2;
}

/* trips(k, lanes, given, deep, grouped): a text for each loop of each task, as they are written; then one for each class. lanes: the lane by number of
 * the loop, of those that are dealt from. given: also how many units a class has. deep: minima and maxima are taken apart.
 * grouped: loops of several units a step read those. */
static int trips(lua_State *L) {
    const weir_kernel *k = kernel(L);
    weiri_arena a;
    weiri_arena_init(&a, k->ctx);
    weiri_forms *f = weiri_forms_new(k, &a, lua_toboolean(L, 4));
    int handle[64], n = 0;
    for (int t = 0; t < k->tasks.n; t++)
        for (const weiri_node *x = weiri_node_next(k->tasks.v[t]->root, NULL); x; x = weiri_node_next(k->tasks.v[t]->root, x)) {
            if (x->kind != NODE_LOOP || n == 64) continue;
            int lane = -1;
            if (lua_istable(L, 2)) {
                lua_geti(L, 2, n + 1);
                lane = (int)luaL_optinteger(L, -1, -1);
                lua_pop(L, 1);
            }
            handle[n++] = weiri_forms_loop(f, x, lane);
        }
    if (lua_toboolean(L, 5)) weiri_forms_group(f);
    weiri_forms_settle(f);
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        const weiri_trips x = weiri_forms_trips(f, handle[i], false);
        push_trips(L, &x);
        lua_seti(L, -2, i + 1);
    }
    lua_newtable(L);
    given g;
    weiri_env e = environment(L, 3, &g);
    for (int i = 0; i < weiri_forms_class_count(f); i++) {
        int least, most;
        bool steady, per;
        const weiri_node *node;
        weiri_forms_class(f, i, &least, &most, &steady, &per, &node);
        char text[160], top[16] = "", units[48] = "";
        if (most >= 0) snprintf(top, sizeof top, "%d", most);
        int64_t count;
        if (lua_istable(L, 3)) {
            if (weiri_forms_eval(f, i, &e, &count)) snprintf(units, sizeof units, " = %" PRId64, count);
            else strcpy(units, " = ?");
        }
        snprintf(text, sizeof text, "%c%s: %d..%s by %" PRId64 "%s%s", 'a' + i, units, least, top, weiri_forms_multiple(f, i),
                 steady ? ", steady" : "", per ? ", per CTA" : "");
        lua_pushstring(L, text);
        lua_seti(L, -2, i + 1);
    }
    weiri_arena_free(&a);
    return 2;
}

/* range(k, x, given): "3", "3 .. 5", "float 1.5", "unknown"; then what leaves its type, and the number it reaches (nil: nothing does) */
static int range(lua_State *L) {
    given g;
    uint32_t id = value(L, 2);
    weiri_env e = environment(L, 3, &g);
    weiri_range r = weiri_range_of(&e, id);
    char text[64];
    if (!r.known) strcpy(text, "unknown");
    else if (r.real) snprintf(text, sizeof text, "float %.9g", r.f);
    else if (r.lo == r.hi) snprintf(text, sizeof text, "%" PRId64, r.lo);
    else snprintf(text, sizeof text, "%" PRId64 " .. %" PRId64, r.lo, r.hi);
    lua_pushstring(L, text);
    if (!e.misfit) return 1;
    weir_value_text(e.k, (weir_value){ e.misfit }, text, sizeof text);
    if (e.by_zero) lua_pushfstring(L, "%s: by 0", text);
    else lua_pushfstring(L, "%s: %I", text, (LUAI_UACINT)e.reaches);
    return 2;
}

/* counts(k, given): true, or false and the number of the loop (in order of capture, from 1) and what leaves 32 bits there */
static int counts(lua_State *L) {
    given g;
    weiri_env e = environment(L, 2, &g);
    const weiri_node *loop = NULL;
    bool fine = weiri_range_counts(&e, &loop);
    lua_pushboolean(L, fine);
    if (fine) return 1;
    char text[64];
    weir_value_text(e.k, (weir_value){ e.misfit }, text, sizeof text);
    lua_pushfstring(L, e.by_zero ? "%s: by 0" : "%s: %I", text, (LUAI_UACINT)e.reaches);
    return 2;
}

/* raster(k, queue): what was found of a raster of the author's own, nil: nothing; whether all sizes were run */
static int raster(lua_State *L) {
    const weir_res *q = weirl_checkres(L, 2, "a queue")->r;
    weiri_arena a;
    weiri_arena_init(&a, kernel(L)->ctx);
    weiri_raster r = weiri_raster_try(kernel(L), q, &a);
    if (r.found) lua_pushfstring(L, "%d: %d", (int)r.i, (int)r.coord[r.bad_axis >= 0 ? r.bad_axis : 0]);
    else lua_pushnil(L);
    lua_pushboolean(L, r.all);
    lua_pushinteger(L, r.sizes);
    weiri_arena_free(&a);
    return 3;
}

const luaL_Reg weirx_forms[] = {
    { "same", same },   { "alike", alike },   { "varies", varies }, { "meet", meet },     { "aligned", aligned },
    { "dealt", dealt }, { "trips", trips },   { "range", range },   { "counts", counts }, { "raster", raster },
    { "truths", truths }, { "nest", nest },
    { NULL, NULL },
};
