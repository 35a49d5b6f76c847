/* What weir_close calls to give back what later stages hang on the context. Each does nothing when its part was never used. */
#ifndef WEIRI_CLOSE_H
#define WEIRI_CLOSE_H

#include "weir.h"

void weiri_cuda_close(weir_ctx *ctx);  /* cuda.c: driver table, primary contexts */
void weiri_nvrtc_close(weir_ctx *ctx); /* compile.c */
void weiri_sim_close(weir_ctx *ctx);   /* sim/ */

#endif
