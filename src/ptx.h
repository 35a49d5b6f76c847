/* The CUDA preamble: weir_cuda.h and the wgmma instances that a source names. */
#ifndef WEIRI_PTX_H
#define WEIRI_PTX_H

#include "mem.h"

/* ORDER WTYPE: W_BF16 ... of weir_cuda.h */
typedef enum weiri_wtype {
    WTYPE_BF16,
    WTYPE_F16,
    WTYPE_TF32,
    WTYPE_E4M3,
    WTYPE_E5M2,
    WTYPE_E4M3_E5M2,
    WTYPE_E5M2_E4M3,
    WTYPE_COUNT
} weiri_wtype;

typedef struct weiri_wgmma {
    int rs;     /* 1: A from registers */
    int n;      /* 8, 16, ... 256 */
    int type;   /* weiri_wtype */
    int ta, tb; /* 1: MN-major, 16-bit types only; rs: ta is 0 */
} weiri_wgmma;

/* Is there such an instruction? If not, `why` says which rule it breaks. */
bool weiri_wgmma_valid(const weiri_wgmma *w, char *why, size_t size);
/* Appends the template specialisation of one instance. */
void weiri_wgmma_put(weiri_buf *b, const weiri_wgmma *w);
/* Appends the preamble for a source text: weir_cuda.h and each wgmma instance that the text names, once, in order of first
 * use. False, with a text in the context's error, when it names one that does not exist. */
bool weiri_ptx_preamble(const char *source, weiri_buf *b);

#endif
