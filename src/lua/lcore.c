/* The module's table: luaopen_weir_core for `require`, weir_openlib for a host's own state and context. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weirlua.h"

WEIR_API int luaopen_weir_core(lua_State *L);

static int ctx_gc(lua_State *L) {
    weirl_ctx *u = luaL_checkudata(L, 1, WEIRL_CTX);
    if (u->c && u->owned) weir_close(u->c);
    u->c = NULL;
    return 0;
}

/* The module's own context speaks on stderr, as a command would; a host's context has the host's log. */
static void log_stderr(void *ud, weir_log_level level, const char *text) {
    (void)ud, (void)level;
    fprintf(stderr, "%s\n", text);
}

/* WEIR_LOG: error, warning (default: one line says that there is no GPU), info or debug. */
static weir_log_level log_level(void) {
    static const char *const names[] = { "error", "warning", "info", "debug" }; /* ORDER weir_log_level */
    const char *s = getenv("WEIR_LOG");
    for (int i = 0; s && i < 4; i++)
        if (strcmp(s, names[i]) == 0) return (weir_log_level)(WEIR_LOG_ERROR + i);
    return WEIR_LOG_WARNING;
}

/* Does a hook of the state that launched raise, as the interpreter's does at Ctrl-C, or a host's that counts instructions? A few are run
 * for it to count. */
static bool stop_by_hook(void *ud) {
    static const char turns[] = "for _ = 1, 100 do end";
    weirl_ctx *u = ud;
    lua_State *L = u->running;
    if (!L || !lua_gethook(L) || !lua_checkstack(L, 4)) return false;
    if (luaL_loadbuffer(L, turns, sizeof turns - 1, "=weir") == LUA_OK && lua_pcall(L, 0, 0, 0) == LUA_OK) return false;
    u->ended = luaL_ref(L, LUA_REGISTRYINDEX);
    return true;
}

static weirl_ctx *upvalue_ctx(lua_State *L) {
    weirl_ctx *u = lua_touserdata(L, lua_upvalueindex(1));
    if (!u->c) weirl_raise(L, "the context is closed");
    return u;
}

static int m_device_count(lua_State *L) { /* and, when there is none, why */
    weirl_ctx *u = upvalue_ctx(L);
    int n = weir_device_count(u->c);
    lua_pushinteger(L, n);
    if (n > 0) return 1;
    lua_pushstring(L, weir_error(u->c));
    return 2;
}

static int m_cache(lua_State *L) { /* what became of compiled kernels on disk */
    const weir_cache c = weir_cache_stats(upvalue_ctx(L)->c);
    lua_createtable(L, 0, 7);
    weirl_set_int(L, "hits", c.hits);
    weirl_set_int(L, "misses", c.misses);
    weirl_set_int(L, "absent", c.absent);
    weirl_set_int(L, "changed", c.changed);
    weirl_set_int(L, "damaged", c.damaged);
    lua_pushstring(L, c.dir);
    lua_setfield(L, -2, "dir");
    lua_pushstring(L, c.why);
    lua_setfield(L, -2, "why");
    return 1;
}

static int m_live_bytes(lua_State *L) { return lua_pushinteger(L, (lua_Integer)weir_live_bytes(upvalue_ctx(L)->c)), 1; }
static int m_dtype_size(lua_State *L) { return lua_pushinteger(L, weir_dtype_size(weirl_todtype(L, 1, "weir.dtype_size"))), 1; }

/* A name the table lacks: one of the Lua parts (weir.npy), or a mistake. */
static int module_index(lua_State *L) {
    static const char *const parts[] = { "npy", "repl", NULL };
    const char *key = luaL_tolstring(L, 2, NULL);
    for (int i = 0; parts[i]; i++) {
        if (strcmp(parts[i], key) != 0) continue;
        lua_getglobal(L, "require");
        lua_pushfstring(L, "weir.%s", key);
        lua_call(L, 1, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, 1, key);
        return 1;
    }
    weirl_near near;
    weirl_near_begin(&near, key);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING) weirl_near_try(&near, lua_tostring(L, -1));
    }
    return weirl_raise(L, "%s has no '%s'%s", lua_tostring(L, lua_upvalueindex(1)), key, weirl_near_text(L, &near));
}

static void guard_names(lua_State *L, const char *name) { /* an unknown name in the table on top raises */
    lua_createtable(L, 0, 1);
    lua_pushstring(L, name);
    lua_pushcclosure(L, module_index, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static const struct {
    const char *name;
    weir_pipe_type type;
} pipes[] = { { "async_async", WEIR_ASYNC_ASYNC },         { "tma_async", WEIR_TMA_ASYNC },   { "tma_umma", WEIR_TMA_UMMA },
              { "umma_async", WEIR_UMMA_ASYNC },           { "async_umma", WEIR_ASYNC_UMMA }, { "umma_umma", WEIR_UMMA_UMMA },
              { "clc_fetch_async", WEIR_CLC_FETCH_ASYNC }, { "async_tma", WEIR_ASYNC_TMA } };

const char *weirl_pipe_name(weir_pipe_type type) {
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++)
        if (pipes[i].type == type) return pipes[i].name;
    return "?";
}

int weir_openlib(lua_State *L, weir_ctx *ctx) {
    static const luaL_Reg ctx_meta[] = { { "__gc", ctx_gc }, { NULL, NULL } };
    static const luaL_Reg with_ctx[] = { { "kernel", weirl_kernel_new },
                                         { "explain", weirl_explain },
                                         { "place_records", weirl_place_records },
                                         { "place_barriers", weirl_place_barriers },
                                         { "barrier_records", weirl_barrier_records },
                                         { "tile_bytes", weirl_tile_bytes },
                                         { "device", weirl_device_open },
                                         { "dlpack", weirl_dlpack },
                                         { "device_count", m_device_count },
                                         { "live_bytes", m_live_bytes },
                                         { "cache", m_cache },
                                         { NULL, NULL } };
    luaL_checkversion(L);
    weirl_class(L, WEIRL_CTX, NULL, ctx_meta, NULL);
    weirl_open_kernel(L);
    weirl_open_resource(L);
    weirl_open_report(L);
    weirl_open_device(L);
    weirl_open_dlpack(L);
    weirl_open_program(L);
    weirl_open_trace(L);
    lua_newtable(L);
    int module = lua_gettop(L);
    weirl_open_value(L);
    weirl_open_schedule(L);
    weirl_ctx *u = weirl_new(L, sizeof *u, 0, WEIRL_CTX);
    u->running = NULL;
    u->ended = LUA_NOREF;
    u->c = ctx ? ctx : weir_open(&(weir_config){ .log = log_stderr, .log_level = log_level(), .stop = stop_by_hook, .ud = u });
    u->owned = !ctx;
    if (!u->c) return luaL_error(L, "weir: not enough memory");
    lua_pushvalue(L, module);
    lua_insert(L, -2);
    luaL_setfuncs(L, with_ctx, 1);
    lua_settop(L, module);
    for (int side = 0; side < 2; side++) {
        lua_pushboolean(L, side);
        lua_pushcclosure(L, weirl_work_def, 1);
        lua_setfield(L, module, side ? "consumer_work" : "producer_work");
    }
    lua_newtable(L);
    for (size_t i = 0; i < sizeof pipes / sizeof *pipes; i++) {
        lua_pushinteger(L, pipes[i].type);
        lua_pushstring(L, pipes[i].name);
        lua_pushcclosure(L, weirl_pipeline, 2);
        lua_setfield(L, -2, pipes[i].name);
    }
    guard_names(L, "weir.pipeline");
    lua_setfield(L, module, "pipeline");
    lua_pushcfunction(L, m_dtype_size);
    lua_setfield(L, module, "dtype_size");
    lua_pushfstring(L, "%d.%d", WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR);
    lua_setfield(L, module, "version");
    guard_names(L, "weir");
    if (ctx) { /* in a host, `require "weir"` finds the host's context, with or without the Lua files */
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_pushvalue(L, module);
        lua_setfield(L, -2, "weir");
        lua_pushvalue(L, module);
        lua_setfield(L, -2, "weir.core");
        lua_pop(L, 1);
    }
    return 1;
}

int luaopen_weir_core(lua_State *L) { return weir_openlib(L, NULL); }
