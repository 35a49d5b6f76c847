/* What explorelib.c adds to the module weir_plan. */
#ifndef WEIRX_EXPLORELIB_H
#define WEIRX_EXPLORELIB_H

#include <lauxlib.h>

extern const luaL_Reg weirx_functions[];

#endif
