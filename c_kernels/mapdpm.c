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
