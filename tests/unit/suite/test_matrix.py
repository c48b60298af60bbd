"""A case with a matrix: one case for each combination of its values."""

from __future__ import annotations

from tests.unit.suite.test_resolve import MATRIX, load, message


def test_matrix_makes_one_case_per_combination_named_after_it(write: object) -> None:
    suite = load(write, MATRIX)
    assert [case.name for case in suite.cases] == [
        "single",
        "ddp_strong~compile=false~learning_rate=0.1",
        "ddp_strong~compile=false~learning_rate=0.0002",
        "ddp_strong~compile=true~learning_rate=0.1",
        "ddp_strong~compile=true~learning_rate=0.0002",
    ]
    last = suite.cases[-1]
    assert (last.train.compile, last.train.learning_rate, last.train.precision) == (True, 2e-4, "bf16")


def test_a_case_with_a_matrix_is_chosen_by_its_own_name(write: object) -> None:
    assert len(load(write, MATRIX, cases=("ddp_strong",)).cases) == 4
    assert len(load(write, MATRIX, cases=("ddp_strong~compile=true*",)).cases) == 2


def test_matrix_values_are_safe_in_folder_names(write: object) -> None:
    text = MATRIX.replace(
        "{train.compile: [false, true], train.learning_rate: [0.1, 2e-4]}", "{data.source: ['a/../b']}"
    )
    text = text.replace("spiral_mlp", "mnist_cnn")
    assert "s.yaml:17:28: case ddp_strong~source=a-..-b: data.source is 'a/../b'" in message(write, text)


def test_a_matrix_lists_strategies_with_their_options(write: object) -> None:
    text = MATRIX.replace(
        "{train.compile: [false, true], train.learning_rate: [0.1, 2e-4]}",
        "{strategy: [single, {mesh: {dp_shard: 1, dp_replicate: 1}}, {name: fsdp, reshard: grad_op}]}",
    )
    single, mesh, fsdp = load(write, text, cases=("ddp_strong",)).cases
    assert [case.name for case in (single, mesh, fsdp)] == [
        "ddp_strong~strategy=single",
        "ddp_strong~strategy=mesh-dp_shard-1-dp_replicate-1",
        "ddp_strong~strategy=fsdp-reshard-grad_op",
    ]
    assert (single.strategy.name, mesh.strategy.name, fsdp.strategy.name) == ("single", "mesh", "fsdp")
    assert mesh.strategy.options["dp_shard"] == 1
    assert fsdp.strategy.options["reshard"] == "grad_op"


def test_matrix_values_that_get_the_same_name_are_refused(write: object) -> None:
    text = MATRIX.replace(
        "{train.compile: [false, true], train.learning_rate: [0.1, 2e-4]}", "{data.source: [a/b, a b]}"
    )
    assert message(write, text) == (
        "s.yaml:17:13: two combinations are both named ddp_strong~source=a-b: write their values differently"
    )


def test_a_matrix_of_too_many_cases_is_refused_before_it_is_made(write: object) -> None:
    axes = ", ".join(f"train.k{i}: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]" for i in range(12))
    text = MATRIX.replace("{train.compile: [false, true], train.learning_rate: [0.1, 2e-4]}", f"{{{axes}}}")
    assert message(write, text) == "s.yaml:17:13: the matrix makes 1000000000000 cases: 1000 at most"


def test_a_key_that_a_matrix_varies_cannot_be_set(write: object) -> None:
    assert message(write, MATRIX, settings=("train.compile=true",)) == (
        "--set train.compile=true: case ddp_strong varies that key in its matrix; leave one of them out"
    )
