/* What explorelib.c and formslib.c add to the module weir_plan, and what they take of planlib.c. */
#ifndef WEIRX_EXPLORELIB_H
#define WEIRX_EXPLORELIB_H

#include <lauxlib.h>

#include "plan.h"

extern const luaL_Reg weirx_functions[];
extern const luaL_Reg weirx_forms[];

/* The link that leads to the node of action `id` in the plan's trees; raises where there is none. */
weiri_pnode **weirx_find(lua_State *L, weiri_plan *p, int id);

#endif
