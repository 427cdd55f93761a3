"""Whole numbers in place of reals: logarithms, powers and ratios (docs/integers.md). C computes the same, bit for bit.

A number "in Q16" is a whole number that stands for itself divided by 2^16. A ratio is (m, e): m 2^e, 2^15 <= m < 2^16.
"""

from __future__ import annotations

import math

# log2(1 + i / 64) in Q24.
_LOG2 = tuple(round(math.log2(1 + i / 64) * (1 << 24)) for i in range(65))
# 1 / (1 + i / 64) in Q16.
_INVERSES = tuple(round((1 << 22) / (64 + i)) for i in range(65))
_LN2 = 45426  # ln 2 in Q16
_LOG2_E = 29012  # log2(e) - 1 in Q16
MOST = 1 << 62  # products end here

Ratio = tuple[int, int]


def log2(v: int) -> int:
    """The logarithm to base 2 of 0 < v < 2^64, in Q24; error at most 2^-20."""
    bits = v.bit_length()
    top = v >> (bits - 32) if bits > 32 else v << (32 - bits)
    i, f = top >> 25 & 63, top >> 9 & 0xFFFF
    rise = _LOG2[i + 1] - _LOG2[i]
    bend = ((rise >> 8) ** 2 * 89 >> 16) * (f * (65536 - f) >> 16) >> 16
    return (bits - 1 << 24) + _LOG2[i] + ((rise >> 3) * f + ((rise & 7) * f >> 3) >> 13) + bend


def nats(bits: int) -> int:
    """Logarithms to base 2 as nats, both in Q16."""
    return bits * _LN2 >> 16


def power(f: int) -> int:
    """2^f for 0 <= f < 1, both in Q16; relative error at most 1.3e-4."""
    return 65536 + (f * (45575 + (f * (14831 + (f * 5130 >> 16)) >> 16)) >> 16)


def exp_minus(x: int) -> int:
    """e^-x for 0 <= x < 2^20, both in Q16."""
    bits = x + ((x >> 4) * _LOG2_E >> 12)
    whole, rest = -(-bits >> 16), -bits & 0xFFFF
    return power(rest) >> whole if whole < 31 else 0


def ratio(a: int, b: int) -> Ratio:
    """a / b for 0 <= a < 2^63, 0 < b < 2^63; relative error at most 2^-13.9, none where b is a power of 2, a < 2^16."""
    if a == 0:
        return 0, 0
    up, down = a.bit_length(), b.bit_length()
    high = a >> up - 16 if up > 16 else a << 16 - up
    top = b >> down - 32 if down > 32 else b << 32 - down
    i, f = top >> 25 & 63, top >> 9 & 0xFFFF
    inverse = _INVERSES[i]
    bend = (inverse * inverse >> 16) * (inverse >> 8) >> 20  # half the second difference
    inverse -= ((inverse - _INVERSES[i + 1]) * f >> 16) + (bend * (f * (65536 - f) >> 16) >> 16)
    product, e = high * inverse, up - down
    return (product >> 16, e - 15) if product >> 31 else (product >> 15, e - 16)


def shifted(v: int, e: int) -> int:
    """v 2^e for 0 <= v < 2^63, rounded down; at most MOST where e > 0."""
    if e <= 0:
        return v >> -e
    return v << e if v.bit_length() + e <= 62 else MOST


def scaled(v: int, r: Ratio, e: int = 0) -> int:
    """v times a ratio times 2^e, for 0 <= v < 2^63."""
    m, of_ratio = r
    drop = 16 if v >> 47 else 0
    return shifted((v >> drop) * m, of_ratio + e + drop) if v else 0


def product(a: int, b: int, down: int) -> int:
    """a b / 2^down for 0 <= a < 2^63, 0 <= b < 2^31; relative error at most 2^-31."""
    drop = max(a.bit_length() - 32, 0)
    return shifted((a >> drop) * b, drop - down)


def log_gamma(x: int) -> int:
    """log2 Gamma(x) + x log2(e) - log2(2 pi) / 2, in Q16, for x in Q9, 0 < x < 2^32 (Stirling; error at most 1e-4)."""
    rest = 0
    if x < 4 * 512:  # Gamma(x) = Gamma(x + 4) / (x (x + 1) (x + 2) (x + 3))
        rest = (log2(x * (x + 512) * (x + 1024) * (x + 1536)) - (36 << 24) >> 8) + 4 * 94548
        x += 4 * 512
    return ((x - 256) * (log2(x) - (9 << 24)) >> 17) + (scaled(4033838, ratio(1, x)) if x < 128 * 512 else 0) - rest


def half_rising(x: int) -> int:
    """log2(Gamma(x + 1/2) / Gamma(x)) in Q24, for x in Q9, 0 < x < 2^32; error 7e-5."""
    step = 0
    while x < 2 * 512:  # Gamma(x + 3/2) / Gamma(x + 1) = (x + 1/2) / x of it
        step += log2(x) - log2(x + 256)
        x += 512
    small = scaled(1 << 30, ratio(1, x))  # 1 / 8x in Q24
    cube = (small >> 8) ** 3 >> 32 if x < 8 * 512 else 0
    by_nats = small - cube * 683  # 1 / 192x^3 = 8/3 (1/8x)^3
    return (log2(x) - (9 << 24) >> 1) - (by_nats + (by_nats >> 4) * _LOG2_E // 4096) + step
