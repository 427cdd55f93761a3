/* The sweep as Algorithm 2 of Raykov2014 writes it, on centred statistics: nothing cached, a log a feature and cluster.
 * Kept to measure the library against; bench/sweep.py compiles it. Normal-Gamma, at most K clusters, unit weights.
 */
#include <math.h>
#include <stdint.h>

static double log_predictive(const double *x, double n, const double *mean, const double *squares, int64_t D,
                             const double *m0, double c0, double a0, const double *b0)
{
    const double c = c0 + n, a = a0 + 0.5 * n;
    double q = 0.0;
    int64_t d;

    for (d = 0; d < D; d++) {
        const double delta = mean[d] - m0[d], m = m0[d] + n * delta / c;
        const double b = b0[d] + 0.5 * squares[d] + 0.5 * c0 * n * delta * delta / c;
        const double t = x[d] - m;

        q -= 0.5 * log(b) + (a + 0.5) * log(1.0 + c * t * t / (2.0 * b * (c + 1.0)));
    }
    return q + (double)D * (lgamma(a + 0.5) - lgamma(a) + 0.5 * log(c / (c + 1.0)) - 0.5 * log(2.0 * 3.141592653589793));
}

static void move(const double *x, double *n, double *mean, double *squares, int64_t D, double sign)
{
    int64_t d;

    *n += sign;
    for (d = 0; d < D; d++) {
        const double delta = x[d] - mean[d];

        if (*n > 0.5)
            mean[d] += sign * delta / *n;
        squares[d] += sign * delta * (x[d] - mean[d]);
        if (*n < 0.5)
            mean[d] = squares[d] = 0.0;
    }
}

int64_t naive_sweep(const double *X, int64_t N, int64_t D, int64_t K, int64_t *labels, double *n, double *mean,
                    double *squares, const double *m0, double c0, double a0, const double *b0, double alpha)
{
    int64_t i, k, moved = 0;

    for (i = 0; i < N; i++) {
        const double *x = X + i * D;
        const int64_t old = labels[i];
        int64_t best = old, opened = 0;
        double top = -INFINITY;

        move(x, &n[old], mean + old * D, squares + old * D, D, -1.0);
        for (k = 0; k < K; k++) {
            double q;

            if (n[k] < 0.5 && opened++)
                continue;
            q = log_predictive(x, n[k], mean + k * D, squares + k * D, D, m0, c0, a0, b0) +
                log(n[k] < 0.5 ? alpha : n[k]);
            if (q > top) {
                top = q;
                best = k;
            }
        }
        move(x, &n[best], mean + best * D, squares + best * D, D, 1.0);
        labels[i] = best;
        moved += best != old;
    }
    return moved;
}
