"""Make a tiny language model of our own: random weights, own tokenizer, the same bytes every time.

Usage: python make_model.py FOLDER [--dtype bfloat16|float32]

Four layers and eight heads, so that it splits by tensor (1, 2, 4, 8) and by pipeline (1, 2, 4). Nothing is
downloaded: the tokenizer is trained on pseudo-words drawn from a seed. What it says is noise; it says the
same noise whichever way it is split, and that is what it is for.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM

SEED = 7
VOCABULARY = 2048
SPECIAL = ["<pad>", "<bos>", "<eos>", "<user>", "<assistant>", "<system>"]
CHAT_TEMPLATE = (
    "<bos>{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def sentences(count: int = 4000) -> list[str]:
    """Return `count` sentences of made-up words, the same ones for every run."""
    draw = random.Random(SEED)  # noqa: S311 - to be repeated, not to be secret
    syllables = [first + second for first in "bdfgklmnprstvz" for second in ("a", "e", "i", "o", "u", "ar", "en", "il")]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(3000)]
    return [" ".join(draw.choices(words, k=draw.randint(4, 14))) + "." for _ in range(count)]


def write_tokenizer(folder: Path) -> None:
    """Train a byte-level BPE and write it with its chat template."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=SPECIAL, initial_alphabet=sorted(alphabet), show_progress=False
    )
    tokenizer.train_from_iterator(sentences(), trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    facts = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<bos>",
        "eos_token": "<eos>",
        "pad_token": "<pad>",
        "model_max_length": 4096,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(facts, indent=2) + "\n")


def write_model(folder: Path, dtype: str) -> None:
    """Draw the weights from the seed and write them with their configuration."""
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=256,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=8,
        num_key_value_heads=8,
        head_dim=32,
        max_position_embeddings=4096,
        bos_token_id=SPECIAL.index("<bos>"),
        eos_token_id=SPECIAL.index("<eos>"),
        pad_token_id=SPECIAL.index("<pad>"),
        tie_word_embeddings=False,
        dtype=dtype,
    )
    # Drawn in float32 always, so that the two kinds are the same model but for rounding.
    model = LlamaForCausalLM(config).to(torch.float32)
    with torch.no_grad():  # never the likeliest token: no answer ends early, and what is printed are words
        model.lm_head.weight[: len(SPECIAL) + len(pre_tokenizers.ByteLevel.alphabet())] = 0
    model.to(getattr(torch, dtype)).save_pretrained(folder)


def main() -> None:
    """Write the model into FOLDER and print the sha256 of each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], default="bfloat16")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(arguments.folder)
    write_model(arguments.folder, arguments.dtype)
    for path in sorted(arguments.folder.iterdir()):
        print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}")


if __name__ == "__main__":
    main()
