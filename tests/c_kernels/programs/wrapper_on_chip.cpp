// What a firmware does with mapdpm.hpp: only compiled and linked, for chips whose compilers have no C++ library.
#include <mapdpm.hpp>

static mapdpm::Learner<3, 8> learner;
static unsigned char file[4096];

extern "C" int firmware(const mapdpm::real (&x)[3], mapdpm::real *weight)
{
    static const mapdpm::real centre[3] = {0, 0, 1}, spread[3] = {1, 1, 1};

    if (learner.load(file, sizeof file) != MAPDPM_OK && learner.init(centre, spread) != MAPDPM_OK)
        return -1;
    const mapdpm::Result result = learner.learn(x);
    for (const auto &cluster : learner.clusters())
        *weight += cluster.weight;
    size_t n = 0;
    return result ? learner.save(file, sizeof file, &n) : result.error;
}

int main()
{
    const mapdpm::real x[3] = {0, 0, 1};
    mapdpm::real weight = 0;

    return firmware(x, &weight);
}
