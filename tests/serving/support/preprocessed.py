"""Run as a program: a training whose dataset is mapped with a preprocessing, and its package.

``python preprocessed.py FOLDER`` leaves ``package``, the images as PNG files, and in
``training.npz`` what training saw of them and what the network made of it.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import dataset, nn
from PIL import Image as Picture

from driftline.metadata.preprocess import ImagePreprocessing
from driftline.train_side import Classification, FingerprintCallback, Image

PREPROCESSING = ImagePreprocessing(size=(8, 8), mean=(0.5, 0.4, 0.3), std=(0.2, 0.25, 0.3))
COUNT = 160


def main(folder: Path) -> None:
    random = np.random.default_rng(1)
    encoded, labels = [], random.integers(0, 2, COUNT).astype(np.int32)
    for index, label in enumerate(labels):
        size = random.integers(8, 20, 2)
        pixels = random.integers(60 * label, 120 + 60 * label, (*size, 3), dtype=np.uint8)
        body = io.BytesIO()
        Picture.fromarray(pixels).save(body, "PNG")
        encoded.append(body.getvalue())
        if index < 5:
            (folder / f"{index}.png").write_bytes(encoded[-1])

    def images():
        for body, label in zip(encoded, labels, strict=True):
            yield np.frombuffer(body, np.uint8), label

    def data():
        source = dataset.GeneratorDataset(images, ["image", "label"], shuffle=False)
        return source.map(PREPROCESSING, input_columns=["image"]).batch(16)

    ms.set_seed(1)
    net = nn.SequentialCell(
        nn.Conv2d(3, 4, 3, pad_mode="same"), nn.ReLU(), nn.Flatten(), nn.Dense(256, 2)
    )
    fingerprint = FingerprintCallback(
        folder / "package",
        reference=data(),
        inputs=Image(),
        task=Classification(("dark", "light")),
        model_name="toy",
        preprocessing=PREPROCESSING,
    )
    ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params())).train(
        1, data(), callbacks=[fingerprint]
    )
    net.set_train(False)
    seen, _ = next(data().create_tuple_iterator(output_numpy=True, num_epochs=1))
    np.savez(folder / "training.npz", seen=seen, logits=net(ms.Tensor(seen)).asnumpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
