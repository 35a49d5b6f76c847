/* Timelines: what a traced launch did and when. */
#include <string.h>

#include "weirlua.h"

typedef struct timeline { weir_timeline *t; weirl_ctx *ctx; } timeline; /* user value: context */

/* Leaves a closed timeline on the stack; ctxidx: the context's userdata. */
weir_timeline **weirl_pushtimeline(lua_State *L, int ctxidx) {
    ctxidx = lua_absindex(L, ctxidx);
    timeline *u = weirl_new(L, sizeof *u, 1, WEIRL_TIMELINE);
    u->ctx = lua_touserdata(L, ctxidx);
    lua_pushvalue(L, ctxidx);
    lua_setiuservalue(L, -2, 1);
    return &u->t;
}

static timeline *check(lua_State *L, int idx) {
    timeline *u = luaL_testudata(L, idx, WEIRL_TIMELINE);
    if (!u) weirl_raise(L, "a timeline expected, got %s (call its methods with ':')", weirl_typename(L, idx));
    if (!u->t || !u->ctx->c) weirl_raise(L, "the timeline is closed");
    return u;
}

static int t_gc(lua_State *L) {
    timeline *u = luaL_checkudata(L, 1, WEIRL_TIMELINE);
    if (u->t && u->ctx->c) weir_timeline_free(u->t);
    u->t = NULL;
    return 0;
}

static int write(lua_State *L, const char *fn,
                 weir_status (*to)(weir_timeline *, const char *)) { /* the timeline, or nil, message, code */
    timeline *u = check(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING) return weirl_raise(L, "%s: the name of a file expected, got %s", fn, weirl_typename(L, 2));
    weir_status st = to(u->t, lua_tostring(L, 2));
    if (st != WEIR_OK) return weirl_fail(L, u->ctx, st);
    lua_settop(L, 1);
    return 1;
}

static int t_perfetto(lua_State *L) { return write(L, "perfetto", weir_timeline_perfetto); }
static int t_svg(lua_State *L) { return write(L, "svg", weir_timeline_svg); }

static int t_spans(lua_State *L) { /* a list, by actor, then by time */
    const weir_timeline *t = check(L, 1)->t;
    int n = weir_timeline_count(t);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        const weir_span *s = weir_timeline_get(t, i);
        lua_createtable(L, 0, 13);
        lua_pushstring(L, s->task);
        lua_setfield(L, -2, "task");
        lua_pushstring(L, s->what);
        lua_setfield(L, -2, "what");
        weirl_set_int(L, "cta", s->cta);
        weirl_set_int(L, "warp", s->warp);
        weirl_set_int(L, "action", s->action);
        weirl_set_int(L, "nth", s->nth);
        if (s->stage >= 0) weirl_set_int(L, "stage", s->stage);
        lua_pushboolean(L, s->waits);
        lua_setfield(L, -2, "waits");
        lua_pushboolean(L, s->stuck);
        lua_setfield(L, -2, "stuck");
        if (s->file) {
            lua_pushstring(L, s->file);
            lua_setfield(L, -2, "file");
            weirl_set_int(L, "line", s->line);
        }
        lua_pushnumber(L, s->from);
        lua_setfield(L, -2, "from");
        lua_pushnumber(L, s->to);
        lua_setfield(L, -2, "to");
        lua_seti(L, -2, i + 1);
    }
    return 1;
}

static int t_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_TIMELINE);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_TIMELINE, key)) return 1;
    const weir_timeline *t = check(L, 1)->t;
    if (strcmp(key, "unit") == 0) return lua_pushstring(L, weir_timeline_unit(t)), 1;
    if (strcmp(key, "complete") == 0) return lua_pushboolean(L, weir_timeline_complete(t)), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_TIMELINE, &near);
    weirl_near_try(&near, "unit");
    weirl_near_try(&near, "complete");
    return weirl_raise(L, "a timeline has no method or field '%s'%s", key, weirl_near_text(L, &near));
}

static int t_tostring(lua_State *L) {
    timeline *u = luaL_checkudata(L, 1, WEIRL_TIMELINE);
    if (!u->t || !u->ctx->c) return lua_pushliteral(L, "timeline (closed)"), 1;
    return lua_pushfstring(L, "timeline of %d spans, in %s", weir_timeline_count(u->t), weir_timeline_unit(u->t)), 1;
}

void weirl_open_trace(lua_State *L) {
    static const luaL_Reg meth[] = {
        { "perfetto", t_perfetto }, { "svg", t_svg }, { "spans", t_spans }, { "close", t_gc }, { NULL, NULL }
    };
    static const luaL_Reg meta[] = { { "__gc", t_gc }, { "__close", t_gc }, { "__tostring", t_tostring }, { NULL, NULL } };
    weirl_class(L, WEIRL_TIMELINE, meth, meta, t_index);
}
