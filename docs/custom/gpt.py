"""A GPT on the characters of a text, like nanoGPT's: AdamW with parameter groups, accumulation, a cosine, clipping."""

import argparse
import math
import os
from pathlib import Path

import torch
from gpt_model import GPT
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=8, help="sequences of a rank in a micro-batch")
parser.add_argument("--accumulate", type=int, default=2, help="micro-batches of a step")
parser.add_argument("--length", type=int, default=64)
parser.add_argument("--steps", type=int, default=500)
arguments = parser.parse_args()

device = f"cuda:{os.environ['LOCAL_RANK']}" if torch.cuda.is_available() else "cpu"
distributed.init_process_group("nccl" if device != "cpu" else "gloo")
text = Path(__file__).with_name("gpt_model.py").read_text()  # any text will do
characters = sorted(set(text))
tokens = torch.tensor([characters.index(one) for one in text])

torch.manual_seed(0)
model = GPT(len(characters), arguments.length, layers=4, heads=4, width=128).to(device)
decayed = [one for one in model.parameters() if one.dim() >= 2]
others = [one for one in model.parameters() if one.dim() < 2]
groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95))
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: 0.5 * (1 + math.cos(math.pi * step / arguments.steps))
)
model = DistributedDataParallel(model)

torch.manual_seed(distributed.get_rank())  # each rank reads its own windows
for _ in range(arguments.steps):
    for micro in range(arguments.accumulate):
        begins = torch.randint(len(tokens) - arguments.length - 1, (arguments.batch_size, 1))
        windows = tokens[begins + torch.arange(arguments.length + 1)].to(device)
        model.require_backward_grad_sync = micro == arguments.accumulate - 1
        scores = model(windows[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())
        (loss / arguments.accumulate).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    optimizer.zero_grad()
distributed.destroy_process_group()
