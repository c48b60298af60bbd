"""A small GPT-2 with the Trainer of transformers, on random tokens."""

from __future__ import annotations

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.manual_seed(0)
config = GPT2Config(vocab_size=50, n_positions=16, n_embd=32, n_layer=2, n_head=2)
tokens = torch.randint(0, 50, (4096, 16))
arguments = TrainingArguments(
    output_dir="hf_trainer",
    per_device_train_batch_size=4,
    gradient_accumulation_steps=2,
    max_steps=100,
    logging_steps=1,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
    use_cpu=True,
)
Trainer(
    model=GPT2LMHeadModel(config),
    args=arguments,
    train_dataset=[{"input_ids": one, "labels": one} for one in tokens],
).train()
