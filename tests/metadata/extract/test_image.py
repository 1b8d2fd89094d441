"""Numbers of `Image` against loops over pixels."""

from __future__ import annotations

import numpy as np
import pytest

from driftline.metadata.errors import InputError, SettingError
from driftline.metadata.extract import Image


def by_hand(image: np.ndarray, low: float, high: float) -> list[float]:
    """`Image.extract` of one image, shape ``[channels, height, width]``, pixel by pixel."""
    channels, height, width = image.shape
    pixels = [[float(v) for v in image[c].ravel()] for c in range(channels)]
    means = [sum(p) / len(p) for p in pixels]
    sds = [
        (sum((v - m) ** 2 for v in p) / len(p)) ** 0.5 for p, m in zip(pixels, means, strict=True)
    ]
    saturated = [sum(v <= low or v >= high for v in p) / len(p) for p in pixels]
    grey = [[float(image[:, y, x].mean()) for x in range(width)] for y in range(height)]
    down = [abs(grey[y + 1][x] - grey[y][x]) for y in range(height - 1) for x in range(width)]
    right = [abs(grey[y][x + 1] - grey[y][x]) for y in range(height) for x in range(width - 1)]
    sharpness = sum(sum(d) / len(d) for d in (down, right) if d)
    return [*means, *sds, *saturated, sharpness]


@pytest.mark.parametrize("shape", [(3, 7, 5), (1, 1, 1), (2, 1, 4), (1, 6, 1), (4, 2, 2)])
def test_numbers_are_those_of_a_loop_over_pixels(shape: tuple[int, int, int]):
    images = np.random.default_rng(0).random((4, *shape))
    images[images < 0.2] = 0.0
    out = Image(channels=shape[0]).extract(images)
    expected = [by_hand(image, 0.0, 1.0) for image in images]
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-15)


def test_both_layouts_give_the_same_bits():
    images = np.random.default_rng(1).random((5, 3, 6, 7)).astype(np.float32)
    first = Image(layout="NCHW", channels=3).extract(images)
    last = Image(layout="NHWC", channels=3).extract(np.moveaxis(images, 1, 3))
    assert first.tobytes() == last.tobytes()


def test_bytes_saturate_at_0_and_255():
    image = np.array([[[[0, 255], [254, 1]]]], dtype=np.uint8)
    extractor = Image().fit(image)
    assert (extractor.low, extractor.high) == (0.0, 255.0)
    assert extractor.extract(image)[0].tolist()[2] == 0.5


def test_floats_of_the_unit_interval_saturate_at_its_ends():
    images = np.random.default_rng(2).random((10, 1, 4, 4)) * 0.5 + 0.1
    assert (Image().fit(images).low, Image().fit(images).high) == (0.0, 1.0)


def test_standardised_floats_saturate_where_each_channel_ends():
    """After (x − mean)/sd by channel, black and white lie elsewhere in each."""
    raw = np.random.default_rng(3).integers(0, 256, size=(20, 3, 8, 8)) / 255.0
    mean, sd = np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.3, 0.1])
    images = (raw - mean[:, None, None]) / sd[:, None, None]
    fitted = Image().fit(images)
    np.testing.assert_allclose(fitted.low, (0 - mean) / sd)
    np.testing.assert_allclose(fitted.high, (1 - mean) / sd)
    expected = ((raw == 0) | (raw == 1)).mean(axis=(2, 3))
    np.testing.assert_array_equal(fitted.extract(images)[:, 6:9], expected)


def test_declared_bounds_stand():
    images = np.random.default_rng(4).normal(size=(10, 2, 3, 3))
    fitted = Image(low=-1.0, high=1.0).fit(images)
    assert (fitted.channels, fitted.low, fitted.high) == (2, -1.0, 1.0)


def test_images_may_change_their_size():
    extractor = Image(channels=1)
    assert extractor.extract(np.zeros((2, 1, 9, 4))).shape == (2, 4)
    assert extractor.extract(np.zeros((3, 1, 1, 50))).shape == (3, 4)


def test_a_large_batch_is_cut_into_parts_without_a_seam(monkeypatch: pytest.MonkeyPatch):
    images = np.random.default_rng(5).random((9, 2, 8, 8))
    whole = Image(channels=2).extract(images)
    monkeypatch.setattr("driftline.metadata.extract.image.CHUNK", 300)
    assert Image(channels=2).extract(images).tobytes() == whole.tobytes()


def test_blur_lowers_sharpness_and_noise_raises_it():
    random = np.random.default_rng(6)
    images = random.random((50, 1, 16, 16))
    blurred = (images + np.roll(images, 1, axis=2) + np.roll(images, 1, axis=3)) / 3
    noisy = images + random.normal(scale=0.5, size=images.shape)
    plain, less, more = (Image(channels=1).extract(a)[:, -1] for a in (images, blurred, noisy))
    assert (less < plain).all()
    assert (more > plain).mean() > 0.95


def test_an_image_without_a_pixel_is_refused():
    with pytest.raises(InputError, match="without a pixel"):
        Image(channels=1).extract(np.zeros((2, 1, 0, 5)))
    with pytest.raises(InputError, match="1 channels expected, got 3"):
        Image(channels=1).extract(np.zeros((2, 3, 4, 5)))


def test_columns_need_the_number_of_channels():
    with pytest.raises(SettingError, match="channels: not known"):
        Image().columns()


@pytest.mark.parametrize(
    ("field", "settings"),
    [
        ("layout", {"layout": "HWC"}),
        ("channels", {"channels": 0}),
        ("channels", {"channels": 65}),
        ("low", {"low": float("nan")}),
        ("high", {"high": (1.0, 2.0), "channels": 3}),
    ],
)
def test_impossible_settings_are_named(field: str, settings: dict):
    with pytest.raises(SettingError) as caught:
        Image(**settings)
    assert caught.value.field == field
