/* The only functions that the library needs from a C library. */
#include <stddef.h>
#include <stdint.h>

/* Without this, compilers recognise the loops and call memcpy and memset for them. */
#define NOT_AN_IDIOM __asm volatile("" : : : "memory")

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int byte, size_t n);

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    unsigned char *t = (unsigned char *)to;
    const unsigned char *f = (const unsigned char *)from;

    for (; n > 0; n--) {
        *t++ = *f++;
        NOT_AN_IDIOM;
    }
    return to;
}

void *memset(void *to, int byte, size_t n)
{
    unsigned char *t = (unsigned char *)to;
    const uint32_t word = (unsigned char)byte * UINT32_C(0x01010101);

    for (; n >= 4 && (uintptr_t)t % 4 == 0; n -= 4, t += 4) {
        *(uint32_t *)(void *)t = word;
        NOT_AN_IDIOM;
    }
    for (; n > 0; n--) {
        *t++ = (unsigned char)byte;
        NOT_AN_IDIOM;
    }
    return to;
}
