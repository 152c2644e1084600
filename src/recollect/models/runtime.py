"""onnxruntime, kept from telling anybody that it runs."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any


def onnxruntime() -> Any:
    """The module, which ships no types.

    Its releases from 1.29 on keep an identifier in the user's cache and report every model that is
    loaded to their maker, unless they are told not to before they are imported. Where an
    application has imported it before us, what can still be turned off is.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    ort = import_module("onnxruntime")
    ort.disable_telemetry_events()
    return ort
