"""The configuration at the door: what is wrong is one line with the file, the key and what to do."""

import os
from pathlib import Path

import pytest

from flows.families import load_family
from flows.families.uraq.settings import UraqSettings
from flows.llm.local import LocalModel, LocalSettings
from flows.project.project import Project
from flows.project.settings import ConfigError, default_config, load_config, packaged, sample_path

MINIMAL = "name: mine\nfamilies:\n  uraq: {statements: 10}\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_minimal_configuration_has_the_papers_numbers(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MINIMAL))
    settings = config.families["uraq"]
    assert isinstance(settings, UraqSettings)
    assert (settings.cosine_above, settings.hops) == (0.5, (4,))
    assert settings.context_counts == (1, 10, 25, 50, 100, 250, 500, 1000)
    assert config.model_for("builder").provider == "rules"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ('"a\\u202eb"', "mine.yaml: name: it holds the character U+202E; write a name in plain text"),
        ('"a\\nb"', "mine.yaml: name: it holds the character U+000A; write a name in plain text"),
        ('"  "', "mine.yaml: name: is blank; write a name"),
        ("n" * 101, "mine.yaml: name: "),
    ],
)
def test_a_name_is_a_short_line_of_plain_text(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        load_config(written(tmp_path, MINIMAL.replace("mine", name, 1)))
    (problem,) = error.value.problems
    assert said in problem
    assert load_config(written(tmp_path, MINIMAL.replace("mine", "图书馆 “Q&A” 2", 1))).name == "图书馆 “Q&A” 2"


def test_annotation_is_local_by_default_and_an_address_loses_its_last_slash(tmp_path: Path) -> None:
    annotation = load_config(written(tmp_path, MINIMAL)).annotation
    assert (annotation.url, annotation.people) == ("local", {})
    assert (annotation.overlap_first, annotation.gold_share) == (100, 0.1)
    there = "annotation: {url: 'https://labels.example.org/', people: {a1: Anna@example.org}}\n"
    annotation = load_config(written(tmp_path, MINIMAL + there)).annotation
    proxied = "annotation: {public_url: 'https://Labels.example.org/'}\n"
    assert load_config(written(tmp_path, MINIMAL + proxied)).annotation.public_url == "https://labels.example.org"
    assert (annotation.url, annotation.people) == ("https://labels.example.org", {"a1": "Anna@example.org"})


def test_a_release_and_a_schedule_are_typed_and_sources_lie_beside_the_file(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, MINIMAL))
    assert (config.release.repo, config.release.licence, config.release.held_out) == (None, None, 0.0)
    assert (config.schedule.cron, config.schedule.max_changed_items) == (None, None)
    config = load_config(
        written(
            tmp_path,
            MINIMAL + "release:\n"
            "  repo: acme/sample\n"
            "  licence: {uraq-items: CC-BY-4.0}\n"
            "  held_out: 0.1\n"
            "  contamination: [{format: squad, path: dev.json}, {format: hub, path: o/n, fields: {text: t}}]\n"
            'schedule: {cron: "0 3 * * 1", max_changed_items: 500}\n',
        )
    )
    assert (config.release.repo, config.release.licence) == ("acme/sample", {"uraq-items": "CC-BY-4.0"})
    assert [spec.path for spec in config.release.contamination] == [str(tmp_path / "dev.json"), "o/n"]
    assert (config.schedule.cron, config.schedule.max_changed_items) == ("0 3 * * 1", 500)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("release: {rep: a/b}", 'release.rep: unknown key; did you mean "repo"?'),
        ("release: {repo: sample}", "release.repo: string should match pattern"),
        ("release: {held_out: 1}", "release.held_out: input should be less than 1"),
        ("release: {licence: 3}", "release.licence: expected a licence such as CC-BY-SA-4.0"),
        ("release: {licence: {a: ''}}", "release.licence: expected a licence"),
        (
            "release: {contamination: [{format: squad, paht: x}]}",
            'release.contamination.0.paht: unknown key; did you mean "path"?',
        ),
        ("schedule: {cron: monthly}", "schedule.cron: expected five fields"),
        ("schedule: {cron: 61 3 * * 1}", "schedule.cron: expected five fields"),
        ("schedule: {cron: '*/0 * * * *'}", "schedule.cron: expected five fields"),
        ("schedule: {cron: 'R * * * *'}", "schedule.cron: expected five fields"),
        ("schedule: {cron: '0 5 * r(1-3) 1'}", "schedule.cron: expected five fields"),
        ("schedule: {cron: '0 0 31 2 *'}", "schedule.cron: never comes, since no such month has such a day"),
        ("schedule: {cron: '0 0 31 4,6 *'}", "schedule.cron: never comes"),
        ("schedule: {cron: '* * * * *', every: 3}", "schedule.every: unknown key"),
        ("schedule: {max_changed_items: -1}", "schedule.max_changed_items: input should be greater"),
    ],
)
def test_what_is_wrong_with_a_release_or_a_schedule_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(written(tmp_path, f"{MINIMAL}{text}\n"))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("cron", ["0 0 29 2 *", "0 22-4 * * *", "0 0 * * fri-mon", "*/15 * * * *", "0 0 L * *"])
def test_a_schedule_is_read_as_the_server_reads_it(tmp_path: Path, cron: str) -> None:
    assert load_config(written(tmp_path, f"{MINIMAL}schedule: {{cron: '{cron}'}}")).schedule.cron == cron


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 99999999999999999999999999999])
def test_a_whole_number_has_64_bits(tmp_path: Path, number: int) -> None:
    text = MINIMAL.replace("10", str(number)) + f"seed: {number}\nannotation: {{overlap_first: {number}}}\n"
    with pytest.raises(ConfigError) as refused:
        load_config(written(tmp_path, text))
    ranged = "expected a whole number from -9223372036854775808 to 9223372036854775807"
    problems = refused.value.problems
    assert f"{tmp_path / 'mine.yaml'}: seed: {ranged}" in problems
    assert {problem.split(": ")[1] for problem in problems} == {
        "seed", "families.uraq.statements", "annotation.overlap_first",
    }  # fmt: skip
    assert load_config(written(tmp_path, f"{MINIMAL}seed: {2**63 - 1}\n")).seed == 2**63 - 1


def test_packaged_configurations_load() -> None:
    assert load_config(sample_path()).name == "sample"
    assert load_config(packaged("uraq-full.yaml")).name == "uraq-full"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name: x\nsede: 3\nfamilies: {uraq: {}}", 'sede: unknown key; did you mean "seed"?'),
        ("name: x\nfamilies: {refutebench: {unrelated: 3}}", "unrelated: expected a list, as in [one, two] (found 3)"),
        ("name: x\nfamilies: {refutebench: {sources: 3}}", "sources: expected `key: value` lines (found 3)"),
        (
            "name: x\nfamilies: {uraq: {statments: 3}}",
            'families.uraq.statments: unknown key; did you mean "statements"?',
        ),
        ("name: x\nfamilies: {urak: {}}", 'families.urak: unknown family; did you mean "uraq"?'),
        ("name: x\nfamilies: {uraq: {parts: [item]}}", "unknown part 'item'; did you mean \"items\"?"),
        ("name: x\nfamilies: {uraq: {cosine_above: 2}}", "families.uraq.cosine_above: input should be less than 1"),
        (
            "name: x\nmodel: {provider: endpoint, name: m, bas_url: u}\nfamilies: {uraq: {}}",
            'model.bas_url: unknown key; did you mean "base_url"?',
        ),
        (
            "name: x\nmodels: {builder: {provider: endpoint, name: m, concurency: 3}}\nfamilies: {uraq: {}}",
            'models.builder.concurency: unknown key; did you mean "concurrency"?',
        ),
        (
            "name: x\nmodel: {provider: endpoint, name: m, max_tokens: {manipulat: 3}}\nfamilies: {uraq: {}}",
            "model.max_tokens: no prompt 'manipulat'; did you mean \"manipulate\"?",
        ),
        (
            "name: x\nmodel: {provider: endpoint, name: m, parameters: {max_tokens: 3}}\nfamilies: {uraq: {}}",
            "max_tokens is set elsewhere",
        ),
        (
            "name: x\nfamilies: {uraq: {statements_from: {format: creak, pth: a}}}",
            "families.uraq.statements_from",
        ),
        ("families: {uraq: {}}", "name: is missing"),
        ("name: x", "families: expected at least one family"),
        ("name: x\nfamilies: {uraq: {hops: [9]}}", "less than or equal to 5"),
        ("name: x\nfamilies: {uraq: {context_counts: [0]}}", "greater than or equal to 1"),
        ("name: x\nfamilies: {uraq: {statements: true}}", "families.uraq.statements"),
        ("name: x\nfamilies: {uraq: {parts: []}}", "families.uraq.parts"),
        *(
            (f"name: x\n{text}", f"{place}: expected a number, found true or false, as YAML reads yes, no, on and off")
            for text, place in (
                ("model: {provider: endpoint, name: m, temperature: yes}\nfamilies: {uraq: {}}", "model.temperature"),
                (
                    "models: {m: {provider: endpoint, name: m, concurrency: on}}\nfamilies: {uraq: {}}",
                    "models.m.concurrency",
                ),
                ("budget_usd: yes\nfamilies: {uraq: {}}", "budget_usd"),
                ("release: {held_out: no}\nfamilies: {uraq: {}}", "release.held_out"),
                ("families: {uraq: {related_above: off}}", "families.uraq.related_above"),
                ("families: {charpeval: {shots: [no, 3]}}", "families.charpeval.shots.0"),
                ("families: {refutebench: {forgetting: {m: yes}}}", "families.refutebench.forgetting.m"),
            )
        ),
        ("name: x\nseed: 1\nseed: 2\nfamilies: {uraq: {}}", "'seed' is there twice"),
        ("name: x\nfamilies: &f {uraq: {x: *f}}", "anchor"),
        ("name: [", "not valid YAML"),
        ("name: x\n2020-01-01: x\nfamilies: {uraq: {}}", "a key is not text"),
        *(
            (f'name: x\n{key}: "a\\0b"\nfamilies: {{uraq: {{}}}}', f": {key}: ")
            for key in ("store", "prompts", "prices")
        ),
        ("name: x\nmodels: {../evil: {provider: rules}}\nfamilies: {uraq: {}}", "models"),
        (
            f"name: x\nmodel: {{provider: endpoint, name: m, base_url: 'http://{'a' * 300}/v1'}}\n"
            "families: {uraq: {}}",
            "no part of a host's name",
        ),
        *(
            (f"name: x\nannotation: {annotation}\nfamilies: {{uraq: {{}}}}", said)
            for annotation, said in (
                ("{public_url: 'https://labels.example.org/x'}", "expected an address without a path, such as https"),
                ("{public_url: labels.example.org}", "expected an address without a path, such as https"),
                ("{url: 'https://a.example', public_url: 'https://b.example'}", "is for the `local` server alone"),
                ("{peple: {}}", 'annotation.peple: unknown key; did you mean "people"?'),
                ("{url: labels.example.org}", "annotation.url: expected `local`, or an address"),
                ("{url: 'https://me:SECRET@labels.example.org'}", "the key goes into the environment"),
                ("{url: 'https://labels.example.org/?key=SECRET'}", "the key goes into the environment"),
                ("{people: {Anna B: anna@example.org}}", "annotation.people"),
                ("{people: {a1: anna}}", "is not an e-mail address such as"),
                ("{people: {a1: anna@example.org, a2: Anna@Example.org}}", "a1 and a2 have the same e-mail address"),
                ("{overlap_first: -1}", "annotation.overlap_first"),
                ("{certainty: 0.9}", "annotation.certainty: name the `people` too"),
                ("{people: {a1: anna@example.org}, certainty: 0.4}", "annotation.certainty"),
                (
                    "{surveys: {uraq-check: {writes: [{name: change, title: Change what}]}}}",
                    "annotation.surveys: name the `people` too",
                ),
                (
                    "{people: {a1: anna@example.org}, lead: a1}",
                    "annotation.lead: name somebody else among the `people`",
                ),
                ("{gold_share: 1}", "annotation.gold_share: input should be less than 1"),
            )
        ),
        ("- a", "expected `key: value` lines"),
        ("name: x\nmodel: {name: m}\nfamilies: {uraq: {}}", "model: names no provider; write `provider: rules`"),
        (
            "name: x\nmodel: {provider: rules}\nmodels: {default: {provider: rules}}\nfamilies: {uraq: {}}",
            "give one of them",
        ),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "model",
    [
        "{provider: endpoint, name: m, base_url: 'http://u:SECRET@127.0.0.1/v1'}",
        "{provider: endpoint, name: m, base_url: 'http://127.0.0.1/v1?key=SECRET'}",
        "{provider: endpoint, name: m, api_key_env: sk-SECRET}",
        "sk-SECRET",
    ],
)
def test_a_secret_in_the_wrong_place_is_refused_and_not_repeated(tmp_path: Path, model: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(written(tmp_path, f"name: x\nmodel: {model}\nfamilies: {{uraq: {{}}}}"))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("store", ["s3://AKIA1:SECRET@bucket/x", "s3://SECRET@bucket/x", "sftp://me:SECRET@host/x"])
def test_a_key_in_the_address_of_a_store_is_refused_and_not_repeated(tmp_path: Path, store: str) -> None:
    with pytest.raises(ConfigError, match=r"store: .* go into the environment") as caught:
        load_config(written(tmp_path, f"name: x\nstore: {store}\nfamilies: {{uraq: {{}}}}"))
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("store", ["file", "file/inside", "/dev/full"])
def test_a_store_that_is_a_file_is_refused(tmp_path: Path, store: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"mine.yaml: store: a file is in its place; remove that, or name a folder$"):
        load_config(written(tmp_path, f"{MINIMAL}store: {store}\n"))


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("file:///dev/null", "a file is in its place"),
        ("local:///dev/null/inside", "a file is in its place"),
        ("loop", "cannot be opened (Too many levels of symbolic links)"),
        ("loop/inside", "cannot be opened (Too many levels of symbolic links)"),
        ("lost", "a link to nothing is in its place"),
        ("lost/inside", "a link to nothing is in its place"),
        ("x" * 300, "a name in it is longer than 255 bytes"),
        ("new/" + "x" * 300, "a name in it is longer than 255 bytes"),
        ("file:///tmp/" + "x" * 300, "a name in it is longer than 255 bytes"),
    ],
)
def test_a_store_that_no_folder_can_be_is_refused(tmp_path: Path, store: str, said: str) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "lost").symlink_to("nowhere")
    with pytest.raises(ConfigError) as refused:
        load_config(written(tmp_path, f"{MINIMAL}store: '{store}'\n"))
    assert str(refused.value).startswith(f"{tmp_path / 'mine.yaml'}: store: {said}; ")


def test_a_store_may_be_a_linked_folder_or_one_that_is_yet_to_be_made(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(tmp_path)
    for store in ("linked", "linked/new/newer", f"file://{tmp_path}/new", "x" * 255):
        assert load_config(written(tmp_path, f"{MINIMAL}store: '{store}'\n")).store.endswith(store)


@pytest.mark.parametrize("settings", ["embedder: {name: NAME}", "model: {provider: local, name: NAME}"])
def test_a_name_too_long_for_a_path_is_left_as_it_is(tmp_path: Path, settings: str) -> None:
    config = load_config(written(tmp_path, f"{MINIMAL}{settings.replace('NAME', 'x' * 300)}\n"))
    assert "x" * 300 in (getattr(config.embedder, "name", None), getattr(config.model, "name", None))


@pytest.mark.parametrize("store", ["nothing://x", "zip://a::http://127.0.0.1:1/x.zip"])
def test_a_store_that_cannot_be_opened_is_named(tmp_path: Path, store: str) -> None:
    project = Project(written(tmp_path, f"{MINIMAL}store: '{store}'\n"), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"mine.yaml: store: cannot be opened \(\w+: .+\); give a folder, or"):
        project.store.probe()
    project.close()


@pytest.mark.parametrize("store", ["s3://bucket/x", "sftp://me@host/x", "memory://x", "a@b/c:d"])
def test_a_store_is_a_folder_or_an_address(tmp_path: Path, store: str) -> None:
    assert load_config(written(tmp_path, f"name: x\nstore: {store}\nfamilies: {{uraq: {{}}}}")).store.endswith(store)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.yaml")


def test_what_is_no_configuration_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").write_bytes(b"# " + b"a" * 2**20)
    levels = "\n".join(f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}' if n else '1'] * 10)}]" for n in range(9))
    (tmp_path / "laughs.yaml").write_text(f"name: x\nfamilies:\n{levels}\n", encoding="utf-8")
    for path, said in {
        tmp_path / "pipe.yaml": "expected a file, found a pipe",
        Path("/dev/zero"): "expected a file, found a device",
        tmp_path: "expected a file, found a folder",
        tmp_path / "large.yaml": "expected at most 1 MiB, found more; name a configuration",
        tmp_path / "laughs.yaml": "its anchors stand for more than 1,000,000 values",
    }.items():
        with pytest.raises(ConfigError, match=f"{path}: {said}"):
            load_config(path)


def test_what_has_the_name_of_the_usual_configuration_is_never_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert default_config() == sample_path()
    os.mkfifo("touchstone.yaml")
    with pytest.raises(ConfigError, match=r"touchstone\.yaml: expected a file, found a pipe"):
        load_config(default_config())


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = (
        "name: x\nstore: s\nprices: p.yaml\nfamilies:\n  uraq:\n"
        "    statements_from: {format: creak, path: a/b.jsonl}\n    qa_sources: [{format: hub, path: acme/qa}]\n"
    )
    config = load_config(written(tmp_path, text))
    assert config.store == str(tmp_path / "s")
    assert config.prices == str(tmp_path / "p.yaml")
    assert config.families["uraq"].statements_from.path == str(tmp_path / "a/b.jsonl")
    assert config.families["uraq"].qa_sources[0].path == "acme/qa"


def test_the_store_lies_beside_the_configuration_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = load_config(written(tmp_path, MINIMAL))
    assert (Path(config.store), config.state) == (tmp_path / ".touchstone", tmp_path / ".touchstone")


def test_of_a_packaged_file_only_what_is_written_lies_where_the_user_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, elsewhere = tmp_path / "samples", tmp_path / "elsewhere"
    place.mkdir()
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    text = (
        "name: x\nstore: s\ncache: sqlite:///c.sqlite\nprices: p.yaml\nprompts: mine\n"
        "families: {reeval: {sources: [{format: jsonl, path: q.jsonl}]}}\n"
    )
    path = written(place, text)
    config = load_config(path)
    assert (config.store, config.cache) == (str(place / "s"), f"sqlite:///{place / 'c.sqlite'}")
    monkeypatch.setattr("flows.project.settings.sample_path", lambda: place / "sample.yaml")
    config = load_config(path)
    assert (config.store, config.cache) == (str(elsewhere / "s"), f"sqlite:///{elsewhere / 'c.sqlite'}")
    assert (config.prices, config.prompts) == (str(place / "p.yaml"), str(place / "mine"))
    assert config.families["reeval"].sources[0].path == str(place / "q.jsonl")
    for url in ("sqlite:////tmp/c.sqlite", "sqlite://", "sqlite:///:memory:", "postgresql://host/touchstone"):
        path.write_text(f"name: x\ncache: {url!r}\nfamilies: {{uraq: {{}}}}\n")
        assert load_config(path).cache == url


def test_a_model_named_by_path_lies_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "nli").mkdir()
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: x\nembedder: {name: nli, languages: [en]}\nfamilies: {reeval: {entailment: nli}}\n"
        "models: {default: {provider: endpoint, name: m, window: 900, tokenizer: nli}, other: {provider: rules}}\n"
    )
    monkeypatch.chdir(tmp_path / "elsewhere")
    config = load_config(path)
    assert config.families["reeval"].entailment == str(tmp_path / "nli")
    path.write_text("name: x\nfamilies: {lveval: {blacklists: {en: words.txt}}}\n")
    assert load_config(path).families["lveval"].blacklists == {"en": str(tmp_path / "words.txt")}
    assert config.embedder.name == str(tmp_path / "nli")  # type: ignore[union-attr]
    assert config.models["default"].tokenizer == str(tmp_path / "nli")  # type: ignore[union-attr]
    path.write_text("name: x\nfamilies: {reeval: {entailment: cross-encoder/nli}}\n")
    assert load_config(path).families["reeval"].entailment == "cross-encoder/nli"


def test_a_model_that_is_loaded_here_is_one_by_path_or_by_name(tmp_path: Path) -> None:
    (tmp_path / "tiny").mkdir()
    models = (
        "models:\n"
        "  beside: {provider: local, name: tiny, dtype: bfloat16}\n"
        "  hub: {provider: local, name: owner/tiny}\n"
    )
    config = load_config(written(tmp_path, MINIMAL + models))
    assert config.models["beside"] == LocalSettings(name=str(tmp_path / "tiny"), dtype="bfloat16")
    assert config.models["hub"] == LocalSettings(name="owner/tiny")
    with pytest.raises(ConfigError, match=r'models.hub.dtipe: unknown key; did you mean "dtype"'):
        load_config(written(tmp_path, MINIMAL + "models: {hub: {provider: local, name: tiny, dtipe: float32}}"))


def test_who_writes_and_who_weighs(tmp_path: Path) -> None:
    models = "models: {here: {provider: local, name: tiny}, there: {provider: endpoint, name: m}}\n"
    project = Project(written(tmp_path, f"{MINIMAL}store: {tmp_path / 'store'}\n{models}"), tmp_path / "out")
    try:
        assert isinstance(project.models.likelihood_model("here"), LocalModel)
        assert project.models.likelihood_model("there") is project.models.model("there", load_family("uraq"))
        with pytest.raises(
            ConfigError, match=r"models\.here: .* writes nothing; name one of provider endpoint for uraq"
        ):
            project.models.model("here", load_family("uraq"))
        with pytest.raises(ConfigError, match=r"models\.default: the rules cannot weigh options"):
            project.models.likelihood_model("default")
    finally:
        project.close()
