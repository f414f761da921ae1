"""The files of to_c: mode of the network, memory format, work space, tables, and nothing outside of its vector."""

import copy
import subprocess

import pytest
import torch
from support.c_compiler import STRICT, assert_c_agrees, compile_c, compiler, run_c
from support.convolutional_networks import Forward, made, stirred
from support.other_models import drawn
from torch import nn
from torch.nn import functional as F

import chebact
from chebact.export.reading import read_program


def test_a_network_in_training_is_read_as_in_evaluation_and_stays_in_training(tmp_path):
    network, x = made("shake-shake")
    network.train()
    network.blocks[0].eval()
    before, modes = copy.deepcopy(network.state_dict()), [part.training for part in network.modules()]
    state = torch.get_rng_state()
    training = chebact.to_c(network, tmp_path / "training.c", example=x[:1])
    assert [part.training for part in network.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(each, before[name]) for name, each in network.state_dict().items())
    evaluation = chebact.to_c(network.eval(), tmp_path / "evaluation.c", example=x[:1])
    assert training.read_text() == evaluation.read_text()


def test_dropout_in_forward_follows_the_mode(tmp_path):
    network = Forward(lambda own, x: own.line(F.dropout(x, training=own.training)), line=nn.Linear(3, 2)).train()
    assert [step.kind for step in read_program(network, drawn(1, 3)).steps] == ["linear"]


def test_the_memory_format_of_the_example_does_not_matter(tmp_path):
    network, x = made("plain")
    path = chebact.to_c(network, tmp_path / "network.c", example=x.to(memory_format=torch.channels_last))
    assert path.read_text() == chebact.to_c(network, tmp_path / "again.c", example=drawn(1, 3, 9, 8)).read_text()
    assert "takes 216 numbers of shape (3, 9, 8) in C order" in path.read_text()


def test_the_work_space_may_be_an_argument(tmp_path):
    network, x = made("digits")
    path = chebact.to_c(network, tmp_path / "network.c", example=x, real="double", work="argument")
    text = path.read_text()
    assert "void network(const real *in, real *out, real *work)" in text
    space = int(text.partition("work space is ")[2].partition(" ")[0])
    wanted = network.double().eval()(x).detach().numpy()
    got = run_c(compile_c(path), x, 10, "double", space)
    assert abs(got - wanted).max() < 1e-12 * abs(wanted).max()
    linear = chebact.to_c(nn.Linear(3, 2), tmp_path / "linear.c", work="argument")  # which needs no work space
    compile_c(linear)


def test_a_large_work_space_is_not_put_on_the_stack(tmp_path):
    network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 1, 1))
    with pytest.raises(ValueError, match="work must be 'argument' for a work space of more than 262144 bytes, got 'st"):
        chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 1, 100, 100))
    path = chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 1, 100, 100), work="argument")
    assert "80000 numbers (320000 bytes)" in path.read_text()


def test_the_stack_is_as_large_as_the_file_says(tmp_path):
    """That of gcc's own count, which has a few registers and addresses more."""
    if (
        "Free Software Foundation"
        not in subprocess.run([compiler(), "--version"], capture_output=True, text=True).stdout
    ):
        pytest.skip("cc is not gcc, which counts the stack")
    network, x = made("shake-shake")
    path = chebact.to_c(network, tmp_path / "network.c", example=x)
    space = int(path.read_text().partition(" numbers (")[2].partition(" bytes")[0])
    compile_c(path, f"-Wstack-usage={space + 512}")


def test_equal_tables_are_one_and_norms_are_part_of_the_convolution(tmp_path):
    shared = nn.Conv2d(2, 2, 3, padding=1)
    network = nn.Sequential(shared, nn.BatchNorm2d(2), nn.ReLU(), shared, nn.ReLU(), shared)
    path = chebact.to_c(network, tmp_path / "network.c", example=drawn(1, 2, 5, 5))
    text = path.read_text()
    assert text.count("static const real weight") == 2  # the first one has the norm in it
    assert text.count("static const window") == 1
    assert "affine" not in text
    assert "real work[100];" in text  # two planes of two channels, in place of five


def test_a_norm_of_a_vector_that_is_read_elsewhere_is_not_folded(tmp_path):
    network = Forward(
        lambda own, x: own.norm(y := own.conv(x)) + y, conv=nn.Conv2d(2, 2, 3), norm=nn.BatchNorm2d(2, momentum=None)
    )
    assert_c_agrees(stirred(network), drawn(2, 2, 5, 5).double(), tmp_path)


MAIN = """
#include <stdio.h>
#include "network.c"
int main(void)
{
    static real in[%d], out[%d];
    for (int k = 0; k < %d; ++k) in[k] = (real)((k * 37 %% 101) - 50) / 25;
    network(in, out);
    for (int k = 0; k < %d; ++k) printf("%%.17g\\n", (double)out[k]);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["plain", "joined", "shake-shake"])
def test_nothing_is_read_or_written_outside_of_its_vector(name, tmp_path):
    network, x = made(name)
    inputs = x[0].numel()
    outputs = network.double().eval()(x[:1]).numel()
    chebact.to_c(network, tmp_path / "network.c", example=x, real="double")
    main = tmp_path / "main.c"
    main.write_text(MAIN % (inputs, outputs, inputs, outputs))
    checks = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g"]
    command = [compiler(), *STRICT, *checks, str(main), "-o", str(tmp_path / "main"), "-lm"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("the compiler has no sanitizers")
    result = subprocess.run([str(tmp_path / "main")], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    numbers = torch.tensor([(k * 37 % 101 - 50) / 25 for k in range(inputs)], dtype=torch.float64)
    wanted = network(numbers.reshape(1, *x.shape[1:])).detach().flatten()
    got = torch.tensor([float(line) for line in result.stdout.split()], dtype=torch.float64)
    assert (got - wanted).abs().max() <= 1e-12 * wanted.abs().max()


def test_hooks_of_layers_and_learned_activations_count(tmp_path):
    network = nn.Sequential(nn.Conv2d(2, 3, 1), chebact.ChebyshevLagrange(3), nn.ReLU())
    network[0].register_forward_hook(lambda part, given, result: 2 * result)
    network[1].register_forward_hook(lambda part, given, result: result - 1)
    assert_c_agrees(stirred(network), drawn(2, 2, 3, 3).double(), tmp_path)


def test_other_layers_that_inherit_are_read_as_they_compute(tmp_path):
    class Doubled(nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)

    assert_c_agrees(nn.Sequential(Doubled(3, 2), nn.Tanh()), drawn(2, 3).double(), tmp_path)


def test_weights_that_are_computed_are_constants(tmp_path):
    normed = nn.utils.parametrizations.weight_norm(nn.Conv2d(2, 3, 2))
    network = Forward(lambda own, x: own.conv(x) @ own.weight.abs(), conv=normed, weight=nn.Parameter(drawn(4, 2)))
    assert_c_agrees(network, drawn(2, 2, 5, 5).double(), tmp_path)
