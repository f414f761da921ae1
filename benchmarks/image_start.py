"""How much of the distance to ReLU in short image trainings is the start: heights of zero against those of ReLU.

python benchmarks/image_start.py relu|zeros|relu-heights [--dataset cifar10 --subset 2560 --epochs 3 --seed 0]
Trains the shake-shake network on part of a set with ReLU, with CL-extrapolate from zero as in the paper, or with
CL-extrapolate whose heights start as ReLU's, and prints the training loss of every epoch. Several may run side by side.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from chebact import ChebyshevLagrange
from chebact.lab.images.files import DataError
from chebact.lab.images.run import ImageRun
from chebact.lab.images.sets import load_images
from chebact.lab.images.spec import ImageSpec


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("start", choices=["relu", "zeros", "relu-heights"])
    parser.add_argument("--dataset", default="cifar10")
    parser.add_argument("--subset", type=int, default=2560)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=Path, help="folder of the image sets, as for `chebact run images`")
    given = parser.parse_args()
    activation = "relu" if given.start == "relu" else "cl-extrapolate"
    spec = ImageSpec(given.dataset, activation, epochs=given.epochs, subset=given.subset, cosine="step")
    try:
        train = load_images(given.dataset, "train", given.data).head(given.subset)
        test = load_images(given.dataset, "test", given.data).head(1000)
    except DataError as error:
        parser.error(str(error))
    with tempfile.TemporaryDirectory() as folder:
        training = ImageRun(spec, Path(folder)).make_training(given.seed, train, test)
        if given.start == "relu-heights":
            for module in training.network.modules():
                if isinstance(module, ChebyshevLagrange):
                    module.fit_("relu")
        for epoch in training.run():
            print(
                f"{given.start:12} epoch {epoch.epoch}: training loss {epoch.train_loss:.4f}, "
                f"test accuracy {epoch.test_accuracy:.4f}"
            )


if __name__ == "__main__":
    main()
