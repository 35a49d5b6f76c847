/* A host with a Lua of its own: opens the module `weir` inside its state and context, and runs kernels from strings.
 *
 *   cc host.c -lweir_lua -lweir -llua5.4 -lm && ./a.out
 *
 * The state is a sandbox for scripts that the host did not write: no files, no processes, no loading of other modules, no
 * bytecode, a limit on memory and on instructions. A count hook sees Lua's instructions only: it interrupts no C function, and Lua
 * switches it off in finalizers and in the handlers of xpcall. So whatever loops in C as long as its arguments say, and whatever
 * makes a finalizer or a handler, is not there: patterns, string.rep, moves in tables, metatables, xpcall. Calls of weir itself
 * (a proof, a launch) are not counted either. What cannot be bounded at all: CUDA bodies. On a GPU they run with the rights of
 * any kernel of this process; in the simulator they are compiled and run inside this process, so a host that takes scripts
 * from strangers must not run them in the simulator. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "weir.h"

enum { MEMORY_LIMIT = 64 << 20 /* bytes of the Lua state */, INSTRUCTION_LIMIT = 10 * 1000 * 1000 };

/* One heap for both, so that the host sees what scripting costs. */
struct heap {
    size_t live, limit; /* bytes; limit 0: none */
};

static void *heap_alloc(void *ud, void *p, size_t old_size, size_t new_size) {
    struct heap *heap = ud;
    if (!p) old_size = 0; /* Lua passes the kind of the new object here */
    if (heap->limit && new_size > old_size && heap->live + (new_size - old_size) > heap->limit) return NULL;
    void *q = NULL;
    if (new_size == 0)
        free(p);
    else if (!(q = realloc(p, new_size)))
        return NULL;
    heap->live += new_size - old_size;
    return q;
}

static void on_log(void *ud, weir_log_level level, const char *text) {
    (void)ud;
    (void)level;
    fprintf(stderr, "[weir] %s\n", text);
}

/* `require` of the sandbox: knows one module, held in its upvalue. */
static int require_weir(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    if (strcmp(name, "weir") != 0) return luaL_error(L, "module '%s' is not for scripts", name);
    lua_pushvalue(L, lua_upvalueindex(1));
    return 1;
}

/* Raised at every instruction from then on, so that a script cannot catch it and go on: `while true do pcall(f) end` ends, too. */
static void out_of_time(lua_State *L, lua_Debug *ar) {
    (void)ar;
    lua_sethook(L, out_of_time, LUA_MASKCOUNT, 1);
    luaL_error(L, "the script ran for more than %d instructions", INSTRUCTION_LIMIT);
}

/* Protected: fills the state with what scripts may use. The context is the light userdata at 1. */
static int open_sandbox(lua_State *L) {
    static const luaL_Reg libs[] = { { LUA_GNAME, luaopen_base },        { LUA_TABLIBNAME, luaopen_table },
                                     { LUA_STRLIBNAME, luaopen_string }, { LUA_MATHLIBNAME, luaopen_math },
                                     { LUA_UTF8LIBNAME, luaopen_utf8 } };
    for (size_t i = 0; i < sizeof libs / sizeof libs[0]; i++) {
        luaL_requiref(L, libs[i].name, libs[i].func, 1);
        lua_pop(L, 1);
    }
    /* From the library's table itself: methods of strings, ("x"):rep(n), are looked up there, too. */
    static const struct { const char *lib, *name; } unsafe[] = {
        { LUA_GNAME, "dofile" },         { LUA_GNAME, "loadfile" },     { LUA_GNAME, "load" },         { LUA_GNAME, "collectgarbage" },
        { LUA_GNAME, "xpcall" },         { LUA_GNAME, "setmetatable" }, { LUA_GNAME, "getmetatable" }, { LUA_STRLIBNAME, "rep" },
        { LUA_STRLIBNAME, "find" },      { LUA_STRLIBNAME, "match" },   { LUA_STRLIBNAME, "gmatch" },  { LUA_STRLIBNAME, "gsub" },
        { LUA_STRLIBNAME, "dump" },      { LUA_TABLIBNAME, "move" },
    };
    for (size_t i = 0; i < sizeof unsafe / sizeof unsafe[0]; i++) {
        lua_getglobal(L, unsafe[i].lib);
        lua_pushnil(L);
        lua_setfield(L, -2, unsafe[i].name);
        lua_pop(L, 1);
    }
    weir_openlib(L, lua_touserdata(L, 1));
    lua_pushcclosure(L, require_weir, 1);
    lua_setglobal(L, "require");
    return 0;
}

/* Runs a script; its results are on the stack, or its error. `name` is what messages call the script. */
static int run(lua_State *L, const char *name, const char *script) {
    lua_sethook(L, out_of_time, LUA_MASKCOUNT, INSTRUCTION_LIMIT);
    int st = luaL_loadbufferx(L, script, strlen(script), name, "t"); /* "t": bytecode is refused */
    if (st == LUA_OK) st = lua_pcall(L, 0, 1, 0);
    lua_sethook(L, NULL, 0, 0);
    return st;
}

/* y = a * x through a ring of shared memory; %s is the move after `fill`. Returns the largest error. */
static const char scale[] =
    "local weir = require 'weir'\n"
    "local TILE = 256\n"
    "local k = weir.kernel { name = 'scale' }\n"
    "local N = k:dim 'N'\n"
    "local a = k:scalar { name = 'a', dtype = 'f32' }\n"
    "local X = k:tensor { name = 'x', dtype = 'f32', shape = { N } }\n"
    "local Y = k:tensor { name = 'y', dtype = 'f32', shape = { N }, out = true }\n"
    "local wq = k:work_queue { name = 'wq', axes = { 'i' }, extent = { weir.ceil_div(N, TILE) } }\n"
    "local ring = k:resource { name = 'ring', space = 'smem', dtype = 'f32', tile = { TILE }, bind = { x = X },\n"
    "  const = { TILE = TILE }, pipeline = weir.pipeline.async_async { stages = 3 },\n"
    "  work = { fill = weir.producer_work { params = 'i32 t', code = [[\n"
    "    for (i32 c = tid; c < TILE; c += nthreads) {\n"
    "      i32 i = t * TILE + c;\n"
    "      smem[c] = i < x_shape[0] ? x[i] : 0.f;\n"
    "    } ]] } } }\n"
    "local sink = k:resource { name = 'sink', space = 'gmem', bind = { y = Y }, const = { TILE = TILE },\n"
    "  work = { put = weir.producer_work { params = 'view v, i32 t, f32 a', code = [[\n"
    "    for (i32 c = tid; c < TILE; c += nthreads) {\n"
    "      i32 i = t * TILE + c;\n"
    "      if (i < y_shape[0]) y[i] = a * v[c];\n"
    "    } ]] } } }\n"
    "k:task { name = 'load', warps = { 0, 1 }, schedule = function()\n"
    "  for t in weir.work_tile_loop(wq) do\n"
    "    ring:acquire(); ring:fill(t.i); ring:%s()\n"
    "    wq:next()\n"
    "  end\n"
    "end }\n"
    "k:task { name = 'store', warps = { 4, 4 }, schedule = function()\n"
    "  for t in weir.work_tile_loop(wq) do\n"
    "    ring:wait(); sink:put(ring:read(), t.i, a); ring:release()\n"
    "    wq:next()\n"
    "  end\n"
    "end }\n"
    "local dev = weir.device()\n"
    "local program = k:build { device = dev }\n"
    "local n = 10007\n"
    "local x, y = dev:tensor { dtype = 'f32', shape = { n } }, dev:tensor { dtype = 'f32', shape = { n } }\n"
    "x:randn(1); y:fill(0)\n"
    "assert(program:launch { x = x, y = y, a = 0.5 })\n"
    "local worst, xs, ys = 0, x:get(), y:get()\n"
    "for i = 1, n do worst = math.max(worst, math.abs(ys[i] - 0.5 * xs[i])) end\n"
    "return worst\n";

int main(void) {
    struct heap weir_heap = { 0 }, lua_heap = { .limit = MEMORY_LIMIT };
    bool ok = false;
    weir_ctx *ctx = weir_open(&(weir_config){ .alloc = heap_alloc, .ud = &weir_heap, .log = on_log });
    lua_State *L = lua_newstate(heap_alloc, &lua_heap);
    if (!ctx || !L) goto done;

    lua_pushcfunction(L, open_sandbox);
    lua_pushlightuserdata(L, ctx);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        fprintf(stderr, "%s\n", lua_tostring(L, -1));
        goto done;
    }

    char script[sizeof scale + 16];
    snprintf(script, sizeof script, scale, "commit");
    int st = run(L, "=scale.lua", script);
    printf("scale.lua: largest error %s\n", luaL_tolstring(L, -1, NULL));
    ok = st == LUA_OK && lua_isnumber(L, -2) && lua_tonumber(L, -2) == 0;
    lua_settop(L, 0);

    /* The same script with one move mistaken: nothing runs, the error is the whole report, with the script's lines. */
    snprintf(script, sizeof script, scale, "release");
    st = run(L, "=broken.lua", script);
    const char *report = luaL_tolstring(L, -1, NULL);
    printf("\nbroken.lua is refused:\n%s\n", report);
    ok = ok && st != LUA_OK && strstr(report, "broken.lua:24:");
    lua_settop(L, 0);

    st = run(L, "=nosy.lua", "return require 'io'");
    printf("\nnosy.lua is refused: %s\n", luaL_tolstring(L, -1, NULL));
    ok = ok && st != LUA_OK;
    lua_settop(L, 0);

    /* Scripts that would not end, that take all memory, or that go round what was taken away. */
    static const struct { const char *name, *script, *error; } hostile[] = {
        { "=endless.lua", "while true do end", "the script ran for more than" },
        { "=stubborn.lua", "while true do pcall(function() while true do end end) end", "the script ran for more than" },
        { "=nested.lua", "local function f() while true do pcall(f) end end f()", "the script ran for more than" },
        { "=hungry.lua", "local t = {} for i = 1, 1 << 40 do t[i] = { i } end", "not enough memory" },
        { "=swollen.lua", "local s = 'xxxxxxxx' for _ = 1, 60 do s = s .. s end", "not enough memory" },
        { "=method.lua", "return (''):rep(1 << 62)", "nil value (method 'rep')" },
        { "=pattern.lua", "local a = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' return a:find('.-.-.-.-.-.-.-.-b')", "nil value (method 'find')" },
        { "=moved.lua", "return table.move({}, 1, 1 << 62, 2)", "nil value (field 'move')" },
        { "=library.lua", "return getmetatable('').__index.rep", "nil value (global 'getmetatable')" },
        { "=handler.lua", "xpcall(error, function() while true do end end)", "nil value (global 'xpcall')" },
        { "=finalizer.lua", "setmetatable({}, { __gc = function() while true do end end })", "nil value (global 'setmetatable')" },
        { "=bytecode.lua", "\033Lua", "attempt to load a binary chunk" },
    };
    puts("");
    for (size_t i = 0; i < sizeof hostile / sizeof hostile[0]; i++) {
        st = run(L, hostile[i].name, hostile[i].script);
        const char *said = luaL_tolstring(L, -1, NULL);
        bool stopped = st != LUA_OK && strstr(said, hostile[i].error);
        printf("%s %s: %s\n", hostile[i].name + 1, stopped ? "is stopped" : "is NOT STOPPED as it should be", said);
        ok = ok && stopped;
        lua_settop(L, 0);
        lua_gc(L, LUA_GCCOLLECT);
    }

    /* And the state goes on as before. */
    snprintf(script, sizeof script, scale, "commit");
    st = run(L, "=scale.lua", script);
    ok = ok && st == LUA_OK && lua_isnumber(L, -1) && lua_tonumber(L, -1) == 0;
    lua_settop(L, 0);

done:
    if (L) lua_close(L);       /* kernels, programs and tensors of scripts */
    if (ctx) weir_close(ctx);  /* then what they lived in */
    printf("%zu still held\n", weir_heap.live + lua_heap.live);
    ok = ok && weir_heap.live + lua_heap.live == 0;
    puts(ok ? "PASS" : "FAIL");
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
