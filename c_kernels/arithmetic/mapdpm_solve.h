/* z = L^-1 (x - centre) by forward substitution, for the first n_rows rows, all of them or a multiple of 4; adds |z|^2
 * to *total. inverse[i] is 1 / L_ii; z may be x. Four rows at a time, so that a processor need not wait for one sum to
 * finish before the next.
 *
 * Included for each type of number: #define SOLVE triangle_solve and SOLVE_NUMBER double, or a vector of points. Each
 * lane then has the bits of a double.
 */
ALWAYS_INLINE void SOLVE(const double *L, const double *inverse, const SOLVE_NUMBER *x, const double *centre,
                         SOLVE_NUMBER *z, int64_t n_rows, SOLVE_NUMBER *total)
{
    const double *r = L;
    SOLVE_NUMBER sum = *total;
    int64_t i, j;

    for (i = 0; i + 4 <= n_rows; i += 4) {
        const double *const r1 = r + i + 1, *const r2 = r1 + i + 2, *const r3 = r2 + i + 3;
        SOLVE_NUMBER t0 = x[i] - centre[i], t1 = x[i + 1] - centre[i + 1];
        SOLVE_NUMBER t2 = x[i + 2] - centre[i + 2], t3 = x[i + 3] - centre[i + 3];

        for (j = 0; j < i; j++) {
            t0 -= r[j] * z[j];
            t1 -= r1[j] * z[j];
            t2 -= r2[j] * z[j];
            t3 -= r3[j] * z[j];
        }
        t0 *= inverse[i];
        t1 = (t1 - r1[i] * t0) * inverse[i + 1];
        t2 = (t2 - r2[i] * t0 - r2[i + 1] * t1) * inverse[i + 2];
        t3 = (t3 - r3[i] * t0 - r3[i + 1] * t1 - r3[i + 2] * t2) * inverse[i + 3];
        z[i] = t0;
        z[i + 1] = t1;
        z[i + 2] = t2;
        z[i + 3] = t3;
        sum = sum + t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3;
        r = r3 + i + 4;
    }
    for (; i < n_rows; i++) {
        SOLVE_NUMBER t = x[i] - centre[i];

        for (j = 0; j < i; j++)
            t -= r[j] * z[j];
        z[i] = t * inverse[i];
        sum += z[i] * z[i];
        r += i + 1;
    }
    *total = sum;
}
#undef SOLVE
#undef SOLVE_NUMBER
