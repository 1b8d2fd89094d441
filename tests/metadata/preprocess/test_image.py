"""Images come out the same one at a time or together, encoded or as pixels."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from driftline.metadata.errors import InputError, MetadataError, SettingError
from driftline.metadata.preprocess import PREPROCESSINGS, ImagePreprocessing

PIXELS = np.random.default_rng(1).integers(0, 256, (7, 9, 3), dtype=np.uint8)


def png(pixels: np.ndarray, **more) -> bytes:
    body = io.BytesIO()
    Image.fromarray(pixels).save(body, "PNG", **more)
    return body.getvalue()


def test_the_arithmetic_is_scale_mean_std_in_float32():
    made = ImagePreprocessing(scale=0.5, mean=(1, 2, 3), std=(2, 4, 8), layout="NHWC")
    found = made(PIXELS)
    wanted = (PIXELS.astype(np.float32) * np.float32(0.5) - [1, 2, 3]) / [2, 4, 8]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert found.dtype == np.float32


def test_every_form_of_an_image_gives_the_same_bits():
    made = ImagePreprocessing(size=(4, 5), mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    one = made(PIXELS)
    assert one.shape == (3, 4, 5)
    for form in (png(PIXELS), np.frombuffer(png(PIXELS), np.uint8)):
        np.testing.assert_array_equal(made(form), one)
    for batch in ([PIXELS, png(PIXELS)], np.stack([PIXELS, PIXELS])):
        np.testing.assert_array_equal(made(batch), np.stack([one, one]))


def test_colours_become_grey_and_grey_colours():
    grey = np.asarray(Image.fromarray(PIXELS).convert("L"))
    made = ImagePreprocessing(channels=1, scale=1.0, layout="NHWC")
    np.testing.assert_array_equal(made(PIXELS)[:, :, 0], grey)
    np.testing.assert_array_equal(made(grey)[:, :, 0], grey)
    assert (ImagePreprocessing(scale=1.0)(grey) == grey).all()


def test_alpha_is_dropped_and_palettes_are_looked_up():
    alpha = np.dstack([PIXELS, np.full((7, 9), 3, np.uint8)])
    np.testing.assert_array_equal(ImagePreprocessing()(alpha), ImagePreprocessing()(PIXELS))
    body = io.BytesIO()
    Image.fromarray(PIXELS[:, :, 0]).convert("P").save(body, "PNG")
    assert ImagePreprocessing()(body.getvalue()).shape == (3, 7, 9)


def test_encoded_images_are_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = ImagePreprocessing()(png(PIXELS, exif=exif))
    np.testing.assert_array_equal(turned, ImagePreprocessing()(np.rot90(PIXELS, -1)))


def test_it_survives_the_metadata():
    made = ImagePreprocessing(size=[4, 5], mean=np.array([0.1, 0.2, 0.3]), std=[1, 1, 2])
    raw = PREPROCESSINGS.encode(made)
    assert raw["kind"] == "image"
    assert PREPROCESSINGS.decode(raw, "preprocessing.x") == made


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"layout": "CHW"}, "layout"),
        ({"channels": 2}, "channels"),
        ({"size": (0, 4)}, "size"),
        ({"mean": (0.1,)}, "mean"),
        ({"std": (1, 1, 0)}, "std"),
        ({"mean": (0, 0, float("nan"))}, "mean"),
        ({"scale": float("inf")}, "scale"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, field):
    with pytest.raises(SettingError) as caught:
        ImagePreprocessing(**settings)
    assert caught.value.field == field


def test_an_unknown_kind_in_the_metadata_is_named():
    with pytest.raises(MetadataError, match=r"preprocessing\.x\.kind"):
        PREPROCESSINGS.decode({"kind": "audio"}, "preprocessing.x")


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"junk", "no PNG or JPEG"),
        (png(PIXELS)[:90], "damaged"),
        (PIXELS.astype(np.float32), "uint8 pixels expected"),
        (np.zeros((2, 2, 5), np.uint8), "pixels"),
        ([], "the batch is empty"),
        ([PIXELS, PIXELS[:3]], "comes out as"),
    ],
)
def test_what_is_no_image_is_refused(raw, reason):
    with pytest.raises(InputError, match=reason):
        ImagePreprocessing()(raw)


def test_pixels_are_counted_before_they_are_decoded():
    body = png(np.zeros((100, 100), np.uint8))
    with pytest.raises(InputError, match=r"images\[1\]: at most 15000 pixels"):
        ImagePreprocessing().batch([body, body], most_pixels=15_000)
