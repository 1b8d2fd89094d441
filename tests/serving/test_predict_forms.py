"""Every form of a request to `/predict` says the same, and a bad one is refused with its reason."""

from __future__ import annotations

import base64
import io
import json

import numpy as np
import pytest
import served
from kinds import KINDS, PREPROCESSING
from PIL import Image

from driftline.serving.app import plan_of, wired
from driftline.serving.hooks import InferenceMonitor
from driftline.serving.model.engine import Engine
from driftline.serving.settings import load


@pytest.fixture
def client_of_kind(tmp_path):
    """Clients of services of one kind each."""
    engines = []

    def make(name: str, **settings):
        package = KINDS[name].package(tmp_path / "package")
        chosen = load(
            {"package": str(package.path), "state": "memory:", "workers": 1} | settings, {}
        )
        monitor = InferenceMonitor(plan_of(chosen, package), copy=False)
        limits = {"most": chosen.max_instances, "most_pixels": chosen.max_pixels}
        engines.append(Engine(package, KINDS[name], monitor, **limits))
        client = wired(engines[-1], chosen).test_client()
        client.engine = engines[-1]
        return client

    yield make
    for engine in engines:
        engine.monitor.close()


def encoded(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    body = io.BytesIO()
    Image.fromarray(pixels).save(body, kind)
    return body.getvalue()


def npy(array: np.ndarray, **more) -> bytes:
    body = io.BytesIO()
    np.save(body, array, **more)
    return body.getvalue()


def predictions(answer):
    assert answer.status_code == 200, answer.text
    return answer.get_json()["predictions"]


def listed(client, array):
    return predictions(client.post("/predict", json={"instances": array.tolist()}))


PIXELS = np.random.default_rng(2).integers(0, 256, (9, 8, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_an_image_is_preprocessed_as_training_did_it(client_of_kind, kind):
    client = client_of_kind("image")
    body = encoded(PIXELS, kind)
    plain = predictions(client.post("/predict", data=body, content_type=f"image/{kind.lower()}"))
    text = base64.b64encode(body).decode()
    by_b64 = predictions(client.post("/predict", json={"instances": [{"b64": text}] * 2}))
    by_name = client.post("/predict", json={"instances": [{"image": {"b64": text}}]})
    array = PREPROCESSING(body)[None]
    assert plain == by_b64[:1] == by_b64[1:] == predictions(by_name)
    assert plain == listed(client, array.astype(float))
    assert plain == predictions(
        client.post("/predict", data=npy(array), content_type="application/x-npy")
    )


@pytest.mark.parametrize(
    "array",
    [
        served.rows(5, 3),
        served.rows(5, 3).astype(np.float64),
        served.rows(5, 3).astype(">f4"),
        np.asfortranarray(served.rows(5, 3)),
    ],
)
def test_an_npy_batch_is_taken_as_it_is(client, array):
    answer = client.post("/predict", data=npy(array), content_type="application/x-npy")
    assert predictions(answer) == listed(client, served.rows(5, 3))


def header(text: str, data: bytes = b"") -> bytes:
    raw = text.encode()
    return b"\x93NUMPY\x01\x00" + len(raw).to_bytes(2, "little") + raw + data


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no .npy file"),
        (b"\x93NUMPY", "no .npy file"),
        (b"\x93NUMPY\x09\x00" + b"x" * 99, "no .npy file"),
        (npy(np.array([{}], dtype=object), allow_pickle=True), "numbers or strings"),
        (npy(np.zeros(3, [("a", "f4")])), "numbers or strings"),
        (npy(np.zeros((2, 4), complex)), "numbers or strings"),
        (npy(np.zeros((2, 4), "f4"))[:-1], "32 bytes of data, there are 31"),
        (npy(np.zeros((2, 4), "f4")) + b"x", "there are 33"),
        (npy(np.zeros((2, 5), "f4")), "shape [n, 4] expected"),
        (npy(np.full((2, 4), np.nan, "f4")), "missing or not finite"),
        (npy(np.zeros((0, 4), "f4")), "the batch is empty"),
        (npy(np.array(3.0)), "shape [n, 4] expected"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}"), "no shape"),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 4)}"), "asks for"),
        (header("[" * 60_000), "no .npy file"),
        (header("__import__('os')"), "no .npy file"),
    ],
)
def test_a_bad_npy_file_is_refused_with_the_reason(client, body, reason):
    answer = client.post("/predict", data=body, content_type="application/x-npy")
    assert answer.status_code == 422
    assert answer.get_json()["error"]["field"] == "body"
    assert reason in answer.get_json()["error"]["message"]


def png_of(width: int, height: int) -> bytes:
    """A small file that says it is a large image."""
    body = bytearray(encoded(PIXELS))
    body[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    import zlib

    body[29:33] = zlib.crc32(body[12:29]).to_bytes(4, "big")
    return bytes(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "no PNG or JPEG"),
        (b"GIF89a" + b"x" * 50, "no PNG or JPEG"),
        (encoded(PIXELS)[:120], "damaged"),
        (png_of(100_000, 100_000), "pixels"),
        (png_of(7_000, 7_000), "pixels"),
        (encoded(np.zeros((101, 100), np.uint8)), "at most 10000 pixels a request"),
        (encoded(np.zeros((4, 4), np.uint16)), "8 bits a channel"),
    ],
)
def test_a_bad_image_is_refused_before_it_takes_memory(client_of_kind, body, reason):
    client = client_of_kind("image", max_pixels="10000")
    answer = client.post("/predict", data=body, content_type="image/png")
    assert (answer.status_code, answer.get_json()["error"]["field"]) == (422, "body")
    assert reason in answer.get_json()["error"]["message"]
    assert "0x" not in answer.text


@pytest.mark.parametrize(
    ("instances", "field"),
    [
        ([{"b64": "!"}], "instances[0].b64"),
        ([{"b64": 3}], "instances[0]"),
        ([{"b64": "", "x": 1}], "instances[0]"),
        ([{"b64": base64.b64encode(b"no").decode()}], "instances"),
        ([{"b64": base64.b64encode(encoded(PIXELS)).decode()}, {"b64": "AA=="}], "instances[1]"),
    ],
)
def test_bad_base64_is_named_by_its_instance(client_of_kind, instances, field):
    answer = client_of_kind("image").post("/predict", json={"instances": instances})
    assert (answer.status_code, answer.get_json()["error"]["field"]) == (422, field)


def test_a_model_without_preprocessing_says_that_it_wants_numbers(client):
    answer = client.post("/predict", data=encoded(PIXELS), content_type="image/png")
    assert answer.status_code == 422
    assert "declares no preprocessing" in answer.get_json()["error"]["message"]


def test_one_long_string_among_many_takes_no_memory_and_is_refused(client_of):
    long = json.dumps({"instances": [["a" * 2_000_000, *["b"] * 100_000]]})
    answer = client_of().post("/predict", data=long, content_type="application/json")
    assert answer.status_code == 422


def test_too_many_rows_by_name_are_refused_before_they_are_read(client_of):
    answer = client_of(max_instances="9").post("/predict", json={"instances": [{}] * 10})
    assert "at most 9 instances" in answer.get_json()["error"]["message"]


def test_images_of_any_size_where_the_model_takes_them(client_of_kind):
    client = client_of_kind("any size")
    for size in ((4, 4, 3), (9, 20, 3)):
        pixels = np.full(size, 51, np.uint8)
        answer = client.post("/predict", data=encoded(pixels), content_type="image/png")
        (found,) = predictions(answer)
        assert found["confidence"] == pytest.approx(1 / 3)
    both = [
        {"b64": base64.b64encode(encoded(np.zeros((n, 4, 3), np.uint8))).decode()} for n in (4, 5)
    ]
    answer = client.post("/predict", json={"instances": both})
    assert "comes out as" in answer.get_json()["error"]["message"]
