from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
import torch
from runs import workload

from bench import workloads
from bench.common.errors import InputError
from bench.data.text.vocabulary import PADDING
from bench.models.keyed_dropout import KeyedDropout
from bench.models.text_encoder import SelfAttention, TextEncoder


def encoder(**options: Any) -> TextEncoder:
    """A small one with weights large enough that everything in it shows."""
    torch.manual_seed(0)
    model = workload("text_classifier", **options).model()
    assert isinstance(model, TextEncoder)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


TOKENS = torch.tensor([[5, 9, 7, 40, 8, 3], [4, 30, PADDING, PADDING, PADDING, PADDING]], dtype=torch.int32)
KEYS = torch.arange(2)


@pytest.mark.parametrize("preset", ["ag_news_small", "imdb", "ag_news_large"])
def test_parameters_are_as_many_as_the_sizes_say(preset: str) -> None:
    kind = workloads.load("text_classifier")
    options = kind.Options(preset=preset)
    model = kind(options, "synthetic", None, 0).model()
    d, f = options.d_model, options.feed_forward
    layer = (4 * d * d + 4 * d) + (2 * d * f + f + d) + 4 * d
    expected = (options.vocab_size + options.sequence_length) * d + options.layers * layer + 2 * d
    classes = 2 if preset == "imdb" else 4
    expected += d * classes + classes
    assert sum(parameter.numel() for parameter in model.parameters()) == expected


@pytest.mark.parametrize("pooling", ["mean", "class_token"])
def test_more_padding_changes_no_logit(pooling: str) -> None:
    model = encoder(pooling=pooling)
    whole = model(TOKENS, KEYS)
    wider = torch.nn.functional.pad(TOKENS, (0, 5), value=PADDING)
    torch.testing.assert_close(model(wider, KEYS), whole, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(model(TOKENS[1:, :2], KEYS[1:]), whole[1:], rtol=1e-5, atol=1e-5)
    assert whole.shape == (2, 4)


def test_what_the_embedding_of_padding_is_changes_no_logit_and_gets_no_gradient() -> None:
    model = encoder()
    before = model(TOKENS, KEYS)
    with torch.no_grad():
        model.embedding.weight[PADDING] = 100.0
    after = model(TOKENS, KEYS)
    torch.testing.assert_close(after, before)
    after.sum().backward()
    assert model.embedding.weight.grad is not None
    assert torch.equal(model.embedding.weight.grad[PADDING], torch.zeros(model.config.d_model))


def test_attention_is_that_of_a_naive_one_in_float64() -> None:
    attention = encoder().layers[0].attention.double()
    assert isinstance(attention, SelfAttention)
    x, words = torch.randn(2, 6, 16, dtype=torch.float64), TOKENS != PADDING
    query, key, value = attention.query_key_value(x).view(2, 6, 3, 2, 8).unbind(2)
    expected = torch.zeros(2, 6, 2, 8, dtype=torch.float64)
    for text in range(2):
        places = words[text].nonzero()[:, 0]
        for head in range(2):
            scores = query[text, :, head] @ key[text, places, head].T / math.sqrt(8)
            expected[text, :, head] = scores.softmax(dim=1) @ value[text, places, head]
    torch.testing.assert_close(
        attention(x, words), attention.project(expected.flatten(2)), rtol=1e-10, atol=1e-10
    )


def test_the_order_of_words_matters() -> None:
    model = encoder()
    assert not torch.allclose(model(TOKENS[:1], KEYS[:1]), model(TOKENS[:1].flip(1), KEYS[:1]))


def test_bf16_stays_close() -> None:
    model = encoder()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model(TOKENS, KEYS)
    torch.testing.assert_close(rounded.float(), model(TOKENS, KEYS), rtol=0.1, atol=0.1)


def test_each_dropout_layer_has_a_stream_of_its_own_and_masks_follow_the_key() -> None:
    model = encoder(dropout=0.2, layers=2)
    layers = [module for module in model.modules() if isinstance(module, KeyedDropout)]
    assert len(layers) == len({layer.stream for layer in layers}) == 5
    both = model(TOKENS, KEYS)
    torch.testing.assert_close(model(TOKENS[1:], KEYS[1:]), both[1:])
    assert not torch.allclose(model(TOKENS[1:], KEYS[1:] + 1), both[1:])
    model.eval()
    torch.testing.assert_close(model(TOKENS, KEYS), model(TOKENS, KEYS + 1))


@pytest.mark.parametrize("pooling", ["mean", "class_token"])
def test_it_learns_the_generated_texts(pooling: str) -> None:
    made = workload("text_classifier", pooling=pooling, validation_examples=400)
    torch.manual_seed(0)
    model = made.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for first in range(0, 4_096, 64):
        places = torch.arange(first, first + 64)
        made.loss(model, made.batch(places, places)).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        _, correct = made.evaluate(model.eval(), made.validation_batch(list(range(400))))
    assert correct is not None
    assert float(correct.mean()) > 0.6  # chance is 0.25


def test_held_out_texts_are_not_trained_on_and_leave_the_training_texts_alone() -> None:
    few, many = workload("text_classifier"), workload("text_classifier", validation_examples=64)
    places = torch.arange(4_096)
    trained = few.batch(places, places)["tokens"]
    assert torch.equal(many.batch(places, places)["tokens"], trained)
    held_out = many.validation_batch(list(range(64)))["tokens"]
    assert not {row.numpy().tobytes() for row in held_out} & {row.numpy().tobytes() for row in trained}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_model": 30, "heads": 4}, "d_model is 30, heads is 4: heads must divide it"),
        ({"preset": "bert"}, "preset is 'bert': there are ag_news_small, imdb, ag_news_large"),
    ],
)
def test_impossible_sizes_are_refused_with_the_numbers(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        workloads.load("text_classifier").Options(**options)
    assert message in str(error.value)


def test_options_record_the_sizes_of_their_preset_and_come_back_from_a_record() -> None:
    kind = workloads.load("text_classifier").Options
    options = kind(preset="imdb", d_model=64)
    recorded = dataclasses.asdict(options)
    assert (recorded["d_model"], recorded["sequence_length"], recorded["classes"]) == (64, 512, None)
    assert kind(**recorded) == options
