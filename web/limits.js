// What the page keeps and learns at most. The first three are constants of learner.c, too.

export const MOST_FEATURES = 8;
export const MOST_SLOTS = 32;
export const MOST_EVENTS = 1024;   // of a batch
export const MOST_POINTS = 20000;
export const MOST_LISTED = 100;     // columns of a file to choose from
export const MOST_BYTES = 50e6;     // of a CSV file
export const NO_ID = 0xffffffff;   // the id of no cluster
export const WARMUP = 100;         // points that set the width, where it is not stated
