/* What is compared: each with_NAME.c has these two, and main.c asks them for the score of each point. */
#ifndef SCORER_H
#define SCORER_H

#include <stdint.h>

int scorer_begin(void);                                         /* 0, or an error */
int scorer_score(const float *x, uint32_t *id, float *density); /* the likeliest component, and the log density */

#endif
