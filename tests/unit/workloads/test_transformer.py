from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch.utils.checkpoint import checkpoint

from bench import workloads
from bench.models.keyed_dropout import KeyedDropout
from bench.models.rotary import rotate, rotation
from bench.models.transformer import CausalAttention, Transformer, TransformerConfig
from bench.workloads.transformer_lm import TransformerLmOptions

TOKENS = torch.arange(40).view(2, 20) * 7 % 50
KEYS = torch.tensor([3, 8])


def transformer(**sizes: object) -> Transformer:
    """A small one whose parameters are all far from zero."""
    small = {"vocab_size": 50, "d_model": 24, "layers": 2, "heads": 3, "feed_forward": 40}
    given = {**small, "dropout": 0.0, "tie_embeddings": True, "seed": 0, **sizes}
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(**given))  # type: ignore[arg-type]
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model


def parameters(**options: object) -> int:
    kind = workloads.load("transformer_lm")
    with torch.device("meta"):
        model = kind(TransformerLmOptions(**options), "synthetic", None, 0).model()  # type: ignore[arg-type]
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("preset", "exactly", "about"),
    [
        ("1m", 1_017_216, 1e6),
        ("10m", 10_720_128, 1e7),
        ("124m", 123_587_328, 1.24e8),
        ("350m", 353_551_360, 3.5e8),
        ("1b", 1_311_082_496, 1.3e9),
        ("3b", 2_645_527_040, 2.7e9),
        ("7b", 6_648_762_368, 6.7e9),
    ],
)
def test_each_preset_has_the_parameters_of_its_name(preset: str, exactly: int, about: float) -> None:
    assert parameters(preset=preset) == exactly == pytest.approx(about, rel=0.08)


def test_the_124m_preset_is_gpt_2_small_without_biases_and_positions() -> None:
    # OpenAI's model has 124,439,808 parameters. Ours has no learned positions (1,024), no biases of linear layers
    # (9 x 768 in each of 12 layers) and no biases of 25 LayerNorms.
    ours = parameters(preset="124m", vocab_size=50_257)
    assert ours + 1_024 * 768 + 12 * 9 * 768 + 25 * 768 == 124_439_808
    # nanoGPT without biases prints 124,354,560 parameters of matrices and 19,200 of norms, positions among them
    assert parameters(preset="124m") + 1_024 * 768 == 124_354_560 + 19_200


def test_the_10m_preset_is_the_character_model_of_nanogpt() -> None:
    # "number of parameters: 10.65M", 65 characters, positions not counted
    assert round(parameters(preset="10m", vocab_size=65) / 1e6, 2) == 10.65


def test_untied_embeddings_are_a_matrix_more() -> None:
    assert parameters(preset="124m", tie_embeddings=False) - parameters(preset="124m") == 50_304 * 768


def naive_attention(layer: CausalAttention, x: np.ndarray) -> np.ndarray:
    """[T, C] to [T, C] in float64, one head, one query and one key at a time."""
    qkv = x @ layer.query_key_value.weight.detach().double().numpy().T
    size = layer.head_size
    heads = x.shape[1] // size
    queries, keys, values = qkv.reshape(len(x), heads, 3, size).transpose(2, 1, 0, 3)
    planes = 10_000.0 ** (-np.arange(size // 2) / (size // 2))

    def turned(vector: np.ndarray, position: int) -> np.ndarray:
        pairs = (vector[: size // 2] + 1j * vector[size // 2 :]) * np.exp(1j * position * planes)
        return np.concatenate([pairs.real, pairs.imag])

    out = np.zeros((len(x), heads, size))
    for head in range(heads):
        for at in range(len(x)):
            query = turned(queries[head, at], at)
            scores = np.array([query @ turned(keys[head, to], to) for to in range(at + 1)]) / np.sqrt(size)
            weights = np.exp(scores - scores.max())
            out[at, head] = weights @ values[head, : at + 1] / weights.sum()
    return out.reshape(x.shape) @ layer.project.weight.detach().double().numpy().T


def test_attention_is_the_naive_one_in_float64() -> None:
    torch.manual_seed(0)
    layer, x = CausalAttention(24, heads=3), torch.randn(2, 17, 24)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    by = rotation(torch.arange(17), 8, dtype=x.dtype)
    naive = np.stack([naive_attention(layer, one.double().numpy()) for one in x])
    np.testing.assert_allclose(layer(x, by).detach().numpy(), naive, rtol=1e-4, atol=1e-5)


def test_turned_queries_and_keys_know_their_distance_alone() -> None:
    torch.manual_seed(0)
    query, key = torch.randn(2, 1, 1, 1, 64, dtype=torch.float64)
    by = rotation(torch.arange(40), 64, dtype=torch.float64)
    queries, keys = (rotate(one.expand(1, 40, 1, 64), by)[0, :, 0] for one in (query, key))
    products = queries @ keys.T
    for distance in (-20, 0, 7):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=1e-5, atol=1e-5)
    assert abs(float(products[0, 7] - products[0, 0])) > 0.1
    torch.testing.assert_close(queries.norm(dim=1), query.norm().expand(40))


@pytest.mark.parametrize("tied", [False, True])
def test_there_is_a_logit_for_every_token_at_every_position(tied: bool) -> None:
    assert transformer(tie_embeddings=tied)(TOKENS, KEYS).shape == (2, 20, 50)


def test_a_later_token_changes_no_earlier_logit() -> None:
    model, other = transformer(), TOKENS.clone()
    other[:, 12] = (other[:, 12] + 1) % 50
    before, after = model(TOKENS, KEYS), model(other, KEYS)
    torch.testing.assert_close(after[:, :12], before[:, :12], rtol=0, atol=1e-5)
    assert not torch.isclose(after[:, 12:], before[:, 12:], atol=1e-3).all(dim=2).any()


def test_the_order_of_earlier_tokens_matters() -> None:
    model = transformer()
    turned = torch.cat([TOKENS[:, :19].flip(1), TOKENS[:, 19:]], dim=1)
    assert not torch.allclose(model(turned, KEYS)[:, 19], model(TOKENS, KEYS)[:, 19], atol=1e-2)


def gradients(model: Transformer, forward: Callable[..., torch.Tensor]) -> list[torch.Tensor]:
    model.zero_grad()
    torch.nn.functional.cross_entropy(forward(TOKENS, KEYS).flatten(0, 1), TOKENS.flatten()).backward()
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


def test_recomputed_activations_give_the_same_gradients_dropout_included() -> None:
    model = transformer(dropout=0.2)
    kept = gradients(model, model)
    for layer in model.layers:
        layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)  # type: ignore[method-assign]
    recomputed = gradients(model, model)
    assert len(kept) == len(recomputed) == len(list(model.parameters()))
    for one, other in zip(kept, recomputed, strict=True):
        assert torch.equal(one, other)


def test_the_whole_model_is_one_graph_for_the_compiler_and_drops_the_same() -> None:
    model = transformer(layers=1, dropout=0.2)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    for one, other in zip(gradients(model, model), gradients(model, compiled), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_under_autocast_queries_and_keys_are_turned_in_bf16() -> None:
    model, seen = transformer(), []
    model.layers[0].attention.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[1][0].dtype))
    exact = model(TOKENS, KEYS)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = model(TOKENS, KEYS)
    assert seen == [torch.float32, torch.bfloat16]
    assert rounded.dtype == torch.bfloat16
    assert float((rounded.float() - exact).detach().std() / exact.detach().std()) < 0.05


def test_each_dropout_layer_has_a_stream_of_its_own() -> None:
    layers = [m for m in transformer(dropout=0.1).modules() if isinstance(m, KeyedDropout)]
    assert len(layers) == len({layer.stream for layer in layers}) == 1 + 2 * 2


def test_branches_begin_smaller_by_the_root_of_their_number() -> None:
    kind = workloads.load("transformer_lm")
    torch.manual_seed(0)
    model = kind(TransformerLmOptions(preset="1m"), "synthetic", None, 0).model()
    assert isinstance(model, Transformer)
    assert float(model.embedding.weight.detach().std()) == pytest.approx(0.02, rel=0.02)
    for layer in model.layers:
        for weight in (layer.attention.project.weight, layer.feed_forward.project.weight):
            assert float(weight.detach().std()) == pytest.approx(0.02 / 10**0.5, rel=0.02)
        assert float(layer.feed_forward.widen.weight.detach().std()) == pytest.approx(0.02, rel=0.02)
