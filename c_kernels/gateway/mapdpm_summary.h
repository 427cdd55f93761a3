/* Clusters in a message (summary.c). Internal. */
#ifndef MAPDPM_SUMMARY_H
#define MAPDPM_SUMMARY_H

#include "stream/mapdpm_steps.h"

/* A summary in a file: its clusters, each of so many reals of so many bytes. */
typedef struct {
    const unsigned char *clusters;
    const unsigned char *parameters;
    uint32_t n;
    uint32_t n_features;
    uint32_t reals;
    uint32_t width;
    int has_counts;
} summary;

MAPDPM_INTERNAL int summary_open(const unsigned char *file, size_t file_bytes, summary *f);
MAPDPM_INTERNAL int summary_check(const mapdpm_stream *s, const summary *f);
MAPDPM_INTERNAL md_real summary_tables(const summary *f, uint32_t i);
MAPDPM_INTERNAL md_real summary_read(const mapdpm_stream *s, const summary *f, uint32_t i, md_real *moments);

#endif
