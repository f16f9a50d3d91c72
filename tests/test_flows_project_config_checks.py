"""All that is wrong with a configuration is told at once, before anything is started."""

import os
from pathlib import Path

import pytest

from flows.project.build_note import DamagedNote, build_note, decided_draw, note_build
from flows.project.project import Project
from flows.project.settings import ConfigError, load_config
from flows.run import terminal

TEXT = """
name: mine
sed: 3
famlies: {}
release: {rep: a/b, held_out: 2}
embedder: {nam: x}
models: {builder: {provider: endpoint, name: m, temperature: yes, concurency: 3}}
families:
  urak: {}
  reeval: {sources: [{formt: csv}, {format: csv, pth: q.csv}], parts: [cases]}
  charpeval: {shots: [1, no], parts: [item]}
  lveval: {parts: [contexts, pair, keyword]}
"""
"""Mistakes in the text alone."""

SOURCES = """
name: mine
prompts: templates
annotation: {people: {a1: ann@example.org}, surveys: {reeval-suport: {writes: [{name: change, title: Change what}]}}}
models: {pivot: {provider: endpoint, name: m, api_key_env: NO_SUCH_KEY}}
families:
  reeval: {sources: [{format: csv, path: q.csv}, {format: csv, path: none.csv}]}
  uraq: {prescreen: [other], statements_from: {format: csv, path: q.csv, fields: {text: txt, topic: thema}}}
  refutebench: {}
  lveval:
    datasets:
      cmrc-mixup: {}
      multifieldqa-en-mixup: {sources: [{format: csv, path: q.csv, fields: {question: frage}}]}
"""
"""Mistakes that show only beside the files and the environment."""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_mistake_in_the_text_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, TEXT)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert [problem.removeprefix(f"{path}: ").partition(";")[0] for problem in caught.value.problems] == [
        "families.urak: unknown family",
        "families.reeval.sources.0.path: is missing",
        "families.reeval.sources.0.formt: unknown key",
        "families.reeval.sources.1.pth: unknown key",
        "families.charpeval.shots.0: input should be 0 or 3 (found 1)",
        "families.lveval.parts: unknown part 'pair'",
        "families.lveval.parts: unknown part 'keyword'",
        "models.builder.concurency: unknown key",
        "embedder.nam: unknown key",
        "release.held_out: input should be less than 1 (found 2)",
        "release.rep: unknown key",
        "sed: unknown key",
        "famlies: unknown key",
    ]
    assert 'did you mean "format"?' in str(caught.value)


def test_missing_files_are_told_with_mistakes_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("question,answers\n", encoding="utf-8")
    sources = "[{format: csv, path: q.csv}, {format: csv, path: none.csv}, {format: csv, path: 'https://a.org/q.csv'}]"
    sources += ", passages: [{format: documents, path: .}]"
    mixed = "{cmrc-mixup: {sources: [{format: squad, path: none.json}]}}"
    path = written(
        tmp_path,
        f"name: mine\nfamilies: {{reeval: {{seds: all, sources: {sources}}}, lveval: {{datasets: {mixed}}}}}\n",
    )
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert [problem.removeprefix(f"{path}: ").partition(";")[0] for problem in caught.value.problems] == [
        "families.reeval.seds: unknown key",
        f"families.reeval.sources[1]: {tmp_path / 'none.csv'}: no such file",
        f"families.lveval.datasets.cmrc-mixup.sources[0]: {tmp_path / 'none.json'}: no such file",
    ]


def test_columns_are_told_with_mistakes_elsewhere_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("frage,antwort,text\nWho?,Ann,Ann came.\n", encoding="utf-8")
    sources = "[{format: csv, path: q.csv}, {format: csv, path: none.csv}, {format: csv, path: 'https://a.org/q.csv'}]"
    families = (
        f"{{reeval: {{sources: {sources}}}, uraq: {{statments: 3, statements_from: {{format: csv, path: q.csv}}}}}}"
    )
    path = written(tmp_path, f"name: mine\nsed: 3\nfamilies: {families}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert [problem.removeprefix(f"{path}: ").partition(";")[0] for problem in caught.value.problems] == [
        "families.uraq.statments: unknown key",
        "sed: unknown key",
        f"families.reeval.sources[1]: {tmp_path / 'none.csv'}: no such file",
        f'families.reeval.sources[0]: {tmp_path / "q.csv"}: row 1: expected the fields "question" and '
        '"answers", found frage, antwort, text',
    ]


URAQ = "name: mine\nfamilies: {{uraq: {{{}}}}}\n"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("statements_from: {format: csv, path: s.csv}, context_counts: [50, 9]", "statements_from: s.csv has 5, and "
         "rows of 9 contexts, the lowest of context_counts, want at least 6 statements: name more, or lower"),
        ("statements: 20, context_counts: [50]", "statements: 20 are asked for, and rows of 50 contexts"),
        ("statements_from: {format: csv, path: s.csv}, context_counts: [50, 8]", None),
        ("statements_from: {format: csv, path: s.csv}, context_counts: [50], parts: [items]", None),
        ("statements: 26, context_counts: [50]", None),
    ],
)  # fmt: skip
def test_statements_that_suffice_for_no_row_are_told(tmp_path: Path, settings: str, said: str | None) -> None:
    facts = "".join(f"The town of {name} has a bridge.\n" for name in ("Varn", "Olde", "Kelm", "Dorn", "Brask"))
    (tmp_path / "s.csv").write_text(f"text\n{facts}", encoding="utf-8")
    path = written(tmp_path, URAQ.format(settings))
    project = Project(path, tmp_path / "out")
    if said is None:
        assert project.build is not None
        return
    with pytest.raises(ConfigError) as caught:
        assert project.build is not None
    (told,) = caught.value.problems
    assert told.startswith(f"{path}: families.uraq.{said}")


def test_what_stands_beside_the_files_is_told_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "q.csv").write_text("frage,antwort,text\nWho?,Ann,Ann came.\n", encoding="utf-8")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "ask_qestion.j2").write_text("Ask.", encoding="utf-8")
    monkeypatch.setattr(terminal, "begin_prefect", lambda state: pytest.fail("the engine was started"))
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    path = written(tmp_path, SOURCES)
    with pytest.raises(ConfigError) as caught:
        terminal.run_in_terminal(path, tmp_path / "out", None)
    found = "found frage, antwort, text; say which are meant, as in fields:"
    more = "evidence, title, other_answer, other_evidence, sides, id, date"
    template, table = tmp_path / "templates" / "ask_qestion.j2", tmp_path / "q.csv"
    told = [problem.removeprefix(f"{path}: ") for problem in caught.value.problems]
    assert told == [
        f'prompts: {template}: no prompt has this name; did you mean "ask_question.j2"?',
        'annotation.surveys.reeval-suport: nobody is asked under this rubric; did you mean "reeval-support"?',
        "the environment variable NO_SUCH_KEY (api_key_env) holds no key; set it, or remove api_key_env for a server "
        "without keys",
        f"families.reeval.sources[1]: {tmp_path / 'none.csv'}: no such file; paths are relative to the configuration "
        "file",
        f'families.reeval.sources[0]: {table}: row 1: expected the fields "question" and "answers", {found} '
        f"{{question: ..., answers: antwort}}; fields may also name {more}",
        "models.other: is missing; families.uraq asks a model of that name",
        f'families.uraq.statements_from: {table}: row 1: expected the fields "txt" and "thema", {found} '
        "{text: text, topic: ...}; fields may also name id, date",
        "families.refutebench.sources: is empty; name sources under translation, summarisation, writing",
        "families.refutebench.style: the rules refute in plain words alone; set style: [], or name a model for "
        "the role refuter",
        "families.lveval.datasets.cmrc-mixup.sources: is empty; name questions with their documents, like CMRC 2018",
        f'families.lveval.datasets.multifieldqa-en-mixup.sources[0]: {table}: row 1: expected a field "answers", '
        f"{found} {{answers: antwort}}; fields may also name {more}",
    ]


def test_templates_and_prices_that_are_no_files_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "begin_prefect", lambda state: pytest.fail("the engine was started"))
    folder = tmp_path / "templates"
    (folder / "uraq").mkdir(parents=True)
    pipe, device = folder / "ask_question.j2", folder / "uraq" / "ask_question.j2"
    os.mkfifo(pipe)
    device.symlink_to("/dev/zero")
    model = "models: {default: {provider: endpoint, name: m, base_url: 'http://127.0.0.1:9/v1'}}\n"
    for prices, what in {"/dev/zero": "device", str(pipe): "pipe"}.items():
        text = f"name: mine\nprompts: templates\nprices: {prices}\n{model}families: {{uraq: {{}}, reeval: {{}}}}\n"
        path = written(tmp_path, text)
        with pytest.raises(ConfigError) as caught:
            terminal.run_in_terminal(path, tmp_path / "out", None)
        told = "\n".join(caught.value.problems)
        assert f"prompts: {pipe}: expected a file, found a pipe" in told
        assert f"prompts: {device}: expected a file, found a device" in told
        assert f"prices: {prices}: expected a file, found a {what}" in told


@pytest.mark.parametrize("prompts", ["loop", "x" * 300, "new/" + "x" * 300, "loop/inside"])
def test_a_folder_of_templates_that_cannot_be_one_is_told(tmp_path: Path, prompts: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    path = written(tmp_path, f"name: mine\nprompts: {prompts}\nfamilies: {{uraq: {{}}}}\n")
    with pytest.raises(ConfigError) as caught:
        assert Project(path, tmp_path / "out").build is not None
    assert caught.value.problems[0].startswith(f"{path}: prompts: {tmp_path / prompts}: no such folder; ")


def test_templates_that_are_too_large_or_lie_in_a_linked_folder_are_told(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "templates"
    (elsewhere / "deeper").mkdir(parents=True)
    folder.mkdir()
    (folder / "uraq").symlink_to(elsewhere)
    (folder / "lost").symlink_to("nowhere")
    (elsewhere / "again").symlink_to(folder)
    (elsewhere / "deeper" / "no_template.j2").write_text("Ask.", encoding="utf-8")
    (elsewhere / "ask_qestion.j2").write_text("Ask.", encoding="utf-8")
    os.mkfifo(elsewhere / "ask_question.j2")
    with (folder / "ask_question.j2").open("wb") as large:
        large.truncate(2**30)
    path = written(tmp_path, "name: mine\nprompts: templates\nfamilies: {uraq: {}}\n")
    with pytest.raises(ConfigError) as caught:
        assert Project(path, tmp_path / "out").build is not None
    large_one, linked = folder / "ask_question.j2", folder / "uraq"
    assert [problem.removeprefix(f"{path}: prompts: ") for problem in caught.value.problems] == [
        f"{large_one}: expected at most 1 MiB, found more; shorten it",
        f'{linked / "ask_qestion.j2"}: no prompt has this name; did you mean "uraq/ask_question.j2"?',
        f"{linked / 'ask_question.j2'}: expected a file, found a pipe; name a file",
    ]


def test_a_note_that_is_no_file_is_damaged(tmp_path: Path) -> None:
    assert build_note(tmp_path) is None
    os.mkfifo(tmp_path / ".build.json")
    os.mkfifo(tmp_path / "manifest.json")
    with pytest.raises(DamagedNote, match=r"\.build\.json: damaged"):
        build_note(tmp_path)
    assert decided_draw(tmp_path) is None
    note_build(tmp_path, tmp_path / "mine.yaml", None, "store")
    assert build_note(tmp_path) is not None
