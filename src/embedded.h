/* The device preambles of kernels/device/, turned into C arrays by the build. NUL-terminated. */
#ifndef WEIRI_EMBEDDED_H
#define WEIRI_EMBEDDED_H

extern const char weiri_weir_cuda_h[];
extern const char weiri_weir_sim_h[];
extern const char weiri_weir_probe_h[];
extern const char weiri_weir_halves_h[];
extern const char weiri_weir_sim_cuda_h[];

#endif
