/* Reports: what verify returns and build raises. */
#include <string.h>

#include "weirlua.h"

typedef struct report {
    weir_report *r;
    weirl_ctx *ctx;
} report; /* user values: the findings as tables, made on first use; context */

weir_report **weirl_pushreport(lua_State *L, int ctxidx) {
    report *u = weirl_new(L, sizeof *u, 2, WEIRL_REPORT);
    u->ctx = lua_touserdata(L, ctxidx);
    lua_pushvalue(L, ctxidx);
    lua_setiuservalue(L, -2, 2);
    return &u->r;
}

static report *check(lua_State *L, int idx) {
    report *u = luaL_testudata(L, idx, WEIRL_REPORT);
    if (!u) weirl_raise(L, "a report expected, got %s", weirl_typename(L, idx));
    if (!u->r) weirl_raise(L, "the report is closed");
    return u;
}

static int report_gc(lua_State *L) {
    report *u = luaL_checkudata(L, 1, WEIRL_REPORT);
    if (u->r && u->ctx->c) weir_report_free(u->r);
    u->r = NULL;
    return 0;
}

static void set_str(lua_State *L, const char *key, const char *s) {
    if (!s) return;
    lua_pushstring(L, s);
    lua_setfield(L, -2, key);
}

static void push_finding(lua_State *L, const weir_finding *f) {
    static const char *const severities[] = { "note", "note", "warning", "error" }; /* ORDER weir_severity */
    lua_createtable(L, 0, 12);
    set_str(L, "rule", f->rule);
    set_str(L, "severity", severities[f->severity]);
    set_str(L, "message", f->message);
    set_str(L, "hint", f->hint);
    set_str(L, "file", f->file);
    if (f->file) weirl_set_int(L, "line", f->line);
    set_str(L, "other_file", f->other_file);
    if (f->other_file) weirl_set_int(L, "other_line", f->other_line);
    set_str(L, "other_what", f->other_what);
    set_str(L, "expected", f->expected);
    set_str(L, "got", f->got);
    lua_createtable(L, 4, 0);
    for (int i = 0, n = 0; i < 4; i++) {
        if (!f->objects[i]) continue;
        lua_pushstring(L, f->objects[i]);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "objects");
}

static int push_findings(lua_State *L, const report *u) {
    if (lua_getiuservalue(L, 1, 1) == LUA_TTABLE) return 1;
    int n = weir_report_count(u->r);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_finding(L, weir_report_get(u->r, i));
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, 1);
    return 1;
}

static int push_proof(lua_State *L, const report *u) {
    static const char *const verdicts[] = { "NOT_PROVED", "SAFE", "SAFE_BOUNDED", "UNSAFE",
                                            "INCOMPLETE" }; /* ORDER weir_verdict */
    const weir_proof *p = weir_report_proof(u->r);
    if (!p) return lua_pushnil(L), 1;
    lua_createtable(L, 0, 5);
    set_str(L, "verdict", verdicts[p->verdict]);
    set_str(L, "text", p->text);
    set_str(L, "trace", p->trace);
    weirl_set_int(L, "states", (lua_Integer)p->states);
    lua_pushnumber(L, p->ms);
    lua_setfield(L, -2, "ms");
    return 1;
}

static int report_index(lua_State *L) {
    report *u = check(L, 1);
    static const char *const names[] = { "ok", "findings", "proof", "text" };
    const char *key = luaL_tolstring(L, 2, NULL);
    if (strcmp(key, "ok") == 0) return lua_pushboolean(L, weir_report_ok(u->r)), 1;
    if (strcmp(key, "findings") == 0) return push_findings(L, u);
    if (strcmp(key, "proof") == 0) return push_proof(L, u);
    if (strcmp(key, "text") == 0) return lua_pushstring(L, weir_report_text(u->r)), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) weirl_near_try(&near, names[i]);
    return weirl_raise(L, "a report has no field '%s'%s", key, weirl_near_text(L, &near));
}

static int report_len(lua_State *L) { return lua_pushinteger(L, weir_report_count(check(L, 1)->r)), 1; }

static int report_tostring(lua_State *L) {
    report *u = luaL_checkudata(L, 1, WEIRL_REPORT);
    return lua_pushstring(L, u->r ? weir_report_text(u->r) : "report (closed)"), 1;
}

void weirl_open_report(lua_State *L) {
    static const luaL_Reg meta[] = { { "__gc", report_gc },
                                     { "__close", report_gc },
                                     { "__tostring", report_tostring },
                                     { "__len", report_len },
                                     { NULL, NULL } };
    weirl_class(L, WEIRL_REPORT, NULL, meta, report_index);
}
