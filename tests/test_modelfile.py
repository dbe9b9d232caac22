"""The model file: a round trip to the last bit, and the refusal of every other file."""

import errno
import hashlib
import json
import os
import re
import stat
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import safetensors
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from vish import modelfile
from vish.modelfile import ModelFileError, read_model, write_model

DTYPES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"]
SHAPES = [(), (1,), (7,), (0,), (3, 0, 2), (2, 3, 4)]
HEADER = {"estimator": "VISHRegressor", "degree": 3, "noise": 0.1}
ARRAYS = {"mean": np.array([1.5, -2.0]), "seen": np.array(3), "flags": np.array([True, False])}


@pytest.fixture
def path(tmp_path):
    """A small model in a folder of its own."""
    path = tmp_path / "model.vish"
    write_model(path, HEADER, ARRAYS)
    return path


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype.newbyteorder("=")
        assert found[name].shape == array.shape
        # Bits, not values: NaN payloads and the sign of zero count.
        assert found[name].tobytes() == array.astype(array.dtype.newbyteorder("=")).tobytes()


def sealed(text, payload=b"", length=None):
    """A file with this JSON text whose checksum is right, whatever the text says."""
    text = text.encode() if isinstance(text, str) else text
    length = len(text) if length is None else length
    data = length.to_bytes(8, "little") + text + payload
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


def text_of(header="{}", version="1", **entries):
    """The JSON text of a file; the checksum is still 64 zeros."""
    metadata = {"format": "vish", "format_version": version, "sha256": "0" * 64}
    metadata["header"] = header
    return json.dumps({"__metadata__": metadata, **entries}, separators=(",", ":"))


def entry(dtype="U8", shape=(4,), offsets=(0, 4)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


class TestRoundTrip:
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    def test_every_dtype(self, tmp_path, rng, shape):
        arrays = {
            dtype: np.frombuffer(rng.bytes(np.dtype(dtype).itemsize * int(np.prod(shape))), dtype)
            .reshape(shape)
            .copy()
            for dtype in DTYPES
            if dtype != "?"
        }
        arrays["?"] = rng.random(shape) < 0.5 if shape else np.array(True)
        write_model(tmp_path / "m", {}, arrays)
        assert_same(read_model(tmp_path / "m")[1], arrays)

    def test_special_floats(self, tmp_path):
        arrays = {"x": np.array([np.nan, -np.nan, np.inf, -np.inf, -0.0, 5e-324])}
        write_model(tmp_path / "m", {}, arrays)
        assert_same(read_model(tmp_path / "m")[1], arrays)

    def test_layout_in_memory_does_not_matter(self, tmp_path, rng):
        x = rng.random((4, 6))
        arrays = {"F": np.asfortranarray(x), "T": x.T, "step": x[::2, ::-3], "big": x.astype(">f8")}
        arrays |= {"broadcast": np.broadcast_to(x[0], (3, 6)), "scalar": x[0, 0]}
        write_model(tmp_path / "m", {}, arrays)
        found = read_model(tmp_path / "m")[1]
        assert_same(found, arrays)
        assert all(array.dtype.isnative and array.flags.c_contiguous for array in found.values())

    def test_header(self, tmp_path):
        header = {
            "": [],
            'λ \u0000 "quoted" \\ 東京 🙂 \ud800': {"a": [None, True, False, [], {}]},
            "numbers": [0, -1, 2**200, 0.1, -0.0, 1e308, 5e-324, np.float64(0.3)],
            "sha256": "0" * 64,
        }
        write_model(tmp_path / "m", header, {})
        found, arrays = read_model(tmp_path / "m")
        assert found == header
        assert json.dumps(found, sort_keys=True) == json.dumps(header, sort_keys=True)
        assert arrays == {}

    def test_array_names(self, tmp_path):
        names = ["", "0" * 64, "格 λ 🙂", 'a"b\\c', "header", "a/../b", "\n"]
        arrays = {name: np.array(i) for i, name in enumerate(names)}
        write_model(tmp_path / "模型 λ.vish", {}, arrays)
        assert_same(read_model(tmp_path / "模型 λ.vish")[1], arrays)

    @given(
        st.dictionaries(
            st.text(),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda value: st.lists(value) | st.dictionaries(st.text(), value),
                max_leaves=8,
            ),
            max_size=4,
        ),
        st.dictionaries(
            st.text(),
            arrays_of.arrays(
                st.sampled_from([np.dtype(d) for d in DTYPES] + [np.dtype(">f8")]),
                arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
            ),
            max_size=4,
        ),
    )
    def test_any_model(self, tmp_path_factory, header, arrays):
        path = tmp_path_factory.getbasetemp() / "any.vish"
        write_model(str(path), header, arrays)
        found_header, found = read_model(str(path))
        assert found_header == header
        assert_same(found, arrays)

    def test_arrays_are_independent_and_writable(self, path):
        first, second = read_model(path)[1], read_model(path)[1]
        for array in first.values():
            assert array.flags.writeable
            assert array.flags.aligned
            array[...] = 0
        assert_same(second, ARRAYS)
        assert_same(read_model(path)[1], ARRAYS)

    def test_same_model_same_bytes(self, path, tmp_path):
        header, arrays = dict(reversed(HEADER.items())), dict(reversed(ARRAYS.items()))
        write_model(tmp_path / "other", header, arrays)
        assert (tmp_path / "other").read_bytes() == path.read_bytes()

    def test_safetensors_reads_it(self, path):
        assert_same(safetensors.numpy.load_file(path), ARRAYS)
        with safetensors.safe_open(path, "numpy") as file:
            metadata = file.metadata()
        assert metadata["format"] == "vish"
        assert metadata["format_version"] == "1"
        assert json.loads(metadata["header"]) == HEADER
        unsigned = path.read_bytes().replace(metadata["sha256"].encode(), b"0" * 64)
        assert metadata["sha256"] == hashlib.sha256(unsigned).hexdigest()

    def test_arrays_are_aligned_in_the_file(self, tmp_path):
        arrays = {dtype: np.zeros(3, dtype) for dtype in DTYPES}
        write_model(tmp_path / "m", {}, arrays)
        data = (tmp_path / "m").read_bytes()
        length = int.from_bytes(data[:8], "little")
        text = json.loads(data[8 : 8 + length])
        for dtype in DTYPES:
            assert (8 + length + text[dtype]["data_offsets"][0]) % np.dtype(dtype).itemsize == 0


class TestRefusal:
    @pytest.mark.parametrize("mask", [1, 2, 4, 8, 16, 32, 64, 128, 255])
    def test_every_changed_byte(self, path, mask):
        data = bytearray(path.read_bytes())
        for place in range(len(data)):
            data[place] ^= mask
            path.write_bytes(data)
            with pytest.raises(ModelFileError):
                read_model(path)
            data[place] ^= mask

    def test_a_changed_value_is_told_from_a_short_file(self, path):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        with pytest.raises(ModelFileError, match=r"changed since .* checksum .*; copy it again"):
            read_model(path)
        path.write_bytes(data[:-1])
        told = f"incomplete: it has {len(data) - 1} of {len(data)} bytes; copy it again"
        with pytest.raises(ModelFileError, match=told):
            read_model(path)

    def test_every_truncation(self, path):
        data = path.read_bytes()
        for end in range(len(data)):
            path.write_bytes(data[:end])
            with pytest.raises(ModelFileError, match=r"empty|only the start|incomplete"):
                read_model(path)

    @pytest.mark.parametrize("more", [b"\0", b" ", b"\n", b"\0" * 1000])
    def test_appended_bytes(self, path, more):
        path.write_bytes(path.read_bytes() + more)
        with pytest.raises(ModelFileError, match="changed since"):
            read_model(path)

    @pytest.mark.parametrize("space", [b" ", b"\t"])
    def test_space_between_json_tokens(self, path, space):
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        for colon in re.finditer(b":", data[:length]):
            longer = data[8 : colon.end()] + space + data[colon.end() :]
            path.write_bytes((length + 1).to_bytes(8, "little") + longer)
            with pytest.raises(ModelFileError):
                read_model(path)

    def test_future_version(self, path):
        path.write_bytes(sealed(text_of(version="2") + "what is to come"))
        with pytest.raises(ModelFileError, match=r"newer version: upgrade vish .*format is 2"):
            read_model(path)

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            (b"", "is empty: give a file"),
            (b"x", r"not a vish model, or only the start of one \(1 bytes\)"),
            (b"age,income\n31,2000\n" * 100, "not a vish model"),
            (b"\x80\x04\x95\x00.", "not a vish model"),
            (safetensors.numpy.save({"x": np.zeros(3)}), "not a vish model"),
            (sealed(text_of(), length=2**64 - 1), "incomplete or its first bytes changed"),
            (sealed(text_of(), length=2**40), "incomplete or its first bytes changed"),
            # The checksum is right from here on, the content is not.
            (sealed(text_of("[]")), "the header is no dict"),
            (sealed(text_of("{")), "JSONDecodeError"),
            (sealed(text_of()[:-1]), "JSONDecodeError"),
            (sealed(text_of().encode() + b"\xff"), "UnicodeDecodeError"),
            (sealed(text_of("[" * 100_000)), "RecursionError"),
            (sealed(text_of("1" * 100_000)), "ValueError"),
            (sealed(text_of('{"a":NaN}')), r"header\['a'\] is nan"),
            (sealed(text_of('{"a":[-Infinity]}')), "is -inf"),
            (sealed(text_of('{"a":1e999}')), "is inf"),
            (sealed(text_of('{"a":' + "[" * 500 + "]" * 500 + "}")), "nested deeper than 100"),
            (sealed(text_of('{"' + "a" * 9999 + '":NaN}')), r"aaa\.\.\.\)"),
            (sealed(text_of(x=entry())), "SafetensorError"),
            (sealed(text_of(x=entry()), b"12345"), "SafetensorError"),
            (sealed(text_of(x=entry(shape=[5])), b"1234"), "SafetensorError"),
            (sealed(text_of(x=entry(shape=[-4])), b"1234"), "SafetensorError"),
            (sealed(text_of(x=entry(shape=[2**62, 4])), b"1234"), "SafetensorError"),
            (sealed(text_of(x=entry(offsets=[4, 0])), b"1234"), "SafetensorError"),
            (sealed(text_of(x=entry(), y=entry()), b"1234"), "SafetensorError"),
            (sealed(text_of(x=entry("BF16", [2])), b"1234"), "BF16"),
            (sealed(text_of(x=entry(shape=[0, 2**63], offsets=[0, 0]))), "was not written by vish"),
            (sealed(text_of(x=entry(shape=[0] * 99, offsets=[0, 0]))), "was not written by vish"),
            (sealed(text_of(x=3)), "was not written by vish"),
        ],
    )
    def test_other_content(self, tmp_path, data, told):
        path = tmp_path / "other"
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=told) as error:
            read_model(path)
        assert str(path) in str(error.value)

    def test_the_seal_of_these_tests_is_right(self, tmp_path):
        (tmp_path / "m").write_bytes(sealed(text_of('{"a":1}', x=entry()), b"\1\2\3\4"))
        header, arrays = read_model(tmp_path / "m")
        assert header == {"a": 1}
        assert_same(arrays, {"x": np.array([1, 2, 3, 4], "u1")})

    def test_a_model_larger_than_memory(self, path, monkeypatch):
        def fail(*_):
            raise MemoryError

        monkeypatch.setattr(modelfile, "deserialize", fail)
        with pytest.raises(ModelFileError, match=r"model\.vish holds .* does not fit in memory"):
            read_model(path)

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no model file .*gone: check the name"):
            read_model(tmp_path / "gone")

    def test_directory(self, tmp_path):
        with pytest.raises(ModelFileError, match="is a directory"):
            read_model(tmp_path)
        with pytest.raises(ModelFileError, match="is a directory"):
            write_model(tmp_path, {}, {})

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_pipe_does_not_wait(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="device"):
            read_model(tmp_path / "pipe")
        with pytest.raises(ModelFileError, match="device"):
            write_model(tmp_path / "pipe", {}, {})

    @pytest.mark.parametrize(
        ("header", "told"),
        [
            ([], "the header is a list: give a dict"),
            ({"a": [1.0, float("nan")]}, r"header\['a'\]\[1\] is nan: .* keep it in an array"),
            ({"a": {"b": -float("inf")}}, r"header\['a'\]\['b'\] is -inf"),
            ({"a": {1: 2}}, r"header\['a'\] has the key 1: make it a string"),
            ({"a": (1, 2)}, r"header\['a'\] is a tuple: give None, bool"),
            ({"a": np.float32(1)}, r"header\['a'\] is a float32"),
            ({"a": np.zeros(2)}, r"header\['a'\] is a ndarray"),
            ({"a": b"bytes"}, r"header\['a'\] is a bytes"),
            ({"a": "x" * 2_000_000}, "at most 2,000,000: keep long lists in arrays"),
        ],
    )
    def test_headers_that_json_would_change(self, tmp_path, header, told):
        with pytest.raises(ValueError, match=told):
            write_model(tmp_path / "m", header, {})
        assert list(tmp_path.iterdir()) == []

    def test_header_that_contains_itself(self, tmp_path):
        header: dict = {}
        header["a"] = [header, header]
        with pytest.raises(ValueError, match="deeper than 100 levels: flatten it"):
            write_model(tmp_path / "m", header, {})

    @pytest.mark.parametrize(
        ("name", "array", "told"),
        [
            ("x", np.array(["a"]), "array 'x' is of dtype <U1: convert it"),
            ("x", np.array([None]), "dtype object"),
            ("x", np.array([1j]), "dtype complex128"),
            ("x", np.zeros(1, "M8[s]"), "dtype datetime64"),
            ("x", np.zeros(1, [("a", "f8")]), "convert it"),
            ("x", [1.0], "array 'x' is a list: give a plain ndarray"),
            ("x", np.ma.masked_array([1.0], [True]), "MaskedArray: give a plain ndarray"),
            ("__metadata__", np.zeros(1), "cannot be called '__metadata__'"),
            ("\ud800", np.zeros(1), "choose another name"),
            (3, np.zeros(1), "cannot be called 3"),
        ],
    )
    def test_arrays_that_cannot_be_stored(self, tmp_path, name, array, told):
        with pytest.raises(ValueError, match=told):
            write_model(tmp_path / "m", {}, {name: array})
        assert list(tmp_path.iterdir()) == []


class TestAtomicity:
    FAILURES = (
        OSError(errno.ENOSPC, "No space left on device"),
        KeyboardInterrupt(),
        MemoryError(),
    )

    @pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
    @pytest.mark.parametrize("step", ["fsync", "replace"])
    @pytest.mark.parametrize("existed", [True, False])
    def test_a_failing_step_leaves_the_old_file(self, path, monkeypatch, step, failure, existed):
        old = path.read_bytes()
        if not existed:
            path.unlink()

        def fail(*_):
            raise failure

        monkeypatch.setattr(modelfile.os, step, fail)
        with pytest.raises(type(failure)) as error:
            write_model(path, {}, {"x": np.zeros(1000)})
        monkeypatch.undo()
        assert os.listdir(path.parent) == [path.name] * existed
        if existed:
            assert path.read_bytes() == old
        if isinstance(failure, OSError):
            assert error.value.errno == errno.ENOSPC
            for told in (str(path), "No space left", "bytes are free", "before is unchanged"):
                assert told in str(error.value)

    @pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
    @pytest.mark.parametrize("rows", [1, 1_000_000])
    def test_full_disk(self, path, monkeypatch, rows):
        old = path.read_bytes()

        def open_on_full_disk(name, mode):
            os.symlink("/dev/full", name)  # a device on which every write fails
            return open(name, mode.replace("x", "w"))

        monkeypatch.setattr(modelfile, "open", open_on_full_disk, raising=False)
        with pytest.raises(OSError, match="No space left on device") as error:
            write_model(path, {}, {"x": np.zeros(rows)})
        assert error.value.errno == errno.ENOSPC
        assert os.listdir(path.parent) == [path.name]
        assert path.read_bytes() == old

    def test_missing_folder(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"not saved to .*check that the folder exists"):
            write_model(tmp_path / "gone" / "model.vish", {}, {})

    @pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs POSIX permissions")
    def test_no_permission(self, path):
        path.chmod(0o000)
        path.parent.chmod(0o500)
        user = os.geteuid()
        try:
            if user == 0:  # root may write anywhere, nobody may not
                os.seteuid(65534)
            with pytest.raises(PermissionError, match=r"not saved to .*that you may write there"):
                write_model(path, {}, {})
            with pytest.raises(PermissionError, match=re.escape(str(path))):
                read_model(path)
        finally:
            os.seteuid(user)
            path.parent.chmod(0o700)
            path.chmod(0o600)
        assert os.listdir(path.parent) == [path.name]
        assert_same(read_model(path)[1], ARRAYS)

    @pytest.mark.skipif(os.name != "posix", reason="needs POSIX permissions and links")
    def test_mode_and_link_are_kept(self, path, tmp_path):
        (tmp_path / "plain").write_bytes(b"")
        assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
        path.chmod(0o640)
        (tmp_path / "link").symlink_to(path.name)
        write_model(tmp_path / "link", {"new": True}, {})
        assert (tmp_path / "link").is_symlink()
        assert read_model(path)[0] == {"new": True}
        assert stat.S_IMODE(path.stat().st_mode) == 0o640

    def test_relative_path(self, path, monkeypatch):
        monkeypatch.chdir(path.parent)
        write_model("here.vish", HEADER, ARRAYS)
        assert_same(read_model("here.vish")[1], ARRAYS)


class TestSafety:
    def test_loading_runs_nothing(self, path):
        program = """
import sys
from vish.modelfile import read_model
seen = set()
sys.addaudithook(lambda event, _: seen.add(event))
read_model(sys.argv[1])
forbidden = ("pickle", "exec", "compile", "import", "subprocess", "os.system", "ctypes", "socket")
assert "open" in seen
print(*sorted(event for event in seen if event.startswith(forbidden)))
"""
        command = [sys.executable, "-c", program, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ""

    @pytest.mark.parametrize("length", [2**31, 2**40, 2**63 - 1, 2**63, 2**64 - 9, 2**64 - 1])
    def test_memory_does_not_follow_a_wrong_length(self, path, length):
        path.write_bytes(length.to_bytes(8, "little") + path.read_bytes()[8:])
        tracemalloc.start()
        try:
            with pytest.raises(ModelFileError):
                read_model(path)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    def test_memory_of_the_costliest_header(self, tmp_path):
        header = "{" + ",".join(f'"{i}":[[]]' for i in range(80_000)) + ',"x":[' + "[]," * 200_000
        (tmp_path / "m").write_bytes(sealed(text_of(header + "[]]}")))
        tracemalloc.start()
        try:
            read_model(tmp_path / "m")
            assert tracemalloc.get_traced_memory()[1] < 100_000_000
        finally:
            tracemalloc.stop()

    @pytest.mark.skipif(sys.platform != "linux", reason="memory as Linux tells it")
    def test_memory_of_a_large_model(self, tmp_path):
        size = 100_000_000
        write_model(tmp_path / "m", {}, {"x": np.zeros(size // 8)})
        program = """
import sys
from benchmarks.memory import peak, resident
from vish.modelfile import read_model
before = resident()
read_model(sys.argv[1])
print(peak() - before)
"""
        command = [sys.executable, "-c", program, str(tmp_path / "m")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert float(done.stdout) * 2**20 < 2 * size + 20_000_000


class TestRefusing:
    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (ValueError("degree is 'x'"), r"a\.vish: .*\(degree is 'x'\); upgrade vish"),
            (KeyError("degree"), r"a\.vish: .*\(KeyError\('degree'\)\)"),
            (RecursionError("too deep"), r"a\.vish: .*RecursionError"),
            (MemoryError(), r"a\.vish .*does not fit in memory"),
            (ValueError("x" * 10**6), r"a\.vish: .*xxx\.\.\.\)"),
            (ModelFileError("a.vish is empty"), "^a.vish is empty$"),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_every_error_names_the_file(self, error, told):
        with pytest.raises(ModelFileError, match=told) as caught, modelfile.refusing("a.vish"):
            raise error
        assert len(str(caught.value)) < 600

    def test_an_interrupt_is_none(self):
        with pytest.raises(KeyboardInterrupt), modelfile.refusing("a.vish"):
            raise KeyboardInterrupt

    def test_a_header_knows_its_file(self, path):
        assert read_model(path)[0].path == path
