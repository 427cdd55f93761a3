#include "mapdpm.h"

const char *mapdpm_version(void)
{
    return MAPDPM_VERSION;
}

int mapdpm_real_size(void)
{
    return (int)sizeof(mapdpm_real);
}

const char *mapdpm_error_name(int error)
{
#ifdef MAPDPM_NO_ERROR_NAMES
    (void)error;
    return "";
#else
    static const char *const names[] = {"ok",    "argument", "space",   "foreign", "truncated", "damaged",
                                        "newer", "real",     "kind",    "number",  "range",     "full",
                                        "ids",   "time",     "unknown", "warming", "group",
                                        "arithmetic"};
    const int n = (int)(sizeof names / sizeof names[0]);

    return (error <= 0 && -error < n) ? names[-error] : "unknown";
#endif
}

uint32_t mapdpm_crc32(uint32_t crc, const unsigned char *bytes, size_t n)
{
    static const uint32_t nibble[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                        0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                        0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    size_t i;

    crc = ~crc;
    for (i = 0; i < n; i++) {
        crc = (crc >> 4) ^ nibble[(crc ^ bytes[i]) & 15u];
        crc = (crc >> 4) ^ nibble[(crc ^ (uint32_t)(bytes[i] >> 4)) & 15u];
    }
    return ~crc;
}

#if !MAPDPM_INTEGERS
size_t mapdpm_n_parameters(int32_t family, uint32_t n_features)
{
    const size_t D = n_features;

    switch (family) {
    case MAPDPM_NORMAL_GAMMA:
        return 2 * D + 2;
    case MAPDPM_NORMAL_KNOWN_VARIANCE:
        return 3 * D;
    default:
        return 0;
    }
}
#endif
