/* What every part of the module uses: nearest names, errors at the author's line, places, desc tables, classes. */
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weirlua.h"

/* ---- nearest name ------------------------------------------------------------------------------------------------------- */

enum { NAME_MAX_LEN = 48, CHAIN_MAX = 16 };

/* Edit distance with transpositions, letters compared without case; names longer than NAME_MAX_LEN are never near. */
static int distance(const char *a, const char *b) {
    int n = (int)strlen(a), m = (int)strlen(b);
    if (n > NAME_MAX_LEN || m > NAME_MAX_LEN) return INT_MAX;
    int row[3][NAME_MAX_LEN + 1];
    for (int j = 0; j <= m; j++) row[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *cur = row[i % 3], *up = row[(i + 2) % 3], *up2 = row[(i + 1) % 3];
        cur[0] = i;
        for (int j = 1; j <= m; j++) {
            int ca = tolower((unsigned char)a[i - 1]), cb = tolower((unsigned char)b[j - 1]);
            int best = up[j - 1] + (ca != cb);
            if (up[j] + 1 < best) best = up[j] + 1;
            if (cur[j - 1] + 1 < best) best = cur[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) && cb == tolower((unsigned char)a[i - 2]) &&
                up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            cur[j] = best;
        }
    }
    return row[n % 3][m];
}

void weirl_near_begin(weirl_near *n, const char *want) {
    size_t len = strlen(want);
    n->want = want;
    n->best = NULL;
    n->dist = len < 6 ? 2 : len < 12 ? 3 : 4; /* exclusive: a longer name may differ in more letters */
}

/* Of equally near names the one that begins alike for longer, then the first by letter: the order of a hash must not show. */
static bool nearer(const char *want, const char *a, const char *b) {
    size_t m = 0, n = 0;
    while (want[m] && want[m] == a[m]) m++;
    while (want[n] && want[n] == b[n]) n++;
    return m != n ? m > n : strcmp(a, b) < 0;
}

void weirl_near_try(weirl_near *n, const char *name) {
    int d = distance(n->want, name);
    if (d < n->dist || (d == n->dist && n->best && nearer(n->want, name, n->best))) n->dist = d, n->best = name;
}

const char *weirl_near_text(lua_State *L, const weirl_near *n) {
    return n->best ? lua_pushfstring(L, "; did you mean '%s'?", n->best) : lua_pushliteral(L, "");
}

/* ---- places ------------------------------------------------------------------------------------------------------------- */

/* Lua files of the module itself: never an author's line. */
static bool is_own(const char *source) {
    static const char *const own[] = { "weir/init.lua", "weir/repl.lua", "weir/npy.lua", "weir/export.lua" };
    size_t n = strlen(source);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        size_t m = strlen(own[i]);
        if (n >= m && strcmp(source + n - m, own[i]) == 0 && (n == m || source[n - m - 1] == '/' || source[n - m - 1] == '@'))
            return true;
    }
    return false;
}

static bool is_author(const lua_Debug *ar) { return ar->currentline > 0 && *ar->what != 'C' && !is_own(ar->source); }

/* The chunk's name as it was given: a file's path, or a short form of the text. */
static const char *file_of(const lua_Debug *ar) {
    return *ar->source == '@' || *ar->source == '=' ? ar->source + 1 : ar->short_src;
}

static bool author_frame(lua_State *L, lua_Debug *ar) {
    for (int level = 0; lua_getstack(L, level, ar); level++)
        if (lua_getinfo(L, "Sl", ar) && is_author(ar)) return true;
    return false;
}

const char *weirl_here(lua_State *L, int *line) {
    lua_Debug ar;
    if (!author_frame(L, &ar)) {
        *line = 0;
        return lua_pushliteral(L, "?");
    }
    *line = ar.currentline;
    return lua_pushstring(L, file_of(&ar));
}

int weirl_raise(lua_State *L, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    lua_Debug ar;
    if (author_frame(L, &ar)) lua_pushfstring(L, "%s:%d: %s", file_of(&ar), ar.currentline, text);
    else lua_pushstring(L, text);
    return lua_error(L);
}

int weirl_fail(lua_State *L, const weirl_ctx *ctx, weir_status st) {
    lua_pushnil(L);
    const char *text = ctx->c ? weir_error(ctx->c) : "the context is closed";
    lua_pushstring(L, *text ? text : weir_status_name(st));
    lua_pushstring(L, weir_status_name(st));
    return 3;
}

void weirl_at(lua_State *L, weirl_kernel *kb) {
    lua_Debug ar[CHAIN_MAX];
    weir_place chain[CHAIN_MAX];
    int n = 0;
    for (int level = 0; n < CHAIN_MAX && lua_getstack(L, level, &ar[n]); level++) {
        if (!lua_getinfo(L, "Slf", &ar[n])) break;
        bool task = lua_tocfunction(L, -1) == weirl_task;
        lua_pop(L, 1);
        if (task && level > 0) break; /* the frame before was the schedule function; level 0: k:task itself asks */
        if (!is_author(&ar[n])) continue;
        chain[n] = (weir_place){ file_of(&ar[n]), ar[n].currentline };
        if (strcmp(ar[n++].what, "main") == 0) break;
    }
    weir_at(kb->k, chain, n);
}

/* ---- where the text of a custom body stands ----------------------------------------------------------------------------- */

/* Size of a file that can be read from its beginning again; -1 for a pipe or terminal, and when there is none. */
static long file_size(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return -1;
    long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    fclose(f);
    return n;
}

/* The whole file with "\r\n" as "\n", as Lua reads it; left on the stack. NULL if it cannot be read. */
static const char *read_file(lua_State *L, const char *path) {
    long size = file_size(path);
    if (size < 0) return NULL;
    char *text = lua_newuserdatauv(L, (size_t)size + 1, 0); /* before the file is open: it may raise */
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    size_t n = fread(text, 1, (size_t)size, f), m = 0;
    fclose(f);
    for (size_t i = 0; i < n; i++)
        if (text[i] != '\r' || i + 1 == n || text[i + 1] != '\n') text[m++] = text[i];
    text[m] = '\0';
    return text;
}

const char *weirl_code_place(lua_State *L, const char *code, int *line) {
    lua_Debug ar;
    *line = 0;
    if (!author_frame(L, &ar)) return lua_pushliteral(L, "?");
    const char *file = lua_pushstring(L, file_of(&ar));
    *line = ar.currentline;
    int top = lua_gettop(L);
    const char *text = *ar.source == '@' ? read_file(L, ar.source + 1) : *ar.source == '=' ? NULL : ar.source;
    if (text && *code) {
        const char *from = text, *hit = NULL;
        int first = 1;
        for (; first < ar.currentline && from; first++) {
            from = strchr(from, '\n');
            if (from) from++;
        }
        if (from) hit = strstr(from, code);
        if (!hit) hit = strstr(from = text, code), first = 1; /* kept in a variable above the call */
        if (hit) {
            *line = first;
            for (const char *s = from; s < hit; s++)
                if (*s == '\n') ++*line;
        }
    }
    lua_settop(L, top);
    return file;
}

/* ---- desc tables -------------------------------------------------------------------------------------------------------- */

const char *weirl_typename(lua_State *L, int idx) {
    int t = luaL_getmetafield(L, idx, "__name");
    const char *name = luaL_typename(L, idx);
    if (t == LUA_TNIL) return name;
    if (t == LUA_TSTRING) name = lua_tostring(L, -1); /* stays alive in the metatable */
    lua_pop(L, 1);
    return name;
}

weirl_desc weirl_desc_open(lua_State *L, int idx, const char *fn, const char *const *names) {
    idx = lua_absindex(L, idx);
    if (lua_type(L, idx) != LUA_TTABLE) weirl_raise(L, "%s: a table of options expected, got %s", fn, weirl_typename(L, idx));
    const char *bad = NULL; /* of several, the first by name: the message must not depend on the order of a hash */
    lua_pushnil(L);
    while (lua_next(L, idx)) {
        lua_pop(L, 1);
        if (lua_type(L, -1) != LUA_TSTRING)
            weirl_raise(L, "%s: options are given by name, but one has the key %s", fn, luaL_tolstring(L, -1, NULL));
        const char *key = lua_tostring(L, -1);
        int i = 0;
        while (names[i] && strcmp(names[i], key) != 0) i++;
        if (!names[i] && (!bad || strcmp(key, bad) < 0)) bad = key;
    }
    if (bad) {
        weirl_near near;
        weirl_near_begin(&near, bad);
        luaL_Buffer known;
        luaL_buffinit(L, &known);
        for (int i = 0; names[i]; i++) {
            weirl_near_try(&near, names[i]);
            if (i) luaL_addstring(&known, ", ");
            luaL_addstring(&known, names[i]);
        }
        luaL_pushresult(&known);
        if (near.best) weirl_raise(L, "%s: unknown field '%s'%s", fn, bad, weirl_near_text(L, &near));
        weirl_raise(L, "%s: unknown field '%s'; there are %s", fn, bad, lua_tostring(L, -1));
    }
    return (weirl_desc){ L, idx, fn };
}

int weirl_get(const weirl_desc *d, const char *field) {
    lua_pushstring(d->L, field);
    return lua_rawget(d->L, d->t);
}

bool weirl_has(const weirl_desc *d, const char *field) {
    bool has = weirl_get(d, field) != LUA_TNIL;
    lua_pop(d->L, 1);
    return has;
}

static int wrong(const weirl_desc *d, const char *field, const char *want) {
    if (lua_isnil(d->L, -1)) return weirl_raise(d->L, "%s: needs %s = a %s", d->fn, field, want);
    return weirl_raise(d->L, "%s: field '%s' is a %s, got %s", d->fn, field, want, weirl_typename(d->L, -1));
}

const char *weirl_str(const weirl_desc *d, const char *field) {
    int t = weirl_get(d, field);
    if (t != LUA_TNIL && t != LUA_TSTRING) wrong(d, field, "string");
    size_t n = 0;
    const char *s = lua_tolstring(d->L, -1, &n); /* stays alive in the table */
    if (s && strlen(s) != n) weirl_raise(d->L, "%s: field '%s' has a zero byte after '%s'", d->fn, field, s);
    lua_pop(d->L, 1);
    return s;
}

const char *weirl_need_str(const weirl_desc *d, const char *field) {
    const char *s = weirl_str(d, field);
    if (!s) weirl_raise(d->L, "%s: needs %s = a string", d->fn, field);
    return s;
}

int64_t weirl_int64(const weirl_desc *d, const char *field, int64_t def) {
    int64_t x = def;
    if (weirl_get(d, field) != LUA_TNIL) {
        int isint = 0;
        x = lua_type(d->L, -1) == LUA_TNUMBER ? lua_tointegerx(d->L, -1, &isint) : 0;
        if (!isint) {
            if (lua_type(d->L, -1) == LUA_TNUMBER)
                weirl_raise(d->L, "%s: field '%s' is an integer, got %s", d->fn, field, lua_tostring(d->L, -1));
            wrong(d, field, "number");
        }
    }
    lua_pop(d->L, 1);
    return x;
}

int weirl_int(const weirl_desc *d, const char *field, int def) {
    int64_t x = weirl_int64(d, field, def);
    if (x < INT_MIN || x > INT_MAX) weirl_raise(d->L, "%s: field '%s' = %lld is out of range", d->fn, field, (long long)x);
    return (int)x;
}

int weirl_count(const weirl_desc *d, const char *field, int def) {
    int x = weirl_int(d, field, def);
    if (x < 1 && weirl_has(d, field)) weirl_raise(d->L, "%s: %s is %d; at least 1", d->fn, field, x);
    return x;
}

bool weirl_bool(const weirl_desc *d, const char *field, bool def) {
    int t = weirl_get(d, field);
    if (t != LUA_TNIL && t != LUA_TBOOLEAN) wrong(d, field, "boolean");
    bool x = t == LUA_TNIL ? def : (bool)lua_toboolean(d->L, -1);
    lua_pop(d->L, 1);
    return x;
}

int weirl_choice(const weirl_desc *d, const char *field, const char *const *names, int def) {
    const char *s = weirl_str(d, field);
    if (!s) return def;
    weirl_near near;
    weirl_near_begin(&near, s);
    luaL_Buffer known;
    luaL_buffinit(d->L, &known);
    int listed = 0;
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], s) == 0) {
            luaL_pushresult(&known);
            lua_pop(d->L, 1);
            return i;
        }
        weirl_near_try(&near, names[i]);
        if (!*names[i]) continue; /* what stands for a field that is left out */
        if (listed++) luaL_addstring(&known, ", ");
        luaL_addstring(&known, names[i]);
    }
    luaL_pushresult(&known);
    const char *all = lua_tostring(d->L, -1), *hint = weirl_near_text(d->L, &near);
    return weirl_raise(d->L, "%s: %s = '%s' is none of %s%s", d->fn, field, s, all, hint);
}

weir_dtype weirl_todtype(lua_State *L, int idx, const char *what) {
    if (lua_type(L, idx) != LUA_TSTRING) weirl_raise(L, "%s: a dtype is a string, got %s", what, weirl_typename(L, idx));
    const char *name = lua_tostring(L, idx);
    weir_dtype t = weir_dtype_from_name(name);
    if (t == WEIR_DTYPE_NONE) {
        weirl_near near;
        weirl_near_begin(&near, name);
        luaL_Buffer known;
        luaL_buffinit(L, &known);
        for (int i = 1; i < WEIR_DTYPE_COUNT; i++) {
            weirl_near_try(&near, weir_dtype_name((weir_dtype)i));
            if (i > 1) luaL_addstring(&known, " ");
            luaL_addstring(&known, weir_dtype_name((weir_dtype)i));
        }
        luaL_pushresult(&known);
        const char *all = lua_tostring(L, -1), *hint = weirl_near_text(L, &near);
        weirl_raise(L, "%s: unknown dtype '%s', there are %s%s", what, name, all, hint);
    }
    return t;
}

weir_arch weirl_arch(const weirl_desc *d) {
    static const char *const archs[] = { "sm_80", "sm_90a", "sm_100a", NULL };
    static const weir_arch arch_of[] = { WEIR_ARCH_SM_80, WEIR_ARCH_SM_90A, WEIR_ARCH_SM_100A };
    static const char *const plain[][3] = { { "sm_90", "sm_90a", "wgmma and setmaxnreg" },
                                            { "sm_100", "sm_100a", "tcgen05 and setmaxnreg" } };
    const char *s = weirl_str(d, "arch");
    for (size_t i = 0; s && i < sizeof plain / sizeof *plain; i++)
        if (!strcmp(s, plain[i][0]))
            weirl_raise(d->L, "%s: arch = '%s' lacks %s, which ptxas has for %s alone; write arch = \"%s\"", d->fn, s,
                        plain[i][2], plain[i][1], plain[i][1]);
    int arch = weirl_choice(d, "arch", archs, -1);
    return arch >= 0 ? arch_of[arch] : WEIR_ARCH_DEFAULT;
}

void weirl_push_sizes(lua_State *L, const int64_t *x, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)x[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

const char *weirl_push_shape(lua_State *L, weir_dtype dtype, const int64_t *shape, int rank) {
    luaL_Buffer s;
    luaL_buffinit(L, &s);
    luaL_addstring(&s, weir_dtype_name(dtype));
    for (int i = 0; i < rank; i++) {
        lua_pushfstring(L, "%s%I", i ? " x " : " ", (LUAI_UACINT)shape[i]);
        luaL_addvalue(&s);
    }
    luaL_pushresult(&s);
    return lua_tostring(L, -1);
}

void weirl_set_int(lua_State *L, const char *key, int64_t x) {
    lua_pushinteger(L, (lua_Integer)x);
    lua_setfield(L, -2, key);
}

weir_dtype weirl_dtype(const weirl_desc *d, const char *field) {
    weir_dtype t = weirl_get(d, field) == LUA_TNIL ? WEIR_DTYPE_NONE : weirl_todtype(d->L, -1, d->fn);
    lua_pop(d->L, 1);
    return t;
}

int weirl_tointx(lua_State *L, int idx, const char *what) {
    int isint = 0;
    lua_Integer x = lua_type(L, idx) == LUA_TNUMBER ? lua_tointegerx(L, idx, &isint) : 0;
    if (!isint || x < INT_MIN || x > INT_MAX)
        weirl_raise(L, "%s: a plain integer expected, got %s", what,
                    lua_type(L, idx) == LUA_TNUMBER ? lua_tostring(L, idx) : weirl_typename(L, idx));
    return (int)x;
}

int weirl_ints(const weirl_desc *d, const char *field, int *out, int max) {
    int t = weirl_get(d, field), n = 0;
    if (t == LUA_TTABLE) {
        lua_Unsigned len = lua_rawlen(d->L, -1);
        if (len > (lua_Unsigned)max)
            weirl_raise(d->L, "%s: field '%s' has %d entries, at most %d are possible", d->fn, field, (int)len, max);
        for (n = 0; n < (int)len; n++) {
            lua_rawgeti(d->L, -1, n + 1);
            out[n] = weirl_tointx(d->L, -2, lua_pushfstring(d->L, "%s: %s[%d]", d->fn, field, n + 1));
            lua_pop(d->L, 2);
        }
    } else if (t != LUA_TNIL) {
        wrong(d, field, "table of integers");
    }
    lua_pop(d->L, 1);
    return n;
}

/* ---- classes ------------------------------------------------------------------------------------------------------------ */

void weirl_class(lua_State *L, const char *name, const luaL_Reg *meth, const luaL_Reg *metameth, lua_CFunction index) {
    if (luaL_newmetatable(L, name)) {
        luaL_setfuncs(L, metameth, 0);
        lua_newtable(L);
        if (meth) luaL_setfuncs(L, meth, 0);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, "methods");
        if (index) {
            lua_pop(L, 1);
            lua_pushcfunction(L, index);
        }
        lua_setfield(L, -2, "__index");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable"); /* scripts must not reach __gc */
    }
    lua_pop(L, 1);
}

bool weirl_method(lua_State *L, const char *class_name, const char *key) {
    luaL_getmetatable(L, class_name);
    lua_getfield(L, -1, "methods");
    lua_remove(L, -2);
    bool found = lua_getfield(L, -1, key) != LUA_TNIL;
    lua_remove(L, -2);
    if (!found) lua_pop(L, 1);
    return found;
}

void weirl_near_methods(lua_State *L, const char *class_name, weirl_near *n) {
    luaL_getmetatable(L, class_name);
    lua_getfield(L, -1, "methods");
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        weirl_near_try(n, lua_tostring(L, -1)); /* stays alive in the table */
    }
    lua_pop(L, 2);
}

void *weirl_new(lua_State *L, size_t size, int nuv, const char *class_name) {
    void *p = lua_newuserdatauv(L, size, nuv);
    memset(p, 0, size);
    luaL_setmetatable(L, class_name);
    return p;
}
