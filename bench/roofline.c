/* The most that this machine can do: fused multiply-adds in registers, for roofline.py, which compiles it with
 * -march=native. The other extreme is naive_sweep.c.
 */
#include <stdint.h>

#if defined(__AVX512F__)
enum { BYTES = 64 };
typedef double lanes __attribute__((vector_size(64)));
#elif defined(__AVX__)
enum { BYTES = 32 };
typedef double lanes __attribute__((vector_size(32)));
#else
enum { BYTES = 16 };
typedef double lanes __attribute__((vector_size(16)));
#endif

enum { CHAINS = 12, WIDTH = BYTES / 8 };

/* The highest level of x86-64 that the processor has, by which the dynamic linker chooses among clones; 0 elsewhere. */
int level(void)
{
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    return __builtin_cpu_supports("x86-64-v4")   ? 4
           : __builtin_cpu_supports("x86-64-v3") ? 3
           : __builtin_cpu_supports("x86-64-v2") ? 2
                                                 : 1;
#else
    return 0;
#endif
}

/* `rounds` times CHAINS vectors, in as many chains as hide what one operation takes. Returns how many operations a round
 * has, a multiply-add counted as two; *sum must be used. */
int64_t multiply_add(int64_t rounds, double *sum)
{
    lanes a[CHAINS], zero = {0};
    const lanes b = zero + 0.999, c = zero + 0.001;
    int64_t i;
    int j;

#pragma GCC unroll 12
    for (j = 0; j < CHAINS; j++)
        a[j] = zero + (double)j;
    for (i = 0; i < rounds; i++) {
#pragma GCC unroll 12
        for (j = 0; j < CHAINS; j++)
            a[j] = a[j] * b + c;
    }
#pragma GCC unroll 12
    for (j = 0; j < CHAINS; j++)
        zero += a[j];
    *sum = zero[0] + zero[WIDTH - 1];
    return 2 * CHAINS * WIDTH;
}
