/* Scores a recording on the chip, prints all ids and the bits of all scores. emlearn_gmm.py writes points.h. */
#include "boards/board.h"
#include "points.h"
#include "scorer.h"

int main(void)
{
    uint32_t i;
    int error = scorer_begin();

    for (i = 0; i < N_POINTS && error == 0; i++) {
        union {
            float real;
            uint32_t word;
        } density = {0};
        uint32_t id = 0;

        MEASURED(score, error = scorer_score(points[i], &id, &density.real));
        report_line("id", id, error);
        report_line("bits", density.word, error);
    }
    report_end(0, 0);
    board_exit(error);
    return 0;
}
