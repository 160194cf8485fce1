"""Counts the parameters of models as transformers builds them: run by the engine's own Python.

Reads a JSON list of configs, each with ``model_type``, from standard input; answers with a list of the full config and
the number of parameters of its language model. Nothing is allocated: torch's ``meta`` device.
"""

from __future__ import annotations

import json
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

BESIDE = ("vision", "visual", "multi_modal", "mtp")


def count(keys):
    """Build one model without memory and count."""
    config = AutoConfig.for_model(**keys)
    with torch.device("meta"):
        try:
            built = AutoModelForCausalLM.from_config(config)
        except ValueError:  # a model with a vision tower has another class
            built = AutoModelForImageTextToText.from_config(config)
    parameters = sum(p.numel() for name, p in built.named_parameters() if not any(word in name for word in BESIDE))
    return {"parameters": parameters, "config": {**config.to_dict(), "architectures": [type(built).__name__]}}


json.dump([count(keys) for keys in json.load(sys.stdin)], sys.stdout, default=str)
