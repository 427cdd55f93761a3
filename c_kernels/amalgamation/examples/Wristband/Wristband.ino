/* The activity of the wearer: learns from an accelerometer, and prints the cluster and the score of each reading.
 *
 * An ADXL335 or a similar sensor is on A0, A1 and A2: half the supply at rest, a tenth of it for each g. The number of
 * postures and movements is not given: a reading unlike all others opens a cluster. The score is the log density of a
 * reading before it was learned. A low score marks a reading unlike those so far.
 */
#include <mapdpm.h>

const int FEATURES = 3, CLUSTERS = 6;
const int PINS[FEATURES] = {A0, A1, A2};
const mapdpm_real AT_REST = 512, PER_G = 102.4f;  // of analogRead's 1024
const unsigned long PAUSE = 100;                  // milliseconds

uint64_t memory[MAPDPM_STATE_BYTES(FEATURES, CLUSTERS) / 8];  // all the memory that the learner ever needs
mapdpm_stream *const learner = reinterpret_cast<mapdpm_stream *>(memory);

// Stops, and repeats the problem, because the serial monitor may open later.
void stopFor(const char *problem) {
  for (;;) {
    Serial.println(problem);
    delay(1000);
  }
}

void setup() {
  // In g: where clusters may lie (m0, c0), and the spread of the readings of one cluster (a0, b0).
  static const mapdpm_real prior[2 * FEATURES + 2] = {0, 0, 0, 0.01f, 1, 0.005f, 0.005f, 0.005f};
  mapdpm_options options = {};

  Serial.begin(115200);
  options.family = MAPDPM_NORMAL_GAMMA;
  options.n_features = FEATURES;
  options.max_clusters = CLUSTERS;
  options.parameters = prior;
  options.alpha = 1;
  const int error = mapdpm_init(learner, sizeof memory, &options);
  if (error != MAPDPM_OK)
    stopFor(mapdpm_error_name(error));
}

void loop() {
  mapdpm_real x[FEATURES], score;
  uint32_t cluster;

  for (int d = 0; d < FEATURES; d++)
    x[d] = (analogRead(PINS[d]) - AT_REST) / PER_G;
  const int error = mapdpm_learn(learner, x, &cluster, &score);
  if (error != MAPDPM_OK)
    stopFor(mapdpm_error_name(error));
  Serial.print(cluster);
  Serial.print(' ');
  Serial.println(score);
  delay(PAUSE);
}
