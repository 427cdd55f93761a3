/* The numbers that steer a learner, in points and nats. The learner of reals and that of whole numbers share them. */
#ifndef MAPDPM_POLICY_H
#define MAPDPM_POLICY_H

/* The nats that a split or a merge must gain, so that one point does not undo the change of another. A split of n
 * points must gain log n more, because it was tried about so often. */
#define HYSTERESIS_NATS 3
/* After so many points, halves that have not become clusters start anew with another division. The number doubles each
 * time, up to TRIAL_LENGTH << DOUBLINGS. */
#define TRIAL_LENGTH 300u
#define DOUBLINGS 4u
/* The word of a trial: the points since it began, its number in eleven bits, how many points of late were unusual, and
 * whether it began because the points have moved away. A slot of fewer points than LEAST_WATCHED is not watched. */
#define TRIAL_LEVEL (UINT32_C(1) << 27)
#define TRIAL_MOVED (UINT32_C(1) << 31)
#define TRIAL_NUMBERS 0x7ffu
#define MOST_UNUSUAL 8u
#define WATCHED_POINTS 32
/* A half with fewer points is ignored. */
#define HALF_POINTS 2
/* Halves of LARGE_HALF points or more stand for up to EXTRAPOLATION times as many points of their cluster: decision
 * 45. */
#define LARGE_HALF_POINTS 500
#define EXTRAPOLATION_TIMES 4
/* One in so many points of a cluster is followed by an attempt to split it, the others by one to merge it: decision
 * 54. */
#define LOOK_PERIOD 4u
/* The most nats that a merge saves for each feature and for the weight, by one prior less. */
#define PRIOR_NATS 12

#endif
