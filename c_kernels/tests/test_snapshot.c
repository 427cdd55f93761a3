/* Model files: what is written can be read, and damaged files are refused. */
#include "repair.h"

enum { D = 3, K = 2 };

static mapdpm_real anchor[D] = {1, 2, 3};
static mapdpm_real parameters[2 * D + 2] = {0, 0, 0, (mapdpm_real)0.5, 1, 1, 2, 3};
static mapdpm_real statistics[K * (1 + 2 * D)] = {2, 1, 1, 1, 0, 1, 2, 5, -1, -1, -1, 3, 4, 5};
static uint64_t counts[K] = {2, 5};
static mapdpm_model model = {MAPDPM_NORMAL_GAMMA, D, K, (mapdpm_real)1.5, 0, anchor, parameters, statistics, counts};

static union {
    uint64_t aligned;
    unsigned char bytes[1024];
} memory;

static int reads(const unsigned char *file, size_t n)
{
    mapdpm_model back;

    return mapdpm_model_read(file, n, memory.bytes, sizeof memory.bytes, &back);
}

static void round_trip(const unsigned char *file, size_t n)
{
    unsigned char again[1024];
    mapdpm_model back;
    size_t m;

    CHECK(n == mapdpm_model_file_bytes(MAPDPM_NORMAL_GAMMA, D, K));
    CHECK(mapdpm_model_shape(file, n, &back) == MAPDPM_OK && back.n_features == D && back.n_clusters == K);
    CHECK_OK(mapdpm_model_read(file, n, memory.bytes, sizeof memory.bytes, &back));
    CHECK(memcmp(back.statistics, statistics, sizeof statistics) == 0);
    CHECK(memcmp(back.parameters, parameters, sizeof parameters) == 0);
    CHECK(back.counts[1] == 5 && back.anchor[2] == 3 && back.alpha == model.alpha);
    CHECK(mapdpm_model_write(&back, again, sizeof again, &m) == MAPDPM_OK && m == n && memcmp(file, again, n) == 0);
    CHECK(mapdpm_model_read(file, n, memory.bytes, mapdpm_model_bytes(MAPDPM_NORMAL_GAMMA, D, K) - 1, &back) ==
          MAPDPM_E_SPACE);
    CHECK(mapdpm_model_write(&model, again, n - 1, &m) == MAPDPM_E_SPACE);
}

static void damage(const unsigned char *file, size_t n)
{
    unsigned char broken[1024];
    size_t i, bit;

    for (i = 0; i < n; i++) {
        CHECK(reads(file, i) == (i < 4 ? MAPDPM_E_FOREIGN : MAPDPM_E_TRUNCATED));
        for (bit = 0; bit < 8; bit++) {
            memcpy(broken, file, n);
            broken[i] ^= (unsigned char)(1u << bit);
            CHECK(reads(broken, n) < 0);
        }
    }
    memcpy(broken, file, n);
    broken[n] = 0;
    CHECK(reads(broken, n + 1) == MAPDPM_E_DAMAGED);
}

/* A valid CRC over an invalid field, as an attacker or a bug would write it. */
static int with_byte(const unsigned char *file, size_t n, size_t at, unsigned char value)
{
    unsigned char forged[1024];

    memcpy(forged, file, n);
    forged[at] = value;
    repair(forged, n);
    return reads(forged, n);
}

static void forgery(const unsigned char *file, size_t n)
{
    const size_t body = 40, sign = body + MD_REAL - 1;

    CHECK(with_byte(file, n, 4, 2) == MAPDPM_E_NEWER);
    CHECK(with_byte(file, n, 4, 0) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 6, 9) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 7, MD_REAL == 4 ? 8 : 4) == MAPDPM_E_REAL);
    CHECK(with_byte(file, n, 8, 3) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 10, 1) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 12, 4) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 19, 255) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, 28, 1) == MAPDPM_E_DAMAGED);
    CHECK(with_byte(file, n, sign, 0xbf) == MAPDPM_E_DAMAGED);                           /* alpha < 0 */
    CHECK(with_byte(file, n, sign + (2 + D + D) * MD_REAL, 0xbf) == MAPDPM_E_DAMAGED);   /* c0 < 0 */
    CHECK(with_byte(file, n, body + (2 + D + 2 * D + 2) * MD_REAL, 0) == MAPDPM_E_DAMAGED); /* an empty cluster */
}

int main(void)
{
    unsigned char file[1024];
    size_t n = 0;

    CHECK(mapdpm_crc32(0, (const unsigned char *)"123456789", 9) == 0xcbf43926u);
    CHECK_OK(mapdpm_model_write(&model, file, sizeof file, &n));
    round_trip(file, n);
    damage(file, n);
    forgery(file, n);
    CHECK(mapdpm_model_bytes(7, 1, 1) == 0 && mapdpm_model_bytes(1, 0, 1) == 0 && mapdpm_model_bytes(1, 1, 0) == 0);
    CHECK_REFUSED(mapdpm_model_write(NULL, file, sizeof file, &n));
    counts[0] = 0;
    CHECK_REFUSED(mapdpm_model_write(&model, file, sizeof file, &n));
    CHECK(strcmp(mapdpm_error_name(MAPDPM_E_NEWER), "newer") == 0 && strcmp(mapdpm_error_name(-99), "unknown") == 0);
    CHECK(strcmp(mapdpm_error_name(MAPDPM_E_ARITHMETIC), "arithmetic") == 0);
    CHECK(strcmp(mapdpm_error_name(1), "unknown") == 0 && mapdpm_version()[0] != '\0');
    return REPORT();
}
