/* SPDX-License-Identifier: BSD-3-Clause
 * mapdpm for C++11 and later: the stream learner of mapdpm.h as a class.
 *
 * Header only. Its memory is in the object: nothing is allocated. There are no exceptions and no run-time types, and of a
 * C++ library it needs nothing. The functions are those of mapdpm.h, with the same bits; mapdpm.c is compiled as C.
 */
#ifndef MAPDPM_HPP
#define MAPDPM_HPP

#include "mapdpm.h"

#if __cplusplus >= 201703L
#define MAPDPM_NODISCARD [[nodiscard]]
#else
#define MAPDPM_NODISCARD
#endif

namespace mapdpm {

using real = ::mapdpm_real;

/* What learn and predict return. id and score are set if there is no error. */
struct Result {
    int error; /* enum mapdpm_error */
    uint32_t id;
    real score; /* the log predictive density, in nats; NaN during the warm-up */

    explicit operator bool() const { return error == MAPDPM_OK; }
};

/* A cluster at the current time, in the units of the data. */
template <uint32_t D>
struct Cluster {
    uint32_t slot;
    uint32_t id;
    real weight;
    real mean[D];
    real variance[D];
};

/* The clusters of a learner, for a range-based for. The learner must not learn meanwhile. */
template <uint32_t D>
class Clusters {
public:
    class iterator {
    public:
        iterator(const mapdpm_stream *stream, uint32_t slot) : stream_(stream), cluster_() { find(slot); }
        const Cluster<D> &operator*() const { return cluster_; }
        const Cluster<D> *operator->() const { return &cluster_; }
        iterator &operator++()
        {
            find(cluster_.slot + 1);
            return *this;
        }
        bool operator==(const iterator &other) const { return cluster_.slot == other.cluster_.slot; }
        bool operator!=(const iterator &other) const { return !(*this == other); }

    private:
        /* Goes to the first cluster from a slot on, or behind the last slot. */
        void find(uint32_t slot)
        {
            const uint32_t end = mapdpm_max_clusters(stream_);
            mapdpm_cluster found = {};

            while (slot < end && mapdpm_get_cluster(stream_, slot, &found, cluster_.mean, cluster_.variance) != 1)
                slot++;
            cluster_.slot = slot;
            cluster_.id = found.id;
            cluster_.weight = found.weight; /* rounded to a real */
        }

        const mapdpm_stream *stream_;
        Cluster<D> cluster_;
    };

    explicit Clusters(const mapdpm_stream *stream) : stream_(stream) {}
    iterator begin() const { return iterator(stream_, 0); }
    iterator end() const { return iterator(stream_, mapdpm_max_clusters(stream_)); }

private:
    const mapdpm_stream *stream_;
};

/* A learner of D features and at most K clusters. Options that need more memory say so in Bytes: with a warm-up of 100
 * points, MAPDPM_STATE_BYTES_WITH(D, K, 100, 0, 0). An object may be copied and moved. Functions that can fail return 0
 * or a negative error of mapdpm.h; before init or load has succeeded they return MAPDPM_E_ARGUMENT. */
template <uint32_t D, uint32_t K, size_t Bytes = MAPDPM_STATE_BYTES(D, K)>
class Learner {
public:
    static_assert(D >= 1 && K >= 1, "a learner has at least one feature and one cluster");
    static_assert(Bytes >= MAPDPM_STATE_BYTES(D, K), "Bytes is all the memory of a learner");
    using Point = real[D];

    constexpr Learner() : memory_{} {}

    /* Options to start from: normal data of unknown variance, and alpha 1. */
    static mapdpm_options defaults()
    {
        mapdpm_options options = {};

        options.family = MAPDPM_NORMAL_GAMMA;
        options.n_features = D;
        options.max_clusters = K;
        options.alpha = 1;
        return options;
    }

    /* Make the learner anew. D and K are those of the type. */
    MAPDPM_NODISCARD int init(mapdpm_options options)
    {
        options.n_features = D;
        options.max_clusters = K;
        return mapdpm_init(c(), sizeof memory_, &options);
    }

    /* The same with a prior from a typical point and the standard deviation of a cluster in each feature. */
    MAPDPM_NODISCARD int init(const Point &centre, const Point &spread, real alpha = 1)
    {
        mapdpm_options options = defaults();
        real parameters[2 * D + 2];
        const int error = mapdpm_prior(parameters, D, centre, spread);

        options.parameters = parameters;
        options.alpha = alpha;
        return error != MAPDPM_OK ? error : init(options);
    }

    Result learn(const Point &x)
    {
        Result result = {MAPDPM_OK, MAPDPM_NO_ID, 0};

        result.error = mapdpm_learn(c(), x, &result.id, &result.score);
        return result;
    }

    Result learn_at(const Point &x, int64_t microseconds)
    {
        Result result = {MAPDPM_OK, MAPDPM_NO_ID, 0};

        result.error = mapdpm_learn_at(c(), x, microseconds, &result.id, &result.score);
        return result;
    }

    Result predict(const Point &x) const
    {
        Result result = {MAPDPM_OK, MAPDPM_NO_ID, 0};

        result.error = mapdpm_predict(c(), x, &result.id, &result.score);
        return result;
    }

    Clusters<D> clusters() const { return Clusters<D>(c()); }
    uint32_t n_clusters() const { return mapdpm_n_clusters(c()); }
    uint64_t n_seen() const { return mapdpm_n_seen(c()); }
    bool is_warming() const { return mapdpm_is_warming(c()) != 0; }

    /* The bytes of a snapshot now; 0 before init. */
    size_t file_bytes() const { return mapdpm_snapshot_bytes(c()); }

    /* Write a snapshot. *written may be NULL. */
    MAPDPM_NODISCARD int save(unsigned char *file, size_t capacity, size_t *written = nullptr) const
    {
        size_t n = 0;
        const int error = mapdpm_snapshot_write(c(), file, capacity, &n);

        if (written)
            *written = n;
        return error;
    }

    /* Become the learner of a snapshot. MAPDPM_E_KIND if it has another D or K. After an error there is the learner of
     * before, or none: try the next file, or init. */
    MAPDPM_NODISCARD int load(const unsigned char *file, size_t n)
    {
        mapdpm_options options = {};
        int error = mapdpm_snapshot_options(file, n, &options);

        if (error == MAPDPM_OK && (options.n_features != D || options.max_clusters != K))
            error = MAPDPM_E_KIND;
        return error != MAPDPM_OK ? error : mapdpm_snapshot_read(c(), sizeof memory_, file, n);
    }

    /* For all functions of mapdpm.h. */
    mapdpm_stream *c() { return reinterpret_cast<mapdpm_stream *>(memory_); }
    const mapdpm_stream *c() const { return reinterpret_cast<const mapdpm_stream *>(memory_); }

private:
    alignas(uint64_t) unsigned char memory_[(Bytes + 7) / 8 * 8];
};

} /* namespace mapdpm */

#endif
