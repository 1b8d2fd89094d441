"""A package is whole or refused, and never leaves a trace of a half-written one."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import synthetic

from driftline.metadata.errors import DamagedPackage, MetadataError, PackageError, UnsafePackage
from driftline.metadata.package import METADATA, ModelPackage


@pytest.mark.parametrize("name", ["toy", "toy.zip"])
def test_what_is_written_is_read_back(tmp_path: Path, name: str) -> None:
    """A folder and a .zip give back equal metadata and the very bytes of every file."""
    written = synthetic.package(tmp_path / name)
    opened = ModelPackage.open(tmp_path / name)
    assert opened.metadata == written.metadata
    assert len(opened.digest) == 64
    assert set(opened.digest) != {"0"}
    assert opened.file("model").read_bytes() == b"graph" * 100
    assert opened.file("checkpoint").read_bytes() == bytes(range(256)) * 4


def test_writing_leaves_only_the_package(tmp_path: Path) -> None:
    """Neither temporary folders nor the replaced package stay behind."""
    synthetic.package(tmp_path / "out" / "toy")
    synthetic.package(tmp_path / "out" / "toy")
    synthetic.package(tmp_path / "out" / "toy.zip")
    assert sorted(os.listdir(tmp_path / "out")) == ["files-of-the-package", "toy", "toy.zip"]


def test_a_failed_write_leaves_the_old_package(tmp_path: Path) -> None:
    """When a source file cannot be read, what was there before stays as it was."""
    before = synthetic.package(tmp_path / "toy")
    with pytest.raises(PackageError, match="cannot be written"):
        ModelPackage.write(tmp_path / "toy", synthetic.metadata(), {"model": tmp_path / "absent"})
    assert ModelPackage.open(tmp_path / "toy").digest == before.digest


def test_a_folder_that_is_no_package_is_not_replaced(tmp_path: Path) -> None:
    """A user's own folder at the target is refused and kept."""
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "thesis.tex").write_text("years of work")
    with pytest.raises(PackageError, match="is no package"):
        synthetic.package(tmp_path / "toy")
    assert (tmp_path / "toy" / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", ["model.ckpt", "model.mindir", METADATA])
@pytest.mark.parametrize("place", [0.02, 0.5, 0.98])
def test_one_flipped_byte_anywhere_is_found(tmp_path: Path, name: str, place: float) -> None:
    """A changed byte in any file, the metadata included, is refused by name."""
    synthetic.package(tmp_path / "toy")
    path = tmp_path / "toy" / name
    data = bytearray(path.read_bytes())
    data[int(len(data) * place)] ^= 1
    path.write_bytes(data)
    with pytest.raises((DamagedPackage, MetadataError)):
        ModelPackage.open(tmp_path / "toy")


def test_a_change_of_white_space_in_the_metadata_is_found(tmp_path: Path) -> None:
    """The metadata's digest is over bytes, not over what they mean."""
    synthetic.package(tmp_path / "toy")
    path = tmp_path / "toy" / METADATA
    path.write_bytes(path.read_bytes().replace(b'"seed": 7', b'"seed":  7'))
    with pytest.raises(DamagedPackage, match=METADATA):
        ModelPackage.open(tmp_path / "toy")


def test_a_changed_digest_is_found(tmp_path: Path) -> None:
    """Another digest in the metadata is not simply believed."""
    digest = synthetic.package(tmp_path / "toy").digest
    path = tmp_path / "toy" / METADATA
    path.write_bytes(path.read_bytes().replace(digest.encode(), b"1" * 64))
    with pytest.raises(DamagedPackage, match=METADATA):
        ModelPackage.open(tmp_path / "toy")


@pytest.mark.parametrize("name", ["model.ckpt", METADATA])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    """The error says which file is missing."""
    synthetic.package(tmp_path / "toy")
    (tmp_path / "toy" / name).unlink()
    with pytest.raises(DamagedPackage, match=name):
        ModelPackage.open(tmp_path / "toy")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    """A shorter file is told by its size."""
    synthetic.package(tmp_path / "toy")
    path = tmp_path / "toy" / "model.ckpt"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(DamagedPackage, match="1023 bytes, 1024 were packed"):
        ModelPackage.open(tmp_path / "toy")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """A file that is a link is refused even when it leads to the right bytes."""
    synthetic.package(tmp_path / "toy")
    path = tmp_path / "toy" / "model.ckpt"
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePackage, match="link"):
        ModelPackage.open(tmp_path / "toy")


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", "a\\..\\evil", "C:evil"])
def test_a_path_that_climbs_out_of_the_zip_is_refused(tmp_path: Path, name: str) -> None:
    """Nothing is unpacked when any name would leave the folder."""
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("good", b"1")
        out.writestr(name, b"2")
    with pytest.raises(UnsafePackage, match="leaves the package"):
        ModelPackage.open(archive, into=tmp_path / "in")
    assert not (tmp_path / "in").exists()


def test_a_link_in_the_zip_is_refused(tmp_path: Path) -> None:
    """A member marked as a symbolic link is never created."""
    archive = tmp_path / "bad.zip"
    member = zipfile.ZipInfo("link")
    member.external_attr = 0o120777 << 16
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr(member, "/etc/passwd")
    with pytest.raises(UnsafePackage, match="link"):
        ModelPackage.open(archive)


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path: Path, monkeypatch) -> None:
    """The declared sizes are bounded."""
    monkeypatch.setattr("driftline.metadata.archive.LARGEST_TOTAL", 1000)
    archive = tmp_path / "bad.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("zeros", b"\0" * 2000)
    with pytest.raises(UnsafePackage, match="1000 bytes"):
        ModelPackage.open(archive)


@pytest.mark.parametrize("cut", [10, 200, -30])
def test_a_truncated_zip_is_damaged(tmp_path: Path, cut: int) -> None:
    """Half an archive is refused, not half opened."""
    synthetic.package(tmp_path / "toy.zip")
    path = tmp_path / "toy.zip"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(DamagedPackage, match="whole"):
        ModelPackage.open(path)


def test_a_file_listed_outside_the_folder_is_refused(tmp_path: Path) -> None:
    """The metadata's own list of files cannot point outside, even with a right digest."""
    import hashlib

    synthetic.package(tmp_path / "toy")
    path = tmp_path / "toy" / METADATA
    raw = json.loads(path.read_bytes())
    raw["files"][0]["path"] = "../files-of-the-package/model.ckpt"
    raw["metadata_sha256"] = "0" * 64
    zeroed = json.dumps(raw).encode()
    raw["metadata_sha256"] = hashlib.sha256(zeroed).hexdigest()
    path.write_text(json.dumps(raw))
    with pytest.raises(UnsafePackage, match="leaves the package"):
        ModelPackage.open(tmp_path / "toy")


def test_nothing_to_open_is_said(tmp_path: Path) -> None:
    """A path with nothing there is told by name."""
    with pytest.raises(PackageError, match="no such"):
        ModelPackage.open(tmp_path / "absent")


def test_what_a_zip_unpacks_to_is_gone_with_the_process(tmp_path: Path) -> None:
    archive = tmp_path / "toy.zip"
    synthetic.package(archive)
    script = (
        "import os, sys; from driftline.metadata.package import ModelPackage\n"
        "path = ModelPackage.open(sys.argv[1]).path\n"
        "if not (child := os.fork()): sys.exit(0)\n"  # a fork's end is not the end
        "os.waitpid(child, 0); assert path.is_dir(); print(path)"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script, str(archive)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith(str(tmp_path))
    assert not list(tmp_path.glob("driftline-*"))


def test_a_zip_that_cannot_be_unpacked_is_a_package_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "toy.zip"
    synthetic.package(archive)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("driftline.metadata.archive.shutil.copyfileobj", full)
    with pytest.raises(PackageError, match=r"cannot be unpacked: .*No space left"):
        ModelPackage.open(archive)
