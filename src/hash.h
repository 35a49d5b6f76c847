/* SHA-256 (FIPS 180-4): names of cache entries, checksums of their contents. */
#ifndef WEIRI_HASH_H
#define WEIRI_HASH_H

#include <stddef.h>
#include <stdint.h>

typedef struct weiri_hash {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} weiri_hash;

void weiri_hash_init(weiri_hash *h);
void weiri_hash_add(weiri_hash *h, const void *data, size_t n);
void weiri_hash_text(weiri_hash *h, const char *s); /* with its NUL, so that "ab","c" differs from "a","bc" */
void weiri_hash_end(weiri_hash *h, uint8_t out[32]);
void weiri_hash_hex(const uint8_t *digest, int bytes, char *out); /* 2 * bytes characters and a NUL */

#endif
