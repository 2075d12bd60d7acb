"""Files, and modules in binary files."""

import gzip
import zipfile
import struct

import pytest

import ptxkit


def fatbin(*texts):
    """A fatbin with uncompressed PTX: a header of 16 bytes, and for each entry one of 64 bytes."""
    entries = b""
    for number, text in enumerate(texts):
        content = text.encode() + b"\0"
        content += b"\0" * (-len(content) % 8)
        head = struct.pack("<HHIQIIHHIQQQQ", 1, 0x101, 64, len(content), 0, 0, 5, 8, 80 + 10 * number, 0, 1, 0, 0)
        entries += head.ljust(64, b"\0") + content
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(entries)) + entries


@pytest.fixture
def library(tmp_path, text):
    path = tmp_path / "library.fatbin"
    path.write_bytes(fatbin(text, text.replace("sm_80", "sm_90")))
    return path


def test_read(tmp_path, text):
    path = tmp_path / "sum.ptx"
    path.write_text(text)
    assert ptxkit.read(path) == ptxkit.read(str(path)) == ptxkit.parse(text)
    assert ptxkit.read(path).name == str(path)
    (tmp_path / "sum.ptx.gz").write_bytes(gzip.compress(text.encode()))
    assert ptxkit.read(tmp_path / "sum.ptx.gz").text == text


def test_entries(library):
    one, two = ptxkit.entries(library)
    assert (one.kind, one.target, two.target, one.compression) == ("ptx", "sm_80", "sm_90", "none")
    assert one.name in str(one.path) and one.size >= len(one.content()) and one.identifier == ""
    assert ptxkit.read(two.path).target == "sm_90"


def test_wheels(library, tmp_path):
    wheel = tmp_path / "library.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "package/library.fatbin")
    one, two = ptxkit.entries(wheel)
    assert (one.target, two.target) == ("sm_80", "sm_90")
    assert ptxkit.read(two.path).text == ptxkit.read(f"{library}!sm_90").text


def test_modules_are_chosen(library):
    assert ptxkit.read(f"{library}!sm_80").target == "sm_80"
    assert ptxkit.read(f"{library}!{ptxkit.entries(library)[1].name}").target == "sm_90"
    assert ptxkit.read(f"{library}!*_90").target == ptxkit.read(f"{library}!?.sm_90.*").target == "sm_90"
    for path in (library, f"{library}!sm_70", f"{library}!sm_*"):
        with pytest.raises(ptxkit.PtxError, match="expected one PTX module") as error:
            ptxkit.read(path)
        assert error.value.code == "PTX1101"


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        ptxkit.read(tmp_path / "missing.ptx")
    with pytest.raises(OSError):
        ptxkit.read(tmp_path)
    (tmp_path / "data").write_bytes(bytes(range(256)))
    with pytest.raises(ptxkit.PtxError, match="expected PTX"):
        ptxkit.read(tmp_path / "data")
    with pytest.raises(FileNotFoundError):
        ptxkit.entries(tmp_path / "missing.so")
    with pytest.raises(FileNotFoundError):
        ptxkit.read_many([tmp_path / "missing.ptx"])


def test_many_files(tmp_path, text):
    paths = [tmp_path / f"{number}.ptx" for number in range(20)]
    for number, path in enumerate(paths):
        path.write_text(text if number % 2 else text.replace("ret;", "ret"))
    assert [module.name for module in ptxkit.read_many(paths)] == [str(path) for path in paths]
    found = ptxkit.check_many(paths)
    assert found == [ptxkit.read(path).check() for path in paths]
    assert [bool(diagnostics) for diagnostics in found] == [True, False] * 10
    assert ptxkit.check_many(paths[1:2], unused=True)[0] != []
