"""Two processes train one model by DDP over gloo, and get what one process gets."""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import chebact


def network():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 5), chebact.ChebyshevLagrange(5, init="tanh"), nn.Linear(5, 1))
    return net.double()


def data():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(16, 3, dtype=torch.float64, generator=generator)
    return x, x.sum(1, keepdim=True).sin()


def train(net, x, y):
    steps = torch.optim.SGD(chebact.parameter_groups(net, lr=0.1), lr=0.1)
    for _ in range(5):
        steps.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        steps.step()


def one_of_two(rank, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2)
    net = DistributedDataParallel(network())
    x, y = data()
    with chebact.kernels.use("reference"):  # two children need not compile each
        train(net, x[rank::2], y[rank::2])
    torch.save(net.module.state_dict(), f"{folder}/{rank}.pt")
    dist.barrier()  # nobody leaves while another is still connected
    dist.destroy_process_group()


@pytest.mark.skipif(not dist.is_gloo_available(), reason="this torch has no gloo")
def test_two_processes_end_where_one_does(tmp_path):
    torch.multiprocessing.spawn(one_of_two, (str(tmp_path),), nprocs=2)
    alone = network()
    train(alone, *data())
    for rank in (0, 1):
        torch.testing.assert_close(torch.load(tmp_path / f"{rank}.pt"), alone.state_dict(), rtol=1e-9, atol=1e-10)
