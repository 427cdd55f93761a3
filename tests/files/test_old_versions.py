"""Files that version 0.1.0 wrote are read: see docs/support.md."""

import base64
import zlib

import numpy as np

from mapdpm import MAPDPM, OnlineMAPDPM

POINTS = [[0.0], [0.5], [1.0], [8.0], [8.5], [9.0]]
MODEL = (  # MAPDPM(likelihood=NormalGamma(4, 0.1, 1, 0.5)).fit(POINTS).to_bytes(), by 0.1.0
    "eNp9kr1OwzAUhROKUMdKLEyo8gxR0p9QIUQZWCuxR1HktG5r6tjFdgpR6YPAjsQrsFVsTLxCF3Yeges0bQkDlq6u9Pmec4+j9K5v"
    "erZlV23LskztQe1DVaDeAQwN2J7vrlU69at1ry2fn8x565bnVt1KMVkp6aqF7ni5mSvz1Vb/ChnmaMow5ei8PkcJfoj6LFWaSAWA"
    "p4yd1BGPJFEaS22YB8CMqXtCpjlwXUCaJiRiNKF6p4txf0L4AADCqRYot7oV8S/rGZGxUASAMWFiBPeU6wjAqXfmuH6r2e74vt9o"
    "NP1OMzdYL46KKH3BwWNEBgZomRITT8yI2RGgxFyZvWrKIFlodtAJYXQsRK4IgpbjAnYdMPMcCBG4Tjv8MzjECWVZsXHH/9dTnn8L"
    "pMhdSrimmKEFYCwlzvJ0AWI4JgyeAviRetB8EAZoTJUWMsv5xbADrRGGC/ML2fbRy+VnVvOWm35w+PH1A/y+mNo="
)
STREAM = (  # OnlineMAPDPM(2, likelihood=NormalGamma(4, 0.1, 1, 0.5), n_features=1, half_life=50), after POINTS
    "eNrzdQnwZWRg4mBkYGAAYSYgZgFiLgYI2MLIgAd8sEflezpAaAGHWTNBYKc9qroH9mxQlUxQGp3PBHUHDDCjqVtxgtvr7Gp2BzY7"
    "l6jOb9IHjAV/L/na999ed+tal7/y76H2KByA6d+57cDH2cf/29tJKtQV/5E88GAy4yPz4/fh7oaZ9/fB3aDdLEoOOMxzQDcv8fN7"
    "h2OMyg4w83ys7z7UUZcCq2OEuhvk5v9AAPMHM5rfGJEwAzTcCYFvwjsOAwBpvlEN"
)


def file(text):
    return zlib.decompress(base64.b64decode(text))


def test_a_model():
    model = MAPDPM.from_bytes(file(MODEL))
    scores = [-1.9077875380143874, -1.6193427284175388, -1.7182075630875402]  # printed by 0.1.0
    scores += [-1.8176418098070117, -1.7587248906224497, -2.005215002638434]
    np.testing.assert_allclose(model.score_samples(POINTS), scores, rtol=1e-12)  # rounding of the kernels
    assert model.log_joint_ == -17.064358666223683
    assert model.labels_.tolist() == model.predict(POINTS).tolist() == [0, 0, 0, 1, 1, 1]


def test_a_stream_goes_on():
    stream = OnlineMAPDPM.from_bytes(file(STREAM))
    assert stream.ids.tolist() == [0, 1]
    assert stream.weights.tolist() == [2.8383547575876675, 2.958887651905645]
    scores = [-1.9507986232598107, -1.6629670308279767, -1.7496891900504008]
    scores += [-1.8073332805923874, -1.747632665684422, -1.9905368212163328]
    assert stream.score_samples(POINTS).tolist() == scores
    assert stream.learn_many(POINTS).tolist() == [0, 0, 0, 1, 1, 1]
    assert stream.n_seen == 12
