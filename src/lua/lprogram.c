/* Built kernels: source, binaries, launches. */
#include <string.h>

#include "weirlua.h"

enum { MAX_LAUNCH_ARGS = 64 };
enum { UV_KERNEL = 1, UV_REPORT, UV_DEVICE, NUV = UV_DEVICE };

/* ---- build -------------------------------------------------------------------------------------------------------------- */

int weirl_kernel_build(lua_State *L) {
    static const char *const names[] = { "device", "warn_only", "unsafe", "watchdog", "notes", NULL };
    static const char *const notes[] = { "warn", "ignore", "error", NULL }; /* ORDER weir_notes */
    weirl_kernel *kb = weirl_checkkernel(L, 1);
    lua_settop(L, 2);
    if (kb->task) return weirl_raise(L, "k:build: inside the schedule of task '%s'", kb->task);
    weir_build_desc desc = { .device = NULL };
    if (lua_isnil(L, 2)) {
        lua_pushnil(L); /* 3: device */
    } else {
        weirl_desc d = weirl_desc_open(L, 2, "k:build", names);
        desc.warn_only = weirl_bool(&d, "warn_only", false);
        desc.unsafe = weirl_bool(&d, "unsafe", false);
        desc.notes = (weir_notes)weirl_choice(&d, "notes", notes, WEIR_NOTES_WARN);
        if (weirl_get(&d, "watchdog") != LUA_TNIL) {
            if (lua_type(L, -1) != LUA_TNUMBER || !(lua_tonumber(L, -1) > 0))
                return weirl_raise(L, "k:build: watchdog is the seconds that a wait may last, got %s", luaL_tolstring(L, -1, NULL));
            desc.watchdog = lua_tonumber(L, -1);
        }
        lua_pop(L, 1);
        if (weirl_get(&d, "device") != LUA_TNIL) desc.device = weirl_checkdevice(L, 3, "k:build: device:")->d;
    }
    lua_getiuservalue(L, 1, 1);                                     /* 4: context */
    weir_report **report = weirl_pushreport(L, 4);                  /* 5 */
    weirl_program *u = weirl_new(L, sizeof *u, NUV, WEIRL_PROGRAM); /* 6 */
    u->kb = kb;
    static const int held[] = { 1, 5, 3 }; /* ORDER UV_ */
    for (int i = 0; i < NUV; i++) {
        lua_pushvalue(L, held[i]);
        lua_setiuservalue(L, 6, i + 1);
    }
    weir_status st = weir_build(kb->k, &desc, &u->p, report);
    if (st == WEIR_OK && u->p) return 1;
    if ((st == WEIR_E_INVALID || st == WEIR_E_UNSAFE) && *report) {
        lua_settop(L, 5);
        return lua_error(L);
    }
    return weirl_raise(L, "k:build: %s (%s)", weir_error(kb->ctx->c), weir_status_name(st));
}

int weirl_kernel_source(lua_State *L) { /* what build would emit */
    lua_settop(L, 1);
    weirl_kernel_build(L);
    weirl_program *u = luaL_checkudata(L, -1, WEIRL_PROGRAM);
    lua_pushstring(L, weir_program_source(u->p));
    return 1;
}

static weirl_program *check(lua_State *L, int idx) {
    weirl_program *u = luaL_testudata(L, idx, WEIRL_PROGRAM);
    if (!u) weirl_raise(L, "a program expected, got %s (call its methods with ':')", weirl_typename(L, idx));
    if (!u->p || !u->kb->k) weirl_raise(L, "the program or its kernel is closed");
    return u;
}

static int program_gc(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    if (u->p && u->kb->ctx->c) weir_program_free(u->p);
    u->p = NULL;
    return 0;
}

/* ---- arguments ---------------------------------------------------------------------------------------------------------- */

typedef struct launch {
    weir_launch_desc desc;
    weir_arg args[MAX_LAUNCH_ARGS];
    int extra; /* the option that only this method has */
} launch;

static uint64_t to_address(lua_State *L, int idx, const char *what) {
    if (lua_islightuserdata(L, idx)) return (uint64_t)(uintptr_t)lua_touserdata(L, idx);
    int isint = 0;
    lua_Integer x = lua_type(L, idx) == LUA_TNUMBER ? lua_tointegerx(L, idx, &isint) : 0;
    if (!isint) weirl_raise(L, "%s: a device address is an integer or light userdata, got %s", what, weirl_typename(L, idx));
    return (uint64_t)x;
}

/* { address =, shape =, stride =, dtype = }: memory of another owner. */
static void foreign(lua_State *L, int idx, weir_arg *a) {
    static const char *const names[] = { "address", "shape", "stride", "dtype", NULL };
    const char *fn = lua_pushfstring(L, "argument '%s'", a->name);
    weirl_desc d = weirl_desc_open(L, idx, fn, names);
    if (weirl_get(&d, "address") != LUA_TNIL) a->address = to_address(L, -1, fn); /* without: for the question whether it would do */
    a->dtype = weirl_dtype(&d, "dtype");
    static const char *const lists[] = { "shape", "stride" };
    for (int l = 0; l < 2; l++) {
        if (weirl_get(&d, lists[l]) != LUA_TNIL) {
            luaL_checktype(L, -1, LUA_TTABLE);
            int n = (int)lua_rawlen(L, -1);
            if (n > WEIR_MAX_RANK)
                weirl_raise(L, "%s: %s has %d entries, at most %d are possible", fn, lists[l], n, WEIR_MAX_RANK);
            if (l == 0) a->rank = n;
            else if (n != a->rank) weirl_raise(L, "%s: %d strides for a shape of %d", fn, n, a->rank);
            for (int i = 0; i < n; i++) {
                lua_rawgeti(L, -1, i + 1);
                int isint = 0;
                (l == 0 ? a->shape : a->stride)[i] = lua_tointegerx(L, -1, &isint);
                if (!isint) weirl_raise(L, "%s: %s[%d] is an integer, got %s", fn, lists[l], i + 1, weirl_typename(L, -1));
                lua_pop(L, 1);
            }
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 2); /* address, fn */
}

static void one_arg(lua_State *L, weirl_program *u, weir_arg *a) { /* its value is on top */
    weirl_buffer *b = luaL_testudata(L, -1, WEIRL_BUFFER);
    if (b) {
        if (!b->b || !b->dev->d) weirl_raise(L, "argument '%s': the tensor or its device is closed", a->name);
        a->buffer = b->b;
        return;
    }
    const weirl_foreign *f = luaL_testudata(L, -1, WEIRL_FOREIGN);
    if (f) {
        if (!f->managed) weirl_raise(L, "argument '%s': the tensor was given back to its owner", a->name);
        const char *name = a->name;
        *a = f->arg;
        a->name = name;
        return;
    }
    lua_getiuservalue(L, 1, UV_KERNEL); /* a number for a tensor is its address */
    lua_getiuservalue(L, -1, 2);
    bool tensor = lua_getfield(L, -1, a->name) != LUA_TNIL;
    lua_pop(L, 3);
    (void)u;
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
    case LUA_TNUMBER:
        if (tensor) {
            a->address = to_address(L, -1, a->name);
        } else {
            a->number = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : lua_tonumber(L, -1);
            a->is_number = true;
            a->is_integer = lua_isinteger(L, -1);
            a->integer = lua_tointeger(L, -1); /* 0 of what is none */
        }
        break;
    case LUA_TLIGHTUSERDATA: a->address = to_address(L, -1, a->name); break;
    case LUA_TTABLE: foreign(L, lua_gettop(L), a); break;
    default:
        weirl_raise(L, "argument '%s': a device tensor, number or { address =, shape = } expected, got %s", a->name,
                    weirl_typename(L, -1));
    }
}

/* Reads (program, args, options) of a call into l, which must not move. `extra` names one option more, a whole number, or is NULL. */
static weirl_program *read_launch(lua_State *L, const char *fn, launch *l, const char *extra, int def) {
    const char *const names[] = { "stream", "grid", "device", "pdl", extra, NULL };
    weirl_program *u = check(L, 1);
    memset(&l->desc, 0, sizeof l->desc);
    l->extra = def;
    int n = 0;
    if (!lua_isnoneornil(L, 2)) {
        if (!lua_istable(L, 2)) weirl_raise(L, "%s: a table of arguments by name expected, got %s", fn, weirl_typename(L, 2));
        lua_pushnil(L);
        while (lua_next(L, 2)) {
            if (lua_type(L, -2) != LUA_TSTRING)
                weirl_raise(L, "%s: arguments are given by name, but one has the key %s", fn, luaL_tolstring(L, -2, NULL));
            if (n == MAX_LAUNCH_ARGS) weirl_raise(L, "%s: more than %d arguments", fn, MAX_LAUNCH_ARGS);
            l->args[n] = (weir_arg){ .name = lua_tostring(L, -2) };
            one_arg(L, u, &l->args[n++]);
            lua_pop(L, 1);
        }
    }
    l->desc.args = l->args;
    l->desc.nargs = n;
    if (!lua_isnoneornil(L, 3)) {
        weirl_desc d = weirl_desc_open(L, 3, fn, names);
        if (weirl_get(&d, "stream") != LUA_TNIL) l->desc.stream = (void *)(uintptr_t)to_address(L, -1, "stream");
        if (weirl_get(&d, "device") != LUA_TNIL) l->desc.device = weirl_checkdevice(L, -1, "option 'device':")->d;
        lua_pop(L, 2);
        l->desc.grid = weirl_int(&d, "grid", 0);
        l->desc.pdl = weirl_bool(&d, "pdl", false);
        if (extra) l->extra = weirl_int(&d, extra, def);
    }
    return u;
}

static int outcome(lua_State *L, const weirl_program *u, const char *fn,
                   weir_status st) { /* nil, message, code; bad arguments raise */
    if (st == WEIR_E_LAUNCH || st == WEIR_E_ARGUMENT) return weirl_raise(L, "%s: %s", fn, weir_error(u->kb->ctx->c));
    return weirl_fail(L, u->kb->ctx, st);
}

/* A run in the simulator may be ended by a hook of L: what that raised goes on. */
static void run_begins(lua_State *L, const weirl_program *u) { u->kb->ctx->running = L; }
static void run_ends(lua_State *L, const weirl_program *u) {
    weirl_ctx *c = u->kb->ctx;
    c->running = NULL;
    if (c->ended == LUA_NOREF) return;
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->ended);
    luaL_unref(L, LUA_REGISTRYINDEX, c->ended);
    c->ended = LUA_NOREF;
    lua_error(L);
}

static int p_launch(lua_State *L) {
    launch l;
    weirl_program *u = read_launch(L, "launch", &l, NULL, 0);
    run_begins(L, u);
    weir_status st = weir_launch(u->p, &l.desc);
    run_ends(L, u);
    return st == WEIR_OK ? lua_pushboolean(L, 1), 1 : outcome(L, u, "launch", st);
}

/* true, and what tensors must be like; or false and the reason. */
static int p_accepts(lua_State *L) {
    launch l;
    const char *needs = NULL;
    weirl_program *u = read_launch(L, "accepts", &l, NULL, 0);
    weir_status st = weir_accepts(u->p, &l.desc, &needs);
    if (st != WEIR_OK && st != WEIR_E_LAUNCH) return outcome(L, u, "accepts", st);
    lua_pushboolean(L, st == WEIR_OK);
    if (st == WEIR_OK && !needs) return 1;
    lua_pushstring(L, needs ? needs : weir_error(u->kb->ctx->c));
    return 2;
}

static int p_time(lua_State *L) { /* median milliseconds */
    launch l;
    weirl_program *u = read_launch(L, "time", &l, "reps", 20);
    if (l.extra < 1) return weirl_raise(L, "time: reps = %d", l.extra);
    double ms = 0;
    weir_status st = weir_time(u->p, &l.desc, l.extra, &ms);
    return st == WEIR_OK ? lua_pushnumber(L, ms), 1 : outcome(L, u, "time", st);
}

/* A timeline; when the run stopped early also message and code. Without a timeline nil, message, code. */
static int p_trace(lua_State *L) {
    launch l;
    weirl_program *u = read_launch(L, "trace", &l, "ctas", 0);
    lua_settop(L, 3);
    lua_getiuservalue(L, 1, UV_KERNEL); /* 4 */
    lua_getiuservalue(L, 4, 1);         /* 5: context */
    weir_timeline **t = weirl_pushtimeline(L, 5);
    run_begins(L, u);
    weir_status st = weir_trace(u->p, &l.desc, &(weir_trace_desc){ .ctas = l.extra }, t);
    run_ends(L, u);
    if (!*t) return outcome(L, u, "trace", st);
    if (st == WEIR_OK) return 1;
    int n = outcome(L, u, "trace", st); /* nil, message, code */
    lua_remove(L, -n);
    return n;
}

/* true; or nil, message, code, and the first seed that fails. */
static int p_explore(lua_State *L) {
    launch l;
    uint64_t seed = 0;
    weirl_program *u = read_launch(L, "explore", &l, "seeds", 100);
    run_begins(L, u);
    weir_status st = weir_explore(u->p, &l.desc, l.extra, &seed);
    run_ends(L, u);
    if (st == WEIR_OK) return lua_pushboolean(L, 1), 1;
    int n = outcome(L, u, "explore", st);
    if (seed) lua_pushinteger(L, (lua_Integer)seed), n++;
    return n;
}

/* ---- bound arguments ---------------------------------------------------------------------------------------------------- */

typedef struct bound {
    weir_bound *b;
    weirl_program *program;
    bool foreign; /* another library's tensor is among the arguments */
} bound; /* user values: program, arguments (their memory must live) */

static int p_bind(lua_State *L) {
    launch l;
    weirl_program *u = read_launch(L, "bind", &l, NULL, 0);
    lua_settop(L, 3);
    bound *b = weirl_new(L, sizeof *b, 3, WEIRL_BOUND);
    b->program = u;
    for (int i = 1; i <= 3; i++) {
        lua_pushvalue(L, i);
        lua_setiuservalue(L, 4, i);
    }
    if (lua_istable(L, 2)) { /* the caller's table may change */
        lua_newtable(L);
        for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
            b->foreign |= luaL_testudata(L, -1, WEIRL_FOREIGN) != NULL;
            lua_pushvalue(L, -2);
            lua_pushvalue(L, -2);
            lua_settable(L, 5);
        }
        lua_setiuservalue(L, 4, 2);
    }
    b->b = weir_bind_args(u->p, &l.desc);
    return b->b ? 1 : weirl_raise(L, "bind: %s", weir_error(u->kb->ctx->c));
}

static int bound_gc(lua_State *L) {
    bound *b = luaL_checkudata(L, 1, WEIRL_BOUND);
    if (b->b && b->program->p && b->program->kb->ctx->c) weir_bound_free(b->b);
    b->b = NULL;
    return 0;
}

/* What it needs still lives; another library's tensor, which C knows by its address alone, too. */
static bound *check_bound(lua_State *L) {
    bound *b = luaL_checkudata(L, 1, WEIRL_BOUND);
    if (!b->b || !b->program->p) weirl_raise(L, "the bound launch or its program is closed");
    if (!b->program->kb->k || !b->program->kb->ctx->c) weirl_raise(L, "the kernel of the bound launch is closed");
    return b;
}

static void want_foreign(lua_State *L) {
    lua_getiuservalue(L, 1, 2);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        const weirl_foreign *f = luaL_testudata(L, -1, WEIRL_FOREIGN);
        if (f && !f->managed)
            weirl_raise(L,
                        "launch: tensor '%s' was given back to its owner after it was bound; give the binding another one "
                        "(set_address), or bind again",
                        lua_tostring(L, -2));
    }
}

static int b_launch(lua_State *L) {
    const bound *b = check_bound(L);
    if (b->foreign) want_foreign(L);
    void *stream = lua_isnoneornil(L, 2) ? NULL : (void *)(uintptr_t)to_address(L, 2, "stream");
    weir_status st = weir_bound_launch(b->b, stream);
    return st == WEIR_OK ? lua_pushboolean(L, 1), 1 : outcome(L, b->program, "launch", st);
}

static int b_set_address(lua_State *L) { /* bound:set_address(tensor's name, device tensor or address) */
    const bound *b = check_bound(L);
    const char *name = luaL_checkstring(L, 2);
    weirl_buffer *t = luaL_testudata(L, 3, WEIRL_BUFFER);
    if (t && (!t->b || !t->dev->d)) return weirl_raise(L, "set_address: the tensor or its device is closed");
    lua_settop(L, 3);
    weir_status st =
        t ? weir_bound_set_buffer(b->b, name, t->b) : weir_bound_set_address(b->b, name, to_address(L, 3, "set_address"));
    if (st != WEIR_OK) return outcome(L, b->program, "set_address", st);
    lua_newtable(L); /* the memory that must live now: the arguments, one exchanged */
    lua_getiuservalue(L, 1, 2);
    for (lua_pushnil(L); lua_next(L, 5); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_settable(L, 4);
    }
    lua_pushvalue(L, 3);
    lua_setfield(L, 4, name);
    lua_settop(L, 4);
    lua_setiuservalue(L, 1, 2);
    return lua_pushboolean(L, 1), 1;
}

static int bound_tostring(lua_State *L) {
    bound *b = luaL_checkudata(L, 1, WEIRL_BOUND);
    bool open = b->b && b->program->p && b->program->kb->k;
    return lua_pushfstring(L, "bound launch of '%s'", open ? weir_program_name(b->program->p) : "(closed)"), 1;
}

/* ---- what was built ----------------------------------------------------------------------------------------------------- */

static int p_source(lua_State *L) { return lua_pushstring(L, weir_program_source(check(L, 1)->p)), 1; }
static int p_full_source(lua_State *L) { return lua_pushstring(L, weir_program_full_source(check(L, 1)->p)), 1; }
static int p_log(lua_State *L) { return lua_pushstring(L, weir_program_log(check(L, 1)->p)), 1; }

static int p_ptx(lua_State *L) {
    weirl_program *u = check(L, 1);
    const char *text = NULL;
    weir_status st = weir_program_ptx(u->p, &text);
    return st == WEIR_OK ? lua_pushstring(L, text), 1 : weirl_fail(L, u->kb->ctx, st);
}

static int p_cubin(lua_State *L) {
    weirl_program *u = check(L, 1);
    const void *data = NULL;
    size_t size = 0;
    weir_status st = weir_program_cubin(u->p, &data, &size);
    return st == WEIR_OK ? lua_pushlstring(L, data, size), 1 : weirl_fail(L, u->kb->ctx, st);
}

static int p_export(lua_State *L) {
    weirl_program *u = check(L, 1);
    if (lua_type(L, 2) != LUA_TSTRING) return weirl_raise(L, "export: a folder expected, got %s", weirl_typename(L, 2));
    weir_status st = weir_program_export(u->p, lua_tostring(L, 2));
    return st == WEIR_OK ? lua_pushboolean(L, 1), 1 : weirl_fail(L, u->kb->ctx, st);
}

static int p_notes(lua_State *L) { /* nil: nothing */
    const char *text = weir_program_notes(check(L, 1)->p);
    if (!*text) return lua_pushnil(L), 1;
    return lua_pushstring(L, text), 1;
}

static int p_times(lua_State *L) { /* milliseconds */
    weir_times t = weir_program_times(check(L, 1)->p);
    const struct {
        const char *name;
        double ms;
    } rows[] = { { "validate", t.validate }, { "plan", t.plan },       { "prove", t.prove },
                 { "emit", t.emit },         { "compile", t.compile }, { "nvrtc", t.nvrtc },
                 { "load", t.load } };
    lua_createtable(L, 0, 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lua_pushnumber(L, rows[i].ms);
        lua_setfield(L, -2, rows[i].name);
    }
    lua_pushboolean(L, t.cache_hit);
    lua_setfield(L, -2, "cache_hit");
    return 1;
}

static int program_index(lua_State *L) {
    luaL_checkudata(L, 1, WEIRL_PROGRAM);
    const char *key = luaL_tolstring(L, 2, NULL);
    if (weirl_method(L, WEIRL_PROGRAM, key)) return 1;
    if (strcmp(key, "name") == 0) return lua_pushstring(L, weir_program_name(check(L, 1)->p)), 1;
    if (strcmp(key, "report") == 0) return lua_getiuservalue(L, 1, UV_REPORT), 1;
    if (strcmp(key, "kernel") == 0) return lua_getiuservalue(L, 1, UV_KERNEL), 1;
    weirl_near near;
    weirl_near_begin(&near, key);
    weirl_near_methods(L, WEIRL_PROGRAM, &near);
    weirl_near_try(&near, "report");
    return weirl_raise(L, "a program has no method or field '%s'%s", key, weirl_near_text(L, &near));
}

static int program_tostring(lua_State *L) {
    weirl_program *u = luaL_checkudata(L, 1, WEIRL_PROGRAM);
    return lua_pushfstring(L, "program '%s'", u->p && u->kb->k ? weir_program_name(u->p) : "(closed)"), 1; /* the kernel's */
}

void weirl_open_program(lua_State *L) {
    static const luaL_Reg meth[] = { { "launch", p_launch },
                                     { "accepts", p_accepts },
                                     { "notes", p_notes },
                                     { "time", p_time },
                                     { "trace", p_trace },
                                     { "explore", p_explore },
                                     { "bind", p_bind },
                                     { "source", p_source },
                                     { "full_source", p_full_source },
                                     { "log", p_log },
                                     { "ptx", p_ptx },
                                     { "cubin", p_cubin },
                                     { "export", p_export },
                                     { "times", p_times },
                                     { "close", program_gc },
                                     { NULL, NULL } };
    static const luaL_Reg meta[] = {
        { "__gc", program_gc }, { "__close", program_gc }, { "__tostring", program_tostring }, { NULL, NULL }
    };
    static const luaL_Reg bound_meth[] = {
        { "launch", b_launch }, { "set_address", b_set_address }, { "close", bound_gc }, { NULL, NULL }
    };
    static const luaL_Reg bound_meta[] = {
        { "__gc", bound_gc }, { "__close", bound_gc }, { "__tostring", bound_tostring }, { NULL, NULL }
    };
    weirl_class(L, WEIRL_PROGRAM, meth, meta, program_index);
    weirl_class(L, WEIRL_BOUND, bound_meth, bound_meta, NULL);
}
