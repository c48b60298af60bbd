"""Every figure of suites/published against its source: the source's file is parsed at its commit and compared.

python benchmarks/published_tables.py FOLDER

FOLDER holds clones of the sources, as OWNER+NAME/repo or NAME. The figures in suites/published were typed from reading
the sources. This program finds each again in the source's own table, with its batch, precision and model.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

TABLES = Path(__file__).parents[1] / "suites/published"
_SOURCE = re.compile(r"https://github\.com/([^/]+)/([^/]+)/blob/([0-9a-f]{40})/(.+)")


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A figure of a source."""

    case: str
    """Our name of its curve."""
    gpus: int
    figure: Decimal
    facts: dict[str, Any] = field(default_factory=dict)
    """Its settings according to the source, by our keys."""


def torchtitan(text: str) -> Iterator[Cell]:
    names = {
        "FSDP": "8b-fsdp",
        "FSDP + torch.compile": "8b-fsdp-compile",
        "FSDP + torch.compile + Float8": "8b-fsdp-compile-float8",
        "2D": "70b-2d",
        "2D + AsyncTP": "70b-2d-asynctp",
        "1F1B": "405b-3d-1f1b",
        "Interleaved 1F1B": "405b-3d-interleaved",
    }
    for (heading,), columns, row in _rows(text, r"\*\*(Table [1345])\*\*.*"):
        if columns[1] != "TPS/GPU":
            continue
        local, whole = (int(_found(rf"{size} batch size (\d+)", heading)) for size in ("Local", "global"))
        is_curve = int(_found(r"(\d+) GPUs", heading)) * local == whole
        size = _found(r"Llama 3.1 (\d+)B", heading)
        precision = "float8" if "Float8" in heading + row[0] else "bf16"
        yield Cell(
            case=f"llama3_1-{names[row[0]]}",
            gpus=int(_found(r"(\d+) GPUs", heading)),
            figure=Decimal(row[1].replace(",", "")),
            facts={
                "model": f"llama3.1-{size}b",
                "precision": precision,
                **({"batch_per_rank": local} if is_curve else {"global_batch": whole}),
            },
        )


def llm_foundry(text: str) -> Iterator[Cell]:
    for (heading,), columns, row in _rows(text, r"## (.*)"):
        values = dict(zip(columns, row, strict=True))
        if not heading.startswith("## H100 80GB BF16") or values["GradAccum"] != "1":
            continue
        batch, model = int(values["MicroBatchSize"]), f"mpt-{values['Model']}"
        for case in (model, f"{model}-batch{batch}"):
            yield Cell(
                case=case,
                gpus=int(values["# GPUs"]),
                figure=Decimal(values["Throughput (T/s)"]),
                facts={
                    "model": model,
                    "precision": values["Precision"].removeprefix("amp_"),
                    "batch_per_rank": batch,
                    "parameters": int(values["NumParams"]),
                    "tokens_per_example": int(values["SeqLen (T)"]),
                },
            )


def dlperf(text: str) -> Iterator[Cell]:
    for (model, settings), columns, row in _rows(text, r"### (.*)", r"#### (.*)"):
        if columns[:2] != ["node num", "device num"]:
            continue
        assert int(row[1]) <= 8 * int(row[0])
        prefix = "resnet50" if "ResNet50" in model else "bert"
        precision = "fp32" if "FP32" in settings else "amp"
        for name, cell in zip(columns[2:], row[2:], strict=True):
            plain = re.sub(r"<sup>.*?</sup>|\[|\]\(.*?\)", "", re.sub(r"<br */?>", " ", name)).lower()
            batch = re.search(r"bsz=(\d+)", plain) or re.search(r"batch size = (\d+)", settings)
            if batch is None or "max" in settings:
                continue
            framework = (
                re.sub(r"bsz=\d+|w/(?!o)", "", plain).replace("w/o clip", "noclip").replace(" 1.x", "1")
            )
            yield Cell(
                case="-".join([prefix, precision, *framework.replace(" 2.x", "2").split()]),
                gpus=int(row[1]),
                figure=Decimal(cell),
                facts={
                    "model": {"resnet50": "resnet50", "bert": "bert-base"}[prefix],
                    "precision": {"fp32": "fp32", "amp": "fp16"}[precision],
                    "batch_per_rank": int(batch[1]),
                },
            )


def megatron(text: str) -> Iterator[Cell]:
    pattern = (
        r"strong scales the standard GPT-3 model .* from (\d+) H100 GPUs to ([\d,]+) GPUs, using the same batch size "
        r"of ([\d,]+) sequences .* reduction in MFU from (\d+)% to (\d+)%"
    )
    found = re.search(pattern, text)
    assert found is not None
    few, many, batch, high, low = (int(group.replace(",", "")) for group in found.groups())
    tokens = int(_found(r"\*\*Sequence length\*\*: ([\d,]+) tokens", text).replace(",", ""))
    for gpus, mfu in ((few, high), (many, low)):
        facts = {"model": "gpt3-175b", "global_batch": batch, "tokens_per_example": tokens}
        yield Cell(case="gpt3-175b", gpus=gpus, figure=Decimal(mfu), facts=facts)


PARSERS: dict[str, Callable[[str], Iterator[Cell]]] = {
    "dlperf": dlperf, "llm-foundry": llm_foundry, "megatron-lm": megatron, "torchtitan": torchtitan,
}  # fmt: skip


def _rows(text: str, *headings: str) -> Iterator[tuple[list[str], list[str], list[str]]]:
    """For each row of a Markdown table: the last line that matches each of `headings`, the columns, the cells."""
    last, columns = ["" for _ in headings], list[str]()
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            last = [
                line if re.fullmatch(each, line) else old for each, old in zip(headings, last, strict=True)
            ]
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not columns:
            columns = cells
        elif set(line) - set("|-: "):
            yield last, columns, cells


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return found[1] if found else "0"


def source_text(source: str, clones: Path) -> str:
    """The source's file at its commit. Raises SystemExit if no clone has it."""
    found = _SOURCE.fullmatch(source)
    assert found is not None, source
    owner, name, commit, path = found.groups()
    folder = next((one for one in (clones / f"{owner}+{name}/repo", clones / name) if one.is_dir()), None)
    if folder is None:
        raise SystemExit(f"no clone of {owner}/{name} in {clones}: clone it there")
    show = ["git", "-C", str(folder), "show", f"{commit}:{path}"]
    done = subprocess.run(show, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr.strip()}")
    return done.stdout


def differences(table: dict[str, Any], cells: list[Cell]) -> Iterator[str]:
    """Each figure or fact that the source does not have so."""
    known: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        known.setdefault((cell.case, cell.gpus), []).append(cell)
    for curve in table["curve"]:
        ours = {"tokens_per_example": table.get("tokens_per_example"), **curve}
        for gpus, figure in curve["figures"]:
            place = f"{curve['name']} on {gpus} GPUs"
            there = [
                cell
                for cell in known.get((curve["name"], gpus), [])
                if all(ours.get(key) == value for key, value in cell.facts.items())
            ]
            if len(there) != 1:
                yield f"{place}: {len(there)} cells of the source have these settings"
            elif there[0].figure != Decimal(str(figure)):
                yield f"{place}: {figure} here, {there[0].figure} in the source"


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    failed = False
    for path in sorted(TABLES.glob("*.toml")):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        cells = list(PARSERS[path.stem](source_text(table["source"], Path(sys.argv[1]))))
        found = list(differences(table, cells))
        count = sum(len(curve["figures"]) for curve in table["curve"])
        print(f"{path.name}: {count} figures, {len(found)} differ from the source")
        print("".join(f"  {line}\n" for line in found), end="")
        failed |= bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
