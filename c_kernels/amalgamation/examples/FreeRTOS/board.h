/* What main.c needs of your board. */
#ifndef BOARD_H
#define BOARD_H

#include "mapdpm.h"

void board_start_sensor(void);             /* from now on its interrupt calls board_sensor_ready */
void board_sensor_ready(void);             /* in main.c */
void board_read_sensor(mapdpm_real *x);    /* three values, in the interrupt */
void board_learned(int error, uint32_t id, mapdpm_real score);
void board_show(const mapdpm_cluster *cluster, const mapdpm_real *mean);

#endif
