"""The base class of learned activations: one parameter with degree + 1 numbers per channel, replica or group."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import fx, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from chebact.basis import Basis
from chebact.channels import describe_axes, find_axis
from chebact.checks import check_axis, check_count, check_dtype, check_module, check_tensor, must_be
from chebact.functional import apply_basis, check_tensors
from chebact.lazy_parameter import LazyParameter
from chebact.torch_modes import stored_parameter

__all__ = ["EXTRA_STATE", "FOLDED_NAME", "LearnedActivation", "add_once", "learned_activations"]

EXTRA_STATE = "_extra_state"  # torch's name in a state dict for data that is not a parameter or buffer
_Tensor = torch.Tensor
FOLDED_NAME = "c0"  # a buffer that only a folded activation has
_FOLDED_STATE = (
    "the state must be that of a model before fold_, got that of a folded one; load it into chebact.fold_(model), or "
    "save the state of the model before fold_"
)


class LearnedActivation(nn.Module):
    """A module with the parameter `parameter_name`, whose number of channels may be inferred from the first call."""

    parameter_name: ClassVar[Literal["heights", "weights"]]
    basis: Basis
    inplace: bool = False
    channel_dim_given: bool = True

    def _make(
        self, channels: Any, groups: Any, channel_dim: Any, replicas: Any, device: Any, dtype: Any, degree: int
    ) -> None:
        if isinstance(channels, bool):  # nn.ReLU(True)
            hint = f"a builder that calls act_layer(True) takes act_layer=lambda inplace: {type(self).__name__}()"
            raise TypeError(must_be("channels", "an integer", channels, hint))
        self.channels = None if channels is None else check_count("channels", channels)
        self.groups = None if groups is None else check_count("groups", groups)
        self.replicas = None if replicas is None else check_count("replicas", replicas)
        self.channel_dim_given = channel_dim is not None
        self.channel_dim = check_axis(1 if channel_dim is None else channel_dim)
        if dtype is not None:
            check_dtype(dtype)
        rows = self._rows()
        if rows is None:
            parameter: nn.Parameter = LazyParameter(device=device, dtype=dtype, start=self.initial_numbers)
        else:
            parameter = nn.Parameter(torch.empty(self._shape(rows, degree), device=device, dtype=dtype))
        self.register_parameter(self.parameter_name, parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The activation of x, in its shape, type and memory format."""
        if type(x) is not _Tensor and isinstance(x, fx.Proxy):
            return self._as_leaf(x)
        name = self.parameter_name
        known = (
            self.groups is None and self.channels is not None and self.channels != 1
        )  # torch.compile stops at lazy ones
        learned: torch.Tensor | None = stored_parameter(self, name) if known else None
        if learned is None:
            learned = self._rows_for(x)
        return apply_basis(x, learned, self.basis, self.channel_dim, name, inplace=self.inplace, owner=self)

    def _as_leaf(self, x: Any) -> Any:
        """One call of this module in the graph of torch.fx.symbolic_trace, like the activations of torch."""
        try:
            path = x.tracer.path_of_module(self)
        except NameError:
            path = ""
        if not path:
            raise TypeError("torch.fx must trace a model that contains the activation, got the activation itself")
        return x.tracer.create_proxy("call_module", path, (x,), {})

    @property
    def learned(self) -> torch.Tensor:
        """The heights or weights: (row, degree + 1) or (replica, row, degree + 1), one row per channel or group."""
        result: torch.Tensor = getattr(self, self.parameter_name)
        return result

    @property
    def is_materialized(self) -> bool:
        """Whether the number of channels is known; otherwise the first call sets it."""
        learned = self.learned
        return not is_lazy(learned) or (isinstance(learned, LazyParameter) and learned.settle())

    def channel_row(self, channel: int, replica: int = 0) -> torch.Tensor:
        """The parameters of one channel: (degree + 1,)."""
        rows = self.learned if self.replicas is None else self.learned[replica]
        return rows[channel * rows.shape[0] // (self.channels or rows.shape[0])]

    def channel_axis(self, x: torch.Tensor) -> int | None:
        """The channel axis of an input, counted over all its axes; None if all elements are one channel."""
        return None if self.channels is None else find_axis(x.dim(), self.channel_dim, self.replicas is not None)

    def _rows(self) -> int | None:
        """The number of rows of the parameter, or None while the number of channels is unknown."""
        if self.groups == 1:
            return 1
        if self.channels is None:
            return None
        if self.groups is not None and self.channels % self.groups:
            raise ValueError(must_be("groups", f"a divisor of channels={self.channels}", self.groups))
        return self.groups or self.channels

    def _shape(self, rows: int, degree: int) -> tuple[int, ...]:
        return (rows, degree + 1) if self.replicas is None else (self.replicas, rows, degree + 1)

    def learn_channels(self, x: torch.Tensor) -> None:
        """Infer the number of channels from the first x."""
        check_tensor("x", x)
        axis = find_axis(x.dim(), self.channel_dim, self.replicas is not None)
        if axis is None:
            need = f"a tensor with an axis channel_dim={self.channel_dim} in the first call, to infer the channels"
            raise ValueError(must_be("x", need, x.shape, "pass channels or groups=1"))
        if x.dim() - (self.replicas is not None) == 3 and not self.channel_dim_given:
            hint = "pass channel_dim=-1 for (N, L, C), channel_dim=1 for (N, C, L), or groups=1 to share one function"
            hint += f"; to a builder pass act_layer=functools.partial({type(self).__name__}, channel_dim=-1)"
            need = "set if the number of channels is inferred and x has three axes"
            raise ValueError(must_be("channel_dim", need, x.shape, hint))
        if x.shape[axis] == 0:
            raise ValueError(must_be("x", "a tensor with channels in the first call, to infer their number", x.shape))
        self.channels = x.shape[axis]
        try:
            rows = self._rows()
        except ValueError:
            self.channels = None
            raise
        assert rows is not None
        if is_lazy(self.learned):  # otherwise a state, or the original of a copy, has set the rows
            self._materialize(self._shape(rows, self.basis.degree), x)

    def _materialize(self, shape: tuple[int, ...], like: torch.Tensor | None = None) -> None:
        parameter: Any = self.learned
        parameter.materialize(shape, device=None if like is None else like.device)
        self.reset_parameters()

    def _rows_for(self, x: torch.Tensor) -> torch.Tensor:
        """The parameter with one row per channel, for x."""
        if self.channels is None and self.groups != 1:
            if torch.compiler.is_compiling():
                from chebact.graph_calls import learn_channels  # imports the compiler, which is already loaded here

                learn_channels(self, x)
            else:
                self.learn_channels(x)
        learned = self.learned
        if self.channels is not None and (self.groups == 1 or self.channels == 1):
            self._check_channels(x, learned)
        if self.groups is None or self.groups == 1 or self.channels is None:
            return learned
        return learned.repeat_interleave(self.channels // self.groups, dim=-2)

    def _check_channels(self, x: torch.Tensor, learned: torch.Tensor) -> None:
        """One row fits any x, so compare the number of channels, if the module has one."""
        check_tensors(x, learned, self.parameter_name)
        axis = find_axis(x.dim(), self.channel_dim, self.replicas is not None)
        if axis is not None and self.channels is not None and x.shape[axis] != self.channels:
            meant = describe_axes(x.shape, self.channels, self.replicas is not None)
            raise ValueError(
                f"x must have channels={self.channels} at axis {axis}, got {x.shape[axis]} in shape "
                f"{tuple(x.shape)}{meant}"
            )

    def _set_learned(self, numbers: torch.Tensor) -> None:
        """Write the parameter, also if it is parametrized (torch.nn.utils.parametrize)."""
        with torch.no_grad():
            if parametrize.is_parametrized(self, self.parameter_name):
                like = self.learned
                setattr(self, self.parameter_name, numbers.expand(like.shape).to(like))
            else:
                self.learned.copy_(numbers.expand(self.learned.shape))

    def reset_parameters(self) -> None:
        """Set the parameter to its initial numbers."""
        if self.is_materialized:
            self._set_learned(self.initial_numbers(tuple(self.learned.shape)))

    def initial_numbers(self, shape: tuple[int, ...]) -> torch.Tensor:
        """The first numbers of a parameter of that shape, or what broadcasts to it."""
        raise NotImplementedError

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        if self.is_materialized:
            super()._save_to_state_dict(destination, prefix, keep_vars)
        else:  # a tensor without rows, which torch.load(weights_only=True) reads, unlike a lazy parameter
            destination[prefix + self.parameter_name] = torch.empty(0, self.basis.degree + 1)
            if type(self).get_extra_state is not nn.Module.get_extra_state:
                destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        key = prefix + self.parameter_name
        strict, errors = args[1], args[-1]
        if strict and prefix + FOLDED_NAME in state_dict:
            add_once(errors, _FOLDED_STATE)
        given = state_dict.get(key)
        if isinstance(given, torch.Tensor) and not is_lazy(given) and given.dim() > 1:
            degree = given.shape[-1] - 1
            if degree != self.basis.degree:
                name = f"{self.parameter_name} of {prefix.rstrip('.')}" if prefix else self.parameter_name
                errors.append(
                    f"{name} must be of degree {self.basis.degree}, got degree {degree} in the state; build the model "
                    f"with degree={degree}"
                )
                return
        if given is not None and not self.is_materialized:
            if is_lazy(given) or given.numel() == 0:
                return  # lazy into lazy: nothing to copy
            if not self._fits(given):
                errors.append(
                    f"{key} must have shape {self._expected()}, got {tuple(given.shape)}; load into a module with the "
                    "same degree, groups and replicas"
                )
                return
            self.channels = self.channels or (given.shape[-2] if self.groups is None else None)
            self._materialize(tuple(given.shape))
        super()._load_from_state_dict(state_dict, prefix, *args)

    def _expected(self) -> str:
        rows = "channel" if self.groups is None else str(self.groups)
        replicas = "" if self.replicas is None else f"{self.replicas}, "
        return f"({replicas}{rows}, {self.basis.degree + 1})"

    def _fits(self, given: torch.Tensor) -> bool:
        """Whether `given` fits as the parameter of this module, for some number of channels."""
        if given.dim() != (2 if self.replicas is None else 3) or given.shape[-1] != self.basis.degree + 1:
            return False
        return given.shape[0] == (self.replicas or given.shape[0]) and given.shape[-2] == (
            self.groups or given.shape[-2]
        )

    def _size_repr(self) -> str:
        parts = [str(self.channels) if self.channels is not None else "channels=None"]
        parts += [f"groups={self.groups}"] if self.groups is not None else []
        parts += [f"degree={self.basis.degree}"]
        lazy = self.channels is None and self.groups != 1
        explicit = self.channel_dim != 1 or (lazy and self.channel_dim_given)
        parts += [f"channel_dim={self.channel_dim}"] if explicit else []
        parts += [f"replicas={self.replicas}"] if self.replicas is not None else []
        return ", ".join(parts)


def add_once(errors: list[str], message: str) -> None:
    """Add a message for all activations of a model to the errors of load_state_dict."""
    if message not in errors:
        errors.append(message)


def learned_activations(model: Any) -> dict[str, LearnedActivation]:
    """The learned activations of a model by their names; a ValueError if there are none."""
    check_module("model", model)
    found = {name: part for name, part in model.named_modules() if isinstance(part, LearnedActivation)}
    if not found:
        kinds = "ChebyshevLagrange or WeightedChebyshev"
        raise ValueError(must_be("model", f"a module with a learned activation ({kinds})", model))
    return found
