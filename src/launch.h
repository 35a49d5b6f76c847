/* Arguments to a run: binding by name, tensor maps, launch shape, the driver call or the simulator. */
#ifndef WEIRI_LAUNCH_H
#define WEIRI_LAUNCH_H

#include "device.h"
#include "program.h"
#include "tmap.h"

/* tmap.c. The map has passed weiri_tmap_check; the device's context is current. */
weir_status weiri_tmap_encode(weir_device *d, const weiri_tmap *m, const char *name, weiri_cumap *out);

/* What a launch would do, for tests and for the printout: valid after a bind. */
typedef struct weiri_shape {
    int grid, cluster, threads;
    int64_t smem;
} weiri_shape;
weiri_shape weiri_bound_shape(const weir_bound *b);
/* Where a launch with these arguments would run; NULL with the context's error. */
weir_device *weiri_launch_device(weir_program *p, const weir_launch_desc *desc);

#endif
