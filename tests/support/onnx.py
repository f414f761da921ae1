"""A model in onnxruntime."""

import warnings

import pytest
import torch


def onnx_session(model, inputs, path, dynamic=True):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed")
    shapes = tuple({0: torch.export.Dim("batch", min=1, max=64)} for _ in inputs) if dynamic else None
    with warnings.catch_warnings(action="ignore"):  # of the exporter about its own parts
        torch.onnx.export(model, inputs, str(path), dynamo=True, dynamic_shapes=shapes, verbose=False)
    return runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
