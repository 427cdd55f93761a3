"""The file of a trace: both formats, damaged files, and files that are refused."""

import base64
import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from mapdpm import NormalGamma
from mapdpm.partition_priors import check_drawn
from mapdpm.samplers import CollapsedGibbs, GammaPrior, Trace, sample, trace_files
from tests.samplers.test_trace import PRIOR, blobs

FORMAT_1 = """
P)h>@EdT%j2mk;8Apk9earOWI|NsC0|NjX96aZmjZ*_DoZg6=401yDS0{{R30002s0RR9100023lFyFQFc8L<D^C&S(yml0&v^WArJfei6Q~ysXjMgSV
%nfIiQ<$?=~M8+j8hdBfdoQCQS{CDi#_uje|`7<?dHRayU%y$SruYA%pS7YmlMnu+3aICjDv5BZm2@azwu2BoR0_J2ae|!adE%MF4;dnFVFcd#Ib0)ee
tQQ+cAI0UP)XUK<x}#M;e7%WLKAO`h#Z&ETt7nD<zy00u<_-qpD-
sou+NXQgC)W)GY_dGWuiRgn^^{v1=ON$55^7-7e1iq3(v&>w2imLlef$(3K&^`E=Y0mV$enba6GV{qg8GNzNw}D@;cXehicOKIg-j-
O;BqfP>Ihk>%4lZ~QJaljc8o38(j}<#)a1e{Q|v649XrM^0NSwIp8rrA=S?ehgLGm{Q_toA%g;HgH*8>X|{;WAQwbZywj0Qn7L5+9%IVIg(Op<A4~kHI
gin6bdZz*C~a{NuB0Ww`D3)0U(b;@iGz520%H`QWzjI2BZ;+)P?;AABz*uSz@Z46DbJ$X)NNxj^8qp6Bm50e`chajAcSvppszJ9~jC1!3Z1*M&S@888U
ni9bZ<-S5i5_Fth@p><>s}ls2G|NGgFSv<A`=wILyl5QGHa;4dI;FW&%AO9KQg000080000X0BEePA^-
pX|NsC0{|*2Y0B~V)bZK;HZ*FrgZg6=401yDY000000001J000000001+>=)`A5Xs0;#!#)El3JWxq;934UXy94uA`uymS0p-
l$aNvUzCyx5_e0?DNY577iT0EqyqUGMmh?{ItqpcnmP)#3S<E;1_nkZW@aWPW=0@`34$RcGct=A#9{{Vz#15sKo|f}O9KQg000080000X0Awx1fdBvh|
NsC0{|x{X0Bmn(Uuth@ZgehgaCrd$5CE_M00000004Oa00000005ip7wQ`j$;eQ~P_3SlTAW;@Zl$1ZlV+i=qoAIaUsO_*m=~X4l#&V(cT3DEP6dh=XC
xM+0{I$7Its>`ItsN4WCN}k>)J&9E3OB^zr4P=!`tD&+T)+~*SI<!_;A}W(Z9#(!22yPL%2>l9pGcLdB0HG=>PywO9KQg000080000X01t4v_W%F?|Ns
C0{|NvT0AXx!XkjjHaCrd$5CE_M00000004Oa00000005ip7wQ`j$;eQ~P_3SlTAW;@Zl$1ZlV+i=qoAIaUsO_*m=~X4l#&V(cT3DEP6dh=XCxM+0{I$
7Its>`ItsN4WCN~B@wF?H7QDA#q;V<h;x`rt{xi|XCSGN9;JlmVx^y<XgS^?k(vQEG9L^s;cS*m3)d2udO9KQg000080000X0DOO#MgRZ*|NsC0{|o>W
0Ay)%V{dhCbS`dic>w?r0I&c60000007(D<000000GsR=>KhQr$WX>mt)7xvoLr=CrJ!z;W}&X5pq`drR8o|f7oT60k_r-cOUx-
w1&SAEBo?Fs`5Hz#3dWi`3bhJk11<&<0RT`-
0|YGq000O8001EX8@#6D|NsC0|NsC04geGYVPj)uaCBjAV`VOGaCrd$5CE_M00000002z@00000005ip7wQ`j$;eQ~P_3SlTAW;@Zl$1ZlV+i=qoAIaU
sO_*m=~X4l#&V(cT3DEP6dh=XCxM+0{I$7Its>`ItsN4WCJb+F!)hVEDZoqO9KQg000080000X0PK#X4FCWC|NsC0{|EpS0AgixbS`dic>w?r0MGyc00
00008an_000000GsR=>KhQr$WX>mt)7xvoLr=CrJ!z;X`!y8pq`drR8o|f7oT60k_r-cOUx-
w1&SAEBo?Fs`5J}>I+{8PwF=||E(R!IgwjlCG^z3cP)h*<Edwn8000O8001EXErfCP-
~j*twgUhF2><{90000000000fB^si003cPZ*_DoZg6=}O928c11$gm00;m803iTqtgazw0002I0000E00000000000001h0UH7U0B~V)bZK;HZ*FrgZg
6=}O928c11$gm00;m803iTmEyRF%000260000D00000000000001h0mA|S0Bmn(Uuth@ZgehgaCuNm0Rk-pEdT%j2mk;8Apj3>x%PPg006K6000R9000
0000000004jidjkLfVQg?{VJ>cPc~DCM0xbhA000080000X0DOO#MM(ev0I&c601N;C00000000000Du861ONbJX>((5b#8PnZg6=}O928c11$gm00;m
803iSyyr$z#000260000E00000000000001h0k#AH0AXWeWpH$1ZewLGZg6=}O928c11$gm00;m803iVEj-
?Dw0002c0000800000000000001h0Ye1<0AgixbS`dic~DCQ1^@s600#gE0FeOz0L%pd0000
"""


def test_files_of_format_1(tmp_path):
    """A file of the first format has the same draws, and its chains go on bit for bit."""
    path = tmp_path / "draws.npz"
    path.write_bytes(base64.b85decode("".join(FORMAT_1.split())))
    old = Trace.load(path)
    X = np.arange(10.0)[:, None] % 4 * 3.0
    sampler = CollapsedGibbs(likelihood=NormalGamma(0.0, 0.1, 1.5, 1.0), alpha_prior=GammaPrior(2.0, 1.0))
    whole = sample(X, sampler, draws=5, burn_in=2, thin=2, chains=2, random_state=7)
    resumed = sample(X, sampler, draws=2, resume=old)
    assert old.extra == old.dims == {}
    assert old.values.keys() == whole.values.keys()
    for name, array in whole.to_dict().items():
        np.testing.assert_array_equal(old.to_dict()[name], array[:, :3], name)
        np.testing.assert_array_equal(resumed.to_dict()[name], array, name)
    assert (old.best_alpha, old.best_discount) == (1.3805655099001526, 0.0)
    np.testing.assert_array_equal(old.best, [0, 1, 2, 2, 0, 1, 2, 2, 0, 1])
    old.save(path)
    np.testing.assert_array_equal(Trace.load(path).ends[0].labels, old.ends[0].labels)


def test_files_of_newer_formats(tmp_path, monkeypatch):
    trace = sample(blobs(), CollapsedGibbs(likelihood=PRIOR), draws=2, random_state=3)
    monkeypatch.setattr(trace_files, "FORMAT", 3)
    trace.save(tmp_path / "draws.npz")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="is a trace of format 3, and this version reads up to 2: upgrade"):
        Trace.load(tmp_path / "draws.npz")


def test_traces_without_partitions(tmp_path):
    """``keep=()``: numbers of each draw, and the same chains."""
    X, sampler = blobs(), CollapsedGibbs(likelihood=PRIOR)
    whole = sample(X, sampler, draws=6, random_state=3)
    trace = sample(X, sampler, draws=4, random_state=3, keep=())
    trace.save(tmp_path / "draws.npz")
    trace = sample(X, sampler, draws=2, resume=Trace.load(tmp_path / "draws.npz"))
    assert trace.partitions is None
    assert trace.keep == ()
    for name in whole.values:
        np.testing.assert_array_equal(trace.values[name], whole.values[name], name)
    np.testing.assert_array_equal(trace.best, whole.best)
    assert "partitions" not in trace.to_dict()
    assert repr(trace).endswith("clusters, partitions not kept>")
    assert trace.summary().keys() == whole.summary().keys()
    np.testing.assert_array_equal(trace.n_clusters_posterior(), whole.n_clusters_posterior())
    for ask in (trace.similarity, trace.binder_estimate, trace.vi_estimate, lambda: trace.sizes(0, 0)):
        with pytest.raises(ValueError, match=r"holds no partitions: sample\(keep=\('partitions',\)\) keeps them"):
            ask()


def test_files_that_would_harm(tmp_path):
    """Well-formed, but not what kernels may trust: refused when read, or before a step is taken."""
    sampler = CollapsedGibbs(likelihood=PRIOR)
    trace = sample(blobs(), sampler, draws=3, random_state=3)
    end = trace.ends[0]
    wrong_ends = [
        end._replace(saved=end.saved | {"labels": end.labels[:-1]}),
        end._replace(saved=end.saved | {"labels": end.labels + 0.5}),
        end._replace(generator={"bit_generator": "MT19937"}),
        end._replace(adapted=end.adapted._replace(counts=(0,))),
    ]
    wrong = [trace._replace(ends=(bad,)) for bad in wrong_ends]
    wrong += [trace._replace(thin=-1), trace._replace(best=trace.best + 1), trace._replace(ends=())]
    wrong += [trace._replace(values=trace.values | {"alpha": trace.alpha[:, :2]})]
    wrong += [trace._replace(values={name: trace.values[name] for name in trace.values if name != "acceptance"})]
    wrong += [trace._replace(partitions=trace.partitions + np.int8(50))]
    wrong += [trace._replace(extra={"sides": trace.partitions[:, :2]}, dims={"sides": ("point",)})]
    wrong += [trace._replace(extra={"sides": trace.partitions}, dims={"sides": ()})]
    wrong += [trace._replace(extra={"sides": trace.partitions}, dims={"sides": (3,)})]
    wrong += [trace._replace(sampler=3), trace._replace(sampler=["a"]), trace._replace(best_variables={"alpha": 1.0})]
    wrong += [trace._replace(best_variables={"alpha": trace.alpha[0], "discount": 0.0})]
    changes = [("n_clusters", 0), ("n_clusters", 41), ("n_clusters", 2.0), ("log_joint", np.nan), ("log_joint", 1e308)]
    changes += [("largest_share", np.inf), ("alpha", 1e101)]
    for name, value in changes:
        wrong += [trace._replace(values=trace.values | {name: np.full((1, 3), value)})]
    wrong += [trace._replace(values={name: array[:, :0] for name, array in trace.values.items()}, partitions=None)]
    for number, bad in enumerate(wrong):
        bad.save(tmp_path / f"{number}.npz")
        with pytest.raises(ValueError, match="is no trace file"):
            Trace.load(tmp_path / f"{number}.npz")
    for labels in (np.r_[np.zeros(39, dtype=int), 10**9], end.labels - 1):
        bad = trace._replace(ends=(end._replace(saved=end.saved | {"labels": labels}),))
        bad.save(tmp_path / "labels.npz")
        with pytest.raises(ValueError, match=r"the trace to resume is damaged: labels must be 0\.\.K-1"):
            sample(blobs(), sampler, draws=1, resume=Trace.load(tmp_path / "labels.npz"))
    bad = trace._replace(ends=(end._replace(saved=end.saved | {"alpha": np.array(np.nan)}),))
    with pytest.raises(ValueError, match="the trace to resume is damaged: alpha must be a finite number"):
        sample(blobs(), sampler, draws=1, resume=bad)


@pytest.mark.parametrize("discount", [0.0, 0.3])
@pytest.mark.parametrize("place", ["values", "best", "ends/0"])
@pytest.mark.parametrize("wrong", [("alpha", -1.0), ("alpha", np.nan), ("alpha", np.inf), ("discount", 1.0)], ids=str)
def test_parameters_of_no_prior(tmp_path, place, wrong, discount):
    """Their logarithms would be asked for much later, by whoever continues the chain."""
    sample(blobs(), CollapsedGibbs(likelihood=PRIOR, discount=discount), draws=3).save(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz") as file:
        arrays = dict(file)
    name = f"{place}/{wrong[0]}"
    arrays[name] = np.full_like(arrays[name], wrong[1])
    np.savez(tmp_path / "forged.npz", **arrays)
    with pytest.raises(ValueError, match="no trace file"):
        Trace.load(tmp_path / "forged.npz")


@pytest.mark.complete
def test_files_that_are_none(tmp_path):
    trace = sample(blobs(), CollapsedGibbs(likelihood=PRIOR), draws=3, random_state=3)
    path = tmp_path / "draws.npz"
    trace.save(path)
    whole = path.read_bytes()
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is no trace file, or was cut short"):
            Trace.load(path)
    for at in range(len(whole)):  # a byte changed: noticed, or in what zip does not use
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            found = Trace.load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(found.partitions, trace.partitions)
        np.testing.assert_array_equal(found.log_joint, trace.log_joint)
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "none.npz")


def packed(**arrays):
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def test_a_small_file_that_unpacks_to_much(tmp_path):
    """100 MB of zeros in 100 KB are refused before they are unpacked, unless one asks for them."""
    path = tmp_path / "draws.npz"
    path.write_bytes(packed(partitions=np.zeros((1, 1000, 100_000), dtype=np.int8)))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"takes 1000\d* bytes of memory: if you trust it"):
            Trace.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2**26 + 8 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_an_array_that_says_it_is_larger(tmp_path):
    """The header of one array in the file announces 1e15 bytes."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "|i1", "fortran_order": False, "shape": (10**15,)})
    path = tmp_path / "draws.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("partitions.npy", file.getvalue())
    with pytest.raises(ValueError, match="is no trace file"):
        Trace.load(path)


def test_every_saved_trace_can_be_loaded(tmp_path, monkeypatch):
    """A chain that never moves packs to little: its file is then not packed. Older files need a word of trust."""
    monkeypatch.setattr(trace_files, "SPARE", 0)
    X = np.zeros((100, 1))
    sampler = CollapsedGibbs(likelihood=NormalGamma(0.0, 0.1, 1.5, 1.0), alpha=1e-9)
    trace = sample(X, sampler, draws=150, chains=1, random_state=0)
    path = tmp_path / "draws.npz"
    trace.save(path)
    np.testing.assert_array_equal(Trace.load(path).partitions, trace.partitions)
    with np.load(path) as file:
        path.write_bytes(packed(**file))
    with pytest.raises(ValueError, match="max_bytes="):
        Trace.load(path)
    np.testing.assert_array_equal(Trace.load(path, max_bytes=10**7).partitions, trace.partitions)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble, np.int8])
def test_concentrations_of_every_real_type_are_compared(kind):
    """Without a warning: the largest alpha overflows in float16."""
    check_drawn(np.ones(3, kind), np.zeros(3, kind))
    with pytest.raises(ValueError, match="must be > -discount"):
        check_drawn(np.zeros(3, kind), np.zeros(3, kind))


def test_complex_concentrations_are_refused():
    with pytest.raises(ValueError, match="must be > -discount"):
        check_drawn(np.ones(3, np.complex128), np.zeros(3))
