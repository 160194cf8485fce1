"""Reading a config.json as Hugging Face writes it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from lockstep.model.families import FAMILIES, TIED
from lockstep.model.keys import ConfigError, Keys, UnknownShape
from lockstep.model.quantization import merged, read_quantization
from lockstep.model.shape import Attention, Layer, ModelShape, Vision

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ConfigError", "UnknownShape", "load_config", "read_config"]

DTYPE_BYTES = {"bfloat16": 2.0, "float16": 2.0, "float32": 4.0}


def load_config(path: Path) -> ModelShape:
    """Read a config.json, with the hf_quant_config.json and the safetensors index that may lie beside it.

    Parameters
    ----------
    path
        A config.json, or the folder that holds it.

    Returns
    -------
    ModelShape
        Named by the path.

    Raises
    ------
    ConfigError
        If a file is missing, is not JSON, or has a key that cannot be used.
    UnknownShape
        If Lockstep does not know the architecture, or the default of a key that is left out.
    """
    path = path / "config.json" if path.is_dir() else path
    config = load_json(path)
    beside = path.with_name("hf_quant_config.json")
    if beside.is_file() and "quantization_config" not in config:
        config = merged(config, load_json(beside))
    index = path.with_name("model.safetensors.index.json")
    size = index_bytes(index) if index.is_file() else None
    return replace(read_config(config, str(path)), checkpoint=size)


def index_bytes(path: Path) -> int:
    """Return ``metadata.total_size`` of a safetensors index: bytes of all tensors of the checkpoint."""
    metadata = Keys(str(path), load_json(path)).section("metadata")
    if metadata is None:
        raise ConfigError(str(path), "metadata is missing; metadata.total_size is needed")
    return metadata.positive("total_size")


def load_json(path: Path) -> dict[str, object]:
    """Read one JSON object; raises ConfigError with the reason."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(str(path), f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ConfigError(str(path), "is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:  # not JSON, too many digits, too deep
        raise ConfigError(str(path), f"is not JSON ({error})") from error
    if not isinstance(content, dict):
        raise ConfigError(str(path), f"holds a {type(content).__name__}; an object is needed")
    return content


def read_config(config: Mapping[str, object], where: str) -> ModelShape:
    """Turn the content of a config.json into a shape.

    Parameters
    ----------
    config
        The parsed object.
    where
        File or model id, for messages.

    Returns
    -------
    ModelShape
        The shape.

    Raises
    ------
    ConfigError
        If a key is missing or cannot be used.
    UnknownShape
        If Lockstep does not know the architecture, or the default of a key that is left out.
    """
    whole = Keys(where, config)
    architecture = next(iter(whole.texts("architectures")), "")
    if not architecture:
        raise ConfigError(where, "architectures is missing; the first entry says which model class reads this config")
    family = FAMILIES.get(architecture)
    if family is None:
        raise UnknownShape(where, f"architecture {architecture} is not one that Lockstep knows")
    text = whole.section("text_config") or whole.section("language_config") or whole
    # Nested configs put a few keys on either level; the inner one wins.
    language = Keys(where, {**config, **text.values})
    layers = family(language)
    return ModelShape(
        name=where,
        architecture=architecture,
        hidden=language.positive("hidden_size"),
        vocab=language.positive("vocab_size"),
        layers=layers,
        tied=language.flag("tie_word_embeddings", default=architecture in TIED),
        dtype_bytes=DTYPE_BYTES.get(language.text("dtype", "torch_dtype", default="bfloat16"), 2.0),
        quantization=read_quantization(language, len(layers)),
        context=language.integer("max_position_embeddings", default=0),
        draft=draft_layers(language, layers),
        vision=read_vision(whole),
    )


def draft_layers(keys: Keys, layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """Return the layers for multi-token prediction: each is built as the last decoder layer (with attention)."""
    count = keys.integer("num_nextn_predict_layers", "mtp_num_hidden_layers", default=0)
    count = min(count, len(layers)) if keys.flag("use_mtp", default=True) else 0
    like = next((layer for layer in reversed(layers) if layer.mixer and layer.block), None)
    if like and not isinstance(like.mixer, Attention):
        like = layers[-1]
    return (like,) * count if like else ()


def read_vision(whole: Keys) -> Vision | None:
    """Return the vision tower, with zeros for what the config does not say."""
    tower = whole.section("vision_config")
    if tower is None:
        return None
    return Vision(
        heads=tower.integer("num_attention_heads", "num_heads", "vt_num_attention_heads", default=0),
        layers=tower.integer("num_hidden_layers", "depth", "vt_num_hidden_layers", default=0),
        hidden=tower.integer("hidden_size", "vt_hidden_size", default=0),
        width=tower.integer("intermediate_size", "vt_intermediate_size", default=0),
    )
