"""The texts of an exported C program, with places for what is known of its model."""

from __future__ import annotations

from typing import NamedTuple


class Real(NamedTuple):
    """The words of a program for a real type: its name, the bytes of a value, its scores, and how it reads a value."""

    c_type: str
    n_bytes: int
    of_score: str
    nats: str
    numbers: str
    read: str


_OF_FLOATS = (
    "mapdpm_real",
    "(double)score",
    "numbers with a comma, a semicolon or blanks between them. A blank cell is missing",
    """\
        p += strspn(p, " \\t");
        x[d] = (mapdpm_real)strtod(p, &end);
        if (end == p) {
            if (strchr(",;\\r\\n", *p) == NULL)
                return 0;
            x[d] = (mapdpm_real)NAN;
        }
""",
)
_OF_INTEGERS = (
    "mapdpm_score",
    "score / 65536.0",
    "whole numbers of 16 bits with a comma, a semicolon or blanks between them",
    """\
        const double value = strtod(p, &end);

        if (end == p || !(value >= -32768 && value <= 32767) || (mapdpm_real)value != value)
            return 0;
        x[d] = (mapdpm_real)value;
""",
)
REALS = {
    "float64": Real("double", 8, *_OF_FLOATS),
    "float32": Real("float", 4, *_OF_FLOATS),
    "int16": Real("int", 2, *_OF_INTEGERS),
}
"""The real types of the library, by the dtype of a learner."""
HEADER = """\
/* A model of mapdpm {version}: {about}.
 *
 * A snapshot (docs/format.md): mapdpm_snapshot_read makes a learner of it, which goes on where it was saved.
 */
#ifndef {macro}_H
#define {macro}_H

#include "mapdpm.h"

{conditions}
#define {macro}_FEATURES {features}
#define {macro}_CLUSTERS {clusters} /* at most; {used} now */
#define {macro}_STATE_BYTES {state_bytes} /* of memory for the learner, aligned for uint64_t */
#define {macro}_FILE_BYTES {file_bytes} /* of a snapshot */

static const unsigned char {name}_file[{macro}_FILE_BYTES] = {{
{data}
}};

#endif
"""
EXAMPLE = """\
/* Goes on learning where {name}.h was saved: a point a line of standard input, its cluster and log density a line of
 * standard output. It writes no file, unless one is named: then the learner goes there at the end, and Python opens it,
 * mapdpm.load("new.mdpm").
 *
 * cc -std=c99 -O2 main.c mapdpm.c -o learn && ./learn < data.csv
 * ./learn new.mdpm < data.csv
 *
 * mapdpm.h begins with the switches that {name}.h needs: {flags}
 */
#include "{name}.h"
#include "mapdpm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t memory[({macro}_STATE_BYTES + 7) / 8];
static unsigned char file[{macro}_FILE_BYTES];
static char line[64 * {macro}_FEATURES + 64];

/* Whether a line is a point: {numbers}. */
static int is_point(const char *p, mapdpm_real *x)
{{
    char *end;
    size_t d;

    for (d = 0; d < {macro}_FEATURES; d++) {{
{read}        p = end + strspn(end, " \\t");
        if (d + 1 < {macro}_FEATURES) {{
            if (*p == ',' || *p == ';')
                p++;
            else if (p == end)
                return 0;
        }}
    }}
    return p[strspn(p, " \\t\\r\\n")] == '\\0';
}}

/* On a chip: wait for the sensor instead. Returns 1 for a point, 0 at the end, -1 for a line that is none. */
static int next_point(mapdpm_real *x, unsigned long *number)
{{
    while (fgets(line, sizeof line, stdin) != NULL) {{
        if (is_point(line, x))
            return ++*number > 0;
        if (++*number > 1) /* the first may be a header */
            return -1;
    }}
    return 0;
}}

static int save(const mapdpm_stream *learner, const char *name)
{{
    size_t n = 0;
    FILE *out;
    const int error = mapdpm_snapshot_write(learner, file, sizeof file, &n);

    if (error != MAPDPM_OK)
        return error;
    out = fopen(name, "wb");
    if (out != NULL) {{
        n -= fwrite(file, 1, n, out);
        if (fclose(out) == 0 && n == 0)
            return MAPDPM_OK;
    }}
    perror(name);
    exit(1);
}}

int main(int n_arguments, char **arguments)
{{
    mapdpm_stream *const learner = (mapdpm_stream *)(void *)memory;
    mapdpm_real x[{macro}_FEATURES];
    {of_score} score;
    unsigned long number = 0;
    uint32_t id;
    int error = mapdpm_snapshot_read(learner, sizeof memory, {name}_file, sizeof {name}_file), found = 0;

    while (error == MAPDPM_OK && (found = next_point(x, &number)) > 0) {{
        error = mapdpm_learn(learner, x, &id, &score);
        if (error == MAPDPM_OK)
            printf("%lu %.9g\\n", (unsigned long)id, {nats});
    }}
    if (found < 0) {{
        fprintf(stderr, "line %lu is no point of %lu numbers\\n", number, (unsigned long){macro}_FEATURES);
        return 1;
    }}
    if (error == MAPDPM_OK && n_arguments > 1)
        error = save(learner, arguments[1]);
    if (error != MAPDPM_OK) {{
        fprintf(stderr, "line %lu: mapdpm: %s\\n", number, mapdpm_error_name(error));
        return 1;
    }}
    return 0;
}}
"""
SWITCHES = """\
/* mapdpm export wrote these lines, for {name}.h. The rest is the library, as it is. */
{switches}

"""
