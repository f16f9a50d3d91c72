"""Causal language models made on the spot: random weights, and a tokenizer trained on the spot."""

import random
from pathlib import Path
from typing import Any

WORDS = tuple(
    word
    for line in (
        "bread flour water yeast salt oven baker dough loaf crust village river bridge stone mill wheel grain market",
        "square bell tower sunday morning evening winter summer train station ticket journey mountain valley forest",
        "path lake boat the a of in on with from before after near and or but not is was has had made found kept told",
        "asked went came saw",
    )
    for word in line.split()
)


def text(seed: int, words: int) -> str:
    """A sentence of so many words."""
    drawn = random.Random(seed).choices(WORDS, k=words)
    return " ".join(drawn).capitalize() + "."


def make_tokenizer(folder: Path, size: int, *, begins: bool = True) -> Any:
    """A byte-level BPE tokenizer of at most `size` tokens; `begins`: it puts `<s>` before a text."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<s>", "</s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )  # fmt: skip
    tokenizer.train_from_iterator([text(seed, 200) for seed in range(50)], trainer)
    if begins:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    made = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")
    made.save_pretrained(folder)
    return made


def make_llama(
    folder: Path, *, hidden: int = 64, layers: int = 2, heads: int = 4, window: int = 2048, vocabulary: int = 800,
    seed: int = 0, begins: bool = True, dtype: str = "float32", spread: float = 0.1,
) -> Path:  # fmt: skip
    """A folder that holds a random Llama and its tokenizer; `spread` is the deviation of its weights."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    make_tokenizer(folder, vocabulary, begins=begins)
    torch.manual_seed(seed)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary, hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=layers,
            num_attention_heads=heads, num_key_value_heads=max(1, heads // 2), max_position_embeddings=window,
            initializer_range=spread, bos_token_id=0, eos_token_id=1,
        )
    )  # fmt: skip
    model.to(getattr(torch, dtype)).save_pretrained(folder)
    return folder
